// Two look-ups on this machine that only doctor makes: where a program lies, and how many ids a user may hand out.

import { userInfo } from 'node:os';
import { readText } from '../../base/files/read-text.js';
import type { Environment } from '../../base/process/environment.js';
import { findProgram } from '../../base/process/find-program.js';

/** Where the program lies that a command starts, in words. */
export const pathOf = (binary: string, env: Environment): string => findProgram(binary, env) ?? 'not on PATH';

/** How many ids a file of the form `user:start:count` gives to this user. */
export function subordinateIds(file: string): number {
  const { username, uid } = userInfo();
  return (readText(file) ?? '')
    .split('\n')
    .map((line) => line.split(':'))
    .filter(([owner]) => owner === username || owner === String(uid))
    .reduce((sum, [, , count]) => sum + Number(count), 0);
}
