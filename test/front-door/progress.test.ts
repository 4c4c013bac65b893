// What a client hears before it has its answer: progress from the queue, the set-up and the code, and output as log
// notifications. Nothing comes unasked, and nothing after the answer.

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fakeEngine } from '../faults/fake-engine.js';
import { type Message, RawBridge, type RawOptions } from '../faults/raw-bridge.js';
import { hostileServer } from '../support/start-bridge.js';
import { pause, until } from '../support/time.js';

/** A bridge of the test's own: those that mostly wait do so side by side. */
const start = (options: RawOptions = {}): Promise<RawBridge> => RawBridge.open(options);

type Told = { readonly progress: number; readonly total?: number; readonly message: string };

/** What was told of the call `id` before its answer; fails where the numbers do not grow or something came later. */
async function toldBefore(bridge: RawBridge, id: number): Promise<readonly Told[]> {
  await bridge.answer(id);
  await pause(500);
  const mine = bridge.received.filter(
    (message) => message.id === id || message.params?.['progressToken'] === id,
  );
  expect(mine.findIndex((message) => message.id === id)).toBe(mine.length - 1);
  const told = mine.slice(0, -1).map(({ params }) => params as unknown as Told);
  for (const [n, { progress, total = progress }] of told.entries()) {
    expect(progress).toBeGreaterThan(told[n - 1]?.progress ?? 0);
    expect(total).toBeGreaterThanOrEqual(progress);
  }
  return told;
}

const messages = (told: readonly Told[]): string[] => told.map(({ message }) => message);
const logs = ({ received }: RawBridge): Message[] =>
  received.filter(({ method }) => method === 'notifications/message');

describe.concurrent('progress', () => {
  it('is what the code reports, and a sign of life when that is silent', async () => {
    await using bridge = await start();
    const code =
      'import time\nruntime.progress(3, 10, "pages")\ntime.sleep(4)\nruntime.progress(10, 10, "done")';
    const all = await toldBefore(bridge, bridge.call(code, { progress: true }));
    // A start that takes its time on a busy machine is told, too.
    const told = all.filter(({ message }) => !message.startsWith('Setting up: '));
    expect(told[0]).toMatchObject({ progress: 3, total: 10, message: 'pages' });
    expect(told[1]?.message).toMatch(/^3 of 10: pages\. Running for \d+ s; 0 tool calls\.$/);
    expect(told[1]).toMatchObject({ total: 10, progress: expect.closeTo(3, 4) });
    expect(told.at(-1)).toMatchObject({ progress: 10, total: 10, message: 'done' });
  });

  it('names the tools that the code waits for', async () => {
    await using bridge = await start({ servers: { h: hostileServer() } });
    const code =
      'import asyncio\nawait asyncio.gather(mcp_h.sleep(ms=6000), mcp_h.sleep(ms=6000), mcp_h.echo(text="x"))';
    const told = await toldBefore(bridge, bridge.call(code, { progress: true, servers: ['h'] }));
    expect(messages(told)).toContainEqual(
      expect.stringMatching(/^Running for \d+ s; 3 tool calls, 2 in flight: h\.sleep \(2\)\.$/),
    );
  });

  it('tells those in the queue that they wait, and how many come before them', async () => {
    await using bridge = await start({ env: { MCP_BRIDGE_CONCURRENCY: '1' } });
    bridge.call('import time; time.sleep(6)');
    const second = bridge.call('2', { progress: true });
    const third = bridge.call('3', { progress: true });
    expect(messages(await toldBefore(bridge, second)).slice(0, 2)).toEqual([
      'Queued: next in line.',
      'Queued: next in line.',
    ]);
    expect(messages(await toldBefore(bridge, third))[0]).toBe('Queued: 1 run ahead.');
  });

  it('tells what a first run waits for: a pull', async () => {
    const dir = fakeEngine({
      image: 'exit 1',
      pull: 'echo "Copying blob 1 of 4" >&2; sleep 5; echo "Copying blob 2 of 4" >&2; sleep 5; exit 1',
    });
    const env = { PATH: dir, MCP_BRIDGE_STATE_DIR: join(dir, 'state'), MCP_BRIDGE_CONCURRENCY: '1' };
    await using bridge = await start({ env });
    const told = await toldBefore(bridge, bridge.call('1', { progress: true }));
    expect([...new Set(messages(told).filter((message) => message.includes('blob')))]).toEqual([
      'Setting up: python:3.14-slim: Copying blob 1 of 4.',
      'Setting up: python:3.14-slim: Copying blob 2 of 4.',
    ]);
  });

  it('tells which server is still starting', async () => {
    await using bridge = await start({ servers: { slow: hostileServer('slow-start=4000') } });
    const told = await toldBefore(bridge, bridge.call('1', { progress: true, servers: ['slow'] }));
    // On a busy machine the sandbox, too, is still being set up when this is told, and something is told after it.
    expect(messages(told)[0]).toMatch(/^Setting up: (?:[^;]*; )?starting slow\.$/);
  });

  it('is not told to a client that has not asked', async () => {
    await using bridge = await start();
    await bridge.run('import time\nruntime.progress(1, 2)\ntime.sleep(3.5)');
    expect(bridge.received.filter(({ method }) => method !== undefined)).toEqual([]);
  });

  it('of a set-up: cancelled in it, a call makes room in the queue, and the set-up goes on for the others', async () => {
    const dir = fakeEngine({ image: 'exit 1', pull: 'echo "Copying blob" >&2; exec sleep 7' });
    const env = { PATH: dir, MCP_BRIDGE_STATE_DIR: join(dir, 'state'), MCP_BRIDGE_CONCURRENCY: '1' };
    await using bridge = await start({ env });
    const first = bridge.call('1');
    const second = bridge.call('2', { progress: true });
    await pause(500);
    bridge.cancel(first);
    const told = await toldBefore(bridge, second);
    expect(messages(told)).toContain('Setting up: python:3.14-slim: Copying blob.');
    expect(bridge.received.some(({ id }) => id === first)).toBe(false);
  });
});

/** How many reports there may be in so long: one every 200 ms, and the first and the last. */
const mostIn = (ms: number) => ms / 200 + 2;

describe('progress, one by one', () => {
  it('of a flood is a trickle', async () => {
    await using bridge = await start();
    const startedAt = performance.now();
    const code = 'for n in range(1_000_000): runtime.progress(n, 10**6, "x" * 1000)';
    const told = await toldBefore(bridge, bridge.call(code, { progress: true, timeout: 120 }));
    expect(told.length).toBeGreaterThan(1);
    expect(told.length).toBeLessThanOrEqual(mostIn(performance.now() - startedAt));
  });

  it('of code that talks to the host behind the back of its library is a trickle too', async () => {
    await using bridge = await start();
    const startedAt = performance.now();
    const code = `import os
from mcp._binding import current
line = b'{"type":"progress","done":%d,"total":null,"message":"forged"}\\n'
for n in range(1, 200_000): os.write(current().link._frames_fd, line % n)`;
    const told = await toldBefore(bridge, bridge.call(code, { progress: true, timeout: 120 }));
    expect(messages(told)).toContain('forged');
    expect(told.length).toBeLessThanOrEqual(mostIn(performance.now() - startedAt));
  });

  it('ends with a cancellation', async () => {
    await using bridge = await start();
    await bridge.run('1');
    const code =
      'import time\nfor n in range(1, 1000):\n    runtime.progress(n, message="on")\n    print(n)\n    time.sleep(0.05)';
    bridge.request('logging/setLevel', { level: 'debug' });
    const id = bridge.call(code, { progress: true });
    await until(() => bridge.received.length > 4);
    bridge.cancel(id);
    // What was on its way when the cancellation came is before the answer to whatever is asked after it.
    await bridge.answer(bridge.request('ping'));
    const before = bridge.received.length;
    await pause(1_000);
    expect(bridge.received.length).toBe(before);
    expect(bridge.received.some((message) => message.id === id)).toBe(false);
  });
});

describe('log notifications', () => {
  it('carry the output line by line once a level is set, before the answer', async () => {
    await using bridge = await start();
    await bridge.answer(bridge.request('logging/setLevel', { level: 'info' }));
    const code =
      'import sys, time\nprint("one\\ntwo")\ntime.sleep(3)\nprint("bad", file=sys.stderr)\nprint("three", end="")';
    const { stdout } = await bridge.run(code);
    expect(stdout).toEqual(['one', 'two', 'three']);
    const told = (level: string) =>
      logs(bridge).flatMap(({ params }) => (params?.['level'] === level ? [params] : []));
    expect(told('info')).toEqual([
      { level: 'info', logger: 'run_python', data: { stream: 'stdout', text: 'one\ntwo' } },
      { level: 'info', logger: 'run_python', data: { stream: 'stdout', text: 'three' } },
    ]);
    expect(told('notice')).toEqual([
      { level: 'notice', logger: 'run_python', data: { stream: 'stderr', text: 'bad' } },
    ]);
    expect(logs(bridge)).toHaveLength(3);
    expect(bridge.received.at(-1)?.id).toBeDefined();
  });

  it('are none before a level is set, and none below it', async () => {
    await using bridge = await start();
    const code = 'import sys\nprint("out")\nprint("err", file=sys.stderr)';
    await bridge.run(code);
    expect(logs(bridge)).toEqual([]);
    await bridge.answer(bridge.request('logging/setLevel', { level: 'notice' }));
    await bridge.run(code);
    expect(logs(bridge)).toMatchObject([{ params: { data: { stream: 'stderr', text: 'err' } } }]);
  });

  it('of a flood end early, and say where the rest is', async () => {
    await using bridge = await start();
    bridge.request('logging/setLevel', { level: 'debug' });
    await bridge.run('for n in range(100_000): print("x" * 100)');
    expect(JSON.stringify(logs(bridge)).length).toBeLessThan(60_000);
    expect(logs(bridge).at(-1)?.params?.['data']).toBe('The rest of the output is in the answer.');
  });

  it('refuse a level that there is not', async () => {
    await using bridge = await start();
    const { error } = await bridge.answer(bridge.request('logging/setLevel', { level: 'loud' }));
    expect(error).toMatchObject({ code: -32_602, message: expect.stringContaining("no log level 'loud'") });
  });
});
