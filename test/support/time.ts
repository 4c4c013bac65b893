// How tests deal with time. None judges how fast this machine is: a test waits for a condition, takes a fake clock, or hands
// time in. Where a real deadline is the subject, it is a multiple of what something known takes on this machine, as measured at
// the start of the run (scripts/suite/machine-units.mjs). `node scripts/time-literals.mjs` lists what rests on a number of its
// own.

import { setMaxListeners } from 'node:events';
// Node's own timers go on where a test plays the clock.
import { setTimeout as sleep } from 'node:timers/promises';

const now = performance.now.bind(performance);

/**
 * Whatever takes so long hangs. This limit says nothing of how long anything should take, and is far more than a loaded
 * machine needs.
 */
export const HANGS_MS = 120_000;
const POLL_MS = 10;

/** So many times as long as `node -e 0` takes here, in milliseconds. */
export const nodeStarts = (count: number): number => count * measured('TEST_NODE_START_MS');

/** So many times as long as a cold sandbox takes here, in milliseconds. Only tests of containers have it. */
export const coldSandboxes = (count: number): number => count * measured('TEST_COLD_SANDBOX_MS');

function measured(name: string): number {
  const ms = Number(process.env[name]);
  if (!(ms > 0)) throw new Error(`${name} is missing: the global set-up of this project does not measure it`);
  return ms;
}

/** Whether `condition` comes to hold before it has to be called hung. */
export async function eventually(condition: () => boolean | Promise<boolean>): Promise<boolean> {
  const end = now() + HANGS_MS;
  while (!(await condition())) {
    if (now() > end) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** Waits until `condition` holds; throws with its source, or with `what` was waited for, when it hangs. */
export async function until(condition: () => boolean | Promise<boolean>, what?: string): Promise<void> {
  if (await eventually(condition)) return;
  throw new Error(`waited ${HANGS_MS / 1000} s for: ${what ?? condition}`);
}

/**
 * Lets time go by, by the played clock where there is one. What is asserted afterwards must hold however long the pause
 * takes: it is for conditions that cannot be waited for.
 */
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The signal of what nobody cancels; all tests share it, and so it may have any number of listeners. */
export const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER);

/** Options for vi.waitFor and expect.poll. */
export const PATIENTLY = { timeout: HANGS_MS, interval: POLL_MS } as const;
