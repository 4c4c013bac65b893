// The attacks on the limits, which are functions of limits.py, and how much they take.

import { textBeside } from '../../base/files/read-text.js';
import { pythonCall } from './guest-code.js';
import type { Arguments } from './wall.js';

/** Small enough that a machine without enforcement does not notice, and more than the interpreter needs. */
export const MEMORY_LIMIT_MB = 64;
/** Beyond the limit. */
export const EXCESS_MB = 64;
const TARGET_MB = MEMORY_LIMIT_MB + EXCESS_MB;
const STEP_MB = 4;
export const ALL_TAKEN = 'all taken';

/** The interpreter and the harness need a few; a limit below that would end the run, not the attack. */
export const PIDS_LIMIT = 24;
const EXCESS_PIDS = 8;

/** How much an attacker prints, and how much of that may be found on disk. */
export const FLOOD_MB = 8;
/** The second one where the first was over before the code began, as on a slow machine. */
export const DEADLINES_SECONDS = [1, 10] as const;

/** Each pair has two buffers, and the kernel rounds their size up: without a bound they take twice the limit. */
const SOCKET_PAIRS = 640;
const SOCKET_PAIR_KB = 200;

const CODE = textBeside(new URL('./limits.py', import.meta.url));
const attack = (name: string, given: Arguments): string => `${CODE}\n${pythonCall(name, given)}`;

export type MemoryKind = 'private' | 'shared' | 'tmpfs' | 'sockets';

const taken = { target_mb: TARGET_MB, step_mb: STEP_MB, all_taken: ALL_TAKEN };

export const MEMORY_ATTACKS: Readonly<Record<MemoryKind, string>> = {
  private: attack('private', taken),
  shared: attack('shared', taken),
  tmpfs: attack('tmpfs', taken),
  sockets: attack('sockets', { pairs: SOCKET_PAIRS, pair_kb: SOCKET_PAIR_KB, all_taken: ALL_TAKEN }),
};

export const pidsAttack = (limit: number): string =>
  attack('processes', { wanted: limit + EXCESS_PIDS, all_taken: ALL_TAKEN });

/** Floods its output, then spins, deaf to every signal that can be ignored. */
export const DEADLINE_ATTACK = attack('deadline', { flood_mb: FLOOD_MB });

/** As deaf, and idle. */
export const IDLE_ATTACK = attack('outlive', {});
