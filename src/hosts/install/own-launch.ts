// How a host is to start us: as the user has started us now, in a form that works where the host starts it. Asks the
// disk where programs lie; changes nothing.

import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { windowsVariable } from '../../base/process/environment.js';
import { OWN_ARGV } from '../../base/process/own-command.js';
import { PACKAGE_NAME } from '../../base/version.js';
import type { HostRecord } from '../tables/installable.js';
import type { HostLaunch } from '../terms/install.js';
import { type Machine, onPath } from './hosts.js';

/** Facts about this process; a test gives its own. */
export type OwnProcess = {
  /** The argv without a subcommand. */
  readonly argv: readonly string[];
  readonly node: string;
  readonly script: string | undefined;
};

const ownProcess = (): OwnProcess => ({ argv: OWN_ARGV, node: process.execPath, script: process.argv[1] });

/** Where desktops look for programs without being told. */
const STANDARD_FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin'];

/** `env` is what the user adds. */
export function ownLaunch(
  { isDesktop }: HostRecord,
  env: HostLaunch['env'],
  machine: Machine,
  own = ownProcess(),
): HostLaunch {
  const [command = PACKAGE_NAME, ...args] = isDesktop ? forDesktop(own, machine) : forShell(own, machine);
  return { command, args, env: { ...(isDesktop ? searchPath(own, machine) : {}), ...env } };
}

/** A host on the command line has the user's PATH. */
function forShell(own: OwnProcess, machine: Machine): readonly string[] {
  const { argv } = own;
  if (argv[0] === 'npx') return machine.host.platform === 'win32' ? ['cmd', '/c', ...argv] : argv;
  if (argv[0] !== PACKAGE_NAME || onPath(PACKAGE_NAME, machine) !== undefined) return argv;
  return byPath(own);
}

/** Without PATH: node and the script by their absolute paths, since even npm's links begin with a search for node. */
function forDesktop(own: OwnProcess, machine: Machine): readonly string[] {
  const [program, ...rest] = own.argv;
  if (program !== 'npx') return byPath(own);
  if (machine.host.platform === 'win32') return ['cmd', '/c', ...own.argv];
  const npx = onPath('npx', machine);
  if (npx === undefined) return own.argv;
  const script = realPath(npx);
  return script.endsWith('.js') ? [own.node, script, ...rest] : [npx, ...rest];
}

function byPath({ argv, node, script }: OwnProcess): readonly string[] {
  return script === undefined ? argv : [node, realPath(script)];
}

/**
 * On macOS a desktop's PATH has neither engine nor package manager in it, and elsewhere it lacks a node that a version
 * manager has installed; the servers that we start need both.
 */
function searchPath({ node }: OwnProcess, { env, host }: Machine): HostLaunch['env'] {
  if (host.platform === 'win32') return {};
  if (host.platform !== 'darwin' && STANDARD_FOLDERS.includes(dirname(node))) return {};
  const said = (windowsVariable(env, 'PATH') ?? '').split(':').filter((folder) => folder.startsWith('/'));
  // Folders that npx and npm put in front are gone when these programs end.
  const lasting = said.filter((folder) => !/\/(node_modules|_npx)(\/|$)/.test(folder));
  return { PATH: [...new Set([dirname(node), ...lasting, ...STANDARD_FOLDERS])].join(':') };
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
