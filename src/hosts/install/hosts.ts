// Finds whether a host is on this machine, and which of the host's files a registration goes in. Looks at the disk.

import { accessSync, constants } from 'node:fs';
import { isFile } from '../../base/files/is-file.js';
import { type Environment, windowsVariable } from '../../base/process/environment.js';
import { findOnWindows } from '../../base/process/start-of.js';
import { type HostFacts, pathRules } from '../../settings/files/host-facts.js';
import { type HostRecord, SOURCES } from '../records/all-hosts.js';
import type { Source } from '../terms/host.js';
import { filesOf, locate } from '../terms/source-files.js';

export type Machine = { readonly env: Environment; readonly host: HostFacts };

/** How the host was noticed, and where; undefined where nothing of it is on this machine. */
export function findHost(
  record: HostRecord,
  machine: Machine,
): { readonly kind: 'program' | 'file'; readonly path: string } | undefined {
  const { env, host } = machine;
  for (const program of record.programs) {
    const path = onPath(program, machine);
    if (path !== undefined) return { kind: 'program', path };
  }
  const { dirname } = pathRules(host);
  const signs =
    record.signs?.flatMap((sign) => locate(sign, env, host)) ??
    userFiles(record, machine).map(({ file }) => dirname(file));
  const path = signs.find((sign) => host.exists(sign));
  return path === undefined ? undefined : { kind: 'file', path };
}

/** Where a program lies that a shell would start; undefined where there is none. */
export function onPath(program: string, { env, host }: Machine): string | undefined {
  if (host.platform === 'win32') return findOnWindows(program, { env, cwd: host.cwd, isFile });
  return (windowsVariable(env, 'PATH') ?? '')
    .split(':')
    .filter((folder) => folder.startsWith('/'))
    .map((folder) => `${folder}/${program}`)
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return isFile(path);
  } catch {
    return false;
  }
}

/** All files of the user's scope, in the host's own order; most of them need not exist. */
export function userFiles(
  { title }: HostRecord,
  { env, host }: Machine,
): { readonly file: string; readonly source: Source }[] {
  return SOURCES.filter((source) => source.host === title && source.scope === 'user').flatMap((source) =>
    filesOf(source, env, host).map((file) => ({ file, source })),
  );
}

/** The file that a registration goes into: the first that is there, else the one that the host would make. */
export function registrationFile(
  record: HostRecord,
  machine: Machine,
): { readonly file: string; readonly source: Source } {
  const all = userFiles(record, machine);
  const [first] = all;
  if (first === undefined) throw new Error(`no file of ${record.title} on ${machine.host.platform}`);
  const sameForm = all.filter(
    // Servers in a profile of VS Code count for that profile only.
    ({ file, source }) =>
      source.pointer.join() === first.source.pointer.join() && !/[\\/]profiles[\\/]/.test(file),
  );
  const { exists } = machine.host;
  const { dirname } = pathRules(machine.host);
  const fresh = sameForm.filter(({ file }) => !file.endsWith('.jsonc'));
  return (
    sameForm.find(({ file }) => exists(file)) ??
    fresh.find(({ file }) => exists(dirname(file))) ??
    fresh[0] ??
    first
  );
}
