// Where `serve --http` listens: a port of an address, a unix socket, or the socket that systemd hands over.

import { execFile } from 'node:child_process';
import { fstatSync, readFileSync } from 'node:fs';
import { BridgeError } from '../../base/errors.js';
import type { Environment } from '../../base/process/environment.js';
import { isLoopback } from '../../base/text/loopback.js';
import { clipHarmlessLine } from '../../base/text/text.js';

export type HttpAddress =
  | { readonly at: 'tcp'; readonly host: string; readonly port: number }
  | { readonly at: 'unix'; readonly path: string }
  /** The one socket that systemd has opened for us. */
  | { readonly at: 'systemd' };

const ALLOWED =
  'Give a port, such as 8808 (on 127.0.0.1); HOST:PORT, such as 0.0.0.0:8808 or [::1]:8808; unix:/path/of/socket; or systemd, if a socket unit starts the service.';
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
    throw new BridgeError('E_ARGUMENTS', `--http: '${clipHarmlessLine(text, 120)}' is not an address.`, {
      fault: 'operator',
      remedy: ALLOWED,
    });
  return { at: 'tcp', host: (host ?? '127.0.0.1').replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
}

/**
 * Throws E_SETTINGS where anybody in the network could call without a credential. `hasCredentials` says whether a call
 * over TCP must show one.
 */
export function refuseOpenAddress(host: string, hasCredentials: boolean): void {
  if (hasCredentials || isLoopback(host)) return;
  throw new BridgeError(
    'E_SETTINGS',
    `--http: other machines can reach ${host}, and no credentials are configured, so anybody there could run code.`,
    {
      fault: 'operator',
      remedy:
        'Make a token with `token create NAME` or configure OAuth first; or listen on 127.0.0.1 or on a unix socket.',
    },
  );
}

// Messages between systemd and one of its services: the socket that systemd hands over (sd_listen_fds) and what state the
// service is in (sd_notify).

/** SD_LISTEN_FDS_START: the first descriptor that is handed over. */
const FIRST_FD = 3;

/** The descriptor of the one socket that was handed over to this process. Throws E_SETTINGS where there is none. */
export function listenFd(env: Environment, pid: number = process.pid): number {
  const count = Number(env['LISTEN_FDS'] ?? 0);
  if (count === 1 && Number(env['LISTEN_PID']) === pid) return FIRST_FD;
  throw new BridgeError(
    'E_SETTINGS',
    `--http systemd: systemd has passed ${count === 0 ? 'no socket' : `${count} sockets`}; exactly one is needed.`,
    {
      fault: 'operator',
      remedy:
        'Start the socket unit, not the service alone, and give it one ListenStream=; or name a port or a path instead of systemd.',
    },
  );
}

/** Where the unix socket `fd` lies; undefined for any other socket. Node does not say it of one that it has not made. */
export function pathOfSocket(fd: number): string | undefined {
  const inode = String(fstatSync(fd).ino);
  const lines = readFileSync('/proc/net/unix', 'utf8').split('\n');
  // Num RefCount Protocol Flags Type St Inode Path
  const columns = lines.map((line) => line.trim().split(/\s+/)).find((line) => line[6] === inode);
  return columns?.slice(7).join(' ') || undefined;
}

/**
 * Tells the service manager `state`, such as READY=1, where there is one that wants to know. Node has no datagram sockets of
 * this kind, so systemd's own program sends it; the unit needs NotifyAccess=all. Trouble is nobody's.
 */
export function notifySystemd(state: 'READY=1' | 'STOPPING=1' | 'RELOADING=1', env: Environment): void {
  const socket = env['NOTIFY_SOCKET'];
  if (socket === undefined || socket === '') return;
  const options = { env: { NOTIFY_SOCKET: socket, PATH: env['PATH'] ?? '/usr/bin:/bin' }, timeout: 5_000 };
  execFile('systemd-notify', [state], options, () => {});
}
