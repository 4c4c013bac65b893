// Where a program lies that a command names.

import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { isFile } from '../files/is-file.js';
import type { Environment } from './environment.js';
import { findOnWindows } from './start-of.js';

/** Absolute path of the program that `command` starts, if there is one. */
export function findProgram(command: string, env: Environment): string | undefined {
  if (process.platform === 'win32') return findOnWindows(command, { env, cwd: '', isFile });
  if (isAbsolute(command)) return isExecutable(command) ? command : undefined;
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, command)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
