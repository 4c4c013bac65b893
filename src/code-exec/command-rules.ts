// Which commands may run: found as a shell would find them, then judged by the name they were called by and by every path
// that leads to the same file, so that a link to a denied program is denied as well.

import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { BridgeError } from '../base/errors.js';

type SearchPlace = {
  readonly path: string;
  /** Where rules are looked for: the server's own search path, whatever a call has as its own. */
  readonly rulesPath: string;
  readonly cwd: string;
};

/**
 * Finds `command`: a name in the search path `path`, or, where it has a slash, a path of its own. Else says, as a sentence, why
 * the command may not run, or cannot.
 */
export function findCommand(
  command: string,
  place: SearchPlace,
  {
    allow,
    deny,
  }: {
    /** Names or absolute paths; undefined allows all. */
    readonly allow: readonly string[] | undefined;
    /** Comes before `allow`. */
    readonly deny: readonly string[];
  },
): { readonly path: string } | { readonly refused: string } {
  const ours = { ...place, path: place.rulesPath };
  const path = locateCommand(command, place);
  const called = basename(command);
  // Also one that is not there: a rule is no secret, and what is denied shall not look as if it could be installed.
  const denied = deny.find(
    (rule) => called === basename(rule) || isSameFile(path, locateCommand(rule, ours)),
  );
  if (denied !== undefined) return { refused: `'${command}' is denied here, by the rule ${denied}.` };
  if (path === undefined) return { refused: `There is no program '${command}' here.` };
  if (allow === undefined || allow.some((rule) => isMeant(rule, called, path, ours)))
    // The folder as this process sees it: /proc/self and the like lead elsewhere in the command's own process.
    return { path: join(realpathSync(dirname(path)), basename(path)) };
  return { refused: `'${command}' is not among the commands that are allowed here: ${allow.join(', ')}.` };
}

/**
 * A rule means the file that it leads to, under its own name or the file's: programs of many names (busybox) are another
 * command under each, and a file of the same name elsewhere is another program.
 */
function isMeant(rule: string, called: string, path: string, place: SearchPlace): boolean {
  const meant = locateCommand(rule, place);
  if (meant === undefined || !isSameFile(path, meant)) return false;
  return called === basename(rule) || called === basename(realpathSync(meant));
}

const isSameFile = (one: string | undefined, other: string | undefined): boolean =>
  one !== undefined && other !== undefined && realpathSync(one) === realpathSync(other);

function locateCommand(
  command: string,
  { path: searchPath, cwd }: Pick<SearchPlace, 'path' | 'cwd'>,
): string | undefined {
  if (command.includes('/')) {
    const path = resolve(cwd, command);
    return isProgram(path) ? path : undefined;
  }
  const folders = searchPath.split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.map((folder) => resolve(folder, command)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * The argument vector that stands before a command's own and sets a limit on processes, which the commands have and the
 * server has not: else a command that forks for ever leaves the server none to start the next one with. Relies on prlimit of
 * util-linux; the kernel counts by user, so root is not limited. Undefined for no limit. Throws E_SETTINGS where there is no
 * program to set a limit with.
 */
export function processLimit(
  processes: number | undefined,
  searchPath: string | undefined,
): readonly string[] | undefined {
  if (processes === undefined) return undefined;
  const place = { path: searchPath ?? '', rulesPath: '', cwd: '/' };
  const found = findCommand('prlimit', place, { allow: undefined, deny: [] });
  if ('path' in found) return [found.path, `--nproc=${processes}:${processes}`];
  throw new BridgeError('E_SETTINGS', 'MCP_EXEC_PROCESSES is set, and there is no prlimit on the PATH.', {
    fault: 'operator',
    remedy: 'Install util-linux, or unset it and limit processes from outside.',
  });
}
