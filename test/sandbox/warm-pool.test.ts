// The pool's own rules, with sandboxes that are only as real as the pool can see: alive or not, ended or not.

import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Sandbox } from '../../src/sandbox/conversation/sandbox.js';
import { MAX_WAIT_SECONDS, WarmPool } from '../../src/sandbox/launch/warm-pool.js';
import { NEVER } from '../support/time.js';

let freeMib = 8_000;
// Loaded anew with the mock, and once more without it for the files that run in this process afterwards.
vi.hoisted(() => vi.resetModules());
afterAll(() => void vi.resetModules());

vi.mock('node:os', async (original) => ({
  ...(await original<typeof import('node:os')>()),
  freemem: () => freeMib * 1024 * 1024,
}));

type Stub = Sandbox & { readonly number: number; die: () => void };

function stub(number: number): Stub {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const self = {
    number,
    isAlive: true,
    startedAt: performance.now(),
    ended,
    rest: () => self.isAlive,
    die: () => {
      self.isAlive = false;
      end();
    },
  };
  return self as unknown as Stub;
}

let started: Stub[];
let retired: number[];
let fails: boolean;
let current: boolean;
let events: string[];
let waits: string[];
let gate: Promise<void>;
let pool: WarmPool;

const MIB = 1024 * 1024;
const open = (size: number, mib = 64, heldMib = () => 0) =>
  new WarmPool({
    size,
    bytesEach: mib * MIB,
    heldBytes: () => pool.heldBytes + heldMib() * MIB,
    start: async (signal) => {
      await gate;
      if (fails) throw new Error('no engine');
      signal.throwIfAborted();
      const sandbox = stub(started.length + 1);
      started.push(sandbox);
      return sandbox;
    },
    retire: (sandbox) => retired.push((sandbox as Stub).number),
    isCurrent: () => current,
    onWaits: (sandbox, begins) => waits.push(`${numberOf(sandbox)} ${begins ? 'waits' : 'taken'}`),
    observer: ({ type }) => events.push(type),
  });
const numberOf = (sandbox: Sandbox) => (sandbox as Stub).number;
const settle = () => vi.advanceTimersByTimeAsync(5);

beforeEach(() => {
  vi.useFakeTimers();
  [started, retired, events, fails, current, gate] = [[], [], [], false, true, Promise.resolve()];
  waits = [];
  freeMib = 8_000;
});
afterEach(() => {
  pool[Symbol.dispose]();
  vi.useRealTimers();
});

describe('take', () => {
  it('gives each away once, oldest first, and starts cold when none waits', async () => {
    pool = open(2);
    pool.fill();
    await settle();
    expect(pool.ready).toBe(2);
    const taken = await Promise.all([pool.take(NEVER), pool.take(NEVER), pool.take(NEVER)]);
    expect(taken.map(numberOf)).toEqual([1, 2, 3]);
  });

  it('one beside the pool starts cold, leaves what waits to others, and keeps nothing from being filled', async () => {
    pool = open(1);
    pool.fill();
    await settle();
    const beside = await pool.take(NEVER, { isBeside: true });
    expect([numberOf(beside), pool.ready]).toEqual([2, 1]);
    const own = await pool.take(NEVER);
    expect(numberOf(own)).toBe(1);
    pool.retire(own);
    await settle();
    // Although the other one still runs.
    expect(pool.ready).toBe(1);
    pool.retire(beside);
    await settle();
    expect([pool.ready, started.length, retired]).toEqual([1, 3, [1, 2]]);
    const last = await pool.take(NEVER);
    const late = await pool.take(NEVER, { isBeside: true });
    pool.retire(late);
    await settle();
    expect(pool.ready).toBe(0);
    pool.retire(last);
    await settle();
    expect(pool.ready).toBe(1);
  });

  it('passes over the dead and the outdated', async () => {
    pool = open(2);
    pool.fill();
    await settle();
    current = false;
    expect(numberOf(await pool.take(NEVER))).toBe(3);
    expect(retired).toEqual([1, 2]);
  });

  it('takes one that is on its way instead of starting another', async () => {
    let release = () => {};
    gate = new Promise((resolve) => {
      release = resolve;
    });
    pool = open(1);
    pool.fill();
    const taking = pool.take(NEVER);
    release();
    expect(numberOf(await taking)).toBe(1);
    expect(started).toHaveLength(1);
  });

  it('passes over one that became outdated on its way', async () => {
    let release = () => {};
    gate = new Promise((resolve) => {
      release = resolve;
    });
    pool = open(1);
    pool.fill();
    const taking = pool.take(NEVER);
    current = false;
    release();
    expect(numberOf(await taking)).toBe(2);
    expect(retired).toEqual([1]);
  });

  it('lets go of what was on its way for one who gave up', async () => {
    let release = () => {};
    gate = new Promise((resolve) => {
      release = resolve;
    });
    pool = open(1);
    pool.fill();
    const impatient = new AbortController();
    const taking = pool.take(impatient.signal);
    impatient.abort();
    await expect(taking).rejects.toMatchObject({ code: 'E_CANCELLED' });
    release();
    await settle();
    expect(retired).toEqual([1]);
  });
});

describe('giveBack', () => {
  /** A pool of one whose only sandbox is taken. */
  async function taken(): Promise<Sandbox> {
    pool = open(1);
    pool.fill();
    await settle();
    return pool.take(NEVER);
  }

  it('lets it wait again, as the next to go, and starts no other', async () => {
    const first = await taken();
    pool.giveBack(first);
    await settle();
    expect([pool.ready, started.length, retired]).toEqual([1, 1, []]);
    expect(await pool.take(NEVER)).toBe(first);
  });

  it('takes one that was started cold as well', async () => {
    pool = open(1);
    const cold = await pool.take(NEVER);
    pool.giveBack(cold);
    await settle();
    expect(await pool.take(NEVER)).toBe(cold);
    expect(started).toHaveLength(1);
  });

  it('ends one that cannot wait, or is outdated, and starts another', async () => {
    const first = await taken();
    (first as Stub).die();
    pool.giveBack(first);
    await settle();
    expect([pool.ready, retired]).toEqual([1, [1]]);
    const second = await pool.take(NEVER);
    current = false;
    pool.giveBack(second);
    expect(retired).toEqual([1, 2]);
  });

  it('ends what is more than the pool may hold, and what is on its way counts', async () => {
    const first = await taken();
    gate = new Promise(() => {});
    await vi.advanceTimersByTimeAsync(1_100);
    pool.giveBack(first);
    expect([pool.ready, retired]).toEqual([0, [1]]);
    pool[Symbol.dispose]();
    gate = Promise.resolve();
    pool = open(0);
    pool.giveBack(await pool.take(NEVER));
    expect([pool.ready, retired]).toEqual([0, [1, 2]]);
  });

  it('ends it when the pool has closed meanwhile', async () => {
    const first = await taken();
    pool[Symbol.dispose]();
    pool.giveBack(first);
    expect([pool.ready, retired]).toEqual([0, [1]]);
  });

  it('notices the death of one that waits again, once', async () => {
    const first = (await taken()) as Stub;
    pool.giveBack(first);
    first.die();
    await settle();
    expect([pool.ready, retired, events]).toEqual([0, [1], ['pool.resting']]);
  });

  it('drops it when nobody wants it for long, counted from its start, as the clock of its container is', async () => {
    const first = await taken();
    // No other is started meanwhile.
    freeMib = 0;
    await vi.advanceTimersByTimeAsync(400_000);
    pool.giveBack(first);
    await vi.advanceTimersByTimeAsync(MAX_WAIT_SECONDS * 1_000 - 400_100);
    expect(retired).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);
    expect(retired).toEqual([1]);
  });

  it('ends one that is too old to wait, however often it was given back', async () => {
    const first = await taken();
    freeMib = 0;
    for (let time = 0; time < 5; time++) {
      await vi.advanceTimersByTimeAsync(110_000);
      pool.giveBack(first);
      expect(await pool.take(NEVER)).toBe(first);
    }
    await vi.advanceTimersByTimeAsync(110_000);
    pool.giveBack(first);
    expect(retired).toContain(1);
    expect(await pool.take(NEVER)).not.toBe(first);
  });

  it('counts the time of a slow start', async () => {
    let release = () => {};
    gate = new Promise((resolve) => {
      release = resolve;
    });
    const slow = stub(1);
    pool = new WarmPool({
      size: 1,
      bytesEach: 64 * MIB,
      heldBytes: () => pool.heldBytes,
      start: async () => gate.then(() => slow),
      retire: (sandbox) => retired.push((sandbox as Stub).number),
      isCurrent: () => true,
      observer: () => {},
    });
    pool.fill();
    await vi.advanceTimersByTimeAsync(50_000);
    release();
    await vi.advanceTimersByTimeAsync(MAX_WAIT_SECONDS * 1_000 - 49_000);
    expect(retired).toEqual([1]);
  });
});

describe('filling', () => {
  it('waits for the end of a short run, and no longer than a second for a long one', async () => {
    pool = open(1);
    const first = await pool.take(NEVER);
    await vi.advanceTimersByTimeAsync(900);
    expect(pool.ready).toBe(0);
    await vi.advanceTimersByTimeAsync(200);
    expect(pool.ready).toBe(1);
    const second = await pool.take(NEVER);
    pool.retire(first);
    expect(pool.ready).toBe(0);
    pool.retire(second);
    await settle();
    expect(pool.ready).toBe(1);
  });

  it('begins behind a cold start for which somebody waits, also where it is asked for meanwhile', async () => {
    pool = open(1);
    let opens = () => {};
    gate = new Promise((resolve) => {
      opens = resolve;
    });
    const taken = pool.take(NEVER);
    pool.fill();
    await vi.advanceTimersByTimeAsync(5_000);
    opens();
    await taken;
    await settle();
    expect(started).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(pool.ready).toBe(1);
  });

  it('leaves the memory alone that is not free, and counts those of all pools', async () => {
    // A quarter is 100 MiB: enough for one of 64, not for one of 160.
    freeMib = 400;
    pool = open(1, 160);
    pool.fill();
    await settle();
    expect(pool.ready).toBe(0);
    pool[Symbol.dispose]();
    pool = open(3);
    pool.fill();
    await settle();
    // A second one would be a quarter of 512.
    expect([pool.ready, pool.heldBytes]).toEqual([1, 64 * MIB]);
    pool[Symbol.dispose]();
    let others = 64;
    pool = open(1, 64, () => others);
    pool.fill();
    await settle();
    expect(pool.ready).toBe(0);
    others = 0;
    pool.fill();
    await settle();
    expect(pool.ready).toBe(1);
  });

  it('rests after a failure, longer each time, and recovers', async () => {
    pool = open(1);
    fails = true;
    pool.fill();
    await vi.advanceTimersByTimeAsync(3_500);
    expect(events).toEqual(['pool.resting', 'pool.resting', 'pool.resting']);
    fails = false;
    await vi.advanceTimersByTimeAsync(4_000);
    expect(pool.ready).toBe(1);
  });

  it('stops trying where nobody has wanted one for long, and begins anew with the next', async () => {
    pool = open(1);
    fails = true;
    pool.fill();
    await vi.advanceTimersByTimeAsync(MAX_WAIT_SECONDS * 1_000 + 60_000);
    const tried = events.length;
    expect(tried).toBeGreaterThan(5);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(events).toHaveLength(tried);
    fails = false;
    pool.retire(await pool.take(NEVER));
    await settle();
    expect(pool.ready).toBe(1);
  });

  it('does not begin after a cold start that failed', async () => {
    pool = open(1);
    fails = true;
    await expect(pool.take(NEVER)).rejects.toThrow('no engine');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(events).toEqual([]);
  });

  it('replaces one that died while it waited, but not at full speed', async () => {
    pool = open(1);
    pool.fill();
    await settle();
    started[0]?.die();
    await settle();
    expect([pool.ready, retired]).toEqual([0, [1]]);
    await vi.advanceTimersByTimeAsync(1_100);
    expect(pool.ready).toBe(1);
  });

  it('drops one that nobody wants, and starts no other before the next run', async () => {
    pool = open(1);
    pool.fill();
    await settle();
    await vi.advanceTimersByTimeAsync(MAX_WAIT_SECONDS * 1_000 + 60_000);
    expect([pool.ready, retired, started.length]).toEqual([0, [1], 1]);
  });

  it('never starts a sandbox for a pool of size 0', async () => {
    pool = open(0);
    pool.fill();
    pool.retire(await pool.take(NEVER));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(started).toHaveLength(1);
  });
});

it('says which wait, lets go of them when it is told to, and starts no other before the next run', async () => {
  pool = open(2);
  pool.fill();
  await settle();
  const taken = await pool.take(NEVER);
  pool.giveBack(taken);
  expect(waits).toEqual(['1 waits', '2 waits', '1 taken', '1 waits']);
  await settle();
  pool.letGo();
  expect([pool.ready, retired]).toEqual([0, [1, 2]]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(started).toHaveLength(2);
  pool.retire(await pool.take(NEVER));
  await settle();
  expect(pool.ready).toBe(2);
});

it('ends what waits when it is disposed', async () => {
  pool = open(3);
  pool.fill();
  await settle();
  pool[Symbol.dispose]();
  expect(retired).toEqual([1, 2, 3]);
});
