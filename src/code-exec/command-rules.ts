// Which commands may run: found as a shell would find them, then judged by the name they were called by and by every path
// that leads to the same file, so that a link to a denied program is denied as well.

import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';

type CommandRules = {
  /** Names or absolute paths; undefined allows all. */
  readonly allow: readonly string[] | undefined;
  /** Comes before `allow`. */
  readonly deny: readonly string[];
};

type FoundProgram =
  | { readonly path: string }
  /** Why it may not run, or cannot, as a sentence. */
  | { readonly refused: string };

type SearchPlace = {
  readonly path: string;
  /** Where rules are looked for: the server's own search path, whatever a call has as its own. */
  readonly rulesPath: string;
  readonly cwd: string;
};

/** `command` is a name for the search path `path`, or, where it has a slash, a path of its own. */
export function findCommand(
  command: string,
  place: SearchPlace,
  { allow, deny }: CommandRules,
): FoundProgram {
  const ours = { ...place, path: place.rulesPath };
  const path = located(command, place);
  const called = basename(command);
  // Also one that is not there: a rule is no secret, and what is denied shall not look as if it could be installed.
  const denied = deny.find((rule) => called === basename(rule) || isSameFile(path, located(rule, ours)));
  if (denied !== undefined) return { refused: `'${command}' is denied here, by the rule ${denied}.` };
  if (path === undefined) return { refused: `There is no program '${command}' here.` };
  if (allow === undefined || allow.some((rule) => isMeant(rule, called, path, ours)))
    // Its folder as we see it: /proc/self and the like lead elsewhere in the command's own process.
    return { path: join(realpathSync(dirname(path)), basename(path)) };
  return { refused: `'${command}' is not among the commands that are allowed here: ${allow.join(', ')}.` };
}

/**
 * A rule means the file that it leads to, under its own name or the file's: programs of many names (busybox) are another
 * command under each, and a file of the same name elsewhere is another program.
 */
function isMeant(rule: string, called: string, path: string, place: SearchPlace): boolean {
  const meant = located(rule, place);
  if (meant === undefined || !isSameFile(path, meant)) return false;
  return called === basename(rule) || called === basename(realpathSync(meant));
}

const isSameFile = (one: string | undefined, other: string | undefined): boolean =>
  one !== undefined && other !== undefined && realpathSync(one) === realpathSync(other);

function located(
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
