// Who sent a request: the user of this machine by a private socket, the holder of a named token, or whoever a configured
// issuer says. Everybody else gets an answer that says how to become one of them.

import { messageOf } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import { LOCAL_USER } from '../../base/principal.js';
import type { Settings } from '../../settings/environment/settings.js';
import { AccessTokens, type AccessTokensOptions } from '../oauth/access-token.js';
import { metadataAt, metadataUrlOf } from '../oauth/resource-metadata.js';
import type { Authentication, Refusal, RequestFacts } from '../principals/authentication.js';
import {
  badRequest,
  type ChallengeFacts,
  insecure,
  insufficient,
  invalid,
  missing,
  unavailable,
} from '../principals/refusals.js';
import { hasTokenInQuery, presentedIn } from './bearer.js';
import { TokenBook } from './token-book.js';
import { isTokenText, TOKEN_PREFIX } from './token-text.js';

/** How long to wait before asking again where the file of tokens cannot be used: until somebody has mended it. */
const UNREADABLE_RETRY_SECONDS = 30;
/** Refusals in one minute that are told; a stranger can cause any number. */
const TOLD_PER_MINUTE = 20;
const MINUTE_MS = 60_000;

export type AuthenticatorOptions = Omit<AccessTokensOptions, 'observer' | 'groupsClaim'> &
  Partial<Pick<AccessTokensOptions, 'groupsClaim'>>;

export class Authenticator {
  readonly #settings: Pick<Settings, 'stateDir' | 'oauth'>;
  readonly #observer: Observer;
  readonly #tokens: TokenBook;
  readonly #accessTokens: AccessTokens | undefined;
  readonly #challenge: ChallengeFacts;
  #told = { minute: 0, count: 0 };
  #tokenTrouble: string | undefined;

  constructor(
    settings: Pick<Settings, 'stateDir' | 'oauth'>,
    observer: Observer,
    options: AuthenticatorOptions = {},
  ) {
    const { oauth } = settings;
    this.#settings = settings;
    this.#observer = observer;
    this.#tokens = new TokenBook(settings.stateDir);
    this.#accessTokens =
      oauth === undefined
        ? undefined
        : new AccessTokens(oauth, { groupsClaim: () => 'groups', ...options, observer });
    this.#challenge = {
      metadataUrl: oauth === undefined ? undefined : metadataUrlOf(oauth),
      scopes: oauth?.scopes ?? [],
    };
  }

  /** What every challenge of this bridge says; for refusals that are made elsewhere. */
  get challenge(): ChallengeFacts {
    return this.#challenge;
  }

  /** Who sent this request, or what to answer instead. Takes 5 seconds at most, when an issuer has to be asked. Never rejects. */
  async authenticate(facts: RequestFacts): Promise<Authentication> {
    const found = await this.#judged(facts);
    // Without a credential a request is how a client finds out that it needs one: nothing to tell of.
    const hasPresented = facts.authorization !== undefined && facts.authorization.length > 0;
    if ('refusal' in found && (hasPresented || found.refusal.status !== 401))
      this.#tell(facts, found.refusal);
    return found;
  }

  /**
   * Whether somebody besides the user of a private socket can come in: by a token that has not expired, or by an issuer.
   * Throws E_STATE where the file of tokens cannot be used.
   */
  credentialsConfigured(): boolean {
    return this.#accessTokens !== undefined || this.#tokens.hasUsable();
  }

  /** The document at a well-known path of OAuth (without a query), as a value for JSON; undefined where there is none. */
  metadataAt(path: string): object | undefined {
    const { oauth } = this.#settings;
    return oauth === undefined ? undefined : metadataAt(path, oauth);
  }

  async #judged(facts: RequestFacts): Promise<Authentication> {
    if (hasTokenInQuery(facts.target))
      return refused(
        badRequest(
          'A token must not stand in the address, where logs keep it: send it as `Authorization: Bearer TOKEN`, and make a new one, since this one has been seen.',
        ),
      );
    const presented = presentedIn(facts.authorization);
    if (presented.state === 'malformed') return refused(badRequest(presented.description));
    if (presented.state === 'none') {
      // Behind a proxy that has the socket, this user would be everybody.
      const isOwnUser = facts.isPrivateSocket && facts.isForwarded !== true;
      return isOwnUser ? { principal: LOCAL_USER } : refused(missing(this.#challenge));
    }
    if (!isConfidential(facts)) return refused(insecure());
    return presented.text.startsWith(TOKEN_PREFIX)
      ? this.#byNamedToken(presented.text)
      : await this.#byAccessToken(presented.text);
  }

  #byNamedToken(text: string): Authentication {
    if (!isTokenText(text))
      return this.#invalid(
        'The token is mistyped or cut: its checksum is wrong. Copy the whole of it again.',
      );
    try {
      const verdict = this.#tokens.verdict(text);
      this.#tokenTrouble = undefined;
      if (verdict.state === 'known') return { principal: verdict.principal };
      if (verdict.state === 'unknown')
        return this.#invalid('The token is not known here: it was revoked, or is of another bridge.');
      const at = new Date(verdict.expiredAtMs).toISOString();
      return this.#invalid(`The token expired at ${at}; whoever runs this bridge can make another.`);
    } catch (thrown) {
      this.#tellTokenTrouble(messageOf(thrown));
      const description = 'Tokens cannot be checked now; the log of the bridge says why.';
      return refused(unavailable(description, UNREADABLE_RETRY_SECONDS));
    }
  }

  async #byAccessToken(text: string): Promise<Authentication> {
    if (this.#accessTokens === undefined)
      return this.#invalid('The token is none of this bridge: those begin with msb_.');
    const verdict = await this.#accessTokens.verdict(text);
    switch (verdict.state) {
      case 'known':
        return { principal: verdict.principal, callerToken: verdict.callerToken };
      case 'invalid':
        return this.#invalid(verdict.description);
      case 'unavailable':
        return refused(unavailable(verdict.description, verdict.retryAfterSeconds));
      case 'insufficient': {
        const description = `The token lacks a scope that everybody needs here: ${this.#challenge.scopes.join(' ')}.`;
        return refused(insufficient(this.#challenge, verdict.scopes, description));
      }
    }
  }

  #invalid = (description: string): Authentication => refused(invalid(this.#challenge, description));

  #tellTokenTrouble(message: string): void {
    if (message === this.#tokenTrouble) return;
    this.#tokenTrouble = message;
    this.#observer({ type: 'auth.trouble', message });
  }

  #tell({ remoteAddress, method }: RequestFacts, { status, body }: Refusal): void {
    const minute = Math.floor(performance.now() / MINUTE_MS);
    if (minute !== this.#told.minute) this.#told = { minute, count: 0 };
    if (++this.#told.count > TOLD_PER_MINUTE) return;
    this.#observer({
      type: 'auth.refused',
      from: remoteAddress ?? 'a unix socket',
      method,
      status,
      message: body.error_description,
    });
  }
}

const refused = (refusal: Refusal): Authentication => ({ refusal });

/** Whether nobody on the way can have read the request. */
const isConfidential = ({ isSecure, remoteAddress }: RequestFacts): boolean =>
  isSecure || remoteAddress === undefined || isLoopbackAddress(remoteAddress);

const isLoopbackAddress = (address: string): boolean =>
  address === '::1' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/i.test(address);
