// What of a flood is handed on, by the played clock: counted in messages and bytes, and what must not be lost in it.

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LeftOut, Unasked } from '../../src/servers/connection/unasked.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const MB = 1024 * 1024;
const notice = (method: string, params: Record<string, unknown> = {}): JSONRPCMessage => ({
  jsonrpc: '2.0',
  method,
  params,
});
const log = (n: number) => notice('notifications/message', { data: n });
const progress = (progressToken: unknown, n: number) =>
  notice('notifications/progress', { progressToken, progress: n });
const changed = notice('notifications/tools/list_changed');

function listener() {
  const heard: JSONRPCMessage[] = [];
  const seen = { leftOut: 0 };
  const unasked = new Unasked(() => void seen.leftOut++);
  const say = (message: JSONRPCMessage, bytes = 100) =>
    unasked.hear(message, bytes, (each) => heard.push(each));
  return { heard, seen, unasked, say };
}

it('of 20,000 log lines at once 2,000 are handed on, then the newest, and the others are counted', () => {
  const { heard, seen, say } = listener();
  for (let n = 1; n <= 20_000; n++) say(log(n));
  expect(heard).toHaveLength(2_000);
  expect(seen.leftOut).toBe(17_999);
  vi.advanceTimersByTime(1_000);
  expect(heard.slice(2_000)).toEqual([log(20_000)]);
});

it('of 20,000 in each second 100 are handed on from then on', () => {
  const { heard, say } = listener();
  for (let at = 0; at < 10_000; at++) {
    for (let n = 0; n < 20; n++) say(log(n));
    vi.advanceTimersByTime(1);
  }
  expect(heard.length).toBeGreaterThan(2_900);
  expect(heard.length).toBeLessThanOrEqual(3_001);
});

it('a few in each second are all handed on, at once', () => {
  const { heard, seen, say } = listener();
  for (let n = 0; n < 3_000; n++) {
    say(log(n));
    expect(heard).toHaveLength(n + 1);
    vi.advanceTimersByTime(11);
  }
  expect(seen.leftOut).toBe(0);
});

it('long ones are counted by their bytes', () => {
  const { heard, say } = listener();
  for (let n = 0; n < 100; n++) say(log(n), MB);
  expect(heard).toHaveLength(8);
  vi.advanceTimersByTime(1_000);
  // They are too long to wait for their turn.
  expect(heard).toHaveLength(8);
  say(log(100), MB);
  expect(heard).toHaveLength(9);
});

it('a change in a flood of anything is handed on, once, and so is one behind it', () => {
  const { heard, say } = listener();
  const changes = () => heard.filter((each) => each === changed).length;
  for (let n = 0; n < 2_000; n++) say(log(n));
  for (let n = 0; n < 1_000; n++) say(notice(`notifications/other-${n}`));
  for (let n = 0; n < 1_000; n++) say(changed);
  expect(changes()).toBe(0);
  vi.advanceTimersByTime(5_000);
  expect(changes()).toBe(1);
  say(changed);
  expect(changes()).toBe(2);
  for (let n = 0; n < 1_000; n++) say(changed);
  say(changed, 100 * MB);
  const before = changes();
  vi.advanceTimersByTime(600_000);
  expect(changes()).toBeGreaterThanOrEqual(before);
  expect(heard.at(-1)).toBe(changed);
});

it('of progress the newest of each call comes through, and right before the answer', () => {
  const { heard, unasked, say } = listener();
  for (let n = 1; n <= 1_000; n++) for (const token of [7, 'eight', 9]) say(progress(token, n));
  const before = heard.length;
  expect(before).toBe(2_000);
  unasked.flushProgress(9);
  expect(heard.slice(before)).toEqual([progress(9, 1_000)]);
  vi.advanceTimersByTime(1_000);
  expect(heard.slice(before + 1)).toEqual([progress(7, 1_000), progress('eight', 1_000)]);
  unasked.flushProgress(7);
  expect(heard).toHaveLength(before + 3);
});

it('log lines, progress and requests do not keep each other away', () => {
  const { heard, say } = listener();
  for (let n = 0; n < 3_000; n++) say(log(n));
  say(progress(1, 1));
  say({ jsonrpc: '2.0', id: 1, method: 'elicitation/create', params: {} });
  expect(heard.slice(2_000).map((each) => 'method' in each && each.method)).toEqual([
    'notifications/progress',
    'elicitation/create',
  ]);
});

it('requests beyond the budget are left out, and never asked late', () => {
  const { heard, seen, say } = listener();
  for (let id = 0; id < 3_000; id++) say({ jsonrpc: '2.0', id, method: 'ping' });
  vi.advanceTimersByTime(60_000);
  expect([heard.length, seen.leftOut]).toEqual([2_000, 1_000]);
});

it('the server’s word that it has given a call up comes through', () => {
  const { heard, say } = listener();
  for (let n = 0; n < 3_000; n++) say(log(n));
  const cancelled = notice('notifications/cancelled', { requestId: 3 });
  say(cancelled);
  vi.advanceTimersByTime(1_000);
  expect(heard).toContain(cancelled);
});

it('what waits is bounded, odd parameters harm nothing, and nothing comes after the end', () => {
  const { heard, seen, unasked, say } = listener();
  for (let n = 0; n < 10_000; n++) say(progress(`made up ${n}`, n));
  expect(seen.leftOut).toBe(10_000 - 2_000 - 100);
  for (const token of [{ toString: 1 }, null, [], true, '__proto__']) say(progress(token, 1));
  for (const params of [null, 7, 'text', []]) say({ jsonrpc: '2.0', method: 'x', params } as never);
  unasked.close();
  const before = heard.length;
  vi.advanceTimersByTime(60_000);
  expect(heard).toHaveLength(before);
  expect(vi.getTimerCount()).toBe(0);
});

it('what is left out is told soon, then once in a minute, and the rest at the end', () => {
  const told: number[] = [];
  const leftOut = new LeftOut((count) => void told.push(count));
  for (let at = 0; at < 120_000; at += 100) {
    leftOut.add(10);
    vi.advanceTimersByTime(100);
  }
  expect(told).toEqual([100, 6_000]);
  leftOut.flush();
  leftOut.flush();
  expect(told.reduce((sum, count) => sum + count)).toBe(12_000);
});
