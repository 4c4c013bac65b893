// A pool for each kind, made when it is asked for, and all of them within one share of the memory.

import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Sandbox } from '../../src/sandbox/conversation/sandbox.js';
import { WarmPools } from '../../src/sandbox/launch/warm-pool.js';
import type { SandboxProfile } from '../../src/sandbox/spec/profile.js';
import { PLAIN_KIND } from '../support/plain-kind.js';
import { NEVER } from '../support/time.js';

let freeMib: number;
// Loaded anew with the mock, and once more without it for the files that run in this process afterwards.
vi.hoisted(() => vi.resetModules());
afterAll(() => void vi.resetModules());

vi.mock('node:os', async (original) => ({
  ...(await original<typeof import('node:os')>()),
  freemem: () => freeMib * 1024 * 1024,
}));

const GO: SandboxProfile = { ...PLAIN_KIND, image: 'go', ahead: [['go', 'version']] };
const RUBY: SandboxProfile = { ...PLAIN_KIND, image: 'ruby' };

const NODE: SandboxProfile = {
  ...PLAIN_KIND,
  image: 'node',
  waits: { argv: ['node'], runs: ['node'], opens: null, unless: [], speaks: true },
};

let started: string[];
/** What waits in each that was started. */
let waits: Array<string | undefined>;
let retired: number;
let pools: WarmPools;
beforeEach(() => {
  vi.useFakeTimers();
  [started, waits, retired, freeMib] = [[], [], 0, 8_000];
  pools = new WarmPools({
    size: 1,
    start: async (kind) => {
      started.push(kind.image);
      waits.push(kind.waits?.argv[0]);
      return {
        isAlive: true,
        startedAt: performance.now(),
        ended: new Promise(() => {}),
      } as unknown as Sandbox;
    },
    retire: () => retired++,
    isCurrent: () => true,
    observer: () => {},
  });
});
afterEach(() => {
  pools[Symbol.dispose]();
  vi.useRealTimers();
});
const settle = () => vi.advanceTimersByTimeAsync(5);

/** A run of each from its start to its end. */
async function use(...kinds: readonly SandboxProfile[]): Promise<void> {
  for (const kind of kinds) pools.of(kind).retire(await pools.of(kind).take(NEVER));
  await settle();
}

it('one for equal kinds, and none starts for a kind that nobody asked for', async () => {
  expect(pools.of({ ...RUBY })).toBe(pools.of(RUBY));
  expect(pools.of({ ...RUBY, memoryBytes: 1 })).not.toBe(pools.of(RUBY));
  pools.of(GO);
  await use(RUBY);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(started).toEqual([RUBY.image, RUBY.image]);
  expect([pools.of(RUBY).ready, pools.of(GO).ready]).toEqual([1, 0]);
});

it('what one kind holds is not there for another', async () => {
  // A quarter: room for one that merely waits, or for one that has done something ahead, but not for both.
  freeMib = 4 * 160;
  await use(RUBY, GO, PLAIN_KIND);
  expect([RUBY, GO, PLAIN_KIND].map((kind) => pools.of(kind).ready)).toEqual([1, 0, 1]);
  freeMib = 8_000;
  await use(GO);
  expect(pools.of(GO).ready).toBe(1);
});

it('an interpreter waits with one only when its language was used', async () => {
  pools.of(NODE).fill();
  await settle();
  await use(NODE, NODE);
  expect(waits).toEqual([undefined, 'node', 'node']);
});

it('one with an interpreter takes as much as one that has done something ahead', async () => {
  freeMib = 4 * 160;
  await use(RUBY, NODE);
  expect([RUBY, NODE].map((kind) => pools.of(kind).ready)).toEqual([1, 0]);
});

it('their end is that of all that wait', async () => {
  await use(RUBY, GO, PLAIN_KIND);
  const before = retired;
  pools[Symbol.dispose]();
  expect(retired - before).toBe(3);
});
