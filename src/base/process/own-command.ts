// How the user started us, so that a sentence can name a command of ours that this user can type. Judged by the path of
// the script that node was given: a link in a folder of programs, npx's cache, or a checkout. Reads no environment.

import { PACKAGE_NAME } from '../version.js';

/**
 * The argv without a subcommand that starts us as `script` was started: `npx -y …` out of npx's cache, `node` and the
 * path out of a checkout or an unpacked archive, and the program's own name where npm has installed it.
 *
 * @param script what `process.argv[1]` is: an absolute path, or `undefined` in a process without a script
 */
export function argvOf(script: string | undefined): readonly string[] {
  const path = (script ?? '').replaceAll('\\', '/');
  // npx installs into ~/.npm/_npx/<hash>/node_modules (libnpmexec); the folder is gone once npm clears its cache.
  if (path.includes('/_npx/')) return ['npx', '-y', PACKAGE_NAME];
  if (path.includes('/node_modules/')) return [PACKAGE_NAME];
  // Node does not follow a link that it is given, so the name of npm's link to the program is seen here.
  return /\/cli\/main\.js$/.test(path) && script !== undefined ? ['node', script] : [PACKAGE_NAME];
}

/** The argv that starts this bridge as it was started now. */
export const OWN_ARGV = argvOf(process.argv[1]);

/** The form of an option of ours; `shellWord` quotes whatever begins with a hyphen. */
const OPTION = /^--[a-z][a-z-]*$/;

/** A command of ours as a line for a POSIX shell: `ownCommand('image', 'build')`. */
export const ownCommand = (...words: readonly string[]): string => shellLine([...OWN_ARGV, ...words]);

/** Words as a line for a POSIX shell, with options as they are written. */
export const shellLine = (words: readonly string[]): string =>
  words.map((word) => (OPTION.test(word) || word === '-y' ? word : shellWord(word))).join(' ');

/** Characters that mean nothing to a shell. The first must be no hyphen, which would make an option of the word, and no `=`. */
const PLAIN = /^[\w.@:/+][\w.@:/+=-]*$/;

/** `text` as one word of a command to paste into a POSIX shell: unchanged where it is plain, else between single quotes. */
export const shellWord = (text: string): string =>
  PLAIN.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
