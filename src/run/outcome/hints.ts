// What an exception has to do with the sandbox, and the next step: one table, a row for each thing that code written for
// a terminal meets here. The first row that fits speaks; most exceptions are the code's own affair, and none does.

import type { GuestError } from '../../sandbox/sandbox.js';
import { asyncHints } from './hints/asynchrony.js';
import { fileHints } from './hints/files.js';
import { habitHints } from './hints/habits.js';
import { firstFitting, type Hint, type HintSpec } from './hints/hint.js';
import { limitHints } from './hints/limits.js';
import { moduleHints } from './hints/modules.js';
import { networkHints } from './hints/network.js';
import { toolHints } from './hints/tools.js';

/** Modules come before files: a program that is missing is a file that is missing. */
export const HINTS: readonly Hint[] = [
  ...toolHints,
  ...limitHints,
  ...networkHints,
  ...moduleHints,
  ...fileHints,
  ...asyncHints,
  ...habitHints,
];

const HINTS_WITH_NETWORK = HINTS.filter((hint) => !networkHints.includes(hint));

/** Undefined where the exception has nothing to do with the sandbox. */
export const hintFor = (error: GuestError, spec: HintSpec): string | undefined =>
  firstFitting(spec.network === 'none' ? HINTS : HINTS_WITH_NETWORK, error, spec);
