// The queue before a server: how many get in, who goes next, that waiting costs nobody else, and that nothing is kept afterwards.

import { expect, it } from 'vitest';
import { Scheduler, UNLIMITED } from '../../../src/base/waiting/scheduler.js';
import { NEVER } from '../../support/time.js';

const never = () => NEVER;
const at = (run: string, server = 's', max = 2) => ({ run, server, max });

type Place = ReturnType<typeof at>;

/** Calls of one principal in turn, each at its server. */
function servers() {
  const turns = new Scheduler({ atOnce: Number.POSITIVE_INFINITY });
  const enter = async <T>({ run, server: key, max }: Place, work: () => Promise<T>, signal: AbortSignal) => {
    const wait = {
      owner: 'ann',
      limits: UNLIMITED,
      memoryBytes: 0,
      group: `${run} ${key}`,
      bound: { key, max },
    };
    using _turn = await turns.take(wait, signal);
    signal.throwIfAborted();
    return await work();
  };
  return { turns, enter };
}

/** Work that waits to be told to end; `begun` are those under way or over, in the order in which they began. */
function works() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => () => {
    begun.push(name);
    return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
  };
  return { begun, work, end: (name: string) => ends.get(name)?.() };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

it('no more than allowed are under way, and each server has its own', async () => {
  const { turns, enter } = servers();
  const { begun, work, end } = works();
  const all = ['a', 'b', 'c'].map((name) => enter(at('r'), work(name), never()));
  all.push(enter(at('r', 'other', 1), work('x'), never()));
  await turn();
  expect(begun).toEqual(['a', 'b', 'x']);
  end('b');
  expect(await all[1]).toBe('b');
  await turn();
  expect(begun).toEqual(['a', 'b', 'x', 'c']);
  for (const name of ['a', 'c', 'x']) end(name);
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'x']);
  expect([turns.waiting, turns.kept]).toEqual([0, 0]);
});

it('another run does not wait for all that one has asked for', async () => {
  const { turns, enter } = servers();
  const { begun, work, end } = works();
  const greedy = Array.from({ length: 20 }, (_, n) => enter(at('r', 's', 1), work(`r${n}`), never()));
  const modest = enter(at('other', 's', 1), work('other'), never());
  await turn();
  end('r0');
  await turn();
  expect(begun).toEqual(['r0', 'other']);
  end('other');
  expect(await modest).toBe('other');
  for (let n = 1; n < 20; n++) {
    await turn();
    end(`r${n}`);
  }
  await Promise.all(greedy);
  expect([turns.waiting, turns.kept]).toEqual([0, 0]);
});

it('who gives up leaves the queue, and nothing was done for it', async () => {
  const { turns, enter } = servers();
  const { begun, work, end } = works();
  const first = enter(at('r', 's', 1), work('first'), never());
  const controller = new AbortController();
  const second = enter(at('r', 's', 1), work('second'), controller.signal);
  const third = enter(at('r', 's', 1), work('third'), never());
  await turn();
  controller.abort('cancelled');
  await expect(second).rejects.toBeDefined();
  end('first');
  await first;
  await turn();
  expect(begun).toEqual(['first', 'third']);
  end('third');
  expect(await third).toBe('third');
  expect([turns.waiting, turns.kept]).toEqual([0, 0]);
});

it('work that fails lets the next one in', async () => {
  const { turns, enter } = servers();
  const failing = enter(at('r', 's', 1), () => Promise.reject(new Error('no')), never());
  const next = enter(at('r', 's', 1), () => Promise.resolve(1), never());
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe(1);
  expect([turns.waiting, turns.kept]).toEqual([0, 0]);
});
