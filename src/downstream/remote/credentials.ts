// The headers by which a remote server knows its user: those of the entry, those that the entry's own command prints,
// or the token of a login. Asked anew after a 401. Values go to the server and to the redactor, nowhere else.

import type { IncomingMessage } from 'node:http';
import {
  auth,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
} from '@modelcontextprotocol/sdk/client/auth.js';
import type { Redactor } from '../../base/redact.js';
import type { RemoteSpec } from '../../config/downstream-spec.js';
import { atItsEntry } from '../link.js';
import { helperHeaders } from './headers-helper.js';
import { RemoteFailure, wantsLogin } from './remote-failure.js';

export type CredentialsOptions = {
  /** The whole environment of the helper. */
  readonly env: Readonly<Record<string, string>>;
  readonly redactor: Redactor;
  readonly provider: OAuthClientProvider | undefined;
};

/** Of each request to an authorization server; without a limit of its own it could hold up every later call. */
const LOGIN_REQUEST_MS = 15_000;

type Headers = Readonly<Record<string, string>>;

export class Credentials {
  readonly #spec: RemoteSpec;
  readonly #options: CredentialsOptions;
  readonly #own: Headers;
  readonly #closing = new AbortController();
  #helped: Promise<Headers> | undefined;
  #latest: Headers = {};
  #knownToken: string | undefined;
  /** One for all requests that were refused meanwhile: a refresh token may be good for one use only. */
  #renewing: Promise<void> | undefined;

  constructor(spec: RemoteSpec, options: CredentialsOptions) {
    this.#spec = spec;
    this.#options = options;
    this.#own = lowerCased(spec.headers);
    this.#hide(this.#own);
    options.redactor.addAll(secretsIn(new URL(spec.url)));
  }

  /** All of them, names in lower case; what the helper prints wins over the entry, and both over a login. */
  async headers(): Promise<Headers> {
    this.#latest = { ...(await this.#token()), ...this.#own, ...(await this.#helper()) };
    return this.#latest;
  }

  /** What `headers` last gave. */
  get latest(): Headers {
    return this.#latest;
  }

  /** Has the helper asked again, for a new session. */
  forget(): void {
    this.#helped = undefined;
  }

  /** Resolves when no helper of ours runs any more. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#helped?.catch(() => {});
  }

  /** Gets others after a 401, where there is a way to; else throws the RemoteFailure of `refused`. */
  async renew(answer: IncomingMessage): Promise<void> {
    if (this.#spec.headersHelper !== undefined) return this.forget();
    const provider = this.#provider;
    if (provider === undefined) throw this.refused(401);
    this.#renewing ??= this.#login(provider, answer).finally(() => {
      this.#renewing = undefined;
    });
    await this.#renewing;
  }

  /** Of a 401 or 403 that nothing here can change: names what was refused. */
  refused(status: number): RemoteFailure {
    const { name, headers, headersHelper } = this.#spec;
    const because = (what: string, remedy: string) =>
      new RemoteFailure(`it refused ${what} (${status})`, { fault: 'operator', remedy: atItsEntry(remedy) });
    if (headersHelper !== undefined) {
      return because('the headers that its headersHelper prints', 'Run that command by hand');
    }
    const names = Object.keys(headers);
    const key = names.find((header) => /^authorization$/i.test(header));
    if (key === undefined && this.#options.provider !== undefined) return wantsLogin(name);
    const refused = key ?? names.join(', ');
    return refused === ''
      ? wantsLogin(name)
      : because(`the header ${refused} of its entry`, 'Put a valid value there');
  }

  /** A header that the user wrote down is meant; a login would only hide that it is refused. */
  get #provider(): OAuthClientProvider | undefined {
    return 'authorization' in this.#own ? undefined : this.#options.provider;
  }

  async #token(): Promise<Headers> {
    const tokens = await this.#provider?.tokens();
    if (tokens === undefined) return {};
    const { access_token, refresh_token } = tokens;
    if (access_token !== this.#knownToken) this.#options.redactor.addAll({ access_token, refresh_token });
    this.#knownToken = access_token;
    return { authorization: `Bearer ${access_token}` };
  }

  #helper(): Promise<Headers> {
    const { headersHelper, name, url } = this.#spec;
    if (headersHelper === undefined) return Promise.resolve({});
    if (this.#helped !== undefined) return this.#helped;
    const { env, redactor } = this.#options;
    // By these names Claude Code tells a helper that serves several servers which one it is asked for.
    const asked = { ...env, CLAUDE_CODE_MCP_SERVER_NAME: name, CLAUDE_CODE_MCP_SERVER_URL: url };
    const redact = (text: string) => redactor.redact(text);
    const helped = helperHeaders(headersHelper, { env: asked, redact }, this.#closing.signal).then(
      (printed) => {
        const headers = lowerCased(printed);
        this.#hide(headers);
        return headers;
      },
    );
    this.#helped = helped;
    // One that failed is asked again by the next request.
    helped.catch(() => this.forget());
    return helped;
  }

  /** A server that quotes a token leaves out the word `Bearer` before it. */
  #hide(headers: Headers): void {
    this.#options.redactor.addAll(headers);
    const bare = Object.entries(headers).map(([name, value]) => [name, value.replace(/^\w+ +/, '')]);
    this.#options.redactor.addAll(Object.fromEntries(bare));
  }

  #loginLimit(): AbortSignal {
    return AbortSignal.any([this.#closing.signal, AbortSignal.timeout(LOGIN_REQUEST_MS)]);
  }

  async #login(provider: OAuthClientProvider, answer: IncomingMessage): Promise<void> {
    const challenge = answer.headers['www-authenticate'] ?? '';
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(
      new Response(null, { headers: { 'www-authenticate': challenge } }),
    );
    try {
      const result = await auth(provider, {
        serverUrl: this.#spec.url,
        fetchFn: (url, init) => fetch(url, { ...init, signal: this.#loginLimit() }),
        ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
        ...(scope === undefined ? {} : { scope }),
      });
      if (result === 'AUTHORIZED') return;
    } catch (thrown) {
      throw wantsLogin(this.#spec.name, thrown);
    }
    throw wantsLogin(this.#spec.name);
  }
}

/** The parts of an address that are often keys, by what they are shown as. */
function secretsIn({ username, password, searchParams }: URL): Headers {
  const [user, word] = [username, password].map(decoded);
  return { ...Object.fromEntries(searchParams), 'url password': word ?? '', 'url login': `${user}:${word}` };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const lowerCased = (headers: Headers): Headers =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
