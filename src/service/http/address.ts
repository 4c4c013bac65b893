// Where `serve --http` listens: a port of an address, a unix socket, or the socket that systemd hands over.

import { isIP } from 'node:net';
import { BridgeError } from '../../base/errors.js';
import { clipHarmlessLine } from '../../base/text/text.js';

export type HttpAddress =
  | { readonly at: 'tcp'; readonly host: string; readonly port: number }
  | { readonly at: 'unix'; readonly path: string }
  /** The one socket that systemd has opened for us. */
  | { readonly at: 'systemd' };

const ALLOWED =
  'Give a port, such as 8808, which listens on 127.0.0.1; HOST:PORT, such as 0.0.0.0:8808 or [::1]:8808; unix:/path/of/socket; or systemd, in a unit that a socket unit activates.';
const TCP = /^(?:(?<host>\[[0-9a-fA-F:.%a-z]+\]|[^\s:[\]]+):)?(?<port>\d{1,5})$/;

/** The address that `text` names. Throws E_ARGUMENTS that quotes the text and says what is allowed. */
export function parseHttpAddress(text: string): HttpAddress {
  if (text === 'systemd') return { at: 'systemd' };
  if (text.startsWith('unix:')) {
    const path = text.slice('unix:'.length);
    if (path.startsWith('/') && !path.includes('\0')) return { at: 'unix', path };
  }
  const { host, port } = TCP.exec(text)?.groups ?? {};
  if (port === undefined || Number(port) > 65_535)
    throw new BridgeError('E_ARGUMENTS', `--http: '${clipHarmlessLine(text, 120)}' is no address.`, {
      fault: 'operator',
      remedy: ALLOWED,
    });
  return { at: 'tcp', host: (host ?? '127.0.0.1').replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
}

/** Whether only this machine reaches `host`, a name or an address without brackets. */
export const isLoopback = (host: string): boolean =>
  host.toLowerCase() === 'localhost' ||
  host === '::1' ||
  (isIP(host) === 4 && host.startsWith('127.')) ||
  host.toLowerCase().startsWith('::ffff:127.');

/**
 * Throws E_SETTINGS where anybody in the network could call without a credential. `hasCredentials` says whether a call
 * over TCP must show one.
 */
export function refuseOpenAddress(host: string, hasCredentials: boolean): void {
  if (hasCredentials || isLoopback(host)) return;
  throw new BridgeError(
    'E_SETTINGS',
    `--http: ${host} is reached from other machines, and no credentials are configured, so anybody there could run code.`,
    {
      fault: 'operator',
      remedy:
        'Make a token with `token create NAME` or configure OAuth first; or listen on 127.0.0.1 or on a unix socket.',
    },
  );
}
