// Code and output of a real run on the page of `ui`: while it runs, and when it has ended, without secrets.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished, vi } from 'vitest';
import { bridgeEnv, MAIN, npmServer, startBridge, tempHome } from '../support/start-bridge.js';
import { HANGS_MS } from '../support/time.js';
import { makeUsed } from '../support/used-state.js';

const SECRET = 'a-key-that-nobody-reads';
const seen = { timeout: HANGS_MS };

it('a run is seen with its code while it runs, and with calls and output when it has ended', async () => {
  // The page shows the history of its state directory, and the shared one has that of all tests.
  const state = makeUsed(join(tempHome(), 'state'));
  await using bridge = await startBridge(
    { memory: npmServer('@modelcontextprotocol/server-memory') },
    { env: { SOME_API_KEY: SECRET, MCP_BRIDGE_STATE_DIR: state } },
  );
  const env = bridgeEnv(bridge.home, { MCP_BRIDGE_STATE_DIR: state });
  const page = spawn(process.execPath, [MAIN, 'ui', '--no-browser'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(async () => {
    const ended = once(page, 'exit');
    if (page.kill('SIGTERM')) await ended;
  });
  const [link] = (await once(createInterface(page.stdout), 'line')) as [string];
  const opened = await fetch(link);
  const [cookie = ''] = (opened.headers.get('set-cookie') ?? '').split(';');
  const [, place = ''] = /url=(\/[^/]+\/)"/.exec(await opened.text()) ?? [];
  const data = async (name: string) =>
    (await (await fetch(new URL(name, new URL(place, link)), { headers: { cookie } })).json()) as never;

  const controller = new AbortController();
  const endless = bridge
    .run(`import time\n# ${SECRET}\ntime.sleep(100)`, { signal: controller.signal })
    .catch(() => undefined);
  const recorded = { code: 'import time\n# [SOME_API_KEY]\ntime.sleep(100)' };
  await vi.waitFor(
    async () =>
      expect(await data('now')).toMatchObject({ running: [{ recorded, seen: { status: 'running' } }] }),
    seen,
  );
  controller.abort();
  await endless;
  await vi.waitFor(async () => expect(await data('now')).toMatchObject({ running: [] }), seen);

  await bridge.run(`graph = await mcp_memory.read_graph()\nprint("${SECRET} is out")\n6 * 7`, {
    servers: ['memory'],
  });
  const ended = await vi.waitFor(async () => {
    const runs = (await data('runs')) as { run: string; status: string }[];
    expect(runs.map(({ status }) => status)).toEqual(['success', 'cancelled']);
    return runs[0]?.run;
  }, seen);
  expect(await data(`run?run=${ended}`)).toMatchObject({
    calls: [{ server: 'memory', tool: 'read_graph', isAllowed: true }],
    recorded: { stdout: '[SOME_API_KEY] is out\n', result: '42', stderr: '' },
  });
});
