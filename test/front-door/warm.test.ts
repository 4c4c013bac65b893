// Sandboxes that wait: there before they are needed, given away once, replaced when dead or stale, and never started
// for a client that only looks.

import { afterEach, describe, expect, it } from 'vitest';
import { RawBridge } from '../faults/raw-bridge.js';
import { isBuilt } from '../support/built-image.js';
import { engineCommand, engineUnderTest } from '../support/engine-under-test.js';
import { ourContainers, ourSandboxes, runningSandboxes } from '../support/nothing-left.js';
import { type Payload, startBridge, type TestBridge } from '../support/start-bridge.js';
import { eventually, pause } from '../support/time.js';

const isDocker = engineUnderTest.kind === 'docker-tls';
const open: TestBridge[] = [];
async function start(env: Record<string, string> = {}): Promise<TestBridge> {
  const bridge = await startBridge({}, { env });
  open.push(bridge);
  return bridge;
}
afterEach(async () => {
  for (const bridge of open.splice(0)) await bridge[Symbol.asyncDispose]();
  expect(await eventually(() => ourContainers().length === 0)).toBe(true);
});

const waiting = (count: number) => eventually(() => runningSandboxes().length === count);

/** A bridge with its sandboxes waiting. */
async function warm(count: number): Promise<TestBridge> {
  const bridge = await start({ MCP_BRIDGE_WARM: String(count) });
  await bridge.client.listTools();
  expect(await waiting(count)).toBe(true);
  return bridge;
}

describe('filling', () => {
  it('begins when the client has listed the tools, and is made up for after a run', async () => {
    const bridge = await warm(2);
    const [before] = [ourSandboxes()];
    expect(await bridge.run('1 + 1')).toMatchObject({ status: 'success', result: 2 });
    expect(await eventually(() => before.some((name) => !ourSandboxes().includes(name)))).toBe(true);
    expect(await waiting(2)).toBe(true);
  });

  it('never happens for a client that leaves at once', async () => {
    const bridge = await RawBridge.open({ env: { MCP_BRIDGE_WARM: '1' } });
    bridge.request('tools/list');
    await bridge[Symbol.asyncDispose]();
    await pause(600);
    expect(ourSandboxes()).toEqual([]);
  });

  it('is off with MCP_BRIDGE_WARM=0, and runs work the same', async () => {
    const bridge = await start({ MCP_BRIDGE_WARM: '0' });
    await bridge.client.listTools();
    expect(await bridge.run('2 + 2')).toMatchObject({ status: 'success', result: 4 });
    expect(await eventually(() => ourSandboxes().length === 0)).toBe(true);
    await pause(700);
    expect(ourSandboxes()).toEqual([]);
  });
});

describe('several kinds', () => {
  const program = async (bridge: TestBridge, language: string, entrypoint_code: string) => {
    const name = 'execute_code';
    const arguments_ = { language, entrypoint_code };
    const { structuredContent } = await bridge.client.callTool({ name, arguments: arguments_ });
    return structuredContent as Payload;
  };

  describe.each(['SIGTERM', 'SIGKILL'] as const)('one waits of each that was asked for', (signal) => {
    it.skipIf(!isBuilt('bash'))(`until ${signal}, which ends all of them`, async () => {
      const tools = { MCP_BRIDGE_TOOLS: 'run_python,execute_code' };
      const bridge = await start({ MCP_BRIDGE_WARM: '1', ...tools });
      await bridge.client.listTools();
      expect(await waiting(1)).toBe(true);
      expect(await program(bridge, 'bash', 'echo hello')).toMatchObject({ status: 'success' });
      expect(await waiting(2)).toBe(true);
      // Both tools take Python from one pool.
      expect(await program(bridge, 'python', 'print(1)')).toMatchObject({ status: 'success' });
      expect(await bridge.run('1')).toMatchObject({ status: 'success' });
      expect(await waiting(2)).toBe(true);
      process.kill(bridge.pid, signal);
      expect(await waiting(0)).toBe(true);
    });
  });
});

describe('single use', () => {
  it('no container serves two runs, one after the other or side by side', async () => {
    const bridge = await start({ MCP_BRIDGE_WARM: '2', MCP_BRIDGE_CONCURRENCY: '3' });
    const code = `
import os, uuid
seen = [p for p in ("/tmp/token", "/workspace/token", "/dev/shm/token") if os.path.exists(p)]
for p in ("/tmp/token", "/workspace/token", "/dev/shm/token"):
    open(p, "w").write("x")
[seen, os.getpid()]
`;
    for (let round = 0; round < 8; round++) {
      const payloads = await Promise.all([bridge.run(code), bridge.run(code), bridge.run(code)]);
      for (const payload of payloads) {
        expect(payload).toMatchObject({ status: 'success', result: [[], expect.any(Number)] });
      }
    }
  });
});

describe('what waits may have changed', () => {
  it('a sandbox that died while it waited is noticed and replaced', async () => {
    const bridge = await warm(1);
    const [name = ''] = ourSandboxes();
    engineCommand('kill', name);
    expect(await bridge.run('3 + 3')).toMatchObject({ status: 'success', result: 6 });
    expect(await eventually(() => !ourSandboxes().includes(name))).toBe(true);
    expect(await waiting(1)).toBe(true);
  });

  it('a sandbox of images as they were before is not handed out', async () => {
    const bridge = await warm(1);
    const [name = ''] = ourSandboxes();
    const image = engineCommand(
      'inspect',
      `--format=${isDocker ? '{{.Config.Image}}' : '{{.ImageName}}'}`,
      name,
    ).trim();
    engineCommand('tag', image, 'localhost/mcp-sandbox-bridge-test:moved');
    try {
      expect(await bridge.run('4 + 4')).toMatchObject({ status: 'success', result: 8 });
      // The one that waited was ended unused: its place is taken by another.
      expect(await eventually(() => !ourSandboxes().includes(name))).toBe(true);
      expect(bridge.stderr()).not.toContain('fault');
    } finally {
      const remove = isDocker ? ['rmi'] : ['untag', image];
      engineCommand(...remove, 'localhost/mcp-sandbox-bridge-test:moved');
    }
  });
});

describe('what is loaded ahead', () => {
  it('modules of MCP_BRIDGE_PREIMPORT are there before the first line, and one that fails costs nothing', async () => {
    const bridge = await start({ MCP_BRIDGE_WARM: '1', MCP_BRIDGE_PREIMPORT: 'sqlite3,wave,no_such_module' });
    await bridge.client.listTools();
    expect(await waiting(1)).toBe(true);
    // Loading goes on after the greeting; this is told once all that comes before it has been loaded.
    expect(await eventually(() => bridge.stderr().includes('no_such_module'))).toBe(true);
    const code = 'import sys\n["sqlite3" in sys.modules, "wave" in sys.modules, "tkinter" in sys.modules]';
    expect(await bridge.run(code)).toMatchObject({ status: 'success', result: [true, true, false] });
    expect((await bridge.run('import no_such_module')).error).toContain('ModuleNotFoundError');
  });
});
