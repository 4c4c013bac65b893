// Ends of every kind: cancelled, queued, killed, swept. Nothing may outlive its cause, and no one else may notice.

import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { engineCommand } from '../support/engine-under-test.js';
import {
  descendants,
  ourContainers,
  ourListed,
  ourMonitors,
  ourSandboxes,
  processesWith,
} from '../support/nothing-left.js';
import { hostileServer, startBridge, type TestBridge } from '../support/start-bridge.js';
import { coldSandboxes, eventually, pause, until } from '../support/time.js';

const open: TestBridge[] = [];
// Containers are counted here, so none may wait.
const cold = { MCP_BRIDGE_WARM: '0' };
async function start(...[servers, options = {}]: Parameters<typeof startBridge>): Promise<TestBridge> {
  const bridge = await startBridge(servers, { ...options, env: { ...cold, ...options.env } });
  open.push(bridge);
  return bridge;
}
afterEach(async () => {
  for (const bridge of open.splice(0)) await bridge[Symbol.asyncDispose]();
});

describe('cancellation', () => {
  it('removes the container, sends no answer, and cancels the downstream call', async () => {
    const bridge = await start({ h: hostileServer() });
    await bridge.run('1', { servers: ['h'] });
    expect(await eventually(() => ourSandboxes().length === 0)).toBe(true);
    const controller = new AbortController();
    const told: string[] = [];
    const answer = bridge.run('await mcp_h.hang()', {
      servers: ['h'],
      signal: controller.signal,
      onprogress: ({ message = '' }) => told.push(message),
    });
    answer.catch(() => {});
    await until(() => told.some((message) => message.includes('in flight: h.hang')));
    expect(ourSandboxes()).toHaveLength(1);
    controller.abort();
    await expect(answer).rejects.toThrow();
    expect(await eventually(() => ourSandboxes().length === 0)).toBe(true);
    const after = await bridge.run('len(await mcp_h.cancelled())', { servers: ['h'] });
    expect(after).toMatchObject({ status: 'success', result: expect.any(Number) });
    expect(after.result).toBeGreaterThan(0);
  });

  it('before the container has started leaves nothing', async () => {
    const bridge = await start({});
    for (const part of [0, 0.05, 0.15, 0.3]) {
      const controller = new AbortController();
      const answer = bridge.run('import time; time.sleep(30)', { signal: controller.signal });
      answer.catch(() => {});
      setTimeout(() => controller.abort(), coldSandboxes(part));
      await expect(answer).rejects.toThrow();
    }
    expect(await eventually(() => ourSandboxes().length === 0)).toBe(true);
    expect(await bridge.run('1')).toMatchObject({ status: 'success' });
  });
});

describe('the queue', () => {
  it('runs as many at once as it may, and tells the others that they wait', async () => {
    const bridge = await start({}, { env: { MCP_BRIDGE_CONCURRENCY: '1' } });
    const messages: string[] = [];
    const ending = new AbortController();
    const first = bridge.run('import time; time.sleep(100)', { timeout: 100, signal: ending.signal });
    const second = bridge.run('2', { onprogress: ({ message }) => messages.push(message ?? '') });
    await until(() => messages.length > 0);
    ending.abort();
    await expect(first).rejects.toThrow();
    expect(await second).toMatchObject({ status: 'success', result: 2 });
    expect(messages[0]).toMatch(/^Queued/);
  });
});

describe('the end of the bridge', () => {
  it('when the client goes away: everything is gone in seconds', async () => {
    const bridge = await startBridge({ h: hostileServer() }, { env: cold });
    const mark = bridge.home;
    const answer = bridge.run('import time; time.sleep(60)', { servers: ['h'] });
    answer.catch(() => {});
    expect(await eventually(() => ourSandboxes().length === 1)).toBe(true);
    const { pid } = bridge;
    await bridge[Symbol.asyncDispose]();
    expect(await eventually(() => ourContainers().length === 0)).toBe(true);
    expect(await eventually(() => !existsSync(`/proc/${pid}`))).toBe(true);
    expect(processesWith(mark)).toEqual([]);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '%s in mid-call ends it with its containers and servers',
    async (signal) => {
      const bridge = await start({ h: hostileServer() });
      const answer = bridge.run('await mcp_h.hang()', { servers: ['h'] });
      answer.catch(() => {});
      expect(await eventually(() => ourSandboxes().length === 1)).toBe(true);
      const children = descendants(bridge.pid).length;
      expect(children).toBeGreaterThan(0);
      process.kill(bridge.pid, signal);
      expect(await eventually(() => !existsSync(`/proc/${bridge.pid}`))).toBe(true);
      expect(await eventually(() => ourContainers().length === 0)).toBe(true);
      // The engine's monitor goes a moment after its container.
      const runDir = join(bridge.stateDir, 'run');
      await eventually(() => processesWith(runDir).length === 0);
      expect(processesWith(runDir)).toEqual([]);
    },
  );

  it('SIGKILL in mid-call: the sandbox notices and ends', async () => {
    const bridge = await start({});
    const answer = bridge.run('while True: pass', { timeout: 60 });
    answer.catch(() => {});
    expect(await eventually(() => ourSandboxes().length === 1)).toBe(true);
    process.kill(bridge.pid, 'SIGKILL');
    expect(await eventually(() => ourContainers().length === 0)).toBe(true);
  });

  it("sweeps a dead bridge's container and leaves a living one's alone", async () => {
    const image = engineCommand('images', '--format={{.Repository}}:{{.Tag}}')
      .split('\n')
      .find((name) => name.includes('mcp-sandbox-bridge/python') || name.includes('python:3.14-slim'));
    const create = (pid: number) => {
      const name = `mcp-sandbox-bridge-test-${randomUUID()}`;
      engineCommand(
        ...['create', '--name', name, '--label=mcp-sandbox-bridge=test'],
        ...[`--label=mcp-sandbox-bridge.owner-pid=${pid}`, '--network=none', image ?? '', 'true'],
      );
      return name;
    };
    const dead = create(2 ** 22 + 1);
    const living = create(process.pid);
    try {
      const bridge = await start({});
      await bridge.run('1');
      expect(await eventually(() => !ourListed().includes(dead))).toBe(true);
      expect(ourListed()).toContain(living);
    } finally {
      for (const name of ourListed()) if ([dead, living].includes(name)) engineCommand('rm', '-f', name);
    }
  });
});

describe('clients', () => {
  it('that show structuredContent instead of the text get the text alone', async () => {
    const bridge = await start({}, { clientName: 'claude-code' });
    const result = await bridge.call({ code: 'print("hi")\n1 + 1' });
    expect(result.structuredContent).toBeUndefined();
    expect(result.content).toEqual([{ type: 'text', text: 'hi\n=> 2' }]);
  });

  it('may ask for TOON or JSON', async () => {
    const toon = await start({}, { env: { MCP_BRIDGE_OUTPUT_MODE: 'toon' } });
    const rows = await toon.call({ code: '[{"id": n, "name": f"row {n}", "ok": True} for n in range(20)]' });
    expect((rows.content[0] as { text: string }).text).toMatch(/^```toon\n/);
    const json = await start({}, { env: { MCP_BRIDGE_OUTPUT_MODE: 'json', MCP_BRIDGE_STRUCTURED: 'never' } });
    const answer = await json.call({ code: '12345678901234567890' });
    expect((answer.content[0] as { text: string }).text).toContain('"result":12345678901234567890');
    expect(answer.structuredContent).toBeUndefined();
  });
});

describe('a container that is being made', () => {
  it('leaves nothing, whenever in its making the bridge is asked to end', async () => {
    for (const part of [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8]) {
      const bridge = await startBridge({}, { env: cold });
      const answer = bridge.run('import time; time.sleep(30)');
      answer.catch(() => {});
      await pause(coldSandboxes(part));
      process.kill(bridge.pid, 'SIGTERM');
      expect(await eventually(() => !existsSync(`/proc/${bridge.pid}`))).toBe(true);
      await bridge[Symbol.asyncDispose]();
    }
    expect(await eventually(() => ourContainers().length === 0)).toBe(true);
    // The engine's monitor knows of containers that the engine does not.
    expect(await eventually(() => ourMonitors().length === 0)).toBe(true);
  });

  it('is found by the next start when the bridge was killed', async () => {
    for (const part of [0.15, 0.25, 0.35, 0.45, 0.55, 0.65]) {
      const bridge = await startBridge({}, { env: cold });
      const answer = bridge.run('import time; time.sleep(30)');
      answer.catch(() => {});
      await pause(coldSandboxes(part));
      process.kill(bridge.pid, 'SIGKILL');
      await bridge[Symbol.asyncDispose]();
    }
    const next = await start({});
    await next.run('1');
    expect(await eventually(() => ourMonitors().length === 0)).toBe(true);
  });
});
