// `login` and `logout`: the user's own logins at remote servers. Everything for the person goes to stderr; what could be
// parsed goes to stdout. Shows neither tokens nor codes.

import { createInterface, type Interface } from 'node:readline';
import open from 'open';
import { BridgeError, messageOf } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { didYouMean } from '../../base/text/closest.js';
import { shownName } from '../../base/text/shown-name.js';
import { clipHarmless } from '../../base/text/text.js';
import { type Discovery, discover } from '../../hosts/discovery/discover.js';
import { explainSkip } from '../../hosts/discovery/explain-skip.js';
import type { RemoteSpec } from '../../hosts/downstream-spec.js';
import { LOGIN_TIMEOUT_MS, logIn, logOut } from '../../servers/login/log-in.js';
import { noLoginReason } from '../../servers/login/logins.js';
import { type StoredLogin, TokenStore } from '../../servers/login/token-store.js';
import { loginCommand } from '../../servers/remote/login-needed.js';
import { proxiesOf } from '../../servers/remote/proxies.js';
import type { Settings } from '../../settings/environment/settings.js';
import { prepare } from '../serving/prepare.js';
import { columns } from '../terminal/columns.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { coloursFor, printJson, visibleText } from '../terminal/output.js';
import { widthOf } from '../terminal/wrap.js';

export async function login(
  server: string | undefined,
  options: {
    /** `--no-browser` makes it false. */
    readonly browser: boolean;
    readonly scope?: readonly string[];
    readonly list?: true;
    readonly json?: true;
    /** Principal whose login over HTTP is meant; without one, the user's own. */
    readonly principal?: string;
  },
): Promise<void> {
  const { settings, discovery: context, redactor } = prepare('error', 'ends');
  const store = new TokenStore(await loginsFolder(settings, options.principal, server));
  if (options.list) return list(store, options);
  if (server === undefined)
    throw argumentsError('login needs the name of a server.', '`login --list` shows the logins.');
  const spec = remoteSpec(
    server,
    discover(context, () => {}),
  );
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const elsewhere = !options.browser || isRemoteShell();
  using typed = new TypedLines();
  try {
    const made = await logIn(
      spec,
      {
        store,
        redactor,
        scopes: options.scope ?? [],
        clientMetadataUrl: settings.clientMetadataUrl,
        proxyFor: proxiesOf(process.env),
        onUrl: (url, paste) => {
          say(`Log in to '${shownName(server)}' in the browser:\n\n  ${url}\n`);
          say(`This waits for ${LOGIN_TIMEOUT_MS / 60_000} minutes; Ctrl-C ends it.`);
          if (!elsewhere) return void openBrowser(url, say);
          say('Is the browser on another machine? Paste the address that it ends at here.');
          typed.forEachLine((line) => {
            const objection = paste(line);
            if (objection !== undefined) say(objection);
          });
        },
      },
      interruptSignal(),
    );
    const paint = coloursFor(process.stderr);
    say(`${paint.green('Logged in')} to '${shownName(server)}' by ${visibleText(made.issuer)}.`);
    if (made.scopes.length > 0) say(`Granted: ${visibleText(made.scopes.join(' '))}`);
    if (made.refreshToken === undefined && made.expiresAtMs !== undefined) {
      say(`It ends ${expiryText(made.expiresAtMs)}: ${visibleText(made.issuer)} gives no way to refresh it.`);
    }
    say(paint.dim(`Kept in ${store.fileOf(spec.url)}, which only you can read.`));
  } catch (thrown) {
    throw withoutSecrets(thrown, (text) => redactor.redact(text));
  }
}

/** Lines that the person types; nothing is read before a line is wanted, and nobody is waited for afterwards. */
class TypedLines implements Disposable {
  #lines: Interface | undefined;

  forEachLine(take: (line: string) => void): void {
    this.#lines = createInterface({ input: process.stdin });
    this.#lines.on('line', (line) => line.trim() !== '' && take(line.trim()));
  }

  [Symbol.dispose](): void {
    if (this.#lines === undefined) return;
    this.#lines.close();
    process.stdin.destroy();
  }
}

export async function logout(
  server: string,
  { principal }: { readonly principal?: string } = {},
): Promise<void> {
  const { settings, discovery: context, redactor } = prepare('error', 'ends');
  const store = new TokenStore(await loginsFolder(settings, principal, server));
  const discovery = discover(context, () => {});
  const { wasLoggedIn, trouble } = await logOut(
    urlOf(server, discovery, store),
    { store, redactor, proxyFor: proxiesOf(process.env) },
    interruptSignal(),
  );
  const name = shownName(server);
  process.stderr.write(wasLoggedIn ? `Logged out of '${name}'.\n` : `There was no login for '${name}'.\n`);
  if (trouble !== undefined) {
    process.stderr.write(
      `Its tokens were deleted here, but may still be valid: ${redactor.redact(trouble)}.\n`,
    );
  }
}

/** The state directory whose logins are meant: the user's own, or that of a principal. */
async function loginsFolder(
  settings: Settings,
  principal: string | undefined,
  server: string | undefined,
): Promise<string> {
  if (principal === undefined) return settings.stateDir;
  // Only who serves over HTTP has principals.
  const { principalFolder } = await import('./login-principal.js');
  return principalFolder(settings, principal, server);
}

/** A login outlives the entry that it was made for. */
function urlOf(server: string, discovery: Discovery, store: TokenStore): string {
  const configured = discovery.ready.some(({ name }) => name === server);
  for (const stored of configured ? [] : store.list()) {
    if (stored.state === 'kept' && stored.login.name === server) return stored.login.url;
  }
  return remoteSpec(server, discovery).url;
}

function remoteSpec(server: string, { ready, skipped }: Discovery): RemoteSpec {
  const spec = ready.find(({ name }) => name === server);
  if (spec === undefined) {
    const echo = clipHarmless(server, 200);
    const passedOver = skipped.find(({ name }) => name === server);
    if (passedOver !== undefined) {
      const { text, remedy } = explainSkip(passedOver);
      throw argumentsError(`Server '${echo}' is configured but not used: ${text}.`, remedy);
    }
    const names = ready.filter(({ transport }) => transport !== 'stdio').map(({ name }) => name);
    throw argumentsError(
      `There is no server '${echo}'.${didYouMean(server, names)}`,
      names.length === 0 ? 'No remote server is configured.' : `Remote servers are: ${names.join(', ')}.`,
    );
  }
  const reason = noLoginReason(spec);
  if (reason !== undefined || spec.transport === 'stdio') throw argumentsError(reason ?? '');
  return spec;
}

function list(store: TokenStore, { json }: { readonly json?: true }): void {
  const logins = store.list();
  if (json) return printJson({ logins: logins.map(asJson) });
  if (logins.length === 0) {
    process.stdout.write(`There are no logins. To log in: \`${loginCommand('SERVER')}\`\n`);
    return;
  }
  process.stdout.write(loginsText(logins));
}

/** A line for each; ends with a newline. */
export function loginsText(logins: ReturnType<TokenStore['list']>): string {
  const paint = coloursFor(process.stdout);
  const rows = logins.map((stored) =>
    stored.state === 'kept'
      ? [
          paint.bold(shownName(stored.login.name)),
          stateOf(stored.login),
          new URL(stored.login.url).origin,
          paint.dim(`by ${visibleText(stored.login.issuer)}`),
        ]
      : [paint.red('unusable'), stored.reason, '', paint.dim(stored.file)],
  );
  return columns(rows, { width: widthOf(process.stdout), wraps: [0, 1, 2, 3] });
}

function stateOf({
  refreshToken,
  expiresAtMs,
}: Extract<StoredLogin, { readonly state: 'kept' }>['login']): string {
  if (refreshToken !== undefined) return 'refreshed by itself';
  return expiresAtMs === undefined ? 'without an end' : `ends ${expiryText(expiresAtMs)}`;
}

function asJson(stored: ReturnType<TokenStore['list']>[number]): object {
  if (stored.state !== 'kept') return { state: 'unusable', file: stored.file, reason: stored.reason };
  const { name, url, issuer, scopes, refreshToken, expiresAtMs } = stored.login;
  // The rest of an address may hold a key.
  const { origin } = new URL(url);
  const expiresAt = expiresAtMs === undefined ? {} : { expiresAt: new Date(expiresAtMs).toISOString() };
  return { state: 'kept', name, origin, issuer, scopes, refreshed: refreshToken !== undefined, ...expiresAt };
}

const expiryText = (atMs: number): string =>
  atMs <= Date.now() ? 'now' : `on ${new Date(atMs).toISOString().slice(0, 16).replace('T', ' at ')} UTC`;

export async function openBrowser(url: string, say: (line: string) => void): Promise<void> {
  try {
    const browser = await open(url);
    browser.on('error', () => {});
  } catch (thrown) {
    say(
      `The browser could not be opened (${clipHarmless(messageOf(thrown), 200)}); open the address yourself.`,
    );
  }
}

/** Where a browser would open on a screen that nobody sees. */
export const isRemoteShell = (): boolean => ['SSH_CONNECTION', 'SSH_TTY'].some((name) => process.env[name]);

function argumentsError(message: string, remedy?: string): BridgeError {
  return new BridgeError('E_ARGUMENTS', message, {
    fault: 'operator',
    remedy: remedy ?? `See \`${ownCommand('servers')}\`.`,
  });
}

/** An authorization server may quote what it was sent. */
function withoutSecrets(thrown: unknown, redact: (text: string) => string): unknown {
  if (!(thrown instanceof BridgeError)) return thrown;
  const { code, message, fault, remedy } = thrown;
  return new BridgeError(code, redact(message), { fault, ...(remedy === undefined ? {} : { remedy }) });
}
