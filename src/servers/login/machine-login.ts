// Logins that need no person: the bridge itself is the client (client credentials), or brings what its user's identity
// provider says of the user (cross-app access: an ID token is exchanged for a grant, and that for a token). Tokens are
// held in memory only. Its secrets go to the authorization server that the entry names, and never to one that only the
// MCP server names.

import { readFileSync, statSync } from 'node:fs';
import {
  type AuthorizationServerMetadata,
  createPrivateKeyJwtAuth,
  type FetchLike,
  fetchToken,
  type OAuthClientProvider,
  type OAuthTokens,
  requestJwtAuthorizationGrant,
} from '@modelcontextprotocol/client';
import { BridgeError, messageOf } from '../../base/errors.js';
import type { Redactor } from '../../base/secrets/redact.js';
import { shownName } from '../../base/text/shown-name.js';
import { KB_BYTES } from '../../base/text/sizes.js';
import { clipHarmless } from '../../base/text/text.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import type { MachineLogin, RemoteSpec, SecretSource } from '../../hosts/downstream-spec.js';
import { atItsEntry } from '../connection/link.js';
import { type Challenge, LoginTrouble, type ServerLogin } from '../remote/login-needed.js';
import { discoverMachine, discoverTokenEndpoint } from './discovery.js';
import { type oauthFetch, wordsOf } from './oauth-fetch.js';

/** Keys and tokens have a few kilobytes. */
const MAX_SECRET_BYTES = 256 * KB_BYTES;
/** So long before its end a token is asked for anew, at most a tenth of its life. */
const MARGIN_MS = 30_000;
const MARGIN_SHARE = 0.1;
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

export class MachineServerLogin implements ServerLogin {
  readonly #parts;
  #held: { readonly accessToken: string; readonly renewAtMs: number } | undefined;
  #asking: Promise<{ readonly accessToken: string; readonly renewAtMs: number }> | undefined;

  constructor(parts: {
    readonly spec: RemoteSpec;
    readonly login: MachineLogin;
    readonly redactor: Redactor;
    readonly oauthFetch: typeof oauthFetch;
  }) {
    this.#parts = parts;
  }

  async token(signal: AbortSignal): Promise<string> {
    if (this.#held !== undefined && Date.now() < this.#held.renewAtMs) return this.#held.accessToken;
    return (await this.#ask(signal)).accessToken;
  }

  async renew(refused: string | undefined, signal: AbortSignal): Promise<void> {
    if (this.#held !== undefined && this.#held.accessToken !== refused) return;
    this.#held = undefined;
    await this.#ask(signal);
  }

  onRefused({ status }: Challenge): LoginTrouble | undefined {
    const { login } = this.#parts;
    if (status === 401) return this.#trouble(`it refused the token that ${login.issuer} gave`);
    return this.#trouble('it asks for more than its client was granted');
  }

  /** One request for all who need a token; it goes on when one of them has gone. */
  #ask(signal: AbortSignal) {
    const { name } = this.#parts.spec;
    if (this.#asking === undefined) {
      this.#asking = this.#requestToken().finally(() => {
        this.#asking = undefined;
      });
      this.#asking.catch(() => {});
    }
    return unlessAborted(this.#asking, signal, {
      message: `Waiting for server '${shownName(name)}' was cancelled.`,
    });
  }

  async #requestToken() {
    const { spec, login, redactor, oauthFetch } = this.#parts;
    const fetchFn = oauthFetch(spec.url, new AbortController().signal);
    try {
      const tokens = await this.#tokens(fetchFn);
      if (tokens.token_type.toLowerCase() !== 'bearer') {
        const type = clipHarmless(tokens.token_type, 40);
        throw new Error(`${login.issuer} gives tokens of type ${type}; only Bearer is known`);
      }
      redactor.addLatest(`access token of ${spec.name}`, tokens.access_token);
      const seconds = tokens.expires_in;
      const lifeMs = seconds !== undefined && seconds > 0 ? seconds * 1000 : Number.POSITIVE_INFINITY;
      const renewAtMs = Date.now() + lifeMs - Math.min(MARGIN_MS, lifeMs * MARGIN_SHARE);
      this.#held = { accessToken: tokens.access_token, renewAtMs };
      return this.#held;
    } catch (thrown) {
      if (thrown instanceof LoginTrouble) throw thrown;
      const words = thrown instanceof BridgeError ? withoutStop(thrown.message) : wordsOf(thrown);
      throw this.#trouble(`its token could not be fetched: ${redactor.redact(words)}`, thrown);
    }
  }

  async #tokens(fetchFn: FetchLike): Promise<OAuthTokens> {
    const { spec, login } = this.#parts;
    const plan = await discoverMachine(spec, login.issuer, fetchFn);
    const { scopes: written = [] } = spec.oauth || {};
    const scopes = (written.length > 0 ? written : plan.scopes).join(' ');
    const resource = plan.resource ?? spec.url;
    const params =
      login.grant === 'cross_app_access'
        ? { grant_type: JWT_BEARER, assertion: await this.#grant(resource, scopes, fetchFn) }
        : { grant_type: 'client_credentials' };
    return fetchToken(this.#client(params, scopes), login.issuer, {
      metadata: plan.metadata as AuthorizationServerMetadata,
      resource: new URL(resource),
      fetchFn,
      ...(scopes === '' ? {} : { scope: scopes }),
    });
  }

  /** The grant that the user's identity provider gives for an ID token of the user (ID-JAG). */
  async #grant(resource: string, scope: string, fetchFn: FetchLike): Promise<string> {
    const { login } = this.#parts;
    const { identity } = login;
    if (identity === undefined) throw new Error('its entry names no identity provider');
    const clientSecret = identity.secret && this.#secret('secret at the identity provider', identity.secret);
    const { jwtAuthGrant } = await requestJwtAuthorizationGrant({
      tokenEndpoint: await discoverTokenEndpoint(identity.issuer, fetchFn),
      audience: login.issuer,
      resource,
      idToken: this.#secret('ID token', identity.token),
      clientId: identity.clientId,
      fetchFn,
      ...(clientSecret === undefined ? {} : { clientSecret }),
      ...(scope === '' ? {} : { scope }),
    });
    this.#parts.redactor.addLatest(`grant of ${this.#parts.spec.name}`, jwtAuthGrant);
    return jwtAuthGrant;
  }

  /** The client, in the form that the SDK wants for one request of tokens. */
  #client(params: Readonly<Record<string, string>>, scope: string): OAuthClientProvider {
    const { clientId, secret, privateKey, issuer } = this.#parts.login;
    const never = () => {
      throw new Error('no person is asked');
    };
    return {
      redirectUrl: undefined,
      clientMetadata: { redirect_uris: [] },
      clientInformation: () => ({
        client_id: clientId,
        issuer,
        ...(secret === undefined ? {} : { client_secret: this.#secret('client secret', secret) }),
      }),
      tokens: () => undefined,
      saveTokens: () => {},
      redirectToAuthorization: never,
      saveCodeVerifier: never,
      codeVerifier: never,
      prepareTokenRequest: () => new URLSearchParams(scope === '' ? { ...params } : { ...params, scope }),
      ...(privateKey === undefined
        ? {}
        : {
            addClientAuthentication: createPrivateKeyJwtAuth({
              issuer: clientId,
              subject: clientId,
              privateKey: this.#secret('private key', privateKey.pem),
              alg: privateKey.algorithm,
              audience: issuer,
            }),
          }),
    };
  }

  /** Read anew each time: what is in a file may be exchanged. */
  #secret(what: string, source: SecretSource): string {
    const { redactor, spec } = this.#parts;
    const value = 'value' in source ? source.value : readSecret(what, source.file);
    redactor.addLatest(`${what} of ${spec.name}`, value);
    return value;
  }

  #trouble(reason: string, cause?: unknown): LoginTrouble {
    return new LoginTrouble(reason, atItsEntry('Correct the `oauth` of its entry'), cause);
  }
}

function readSecret(what: string, file: string): string {
  let text: string;
  try {
    const stat = statSync(file);
    if (!stat.isFile()) throw new Error('it is not a regular file');
    if (stat.size > MAX_SECRET_BYTES)
      throw new Error(`it has ${stat.size} bytes; at most ${MAX_SECRET_BYTES} are read`);
    text = readFileSync(file, 'utf8').trim();
  } catch (thrown) {
    throw new Error(`the file of its ${what} cannot be read: ${messageOf(thrown)}`);
  }
  if (text === '') throw new Error(`the file of its ${what} is empty: ${file}`);
  return text;
}

const withoutStop = (sentence: string): string => sentence.replace(/\.$/, '');
