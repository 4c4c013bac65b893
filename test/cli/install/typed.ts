// What a person types into a shell in a home of its own: our command line, and what it prints as JSON.

import type { Home } from '../../hosts/home.js';
import { commandLine } from '../../support/command-line.js';

export const typed = (home: Home, args: readonly string[]) =>
  commandLine(args, { folder: home.cwd, env: { HOME: home.path, PATH: '/nowhere', ...home.env } });

/** Fails with what was said on stderr where nothing was printed. */
export async function typedJson(home: Home, args: readonly string[]) {
  const { stdout, stderr } = await typed(home, [...args, '--json']);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}
