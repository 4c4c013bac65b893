// A unix socket that only its owner can open. One that a dead process has left is replaced; a living one's is not.

import { lstatSync, rmSync, statSync } from 'node:fs';
import { createConnection } from 'node:net';
import { dirname, resolve } from 'node:path';
import { BridgeError } from '../../base/errors.js';
import { type Exchangeable, exchangeable } from '../../base/files/only-ours.js';

const FOR_OTHERS = 0o077;
const ASK_MS = 2_000;

/** Makes way for a socket at `path`. Throws E_SETTINGS that says why there can be none. */
export async function preparePath(path: string): Promise<void> {
  if (process.platform === 'win32')
    throw refused(path, 'there are no unix sockets on Windows', 'Give a port.');
  const folder = dirname(path);
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true)
    throw refused(path, `there is no folder ${folder}`, `Make it first: mkdir -m 700 ${folder}`);
  const open = exchangeable(resolve(folder));
  if (open !== undefined)
    throw refused(
      path,
      `${whatIsOpen(open)}, so somebody else could put a socket there`,
      'Choose a folder that, with all above it, only this user and root can write, such as $XDG_RUNTIME_DIR.',
    );
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there === undefined) return;
  if (!there.isSocket())
    throw refused(path, 'there is a file of this name, and it is no socket', 'Choose another path.');
  if (await isLive(path))
    throw refused(path, 'another process listens there', 'End it first, or choose another path.');
  rmSync(path, { force: true });
}

const whatIsOpen = ({ path, is, owner, mode }: Exchangeable): string =>
  is === 'owner'
    ? `${path} belongs to user ${owner}`
    : `others may write to ${path} (mode 0${mode.toString(8)})`;

/** Runs `listen`, which makes the socket before it returns, so that nobody else can open it from its first moment on. */
export function withPrivateMode(listen: () => void): void {
  const before = process.umask(0o177);
  try {
    listen();
  } finally {
    process.umask(before);
  }
}

/** Whether only its owner can open the socket at `path`. */
export function isPrivateSocket(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && (stats.mode & FOR_OTHERS) === 0 && stats.uid === process.getuid?.();
}

/** Whether somebody accepts connections there. Only a clear refusal means that nobody does. */
function isLive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    const settle = (answer: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => settle(true), ASK_MS);
    socket.once('connect', () => settle(true));
    socket.once('error', ({ code }: NodeJS.ErrnoException) =>
      settle(code !== 'ECONNREFUSED' && code !== 'ENOENT'),
    );
  });
}

const refused = (path: string, why: string, remedy: string): BridgeError =>
  new BridgeError('E_SETTINGS', `--http: no socket can be made at ${path}: ${why}.`, {
    fault: 'operator',
    remedy,
  });
