// Where the bridge keeps what one principal has: a folder of its own below the state directory, under a name that nobody
// outside can guess and that no two principals share. The user who started the bridge has the state directory itself.

import { createHmac, randomBytes } from 'node:crypto';
import { chmodSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BridgeError, messageOf } from '../../base/errors.js';
import { LOCAL_USER, type Principal } from '../../base/principal.js';

const PRINCIPALS = 'principals';
/** File of the key that the folders' names are made with; instances that share a state directory share the key. */
const KEY_FILE = 'folder-key';
const KEY_BYTES = 32;
const NAME = /^[0-9a-f]{64}$/;

/**
 * Absolute path of the folder, which is there then, for its owner alone. Throws E_STATE where it cannot be made.
 */
export function principalStateDir(stateDir: string, { id }: Pick<Principal, 'id'>): string {
  if (id === LOCAL_USER.id) return stateDir;
  const folder = join(stateDir, PRINCIPALS, principalKey(stateDir, id));
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // One that was there may have been opened to others.
    chmodSync(folder, 0o700);
    return folder;
  } catch (cause) {
    throw unusable(stateDir, cause);
  }
}

/** 64 hex digits, the same for the same principal in the same state directory. Throws E_STATE. */
export function principalKey(stateDir: string, id: string): string {
  return createHmac('sha256', folderKey(stateDir)).update(id).digest('hex');
}

/** The folders of all principals that ever had one. */
export function principalStateDirs(stateDir: string): readonly string[] {
  try {
    const names = readdirSync(join(stateDir, PRINCIPALS)).filter((name) => NAME.test(name));
    return names.map((name) => join(stateDir, PRINCIPALS, name));
  } catch {
    return [];
  }
}

function folderKey(stateDir: string): Buffer {
  const dir = join(stateDir, PRINCIPALS);
  const path = join(dir, KEY_FILE);
  try {
    return read(path) ?? made(dir, path);
  } catch (cause) {
    throw unusable(stateDir, cause);
  }
}

function read(path: string): Buffer | undefined {
  let key: Buffer;
  try {
    key = readFileSync(path);
  } catch (thrown) {
    if (Object(thrown).code === 'ENOENT') return undefined;
    throw thrown;
  }
  // With another key everybody would lose what is kept, so that a broken one is no reason to make one.
  if (key.length !== KEY_BYTES) throw new Error(`${path} has ${key.length} bytes instead of ${KEY_BYTES}`);
  return key;
}

/** Another instance may make it at the same time: the first one counts, and nobody ever reads half of one. */
function made(dir: string, path: string): Buffer {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  chmodSync(dir, 0o700);
  const fresh = `${path}.${randomBytes(8).toString('hex')}`;
  try {
    writeFileSync(fresh, randomBytes(KEY_BYTES), { mode: 0o600, flag: 'wx' });
    linkSync(fresh, path);
  } catch (thrown) {
    if (Object(thrown).code !== 'EEXIST') throw thrown;
  } finally {
    rmSync(fresh, { force: true });
  }
  const key = read(path);
  if (key === undefined) throw new Error(`${path} was removed`);
  return key;
}

const unusable = (stateDir: string, cause: unknown): BridgeError =>
  new BridgeError(
    'E_STATE',
    `The state directory ${stateDir} cannot keep what principals have: ${messageOf(cause)}.`,
    {
      fault: 'operator',
      remedy: 'Make it writable for this user, or set MCP_BRIDGE_STATE_DIR to another folder.',
      cause,
    },
  );
