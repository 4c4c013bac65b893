// The queue before a server: how many get in, who goes next, and that waiting costs nobody else.

import { expect, it } from 'vitest';
import { ServerSemaphores } from '../../../src/run/calls/server-semaphores.js';
import { NEVER } from '../../support/time.js';

const never = () => NEVER;
const at = (run: string, server = 's', max = 2) => ({ run, server, max });

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
  const semaphores = new ServerSemaphores();
  const { begun, work, end } = works();
  const all = ['a', 'b', 'c'].map((name) => semaphores.enter(at('r'), work(name), never()));
  all.push(semaphores.enter(at('r', 'other', 1), work('x'), never()));
  await turn();
  expect(begun).toEqual(['a', 'b', 'x']);
  end('b');
  expect(await all[1]).toBe('b');
  await turn();
  expect(begun).toEqual(['a', 'b', 'x', 'c']);
  for (const name of ['a', 'c', 'x']) end(name);
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'x']);
});

it('another run does not wait for all that one has asked for', async () => {
  const semaphores = new ServerSemaphores();
  const { begun, work, end } = works();
  const greedy = Array.from({ length: 20 }, (_, n) =>
    semaphores.enter(at('r', 's', 1), work(`r${n}`), never()),
  );
  const modest = semaphores.enter(at('other', 's', 1), work('other'), never());
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
});

it('who gives up leaves the queue, and nothing was done for it', async () => {
  const semaphores = new ServerSemaphores();
  const { begun, work, end } = works();
  const first = semaphores.enter(at('r', 's', 1), work('first'), never());
  const controller = new AbortController();
  const second = semaphores.enter(at('r', 's', 1), work('second'), controller.signal);
  const third = semaphores.enter(at('r', 's', 1), work('third'), never());
  await turn();
  controller.abort('cancelled');
  await expect(second).rejects.toBeDefined();
  end('first');
  await first;
  await turn();
  expect(begun).toEqual(['first', 'third']);
  end('third');
  expect(await third).toBe('third');
});

it('work that fails lets the next one in', async () => {
  const semaphores = new ServerSemaphores();
  const failing = semaphores.enter(at('r', 's', 1), () => Promise.reject(new Error('no')), never());
  const next = semaphores.enter(at('r', 's', 1), () => Promise.resolve(1), never());
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe(1);
});
