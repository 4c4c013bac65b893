// Logins as runs use them: the access token of each remote server, refreshed before it ends or when the server refuses
// it, without anybody noticing. Nobody is asked anything here: where a person is needed, LoginNeeded says so.

import {
  extractWWWAuthenticateParams,
  OAuthError,
  OAuthErrorCode,
  refreshAuthorization,
} from '@modelcontextprotocol/client';
import { BridgeError } from '../../base/errors.js';
import type { Redactor } from '../../base/secrets/redact.js';
import { shownName } from '../../base/text/shown-name.js';
import { withoutFullStop } from '../../base/text/text.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import type { MachineLogin, RemoteSpec } from '../../hosts/downstream-spec.js';
import { LoginNeeded, type LoginOwner, LoginTrouble } from '../remote/login-needed.js';
import { NO_PROXIES } from '../remote/proxies.js';
import type { Challenge, ServerLogin } from '../remote/server-login.js';
import { renewedLogin } from './login-record.js';
import { MachineServerLogin } from './machine-login.js';
import { noLoginReason } from './no-login.js';
import { type OAuthFetch, oauthFetch, wordsOf } from './oauth-fetch.js';
import { hideTokens } from './secrets.js';
import { type Login, TokenStore } from './token-store.js';

/** So long before its end a token is refreshed: a request may be on its way for a while, and clocks differ. */
const MARGIN_MS = 30_000;
/** The margin is at most this share of a token's lifetime: for a short-lived token MARGIN_MS could be all of it. */
const MARGIN_SHARE = 0.1;

/** Errors of an authorization server that takes a refresh token no more, or knows a client no more. */
const SPENT: ReadonlySet<string> = new Set([
  OAuthErrorCode.InvalidGrant,
  OAuthErrorCode.InvalidClient,
  OAuthErrorCode.UnauthorizedClient,
]);

export { proxiesOf } from '../remote/proxies.js';

export class Logins {
  readonly #store: TokenStore;
  readonly #redactor: Redactor;
  readonly #owner: LoginOwner;
  readonly #oauthFetch: OAuthFetch;
  /** By entry: its tokens are of no use to another. */
  readonly #machines = new WeakMap<RemoteSpec, MachineServerLogin>();
  /** By URL: those who need the same refresh share it. Other processes are kept apart by the store's lock. */
  readonly #renewing = new Map<string, Promise<Login>>();

  /** `owner` is whose logins these are, for the sentence that says who has to log in. */
  constructor(stateDir: string, redactor: Redactor, proxyFor = NO_PROXIES, owner: LoginOwner = undefined) {
    this.#owner = owner;
    this.#oauthFetch = (server, signal) => oauthFetch(server, signal, proxyFor);
    this.#store = new TokenStore(stateDir);
    this.#redactor = redactor;
  }

  /** The login of a server, made or not; undefined for one that takes none of ours. */
  of(spec: RemoteSpec): ServerLogin | undefined {
    if (spec.oauth && spec.oauth.machine !== undefined) return this.#machine(spec, spec.oauth.machine);
    if (noLoginReason(spec) !== undefined) return undefined;
    return {
      token: (signal) => this.#token(spec, signal),
      renew: async (refused, signal) => {
        if (refused === undefined) throw this.#needed(spec);
        await this.#renewed(spec, refused, signal);
      },
      refused: (challenge) => refusal(spec.name, challenge, this.#owner),
    };
  }

  /** One for each entry, so that its tokens outlive a session. */
  #machine(spec: RemoteSpec, login: MachineLogin): MachineServerLogin {
    const known = this.#machines.get(spec);
    if (known !== undefined) return known;
    const parts = { spec, login, redactor: this.#redactor, oauthFetch: this.#oauthFetch };
    const made = new MachineServerLogin(parts);
    this.#machines.set(spec, made);
    return made;
  }

  /** Undefined where nobody has logged in: the server may do without. */
  async #token(spec: RemoteSpec, signal: AbortSignal): Promise<string | undefined> {
    const login = this.#login(spec);
    if (login === undefined) return undefined;
    if (!isEnding(login) || login.refreshToken === undefined) return login.accessToken;
    try {
      return (await this.#renewed(spec, login.accessToken, signal)).accessToken;
    } catch (thrown) {
      const { expiresAtMs = 0 } = login;
      // It is still good, and its issuer may be back before it is not.
      if (thrown instanceof LoginTrouble && !(thrown instanceof LoginNeeded) && Date.now() < expiresAtMs)
        return login.accessToken;
      throw thrown;
    }
  }

  #login({ url, oauth }: RemoteSpec): Login | undefined {
    const stored = this.#store.read(url);
    if (stored.state !== 'kept') return undefined;
    // Tokens of one client are not refreshed by another.
    if (oauth && oauth.clientId !== undefined && oauth.clientId !== stored.login.client.client_id)
      return undefined;
    hideTokens(this.#redactor, stored.login);
    return stored.login;
  }

  /** A login whose access token is another than `refused`. */
  async #renewed(spec: RemoteSpec, refused: string, signal: AbortSignal): Promise<Login> {
    let renewing = this.#renewing.get(spec.url);
    if (renewing === undefined) {
      renewing = this.#renew(spec, refused)
        .catch((thrown: unknown) => {
          throw withReason(thrown);
        })
        .finally(() => this.#renewing.delete(spec.url));
      // All who asked may have gone by the time it fails.
      renewing.catch(() => {});
      this.#renewing.set(spec.url, renewing);
    }
    return unlessAborted(renewing, signal, {
      message: `Waiting for server '${shownName(spec.name)}' was cancelled.`,
    });
  }

  async #renew(spec: RemoteSpec, refused: string): Promise<Login> {
    // It goes on for others when one who asked has gone; the requests have an end of their own.
    const { signal } = new AbortController();
    using _lock = await this.#store.lock(spec.url, signal);
    let spent: string | undefined;
    for (;;) {
      const login = this.#login(spec);
      if (login === undefined) throw this.#needed(spec);
      // Another bridge has done it while this one waited for the lock.
      if (login.accessToken !== refused && !isEnding(login)) return login;
      if (login.refreshToken === undefined || login.refreshToken === spent) {
        this.#store.forget(spec.url);
        throw new LoginNeeded(spec.name, 'its login has ended', { owner: this.#owner });
      }
      spent = login.refreshToken;
      const renewed = await this.#refreshed(spec, login, spent, signal);
      // Undefined: spent already. A bridge that held the lock too long may have kept a newer one by now.
      if (renewed !== undefined) return renewed;
    }
  }

  async #refreshed(
    spec: RemoteSpec,
    login: Login,
    refreshToken: string,
    signal: AbortSignal,
  ): Promise<Login | undefined> {
    const { issuer, metadata, client, resource } = login;
    try {
      const tokens = await refreshAuthorization(issuer, {
        metadata,
        clientInformation: client,
        refreshToken,
        fetchFn: this.#oauthFetch(spec.url, signal),
        ...(resource === undefined ? {} : { resource }),
      });
      const renewed = renewedLogin(login, tokens);
      hideTokens(this.#redactor, renewed);
      this.#store.write(renewed);
      return renewed;
    } catch (thrown) {
      if (thrown instanceof OAuthError && SPENT.has(thrown.code)) return undefined;
      if (thrown instanceof BridgeError && thrown.code === 'E_STATE') throw thrown;
      const words = this.#redactor.redact(wordsOf(thrown));
      const { remedy } = this.#needed(spec);
      throw new LoginTrouble(
        `its login could not be refreshed: ${words}`,
        `If it stays so: ${remedy}`,
        thrown,
      );
    }
  }

  #needed({ name, url }: RemoteSpec): LoginNeeded {
    const stored = this.#store.read(url);
    const { reason, file } = stored.state === 'unusable' ? stored : { reason: undefined, file: undefined };
    const unused = reason === undefined ? '' : `; the one that was kept is not used, since ${file} ${reason}`;
    return new LoginNeeded(name, `it wants a login${unused}`, { owner: this.#owner });
  }
}

/** A login that cannot be kept is not refreshed: the new refresh token would be lost, and the old one spent. */
function withReason(thrown: unknown): unknown {
  if (!(thrown instanceof BridgeError)) return thrown;
  const { message, remedy = '' } = thrown;
  return new LoginTrouble(`its login cannot be refreshed: ${withoutFullStop(message)}`, remedy, thrown);
}

function refusal(name: string, { status, challenge }: Challenge, owner: LoginOwner): LoginNeeded | undefined {
  const headers = challenge === undefined ? {} : { 'www-authenticate': challenge };
  const { error, scope = '' } = extractWWWAuthenticateParams(new Response(null, { headers }));
  if (error === 'insufficient_scope') {
    const scopes = scope.split(' ').filter((one) => one !== '');
    return new LoginNeeded(name, 'it asks for more than its login was granted', { scopes, owner });
  }
  return status === 401 ? new LoginNeeded(name, 'it refused its login', { owner }) : undefined;
}

function isEnding({ expiresAtMs, obtainedAtMs }: Login): boolean {
  if (expiresAtMs === undefined) return false;
  const marginMs = Math.min(MARGIN_MS, (expiresAtMs - obtainedAtMs) * MARGIN_SHARE);
  return Date.now() >= expiresAtMs - marginMs;
}
