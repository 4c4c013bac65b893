// Where the bridge keeps what is its own, and which folders cannot be used for that: file systems that hold no files of
// anybody, where making a folder fails in odd ways or never ends, and paths that engines have no way to be told.

import { realpathSync } from 'node:fs';
import { type Environment, windowsVariable } from '../../base/process/environment.js';
import { clipHarmless } from '../../base/text/text.js';
import { absolutePath, type HostFacts, pathRules } from './host-facts.js';

const NO_FILES = ['/proc', '/sys', '/dev'];
/** An ordinary file system in memory, although it lies there. */
const SHARED_MEMORY = '/dev/shm';
/** The engines' options for a path with a colon separate their parts by commas, in rules that differ by version. */
const SEPARATES_PARTS = /[,"\r\n]/;
const CHARS_SHOWN = 120;
const OWN_FOLDER = 'mcp-sandbox-bridge';

/** `written` is MCP_BRIDGE_STATE_DIR. */
export function stateDirFrom(written: string | undefined, env: Environment, host: HostFacts): string {
  return written === undefined ? defaultStateDir(env, host) : absolutePath(written, host.cwd, host);
}

/** Why no bridge can use this state directory, and what would do; undefined where nothing stands against it. */
export function stateDirTrouble(stateDir: string, isSaid: boolean, host: HostFacts): string | undefined {
  if (host.platform === 'win32') return undefined;
  const reason = unfit(stateDir) ?? unfit(realAncestor(stateDir));
  if (reason === undefined) return undefined;
  const name = isSaid ? 'MCP_BRIDGE_STATE_DIR' : 'The state directory';
  const next = isSaid ? '' : ' It follows from HOME or XDG_STATE_HOME; set MCP_BRIDGE_STATE_DIR to another.';
  return `${name} is '${clipHarmless(stateDir, CHARS_SHOWN)}', which ${reason}.${next}`;
}

function unfit(path: string): string | undefined {
  const isIn = (folder: string) => path === folder || path.startsWith(`${folder}/`);
  const found = NO_FILES.find(isIn);
  if (found !== undefined && !isIn(SHARED_MEMORY))
    return `is in ${found}, where no files can be kept; allowed: a folder on an ordinary file system`;
  if (path.includes(':') && SEPARATES_PARTS.test(path))
    return 'has a colon as well as a comma, a double quote or a line break; allowed: a path with either of these';
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
