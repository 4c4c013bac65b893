// Two look-ups on this machine that only doctor makes: where a program lies, and how many ids a user may hand out.

import { accessSync, constants } from 'node:fs';
import { userInfo } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Environment } from '../base/environment.js';
import { isFile } from '../base/is-file.js';
import { readText } from '../base/read-text.js';
import { findOnWindows } from '../base/start-of.js';

/** Absolute path of the program that `command` starts, if there is one. */
export function findProgram(command: string, env: Environment): string | undefined {
  if (process.platform === 'win32') return findOnWindows(command, { env, cwd: '', isFile });
  if (isAbsolute(command)) return isExecutable(command) ? command : undefined;
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, command)).find(isExecutable);
}

/** The same in words. */
export const pathOf = (binary: string, env: Environment): string => findProgram(binary, env) ?? 'not on PATH';

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** How many ids a file of the form `user:start:count` gives to this user. */
export function subordinateIds(file: string): number {
  const { username, uid } = userInfo();
  return (readText(file) ?? '')
    .split('\n')
    .map((line) => line.split(':'))
    .filter(([owner]) => owner === username || owner === String(uid))
    .reduce((sum, [, , count]) => sum + Number(count), 0);
}
