// Logins as runs use them: the access token of each remote server, refreshed before it ends or when the server refuses
// it, without anybody noticing. Nobody is asked anything here: where a person is needed, LoginNeeded says so.

import {
  type AuthorizationServerMetadata,
  extractWWWAuthenticateParams,
  type OAuthClientInformationMixed,
  OAuthError,
  OAuthErrorCode,
  type OAuthTokens,
  refreshAuthorization,
} from '@modelcontextprotocol/client';
import { BridgeError } from '../../base/errors.js';
import type { Redactor } from '../../base/secrets/redact.js';
import { shownName } from '../../base/text/shown-name.js';
import { clipHarmless, withoutFullStop } from '../../base/text/text.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import type { DownstreamSpec, MachineLogin, RemoteSpec } from '../../hosts/downstream-spec.js';
import {
  type Challenge,
  LoginNeeded,
  type LoginOwner,
  LoginTrouble,
  type ServerLogin,
} from '../remote/login-needed.js';
import { NO_PROXIES } from '../remote/proxies.js';
import type { LoginPlan } from './discovery.js';
import { MachineServerLogin } from './machine-login.js';
import { loginError, oauthFetch, unsafeAddress, wordsOf } from './oauth-fetch.js';
import { hideTokens, type Login, TokenStore } from './token-store.js';

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
  readonly #oauthFetch: typeof oauthFetch;
  /** Machine logins by entry: the tokens of one are of no use to another. */
  readonly #machines = new WeakMap<RemoteSpec, MachineServerLogin>();
  /** Refreshes by URL: all who need the same one share it. Other processes are kept apart by the store's lock. */
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
        if (refused === undefined) throw this.#neededLogin(spec);
        await this.#renewOnce(spec, refused, signal);
      },
      onRefused: (challenge) => refusal(spec.name, challenge, this.#owner),
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
      return (await this.#renewOnce(spec, login.accessToken, signal)).accessToken;
    } catch (thrown) {
      const { expiresAtMs = 0 } = login;
      // The access token is still good, and its issuer may be back before the token expires.
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
  async #renewOnce(spec: RemoteSpec, refused: string, signal: AbortSignal): Promise<Login> {
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
    // The refresh goes on for others when one who asked has gone; the requests have an end of their own.
    const { signal } = new AbortController();
    using _lock = await this.#store.lock(spec.url, signal);
    let spent: string | undefined;
    for (;;) {
      const login = this.#login(spec);
      if (login === undefined) throw this.#neededLogin(spec);
      // Another bridge has done it while this one waited for the lock.
      if (login.accessToken !== refused && !isEnding(login)) return login;
      if (login.refreshToken === undefined || login.refreshToken === spent) {
        this.#store.forget(spec.url);
        throw new LoginNeeded(spec.name, 'its login has ended', { owner: this.#owner });
      }
      spent = login.refreshToken;
      const renewed = await this.#refreshLogin(spec, login, spent, signal);
      // Undefined: spent already. A bridge that held the lock too long may have kept a newer one by now.
      if (renewed !== undefined) return renewed;
    }
  }

  async #refreshLogin(
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
      const { remedy } = this.#neededLogin(spec);
      throw new LoginTrouble(
        `its login could not be refreshed: ${words}`,
        `If it stays so: ${remedy}`,
        thrown,
      );
    }
  }

  #neededLogin({ name, url }: RemoteSpec): LoginNeeded {
    const stored = this.#store.read(url);
    const { reason, file } = stored.state === 'unusable' ? stored : { reason: undefined, file: undefined };
    const unused = reason === undefined ? '' : `; the saved one is not used, because ${file} ${reason}`;
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

// The login that is kept from an authorization server's answers.

/** Throws E_LOGIN for tokens of another type than Bearer. */
export function loginOf(
  spec: RemoteSpec,
  { issuer, metadata, resource }: LoginPlan,
  client: OAuthClientInformationMixed,
  tokens: OAuthTokens,
  asked: readonly string[],
): Login {
  if (tokens.token_type.toLowerCase() !== 'bearer') {
    throw loginError(
      `${issuer} gives tokens of type ${clipHarmless(tokens.token_type, 40)}; only Bearer is known.`,
    );
  }
  const { client_id, client_secret } = client;
  const method = 'token_endpoint_auth_method' in client ? client.token_endpoint_auth_method : undefined;
  return {
    name: spec.name,
    url: spec.url,
    ...(resource === undefined ? {} : { resource }),
    issuer,
    metadata: whatIsKeptOf(metadata),
    client: {
      client_id,
      ...(client_secret === undefined ? {} : { client_secret }),
      ...(method === undefined ? {} : { token_endpoint_auth_method: method }),
    },
    ...tokenFields(tokens, asked),
  };
}

/** The login after a refresh. What the answer does not say of the new token is not taken from the old one. */
function renewedLogin({ expiresAtMs: _ofTheOldToken, ...login }: Login, tokens: OAuthTokens): Login {
  return { ...login, ...tokenFields(tokens, login.scopes) };
}

/** The members of a login that a token answer says; `asked` holds where it does not say what was granted. */
function tokenFields(tokens: OAuthTokens, asked: readonly string[]) {
  const now = Date.now();
  // Some say 0 for a token without an end; one that has ended when it comes would be refreshed with each request.
  const seconds = tokens.expires_in !== undefined && tokens.expires_in > 0 ? tokens.expires_in : undefined;
  return {
    // RFC 6749, 5.1: without a scope it granted what was asked for.
    scopes: tokens.scope === undefined ? [...asked] : tokens.scope.split(' ').filter((scope) => scope !== ''),
    accessToken: tokens.access_token,
    ...(tokens.refresh_token === undefined ? {} : { refreshToken: tokens.refresh_token }),
    ...(seconds === undefined ? {} : { expiresAtMs: now + seconds * 1000 }),
    obtainedAtMs: now,
  };
}

function whatIsKeptOf(metadata: AuthorizationServerMetadata): Login['metadata'] {
  const { issuer, authorization_endpoint, token_endpoint, response_types_supported } = metadata;
  const { token_endpoint_auth_methods_supported: methods } = metadata;
  const revocation = Reflect.get(metadata, 'revocation_endpoint');
  return {
    issuer,
    authorization_endpoint,
    token_endpoint,
    response_types_supported,
    ...(methods === undefined ? {} : { token_endpoint_auth_methods_supported: methods }),
    ...(typeof revocation === 'string' ? { revocation_endpoint: revocation } : {}),
  };
}

// Which servers take no login of ours, and why: asked by the command, and by runs before they look for one.

/** A whole sentence, or undefined where the server may have a login. */
export function noLoginReason(spec: DownstreamSpec): string | undefined {
  const server = `Server '${shownName(spec.name)}'`;
  if (spec.transport === 'stdio') {
    return `${server} is a program of this machine, which needs no login here: it logs in by itself, or by its \`env\`.`;
  }
  if (spec.oauth === false)
    return `${server} has no login: its entry says \`oauth: false\` (${spec.source.file}).`;
  if (spec.oauth.machine !== undefined) {
    return `${server} needs no login: its entry names a client that logs in by itself (\`oauth.grant\`, ${spec.source.file}).`;
  }
  if (Object.keys(spec.headers).some((name) => name.toLowerCase() === 'authorization')) {
    return `${server} needs no login: its entry gives an Authorization header (${spec.source.file}).`;
  }
  if (!URL.canParse(spec.url))
    return `${server} has no login: its \`url\` is not an address (${spec.source.file}).`;
  const unsafe = unsafeAddress(spec.url, spec.url);
  return unsafe === undefined ? undefined : `${server} has no login: ${new URL(spec.url).origin} ${unsafe}.`;
}
