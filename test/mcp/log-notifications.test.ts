// Output as log notifications: none before a level is set, whole lines in batches, a bounded number of characters.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type LogParams, type McpLogLevel, OutputLog } from '../../src/mcp/requests/log-notifications.js';

let threshold: McpLogLevel | undefined;
let sent: LogParams[];
let log: OutputLog;
beforeEach(() => {
  vi.useFakeTimers();
  threshold = 'debug';
  sent = [];
  log = new OutputLog(
    'run_python',
    () => threshold,
    (params) => sent.push(params),
  );
});
afterEach(() => {
  log[Symbol.dispose]();
  vi.useRealTimers();
});
const texts = () => sent.map(({ data }) => (typeof data === 'string' ? data : data.text));

it('sends whole lines, five times a second', () => {
  log.add('stdout', 'one\ntwo\nthr');
  expect(sent).toEqual([]);
  vi.advanceTimersByTime(200);
  expect(sent).toEqual([
    { level: 'info', logger: 'run_python', data: { stream: 'stdout', text: 'one\ntwo' } },
  ]);
  log.add('stdout', 'ee\n');
  vi.advanceTimersByTime(200);
  expect(texts()).toEqual(['one\ntwo', 'three']);
});

it('does not wait for ever for the end of a line', () => {
  log.add('stderr', 'working...');
  vi.advanceTimersByTime(800);
  expect(sent).toEqual([]);
  vi.advanceTimersByTime(200);
  expect(sent).toEqual([
    { level: 'notice', logger: 'run_python', data: { stream: 'stderr', text: 'working...' } },
  ]);
  log.add('stdout', 'y'.repeat(3_000));
  vi.advanceTimersByTime(200);
  expect(sent).toHaveLength(2);
});

it.each<[McpLogLevel | undefined, string[]]>([
  [undefined, []],
  ['debug', ['stdout', 'stderr']],
  ['info', ['stdout', 'stderr']],
  ['notice', ['stderr']],
  ['warning', []],
  ['emergency', []],
])('at level %s tells of %j', (level, streams) => {
  threshold = level;
  log.add('stdout', 'a\n');
  log.add('stderr', 'b\n');
  vi.advanceTimersByTime(1_000);
  expect(sent.map(({ data }) => (data as { stream: string }).stream)).toEqual(streams);
});

it('stops after 40,000 characters, and says where the rest is', () => {
  for (let n = 0; n < 1_000; n++) {
    log.add('stdout', `${'x'.repeat(999)}\n`);
    if (n % 10 === 0) vi.advanceTimersByTime(200);
  }
  vi.advanceTimersByTime(1_000);
  expect(texts().join('').length).toBeLessThan(40_100);
  expect(sent.at(-1)?.data).toBe('The rest of the output is in the answer.');
  expect(texts().filter((text) => text.startsWith('The rest'))).toHaveLength(1);
});

it('is harmless', () => {
  log.add('stdout', '\u001b[31mred\u001b[0m \u0007\ud800\n');
  vi.advanceTimersByTime(200);
  expect(texts()).toEqual(['red \\x07\ufffd']);
});

it('ends with what is left, and with no timer', () => {
  log.add('stdout', 'last');
  log[Symbol.dispose]();
  expect(texts()).toEqual(['last']);
  log.add('stdout', 'late\n');
  expect(vi.getTimerCount()).toBe(0);
  expect(sent).toHaveLength(1);
});

it('has no timer while nothing is printed', () => {
  log.add('stdout', 'one\n');
  vi.advanceTimersByTime(400);
  expect(vi.getTimerCount()).toBe(0);
});
