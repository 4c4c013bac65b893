// Text that the holder of a token pastes into Claude Code, Codex or Cursor, so that this host calls the bridge over HTTP.

import { BridgeError } from '../../base/errors.js';
import { shellWord } from '../../base/process/own-command.js';
import { isLoopback } from '../../base/text/loopback.js';
import { clipHarmless } from '../../base/text/text.js';

/** Stands in place of a token that is shown elsewhere. */
export const TOKEN_PLACEHOLDER = 'TOKEN';
const SERVER_NAME = 'sandbox';
/** The port of all examples in docs/, in compose.yaml and in the units of systemd. */
const USUAL_PORT = 8808;
const CHARS_SHOWN = 200;

/** For each host the text to paste; `endpoint` is the address of `/mcp`. */
export function clientEntries(
  endpoint: string,
  token: string,
): readonly {
  /** Name of the host that `install` takes. */
  readonly host: 'claude-code' | 'codex' | 'cursor';
  /** `install` takes this name too. */
  readonly where: string;
  readonly text: string;
}[] {
  const bearer = `Bearer ${token}`;
  const command = ['claude', 'mcp', 'add', '--scope', 'user', '--transport', 'http', SERVER_NAME]
    .concat(shellWord(endpoint), '--header', shellWord(`Authorization: ${bearer}`))
    .join(' ');
  const toml = `[mcp_servers.${SERVER_NAME}]
url = ${JSON.stringify(endpoint)}
http_headers = { Authorization = ${JSON.stringify(bearer)} }`;
  const entry = { url: endpoint, headers: { Authorization: bearer } };
  return [
    { host: 'claude-code', where: 'Claude Code: run this command', text: command },
    { host: 'codex', where: 'Codex: add this to ~/.codex/config.toml', text: toml },
    {
      host: 'cursor',
      where: 'Cursor: add this to ~/.cursor/mcp.json',
      text: JSON.stringify({ mcpServers: { [SERVER_NAME]: entry } }, undefined, 2),
    },
  ];
}

/** The texts with their headings, each indented by two spaces; ends with a newline. */
export const clientEntriesText = (endpoint: string, token: string): string =>
  clientEntries(endpoint, token)
    .map(({ where, text }) => `${where}:\n\n${text.replaceAll(/^/gm, '  ')}\n`)
    .join('\n');

/**
 * The address of `/mcp` as clients reach it: the one that was written, else the one that the settings tell, else that of
 * this machine. Throws E_ARGUMENTS for an address to which no token may be sent.
 */
export function endpointFrom(
  written: string | undefined,
  { resource, hosts: [host] }: { readonly resource: string | undefined; readonly hosts: readonly string[] },
): { readonly endpoint: string; readonly from: 'option' | 'settings' | 'default' } {
  if (written !== undefined) return { endpoint: checkedEndpoint(written), from: 'option' };
  if (resource !== undefined) return { endpoint: resource, from: 'settings' };
  if (host !== undefined) return { endpoint: `https://${host}/mcp`, from: 'settings' };
  return { endpoint: `http://127.0.0.1:${USUAL_PORT}/mcp`, from: 'default' };
}

function checkedEndpoint(written: string): string {
  const url = URL.canParse(written) ? new URL(written) : undefined;
  const isPlain = url !== undefined && [url.username, url.password, url.search, url.hash].join('') === '';
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (url === undefined || !isPlain || !isSafe)
    throw new BridgeError(
      'E_ARGUMENTS',
      `--url is '${clipHarmless(written, CHARS_SHOWN)}'; allowed: an https address without query and user, or an http address of this machine.`,
      {
        fault: 'operator',
        remedy: 'Write the address as clients reach it, such as https://mcp.example.com/mcp.',
      },
    );
  if (url.pathname === '/') url.pathname = '/mcp';
  return url.href;
}
