// Everything that an HTTP endpoint asks about who may come in and what for, put together out of settings and files.

import type { Observer } from '../../base/log/events.js';
import type { Principal } from '../../base/principal.js';
import type { Environment } from '../../base/process/environment.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import { CallerTokens, TokenExchanges } from '../oauth/token-exchange.js';
import type {
  Authentication,
  AuthenticationFacts,
  AuthenticationRefusal,
} from '../principals/authentication.js';
import type { PrincipalBook, TokenExchange } from '../principals/principal-rules.js';
import { PrincipalsBook } from '../principals/principals-book.js';
import { stepUp, wantedUse } from '../principals/scope-rules.js';
import { Authenticator } from './authenticator.js';

export class HttpAccess {
  readonly #authenticator: Authenticator;
  readonly #book: PrincipalsBook;
  readonly #executeServer: string | undefined;
  readonly #callerTokens = new CallerTokens();
  /** Gets the tokens that headers `{exchange}` and `{passThrough}` of the principals file ask for. */
  readonly exchange: TokenExchange;

  /** Throws E_SETTINGS where there is to be a principals file and it cannot be used. `env` has the secrets of exchanges. */
  constructor(
    settings: Pick<Settings, 'stateDir' | 'oauth' | 'principalsFile'> &
      Partial<Pick<Settings, 'executeServer'>>,
    host: HostFacts,
    env: Environment,
    observer: Observer,
  ) {
    this.#executeServer = settings.executeServer;
    this.#book = new PrincipalsBook(settings, host, observer);
    this.#authenticator = new Authenticator(settings, observer, {
      groupsClaim: () => this.#book.groupsClaim(),
    });
    this.exchange = new TokenExchanges(this.#book, this.#callerTokens, env).exchange;
  }

  /** The rules of principals, for the bridges of each. */
  get book(): PrincipalBook {
    return this.#book;
  }

  /** Who sent this request, or what to answer instead. Takes 5 seconds at most. Never rejects. */
  async authenticate(facts: AuthenticationFacts): Promise<Authentication> {
    const found = await this.#authenticator.authenticate(facts);
    if ('principal' in found && found.callerToken !== undefined)
      this.#callerTokens.keep(found.principal.id, found.callerToken);
    return found;
  }

  /**
   * Answer in place of the one that a JSON-RPC message asks for, where the principal lacks a scope for it: 403 with the scope.
   * To be asked with the parsed message before it is handed on; `message` may be anything.
   */
  stepUp(principal: Principal, message: unknown): AuthenticationRefusal | undefined {
    const { challenge } = this.#authenticator;
    return stepUp(
      principal,
      this.#book.rulesOf(principal),
      this.#book.scopes(),
      wantedUse(message, this.#executeServer),
      challenge,
    );
  }

  /** Whether anybody but the user of a private socket can come in. Throws E_STATE where the tokens cannot be read. */
  credentialsConfigured(): boolean {
    return this.#authenticator.credentialsConfigured();
  }

  /** The document at a well-known path of OAuth (without a query), as a value for JSON; undefined where there is none. */
  metadataAt(path: string): object | undefined {
    return this.#authenticator.metadataAt(path);
  }
}
