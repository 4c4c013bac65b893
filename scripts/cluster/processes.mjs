// Processes of a cluster, by pid files: they outlive the command that starts them, and the command that ends them finds them there.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LOGS, PIDS } from './place.mjs';

const POLL_MS = 100;
const ENDS_WITHIN_MS = 5_000;
const LOG_LINES = 15;

/**
 * Starts `argv` in a session of its own, with its output in a log. Its priority is that of whoever starts the cluster: one below that
 * of the bridge would be measured as a slower engine than one on this machine. Its arguments say whose it is, so that a pid which has
 * gone to another process is never signalled. Returns the process, which nobody has to wait for.
 */
export function start(
  /** @type {string} */ name,
  /** @type {readonly string[]} */ [program = '', ...args],
  /** @type {{ env?: NodeJS.ProcessEnv, ipc?: boolean }} */ { env, ipc = false } = {},
) {
  for (const folder of [LOGS, PIDS]) mkdirSync(folder, { recursive: true });
  const log = openSync(join(LOGS, `${name}.log`), 'a');
  const child = spawn(program, args, {
    detached: true,
    stdio: ['ignore', log, log, ...(ipc ? [/** @type {const} */ ('ipc')] : [])],
    env: { ...process.env, ...env },
  });
  // One that is not there has no pid, which is told below.
  child.once('error', () => {});
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} could not be started`);
  child.unref();
  writeFileSync(join(PIDS, name), `${pid} ${startTimeOf(pid)}`);
  return child;
}

/** Whether the process that was started by that name is alive. */
export const isAlive = (/** @type {string} */ name) => pidOf(name) !== undefined;

/** The end of what it has logged. */
export function logOf(/** @type {string} */ name) {
  try {
    return readFileSync(join(LOGS, `${name}.log`), 'utf8')
      .trimEnd()
      .split('\n')
      .slice(-LOG_LINES)
      .join('\n');
  } catch {
    return '';
  }
}

/** Ends it, by SIGKILL where it does not end by itself, and waits for its end. */
export async function end(/** @type {string} */ name, /** @type {NodeJS.Signals} */ signal = 'SIGTERM') {
  const pid = pidOf(name);
  if (pid !== undefined) {
    process.kill(pid, signal);
    const until = performance.now() + ENDS_WITHIN_MS;
    while (isAlive(name) && performance.now() < until) await sleep(POLL_MS);
    if (isAlive(name)) process.kill(pid, 'SIGKILL');
    while (isAlive(name)) await sleep(POLL_MS);
  }
  rmSync(join(PIDS, name), { force: true });
}

/** Names of all that was started and not ended. */
export const started = () => (existsSync(PIDS) ? readdirSync(PIDS) : []);

/** Polls until `holds`; throws with `what`, and with what the process `name` has logged, when that is gone or time is up. */
export async function until(
  /** @type {string} */ what,
  /** @type {string} */ name,
  /** @type {() => boolean} */ holds,
  withinMs = 300_000,
) {
  const end = performance.now() + withinMs;
  while (!holds()) {
    const why = !isAlive(name)
      ? `${name} has ended`
      : performance.now() > end
        ? `waited ${withinMs / 1000} s`
        : undefined;
    if (why !== undefined) throw new Error(`${what}: ${why}. The end of its log:\n${logOf(name)}`);
    await sleep(POLL_MS);
  }
}

/** The pid of `name`, where that process is still the same one. */
export function pidOf(/** @type {string} */ name) {
  try {
    const [pid, startTime] = readFileSync(join(PIDS, name), 'utf8').split(' ');
    return startTimeOf(Number(pid)) === startTime && startTime !== '' ? Number(pid) : undefined;
  } catch {
    return undefined;
  }
}

/** Clock ticks after the boot at which it was started; empty once it has ended, also where nobody has asked for its end. */
function startTimeOf(/** @type {number} */ pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return fields[0] === 'Z' ? '' : (fields[19] ?? '');
  } catch {
    return '';
  }
}
