// The bridge is told to end, loses its client, or breaks: every call is answered or its client is gone, the process
// exits in seconds with the right code, and nothing of it stays.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { runningSandboxes } from '../support/nothing-left.js';
import { hostileServer } from '../support/start-bridge.js';
import { coldSandboxes, eventually, pause, until } from '../support/time.js';
import type { Ended, RawBridge } from './raw-bridge.js';
import { fault, type Stage } from './stage.js';

const IN_CODE = 'print("begun")\nwhile True: pass';
const IN_TOOL = 'await mcp_h.hang()';

/** A bridge in the middle of a call; the call's id. */
async function busy(stage: Stage, code: string, options: Parameters<Stage['raw']>[0] = {}) {
  const bridge = await stage.raw({ servers: { h: hostileServer() }, ...options });
  const id = bridge.call(code, { servers: ['h'], timeout: 60 });
  const running = () => runningSandboxes().some((name) => !name.includes('-try-'));
  expect(await eventually(running)).toBe(true);
  await pause(200);
  return { bridge, id };
}

async function ends({ child, exited }: RawBridge): Promise<Ended> {
  await until(() => child.exitCode !== null || child.signalCode !== null, 'the end of the bridge');
  return await exited;
}

describe('told to end', () => {
  for (const [where, code] of [
    ['in code', IN_CODE],
    ['in a tool call', IN_TOOL],
  ] as const) {
    fault('L05', `SIGTERM ${where}: the call is answered`, async (stage) => {
      const { bridge, id } = await busy(stage, code);
      const answer = stage.answered(bridge.answer(id));
      process.kill(bridge.pid, 'SIGTERM');
      const { result, error } = await answer;
      expect(result?.structuredContent?.status ?? error).toBe('cancelled');
      expect(await ends(bridge)).toMatchObject({ code: 0, signal: null });
    });
  }

  fault('L05', 'SIGTERM with runs that wait in the queue: each is answered', async (stage) => {
    const { bridge, id } = await busy(stage, IN_CODE, {
      env: { MCP_BRIDGE_CONCURRENCY: '1', MCP_BRIDGE_LOG_LEVEL: 'debug' },
    });
    const ids = [id, ...Array.from({ length: 20 }, () => bridge.call('1'))];
    // By then it has read all of them.
    await bridge.answer(bridge.request('ping'));
    const answers = Promise.all(ids.map((each) => stage.answered(bridge.answer(each))));
    process.kill(bridge.pid, 'SIGTERM');
    for (const { result } of await answers) expect(result?.structuredContent?.status).toBe('cancelled');
    expect(await ends(bridge)).toMatchObject({ code: 0 });
    // None of those that waited is started only to be cancelled.
    expect(bridge.stderr.match(/ ready after /g)).toHaveLength(1);
  });

  fault('L05', 'SIGTERM twice does not wait', async (stage) => {
    const { bridge } = await busy(stage, IN_CODE, { servers: { h: hostileServer('stubborn') } });
    process.kill(bridge.pid, 'SIGTERM');
    await pause(10);
    process.kill(bridge.pid, 'SIGTERM');
    await ends(bridge);
    // What it had no time for is the next start's.
    await stage.nextStartSweeps();
  });

  fault('L05', 'SIGTERM while the engine hangs', async (stage) => {
    const dir = mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'engine-'));
    writeFileSync(join(dir, 'podman'), '#!/bin/sh\nexec /bin/sleep 60\n', { mode: 0o755 });
    const env = { PATH: dir, MCP_BRIDGE_STATE_DIR: join(dir, 'state') };
    const bridge = await stage.raw({ env });
    bridge.call('1');
    await pause(300);
    process.kill(bridge.pid, 'SIGTERM');
    expect(await ends(bridge)).toMatchObject({ code: 0 });
  });
});

const HANG_UPS: ReadonlyArray<readonly [string, (bridge: RawBridge) => void]> = [
  ['closes our stdin', ({ child }) => child.stdin.end()],
  ['closes our stdin in the middle of a line', ({ child }) => child.stdin.end('{"jsonrpc":"2.0","id":99,')],
  [
    'dies: both pipes break',
    ({ child }) => {
      child.stdin.destroy();
      child.stdout.destroy();
      child.stderr.destroy();
    },
  ],
  [
    'stops reading us for good, and we have something to say',
    (bridge) => {
      bridge.child.stdout.destroy();
      bridge.request('tools/list');
    },
  ],
];

describe('the client', () => {
  for (const [title, hangUp] of HANG_UPS) {
    fault('L07', `${title}, in mid-call`, async (stage) => {
      const { bridge } = await busy(stage, IN_TOOL);
      hangUp(bridge);
      expect(await ends(bridge)).toMatchObject({ code: 0, signal: null });
    });
  }

  fault('L07', 'closes our stdin before it has said anything', async (stage) => {
    const bridge = await stage.raw({ greet: false });
    bridge.child.stdin.end();
    expect(await ends(bridge)).toMatchObject({ code: 0 });
  });

  fault('L07', 'closes our stdin while a container is being made', async (stage) => {
    const bridge = await stage.raw();
    bridge.call('while True: pass');
    await pause(coldSandboxes(0.25));
    bridge.child.stdin.end();
    expect(await ends(bridge)).toMatchObject({ code: 0 });
  });

  fault('L07', 'reads nothing for a while: its answers wait, and none is lost', async (stage) => {
    const bridge = await stage.raw();
    bridge.child.stdout.pause();
    const ids = Array.from({ length: 12 }, () => bridge.call('"x" * 60000'));
    await pause(2_000);
    bridge.child.stdout.resume();
    for (const id of ids) {
      const { result } = await stage.answered(bridge.answer(id));
      expect(result?.structuredContent?.status).toBe('success');
    }
  });

  fault('L07', 'sends what is no message', async (stage) => {
    const bridge = await stage.raw();
    for (const line of ['', 'hello', '[]', '42', '{"jsonrpc":"2.0"}', '{"id":{}}', `${'['.repeat(5000)}`]) {
      bridge.child.stdin.write(`${line}\n`);
      stage.injected++;
    }
    bridge.send({ method: 'notifications/cancelled', params: { requestId: 4711 } });
    bridge.send({ method: 'no/such/notification' });
    bridge.send({ id: 900, result: {} });
    await stage.stillWorks(bridge);
  });
});

/** Loaded into the bridge ahead of its own code: breaks it when it is sent SIGUSR2. */
function breaking(statement: string): string {
  const file = join(mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'break-')), 'break.mjs');
  writeFileSync(file, `process.on('SIGUSR2', () => { ${statement} });\n`);
  return `--import=${file}`;
}

describe('a fault of our own', () => {
  fault('L17', 'a rejection that nobody awaited is logged, and the call goes on', async (stage) => {
    const bridge = await stage.raw({
      env: { NODE_OPTIONS: breaking("void Promise.reject(new Error('injected'))") },
    });
    const id = bridge.call('import time; time.sleep(1.5); "done"');
    await pause(600);
    process.kill(bridge.pid, 'SIGUSR2');
    const { result } = await stage.answered(bridge.answer(id));
    expect(result?.structuredContent).toMatchObject({ status: 'success', result: 'done' });
    expect(bridge.stderr).toContain('injected');
    await stage.stillWorks(bridge);
  });

  fault(
    'L17',
    'an exception that nobody caught is logged, calls are answered, and it ends',
    async (stage) => {
      const { bridge, id } = await busy(stage, IN_CODE, {
        env: { NODE_OPTIONS: breaking("throw new Error('injected')") },
      });
      const answer = stage.answered(bridge.answer(id));
      process.kill(bridge.pid, 'SIGUSR2');
      expect((await answer).result?.structuredContent?.status).toBe('cancelled');
      expect(await ends(bridge)).toMatchObject({ code: 1 });
      expect(bridge.stderr).toContain('injected');
    },
  );
});
