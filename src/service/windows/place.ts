// Where the shared bridge of a user listens: a socket in a folder that only this user can enter, under a name made of all
// that has to be the same for windows to share one. Who may connect is the kernel's decision, by the folder and the socket.

import { existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { removeLeftLocks, tryLock } from '../../base/files/file-lock.js';
import { isOnlyOurs } from '../../base/files/only-ours.js';
import { ifThere } from '../../base/files/read-text.js';
import type { Environment } from '../../base/process/environment.js';
import { engineNames } from '../../settings/environment/variables.js';
import { RELAY_PROTOCOL } from './frames.js';

const FOLDER = 'mcp-sandbox-bridge';
const ENDING = '.sock';
const LOCK_ENDING = '.starts';

/**
 * Variables that decide how the shared bridge works, besides its own: which engine there is and how it is reached, where
 * state lies, and Node itself. All others stay each window's own, proxies too: hosts hand on some of their variables only,
 * each others, and what has no part in the bridge must not keep their windows apart.
 */
const SHARED_VARIABLES =
  /^(?:MCP_BRIDGE_.*|DOCKER_.*|CONTAINERS?_.*|PODMAN_.*|BUILDAH_.*|STORAGE_.*|XDG_(?:CONFIG|DATA|STATE|CACHE)_HOME|HOME|TMPDIR|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR))$/;
/** Variables that a window has for itself: its log's level, and whether it shares at all. */
export const OWN_VARIABLES: ReadonlySet<string> = new Set(['MCP_BRIDGE_SHARED', 'MCP_BRIDGE_LOG_LEVEL']);

/** The folder of the sockets of this user's shared bridges; made by whoever first needs it. */
export function sharedFolder(env: Environment, uid: number | undefined = process.getuid?.()): string {
  const runtime = runtimeFolder(env, uid);
  return runtime === undefined ? join(tmpdir(), `${FOLDER}-shared-${uid ?? 'user'}`) : join(runtime, FOLDER);
}

/** The user's own folder for sockets, as systemd makes it, also where a host has not handed its variable on. */
const runtimeFolder = (env: Environment, uid: number | undefined): string | undefined =>
  [env['XDG_RUNTIME_DIR'] ?? '', `/run/user/${uid}`].find(
    (folder) => folder.startsWith('/') && isOnlyOurs(folder, uid),
  );

/**
 * The socket that windows with this environment share, its folder made where there is none. Undefined where the folder is
 * not this user's alone: somebody else made it, or could enter it.
 */
export function sharedSocket(env: Environment): string | undefined {
  const folder = sharedFolder(env);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch {
    return undefined;
  }
  return isOnlyOurs(folder) ? join(folder, `${keyOf(env)}${ENDING}`) : undefined;
}

/** The sockets of all shared bridges of this user, of whatever settings. */
export function sharedSockets(env: Environment): readonly string[] {
  const folder = sharedFolder(env);
  if (!isOnlyOurs(folder)) return [];
  // The last bridge may take the folder along in this moment.
  const names = ifThere(() => readdirSync(folder)) ?? [];
  return names
    .filter((name) => name.endsWith(ENDING))
    .sort()
    .map((name) => join(folder, name));
}

/**
 * The lock of the start, or undefined where another process has it; nobody waits for a process that has ended. One start at
 * a time: among all who find no shared bridge at the same moment, one starts it and the others wait for that one.
 */
export function lockStart(socket: string): Disposable | undefined {
  try {
    return tryLock(`${socket}${LOCK_ENDING}`);
  } catch {
    // The last bridge has taken the folder along.
    return undefined;
  }
}

/** Removes the locks in a folder, and the files beside them, of processes that have ended. */
export const removeLeftStarts = (folder: string): void => removeLeftLocks(folder, LOCK_ENDING);

/** The last one of this user takes the folder of the sockets with it. */
export function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Others are in it, or it is gone.
  }
}

/** Key of an environment: equal for windows that may share a bridge, which compares the settings themselves once more. */
function keyOf(env: Environment): string {
  const shared = Object.entries(env)
    .filter(([name]) => SHARED_VARIABLES.test(name) && !OWN_VARIABLES.has(name))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const engines = engineNames.map((engine) => firstOnPath(engine, env['PATH'] ?? ''));
  const runtime = runtimeFolder(env, process.getuid?.()) ?? '';
  return hashOf(JSON.stringify([RELAY_PROTOCOL, process.version, engines, runtime, shared]));
}

/** Two windows with different programs of one name have different engines. */
const firstOnPath = (program: string, path: string): string | undefined =>
  path
    .split(delimiter)
    .filter((folder) => folder.startsWith('/'))
    .map((folder) => join(folder, program))
    .find((file) => existsSync(file));

/**
 * 53 bits in 14 hex digits. Not cryptographic: loading Node's hashes takes as long as all else here, and two settings that
 * had the same one by chance would be told apart by the bridge.
 */
function hashOf(text: string): string {
  // The mixing of two 32-bit halves by odd multipliers, each a prime.
  let one = 0xdeadbeef;
  let other = 0x41c6ce57;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    one = Math.imul(one ^ code, 2654435761);
    other = Math.imul(other ^ code, 1597334677);
  }
  one = Math.imul(one ^ (one >>> 16), 2246822507) ^ Math.imul(other ^ (other >>> 13), 3266489909);
  other = Math.imul(other ^ (other >>> 16), 2246822507) ^ Math.imul(one ^ (one >>> 13), 3266489909);
  return (4294967296 * (2097151 & other) + (one >>> 0)).toString(16).padStart(14, '0');
}
