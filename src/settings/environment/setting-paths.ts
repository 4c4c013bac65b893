// Paths that settings name, as they are on the disk: files and folders that are not there, and a state directory that others
// could exchange. Looked at when the bridge starts, by the paths alone: whether what lies there can be used is for those who
// read it. Reads no file.

import { lstatSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Exchangeable, findExchangeable, whatIsOpen } from '../../base/files/only-ours.js';
import { shellWord } from '../../base/process/own-command.js';
import { DATA_ALLOWED, type DataFolder, openFolders } from '../files/data-folders.js';
import type { HostFacts } from '../files/host-facts.js';
import { problem, type SettingProblem, shownValue } from './setting-problems.js';
import type { Settings } from './settings.js';

/** A problem for each path that leads nowhere, or to another kind of thing. */
export function absentFiles(
  settings: Pick<Settings, 'explicitlySet' | 'serversConfig' | 'snippetsDir'>,
): readonly SettingProblem[] {
  const { explicitlySet, serversConfig, snippetsDir } = settings;
  const files = serversConfig.flatMap((file) =>
    kindAt(file) === undefined
      ? [absentProblem('MCP_SERVERS_CONFIG', file, 'a file that exists, or several separated as in PATH')]
      : [],
  );
  if (!explicitlySet.has('MCP_BRIDGE_SNIPPETS') || snippetsDir === undefined) return files;
  const found = kindAt(snippetsDir);
  if (found === 'folder') return files;
  return [
    ...files,
    found === undefined
      ? absentProblem('MCP_BRIDGE_SNIPPETS', snippetsDir, 'a folder that exists')
      : problem(
          'MCP_BRIDGE_SNIPPETS',
          `MCP_BRIDGE_SNIPPETS is ${shownValue(snippetsDir)}, which is not a folder; allowed: a folder that exists.`,
        ),
  ];
}

/** The data folders as they are on the disk, and a problem for each that code may not see. */
export function openData(
  { data, stateDir }: Pick<Settings, 'data' | 'stateDir'>,
  host: HostFacts,
): { readonly folders: readonly DataFolder[]; readonly problems: readonly SettingProblem[] } {
  const { folders, troubles } = openFolders(data, { ...host, stateDir });
  const told = (trouble: string) => `MCP_BRIDGE_DATA: ${trouble} Allowed: ${DATA_ALLOWED}.`;
  return { folders, problems: troubles.map((trouble) => problem('MCP_BRIDGE_DATA', told(trouble))) };
}

/** The engine's client, where its path is set. A command that runs code asks it at once, and says the same. */
export function absentEngine({ runtime }: Pick<Settings, 'runtime'>): readonly SettingProblem[] {
  if (runtime === undefined || !/[\\/]/.test(runtime) || kindAt(runtime) === 'file') return [];
  return [
    absentProblem('MCP_BRIDGE_RUNTIME', runtime, 'auto, podman, docker or the path of a program that exists'),
  ];
}

const absentProblem = (name: string, path: string, allowed: string): SettingProblem =>
  problem(name, `${name} is ${shownValue(path)}, which does not exist (ENOENT); allowed: ${allowed}.`);

/** Undefined where nothing is there; what may not be looked at counts as there. */
function kindAt(path: string): 'file' | 'folder' | undefined {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return undefined;
    return stat.isDirectory() ? 'folder' : 'file';
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ENOTDIR' ? undefined : 'file';
  }
}

// Whether the state directory is this user's own. What lies there is run, mounted into containers and believed, so nobody else
// may write it, anything that leads to it, or what a bridge has in it; the same is asked of files of the configuration.

const NAME = 'MCP_BRIDGE_STATE_DIR';
const WRITABLE_BY_OTHERS = 0o022;
/**
 * Names that bridges make in the state directory. Other things may lie beside them: ~/MCPs is not the bridge's alone, and
 * `snippets` is whatever folder its user has made it.
 */
export const OWN_NAMES = [
  'approvals',
  'audit',
  'cache',
  'host-changes',
  'http',
  'images',
  'ipc',
  'kept',
  'name-owners.json',
  'principals',
  'python-fallback',
  'repl-history',
  'run',
  'seccomp',
  'sessions',
  'tokens',
  'user-tools',
  'watch',
] as const;

/** The first thing that others could exchange, on the way to a state directory or in it. */
export function exchangeableState(stateDir: string, uid: number | undefined): Exchangeable | undefined {
  const found = findExchangeable(stateDir, uid);
  if (found !== undefined) return found;
  for (const name of OWN_NAMES) {
    const path = join(stateDir, name);
    const inside = isPlainlyOwn(path, uid) ? undefined : findExchangeable(path, uid);
    if (inside !== undefined) return inside;
  }
  return undefined;
}

/** Most are, and the way to them has been looked at: every start would do so once more for each. */
function isPlainlyOwn(path: string, uid: number | undefined): boolean {
  try {
    const stats = lstatSync(path);
    return !stats.isSymbolicLink() && stats.uid === uid && (stats.mode & WRITABLE_BY_OTHERS) === 0;
  } catch {
    // Not there, or not to be looked at.
    return true;
  }
}

/**
 * The problem of a state directory that others could exchange; none where it is this user's own. One that is yet to be made in
 * a folder where others may make it as well, such as /tmp, is made here, before anybody else does.
 */
export function stateOpenToOthers(
  { stateDir, explicitlySet }: Pick<Settings, 'stateDir' | 'explicitlySet'>,
  { uid }: Pick<HostFacts, 'uid'>,
): readonly SettingProblem[] {
  const found = exchangeableState(stateDir, uid);
  const open = found?.is === 'absent' && isMade(found.path) ? exchangeableState(stateDir, uid) : found;
  if (open === undefined) return [];
  const name = explicitlySet.has(NAME) ? NAME : 'The state directory';
  return [
    problem(
      NAME,
      `${name} is ${shownValue(stateDir)}, and ${whatIsOpen(open, shownValue)}: others could replace what the bridge runs from there; allowed: a folder that, like all folders above it, only this user and root can write to.`,
      remedyFor(open, open.path.startsWith(`${stateDir}/`)),
    ),
  ];
}

/** Whether something is there now, whoever has made it: the next look says who. */
function isMade(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (thrown) {
    return Object(thrown).code === 'EEXIST';
  }
}

function remedyFor({ path, is, owner }: Exchangeable, isInside: boolean): string {
  const elsewhere = `or set ${NAME} to a folder of your own. Then restart the host.`;
  if (is === 'absent') return `Make it for this user alone: mkdir -m 700 ${shellWord(path)}; ${elsewhere}`;
  if (is === 'mode')
    return `Look at what others may have put there, then run: chmod go-w ${shellWord(path)}; ${elsewhere}`;
  if (isInside) return `Look at who has put it there, and remove it; ${elsewhere}`;
  return `If you are user ${owner}, start the bridge as that user; ${elsewhere}`;
}
