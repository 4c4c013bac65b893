// The headers by which a remote server knows its user: those of the entry, those that the entry's own command prints,
// or the token of a login. Asked anew after a 401. Values go to the server and to the redactor, nowhere else.

import { parseJson } from '../../base/json/json-text.js';
import { isObject } from '../../base/json/records.js';
import { startOfLine } from '../../base/process/start-of.js';
import { hideHeaders, hideLatest, type Redact, type Redactor } from '../../base/secrets/redact.js';
import { KB_BYTES } from '../../base/text/sizes.js';
import { unlessAborted, waitAtMost } from '../../base/waiting/unless-aborted.js';
import type { RemoteSpec } from '../../hosts/downstream-spec.js';
import { atItsEntry } from '../connection/link.js';
import { type ProcessExit, ProcessTree } from '../stdio/process-tree.js';
import { LastWords } from '../stdio/stdio-transport.js';
import { type Challenge, LoginNeeded, type LoginOwner, type ServerLogin } from './login-needed.js';
import { decodePart, proxySecrets } from './proxies.js';
import { RemoteFailure } from './remote-failure.js';

const BEARER = 'Bearer ';

type CredentialHeaders = Readonly<Record<string, string>>;

/** Parts that a link to a server takes from the bridge. A server that is a process of ours takes all but the login. */
export type RemoteContext = {
  /** The whole environment of the server's process, and of a remote server's `headersHelper`. */
  readonly env: Readonly<Record<string, string>>;
  /** Where its processes start unless its entry says otherwise; without it, where the bridge did. */
  readonly cwd?: string | undefined;
  /** The redactor that the server's own words go through; it learns what `headersHelper` prints. */
  readonly redactor: Redactor;
  /** Whose its logins are, for errors that ask for one. */
  readonly loginOwner?: LoginOwner;
};

export class Credentials {
  readonly #spec: RemoteSpec;
  readonly #context: RemoteContext;
  readonly #login: ServerLogin | undefined;
  readonly #own: CredentialHeaders;
  readonly #closing = new AbortController();
  #helped: Promise<CredentialHeaders> | undefined;
  #latest: CredentialHeaders = {};

  constructor(spec: RemoteSpec, context: RemoteContext, login: ServerLogin | undefined) {
    this.#spec = spec;
    this.#context = context;
    this.#own = lowerCased(spec.headers);
    // A header that the user wrote down is meant; a login would only hide that it is refused.
    this.#login = 'authorization' in this.#own ? undefined : login;
    this.#hide(this.#own);
    hideLatest(context.redactor, spec.name, secretsIn(new URL(spec.url)));
    hideLatest(context.redactor, spec.name, proxySecrets(context.env));
  }

  /** All of them, names in lower case; what the helper prints wins over the entry, and both over a login. */
  async headers(signal: AbortSignal): Promise<CredentialHeaders> {
    const helped = await this.#helper();
    // One that nobody would see is not refreshed either.
    const token = 'authorization' in helped ? undefined : await this.#login?.token(signal);
    const bearer = token === undefined ? {} : { authorization: `${BEARER}${token}` };
    this.#latest = { ...bearer, ...this.#own, ...helped };
    return this.#latest;
  }

  /** The headers that `headers` last gave. */
  get latest(): CredentialHeaders {
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

  /**
   * Gets others than `given` after a 401, where there is a way to; else throws the RemoteFailure of `onRefused`. Another
   * request may have got them meanwhile, and must not have its new token refreshed again.
   */
  async renew(given: CredentialHeaders, signal: AbortSignal): Promise<void> {
    if (this.#spec.headersHelper !== undefined) return this.forget();
    if (this.#login === undefined) throw this.#unknownFailure(401);
    await this.#login.renew(given['authorization']?.slice(BEARER.length), signal);
  }

  /** A 401 or 403 that nothing here can change, in words that name what was refused; undefined for what is neither. */
  onRefused(challenge: Challenge): RemoteFailure | undefined {
    const { status, challenge: words } = challenge;
    if (status !== 401 && (status !== 403 || words === undefined)) return undefined;
    const known = this.#spec.headersHelper === undefined ? this.#login?.onRefused(challenge) : undefined;
    return known ?? this.#unknownFailure(status);
  }

  /** The failure for refused credentials that did not come from a login of the bridge. */
  #unknownFailure(status: number): RemoteFailure {
    const { name, headers, headersHelper } = this.#spec;
    const because = (what: string, remedy: string) =>
      new RemoteFailure(`it refused ${what} (${status})`, { fault: 'operator', remedy: atItsEntry(remedy) });
    if (headersHelper !== undefined) {
      return because('the headers that its headersHelper prints', 'Run that command by hand');
    }
    const names = Object.keys(headers);
    const key = names.find((header) => /^authorization$/i.test(header));
    const refused = key ?? names.join(', ');
    return refused === ''
      ? new LoginNeeded(name, 'it wants a login', { owner: this.#context.loginOwner })
      : because(`the header ${refused} of its entry`, 'Put a valid value there');
  }

  #helper(): Promise<CredentialHeaders> {
    const { headersHelper, name, url } = this.#spec;
    if (headersHelper === undefined) return Promise.resolve({});
    if (this.#helped !== undefined) return this.#helped;
    const { env, cwd, redactor } = this.#context;
    // Names by which Claude Code tells a helper that serves several servers which one it is asked for.
    const asked = { ...env, CLAUDE_CODE_MCP_SERVER_NAME: name, CLAUDE_CODE_MCP_SERVER_URL: url };
    const redact = (text: string) => redactor.redact(text);
    const helped = helperHeaders(headersHelper, { env: asked, cwd, redact }, this.#closing.signal).then(
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

  #hide(headers: CredentialHeaders): void {
    hideHeaders(this.#context.redactor, this.#spec.name, headers);
  }
}

/** The parts of an address that are often keys, by what they are shown as. */
function secretsIn({ username, password, searchParams }: URL): CredentialHeaders {
  const [user, word] = [username, password].map(decodePart);
  return { ...Object.fromEntries(searchParams), 'url password': word ?? '', 'url login': `${user}:${word}` };
}

const lowerCased = (headers: CredentialHeaders): CredentialHeaders =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** The time that Claude Code grants a `headersHelper`. */
const HELPER_LIMIT_MS = 10_000;
/** Servers take some kilobytes of headers at most. */
const MAX_PRINTED_BYTES = 64 * KB_BYTES;
const PRINTED_LIMITS = { maxDepth: 4, maxValues: 1_000 };

/**
 * Headers that `line` prints, which is the entry's `headersHelper`: the user's own command line, which prints headers as JSON.
 * The line is part of the configuration that the user approved in the host, and is written for that host's shell; so this one
 * string is parsed by a shell on our account. Nothing that an agent, a guest or a server says ever gets into the line. Throws
 * RemoteFailure when the command fails, prints anything but an object of texts, or takes longer than ten seconds; what it
 * printed is not quoted, what it wrote to stderr goes through `redact`.
 */
export async function helperHeaders(
  line: string,
  {
    env,
    cwd,
    redact,
  }: {
    /** The whole environment of the helper. */
    readonly env: Readonly<Record<string, string>>;
    /** The folder in which the helper starts; without one, the bridge's own. */
    readonly cwd?: string | undefined;
    readonly redact: Redact;
  },
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const start = startOfLine(line, { platform: process.platform, env });
  const tree = new ProcessTree({ command: start.file, args: start.args, env, cwd }, start);
  const said = new LastWords(redact);
  const chunks: Buffer[] = [];
  let bytes = 0;
  let exit: ProcessExit | undefined;
  try {
    await tree.started;
    tree.stdin.on('error', () => {}).end();
    tree.stderr.setEncoding('utf8').on('data', (text: string) => said.add(text));
    tree.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_PRINTED_BYTES) chunks.push(chunk);
    });
    const ended = tree.heard.then((how) => {
      exit = how;
    });
    await waitAtMost(HELPER_LIMIT_MS, unlessAborted(ended, signal));
  } catch (cause) {
    throw helperFailed('could not be started', cause);
  } finally {
    await tree.end();
  }
  if (exit === undefined) throw helperFailed(`did not end within ${HELPER_LIMIT_MS / 1000} s`);
  if (exit.code !== 0) {
    const words = said.toString();
    throw helperFailed(`failed (${exit.code ?? exit.signal})${words === '' ? '' : `: ${words}`}`);
  }
  if (bytes > MAX_PRINTED_BYTES) throw helperFailed(`printed more than ${MAX_PRINTED_BYTES} bytes`);
  return headersIn(Buffer.concat(chunks).toString());
}

function headersIn(text: string): Readonly<Record<string, string>> {
  let printed: unknown;
  try {
    printed = parseJson(text, PRINTED_LIMITS);
  } catch {
    printed = undefined;
  }
  const isUsable = isObject(printed) && Object.values(printed).every((value) => typeof value === 'string');
  if (!isUsable) throw helperFailed('printed something other than a JSON object whose values are texts');
  return printed as Record<string, string>;
}

function helperFailed(how: string, cause?: unknown): RemoteFailure {
  const remedy = atItsEntry('Run that command by hand to see why');
  return new RemoteFailure(`its headersHelper ${how}`, { fault: 'operator', remedy, cause });
}
