// Where the bridge keeps what is its own, and which folders cannot be used for that: file systems that hold no files of
// anybody, where making a folder fails in odd ways or never ends, and paths that engines have no way to be told.

import { createHmac, randomBytes } from 'node:crypto';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { BridgeError, messageOf } from '../../base/errors.js';
import { ifThere } from '../../base/files/read-text.js';
import { LOCAL_USER, type Principal } from '../../base/principal.js';
import { type Environment, windowsVariable } from '../../base/process/environment.js';
import { clipHarmless } from '../../base/text/text.js';
import { absolutePath, type HostFacts, pathRules } from './host-facts.js';

const NO_FILES = ['/proc', '/sys', '/dev'];
/** An ordinary file system in memory, although it lies there. */
const SHARED_MEMORY = '/dev/shm';
/** The engines' options for a path with a colon separate their parts by commas, in rules that differ by version. */
const SEPARATES_PARTS = /[,"\r\n]/;
const CHARS_SHOWN = 120;
/** Codes of the system: no blocks or no inodes are left, and the user's share of them is used up. */
const DISK_IS_FULL = new Set<unknown>(['ENOSPC', 'EDQUOT']);
const OWN_FOLDER = 'mcp-sandbox-bridge';

/** `written` is MCP_BRIDGE_STATE_DIR. */
export function stateDirFrom(written: string | undefined, env: Environment, host: HostFacts): string {
  return written === undefined ? defaultStateDir(env, host) : absolutePath(written, host.cwd, host);
}

/** The next step where something could not be written in a state directory, by what the system said. */
export function stateDirRemedy(cause: unknown): string {
  return DISK_IS_FULL.has(Object(cause).code)
    ? 'Free some space on that disk, or set MCP_BRIDGE_STATE_DIR to a folder on another one.'
    : 'Set MCP_BRIDGE_STATE_DIR to a folder that you own.';
}

/** Why no bridge can use this state directory, and what would do; undefined where nothing stands against it. */
export function stateDirTrouble(stateDir: string, isSaid: boolean, host: HostFacts): string | undefined {
  if (host.platform === 'win32') return undefined;
  const reason = unfitReason(stateDir) ?? unfitReason(realAncestor(stateDir));
  if (reason === undefined) return undefined;
  const name = isSaid ? 'MCP_BRIDGE_STATE_DIR' : 'The state directory';
  const next = isSaid ? '' : ' It follows from HOME or XDG_STATE_HOME; set MCP_BRIDGE_STATE_DIR to another.';
  return `${name} is '${clipHarmless(stateDir, CHARS_SHOWN)}', which ${reason}.${next}`;
}

function unfitReason(path: string): string | undefined {
  const isIn = (folder: string) => path === folder || path.startsWith(`${folder}/`);
  const found = NO_FILES.find(isIn);
  if (found !== undefined && !isIn(SHARED_MEMORY))
    return `is in ${found}, where no files can be kept; allowed: a folder on an ordinary file system`;
  if (path.includes(':') && SEPARATES_PARTS.test(path))
    return 'has a colon, and also a comma, a double quote or a line break; allowed: a path with only the colon, or without it';
  return undefined;
}

/** The nearest folder above that is there, without symbolic links. */
function realAncestor(path: string): string {
  for (let folder = path; ; folder = folder.slice(0, folder.lastIndexOf('/'))) {
    if (folder === '') return '/';
    try {
      return realpathSync(folder);
    } catch {
      // Not there yet, or not to be looked at: the one above may be.
    }
  }
}

/** Every folder that can have been the state directory of this user, the present one first. */
export function knownStateDirs(stateDir: string, env: Environment, host: HostFacts): string[] {
  const { join } = pathRules(host);
  return [...new Set([stateDir, join(host.home, 'MCPs'), join(stateHome(env, host), OWN_FOLDER)])];
}

function defaultStateDir(env: Environment, host: HostFacts): string {
  const { join } = pathRules(host);
  const shared = join(host.home, 'MCPs');
  if (host.exists(shared)) return shared;
  return join(stateHome(env, host), OWN_FOLDER);
}

function stateHome(env: Environment, host: HostFacts): string {
  const { join, isAbsolute } = pathRules(host);
  const xdg = env['XDG_STATE_HOME'];
  // The XDG specification tells programs to pass over a relative one.
  if (xdg !== undefined && isAbsolute(xdg) && isOneFolder(xdg, host)) return xdg;
  if (host.platform === 'darwin') return join(host.home, 'Library', 'Application Support');
  if (host.platform !== 'win32') return join(host.home, '.local', 'state');
  const local = windowsVariable(env, 'LOCALAPPDATA');
  return local !== undefined && isOneFolder(local, host) ? local : join(host.home, 'AppData', 'Local');
}

/**
 * Whether `path` is the same folder wherever we are started. On Windows `/c/Users/ann`, as Git's shell writes it, is a
 * folder of whatever drive is the current one; it stays in use only where there is state in it already.
 */
const isOneFolder = (path: string, host: HostFacts): boolean =>
  host.platform !== 'win32' ||
  /^(?:[A-Za-z]:[\\/]|[\\/]{2}[^\\/])/.test(path) ||
  (/^[\\/]/.test(path) && host.exists(pathRules(host).join(path, OWN_FOLDER)));

// Where the bridge keeps what one principal has: a folder of its own below the state directory, under a name that nobody
// outside can guess and that no two principals share. The user who started the bridge has the state directory itself.

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
    throw unusableError(stateDir, cause);
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
    return read(path) ?? makeKeyFile(dir, path);
  } catch (cause) {
    throw unusableError(stateDir, cause);
  }
}

function read(path: string): Buffer | undefined {
  const key = ifThere(() => readFileSync(path));
  // With another key everybody would lose what is kept, so that a broken one is no reason to make one.
  if (key !== undefined && key.length !== KEY_BYTES)
    throw new Error(`${path} has ${key.length} bytes instead of ${KEY_BYTES}`);
  return key;
}

/** Makes the key file. Another instance may at the same time: the first file counts, and nobody ever reads half of one. */
function makeKeyFile(dir: string, path: string): Buffer {
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

const unusableError = (stateDir: string, cause: unknown): BridgeError =>
  new BridgeError(
    'E_STATE',
    `The state directory ${stateDir} cannot keep what principals have: ${messageOf(cause)}.`,
    {
      fault: 'operator',
      remedy: 'Make it writable for this user, or set MCP_BRIDGE_STATE_DIR to another folder.',
      cause,
    },
  );
