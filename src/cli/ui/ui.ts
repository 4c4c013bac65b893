// `ui`: a page on this machine that shows what all bridges of the user do, and takes answers to their questions. The page ends with
// this command; nothing of it listens before or after. With --service it only makes a link to the page of a bridge over HTTP.

import type { BridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { clipHarmlessLine, nameList } from '../../base/text/text.js';
import { TokenFile } from '../../service/access/token-file.js';
import { httpServing } from '../../service/endpoint/serving-record.js';
import type { Settings } from '../../settings/environment/settings.js';
import { fileLink, LINK_MINUTES } from '../../watch/front/filed-links.js';
import { OwnServer } from '../../watch/front/own-server.js';
import { isRemoteShell, openBrowser } from '../servers/login.js';
import { principalNamed } from '../servers/login-principal.js';
import { prepare } from '../serving/prepare.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { sayNote, usageError, visibleText } from '../terminal/output.js';
import { pageSources } from './page-sources.js';

const MAX_PORT = 65_535;
const CLOSED =
  'This page is opened by a link, and each link opens it once. Run `mcp-sandbox-bridge ui` for another one.';

type UiOptions = {
  readonly browser: boolean;
  readonly port?: number;
  /** Address of a bridge over HTTP; true for the one that runs here. */
  readonly service?: string | true;
  readonly principal?: string;
};

/**
 * Serves the page until it is interrupted, or prints a link to that of a bridge over HTTP. Throws E_ARGUMENTS where the port is
 * none or is not free, and where there is no such bridge or principal.
 */
export async function ui({ browser, port, service, principal }: UiOptions): Promise<void> {
  if (port !== undefined && port > MAX_PORT)
    throw usageError(`--port is ${port}; allowed: up to ${MAX_PORT}.`, 'Leave it out for any free port.');
  const prepared = prepare('error', 'ends');
  if (service !== undefined) return await linkToService(prepared.settings, { service, principal, browser });
  if (principal !== undefined)
    throw usageError(
      '--principal is for the page of a bridge over HTTP.',
      `Give both: ${ownCommand('ui', '--service', '--principal', principal)}`,
    );
  const interrupted = interruptSignal();
  using sources = pageSources(prepared, interrupted);
  await using page = await OwnServer.open({ sources: () => sources, closed: CLOSED }, { port }).catch(
    (thrown: unknown) => {
      if (port === undefined || Object(thrown).code === undefined) throw thrown;
      throw usageError(
        `Port ${port} cannot be used (${visibleText(String(Object(thrown).code))}).`,
        'Give another one with --port, or leave it out.',
      );
    },
  );
  const link = page.newLink();
  process.stdout.write(`${link}\n`);
  sayNote('The link opens the page once, on this machine. Ctrl-C ends the page.');
  if (browser && !isRemoteShell()) await openBrowser(link, (line) => sayNote(line));
  await new Promise<void>((resolve) => {
    if (interrupted.aborted) resolve();
    interrupted.addEventListener('abort', () => resolve());
  });
}

async function linkToService(
  settings: Settings,
  {
    service,
    principal,
    browser,
  }: {
    readonly service: string | true;
    readonly principal: string | undefined;
    readonly browser: boolean;
  },
): Promise<void> {
  const { stateDir, oauth } = settings;
  const origin = service === true ? originHere(stateDir) : originOf(service);
  const id =
    principal === undefined
      ? undefined
      : principalNamed(principal, new TokenFile(stateDir).read(), oauth?.issuers ?? []).id;
  const link = `${origin}/ui/open/${fileLink(stateDir, id)}`;
  process.stdout.write(`${link}\n`);
  sayNote(
    principal === undefined
      ? `The link opens the page once, within ${LINK_MINUTES} minutes, and shows the runs and questions of everybody.`
      : `The link opens the page once, within ${LINK_MINUTES} minutes, and shows what is ${visibleText(principal)}'s.`,
  );
  if (browser && !isRemoteShell() && principal === undefined)
    await openBrowser(link, (line) => sayNote(line));
}

/** Origin of the one bridge over HTTP that runs with this state directory. Throws E_ARGUMENTS where it cannot be told which one is meant. */
function originHere(stateDir: string): string {
  const found = httpServing([stateDir]).map(({ address }) => address);
  const [address, ...others] = found;
  if (address !== undefined && others.length === 0 && URL.canParse(address)) {
    const { protocol, hostname, port, origin } = new URL(address);
    if (!protocol.startsWith('http')) throw wantsAddress(`It listens at ${visibleText(address)}`);
    // A bridge that listens at every address is reached at this machine's own.
    return ['0.0.0.0', '[::]'].includes(hostname) ? `${protocol}//127.0.0.1:${port}` : origin;
  }
  throw wantsAddress(
    found.length === 0
      ? 'No bridge serves over HTTP with this state directory'
      : `Bridges serve at ${visibleText(nameList(found))}`,
  );
}

const wantsAddress = (why: string): BridgeError =>
  usageError(
    `${why}.`,
    `Say where browsers reach it: ${ownCommand('ui', '--service', 'https://bridge.example')}`,
  );

function originOf(written: string): string {
  const url = URL.canParse(written) ? new URL(written) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url.origin;
  throw usageError(
    `--service is '${clipHarmlessLine(written, 200)}'; allowed: an address such as https://bridge.example:8808.`,
    'Leave the address out for the bridge that runs here.',
  );
}
