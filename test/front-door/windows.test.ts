// Windows that share a bridge, with runs in real containers and real servers from npm.

import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, expect, it } from 'vitest';
import { ourListed, processesWith } from '../support/nothing-left.js';
import { npmServer, type Payload } from '../support/start-bridge.js';
import { coldSandboxes, eventually, HANGS_MS, until } from '../support/time.js';
import { Desk, type TestWindow, textOf } from '../support/windows.js';

const SERVERS = {
  everything: npmServer('@modelcontextprotocol/server-everything'),
  memory: npmServer('@modelcontextprotocol/server-memory'),
};

let desk: Desk;
afterEach(() => desk[Symbol.asyncDispose]());

/** With the most time that a run may have, since some pauses are as long as this machine is slow. */
const run = async (
  window: TestWindow,
  code: string,
  ...servers: readonly string[]
): Promise<CallToolResult> =>
  (await window.client.callTool(
    { name: 'run_python', arguments: { code, servers, timeout: 120 } },
    undefined,
    {
      timeout: HANGS_MS,
    },
  )) as CallToolResult;

const payloadOf = ({ structuredContent }: CallToolResult): Payload => structuredContent as Payload;

it('have one process of each server, and each its own runs', async () => {
  desk = new Desk(SERVERS);
  const windows = [
    await desk.open({ name: 'one' }),
    await desk.open({ name: 'two' }),
    await desk.open({ name: 'three' }),
  ];
  const answers = await Promise.all(
    windows.map((window, at) =>
      run(
        window,
        `first = await mcp_everything.get_sum(a=${at}, b=1)\nawait mcp_memory.read_graph()\nprint(${at})\nfirst`,
        'everything',
        'memory',
      ),
    ),
  );
  for (const [at, answer] of answers.entries()) {
    expect(payloadOf(answer)).toMatchObject({ status: 'success', stdout: [String(at)] });
    expect(JSON.stringify(payloadOf(answer).result)).toContain(String(at + 1));
  }
  const [bridge] = await desk.status();
  expect(bridge?.servers.map(({ server, windows: of }) => [server, of]).sort()).toEqual([
    ['everything', [1, 2, 3]],
    ['memory', [1, 2, 3]],
  ]);
  expect(processesWith('server-everything', desk.home)).toHaveLength(1);
  expect(processesWith('server-memory', desk.home)).toHaveLength(1);
});

it('hear that a run was under way when the bridge was killed, whose container goes; the next run works', async () => {
  desk = new Desk({});
  const window = await desk.open();
  const other = await desk.open();
  const before = await desk.pid();
  const lost = run(window, 'import time\nprint("begun", flush=True)\ntime.sleep(60)');
  const isRunning = () => ourListed(`label=mcp-sandbox-bridge.owner-pid=${before}`).length > 0;
  expect(await eventually(isRunning)).toBe(true);
  process.kill(before, 'SIGKILL');
  const answer = await lost;
  expect(answer.isError).toBe(true);
  expect(textOf(answer)).toContain('has ended while this call was under way');
  const [mine, others] = await Promise.all([run(window, '6 * 7'), run(other, '7 * 8')]);
  expect([payloadOf(mine).result, payloadOf(others).result]).toEqual([42, 56]);
  expect(await eventually(() => !isRunning())).toBe(true);
});

it('finish their runs when the bridge is told to stop', async () => {
  desk = new Desk({});
  const window = await desk.open();
  // It takes longer than whoever says stop.
  const going = run(window, `import time\ntime.sleep(${coldSandboxes(15) / 1000})\n"awake"`);
  const isBusy = async () => (await desk.status())[0]?.windows[0]?.isBusy === true;
  await until(isBusy);
  expect(await desk.say('stop')).toContain('has ended');
  expect(payloadOf(await going).result).toBe('awake');
  expect(payloadOf(await run(window, '1 + 1')).result).toBe(2);
});

it('hear the progress of their own run', async () => {
  desk = new Desk({});
  const heard: string[][] = [[], []];
  const windows = [await desk.open(), await desk.open()];
  await Promise.all(
    windows.map((window, at) =>
      window.client.callTool(
        {
          name: 'run_python',
          arguments: { code: `import time\nruntime.progress(1, 4, "of ${at}")\ntime.sleep(3.5)` },
        },
        undefined,
        { timeout: HANGS_MS, onprogress: ({ message = '' }) => heard[at]?.push(message) },
      ),
    ),
  );
  for (const at of [0, 1]) {
    expect(heard[at]?.join()).toContain(`of ${at}`);
    expect(heard[at]?.join()).not.toContain(`of ${1 - at}`);
  }
});
