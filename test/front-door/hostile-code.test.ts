// Code that speaks the wire itself, to hurt the host: what it may not do ends its run with a named error, and neither
// the bridge's memory nor anybody else's run suffers.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ourContainers, runningSandboxes } from '../support/nothing-left.js';
import {
  bridgeEnv,
  hostileServer,
  MAIN,
  startBridge,
  type TestBridge,
  tempHome,
} from '../support/start-bridge.js';
import { coldSandboxes, eventually } from '../support/time.js';

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge(
    { h: hostileServer(), other: hostileServer('other') },
    { env: { MCP_BRIDGE_CONCURRENCY: '2', MCP_BRIDGE_WARM: '0' } },
  );
  const up = await bridge.run('await mcp_h.echo(text="up")', { servers: ['h', 'other'] });
  expect(up).toMatchObject({ status: 'success' });
});
afterAll(() => bridge[Symbol.asyncDispose]());

/** Python that has `send(bytes)` write to the stream of frames: the last descriptor that takes any. */
const SEND = `
import json, os, signal, time
def send(data):
    rest = memoryview(data)
    for fd in range(1023, 2, -1):
        try:
            while rest: rest = rest[os.write(fd, rest):]
        except OSError: pass
def call(id, tool, **arguments):
    params = {"server": "h", "tool": tool, "arguments": arguments}
    return json.dumps({"type": "call", "id": id, "method": "tools.call", "params": params}).encode() + b"\\n"
`;

/** The most memory that the bridge has had, in MB. */
const peakMb = () =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${bridge.pid}/status`, 'utf8'))?.[1]) / 1024;

/** A call takes a hundredth of the making of a sandbox; where all of such a frame is read at once, it takes many of them. */
const MOST_WAIT_MS = coldSandboxes(8);

/** How long the slowest of some calls of another run took while `work` was under way, in ms. */
async function worstOfOthers(work: Promise<unknown>): Promise<number> {
  const code = `
import time
worst = 0
end = time.monotonic() + 2
while time.monotonic() < end:
    start = time.monotonic()
    await mcp_other.echo(text="x")
    worst = max(worst, time.monotonic() - start)
round(worst * 1000)
`;
  const [other] = await Promise.all([bridge.run(code, { servers: ['other'] }), work]);
  // With the error of one that failed, which says whose fault it was.
  expect(other).toMatchObject({ status: 'success' });
  return Number(other.result);
}

describe('frames', () => {
  it.each([
    [
      '64 MB of small values',
      `b'{"type":"result","repr":"","exact":true,"value":[' + b"{}," * 21_000_000 + b"0]}\\n"`,
      /more than 1000000 values/,
    ],
    [
      'nested deeply',
      `b'{"type":"result","repr":"","exact":true,"value":' + b"[" * 1_000_000 + b"\\n"`,
      /deeper than 128/,
    ],
    ['80 MB without an end', `b'{"type":"where","lines":["' + b"x" * 80_000_000`, /exceeds the limit/],
    ['not UTF-8', `b'{"type":"where","lines":["\\xff"]}\\n'`, /not ASCII/],
    ['of an unknown type', `b'{"type":"done"}\\n'`, /unknown shape/],
    ["the host's own", `b'{"type":"reply","id":1,"value":null}\\n'`, /unknown shape/],
  ])('%s end the run by name, and nobody else waits', async (_what, bytes, reason) => {
    const hostile = bridge.run(`${SEND}\nsend(${bytes})\ntime.sleep(60)`, { timeout: 50 });
    const worst = await worstOfOthers(hostile);
    expect(await hostile).toMatchObject({ status: 'error', error: expect.stringMatching(reason) });
    expect(worst).toBeLessThan(MOST_WAIT_MS);
  });
});

describe('code that never reads its answers', () => {
  it('is ended at its deadline; memory is bounded and others are served', async () => {
    const calls = 'b"".join(call(1000 + n, "big", bytes=8_000_000) for n in range(100))';
    const deaf = bridge.run(`${SEND}\nsend(${calls})\nos.kill(os.getpid(), signal.SIGSTOP)`, {
      servers: ['h'],
      timeout: 5,
    });
    const worst = await worstOfOthers(deaf);
    expect(await deaf).toMatchObject({ status: 'timeout' });
    expect(worst).toBeLessThan(MOST_WAIT_MS);
    expect(peakMb()).toBeLessThan(900);
  });
});

describe('an agent that stops reading', () => {
  it('loses no answer, and its containers end at their limits', async () => {
    const home = tempHome();
    const env = bridgeEnv(home, { MCP_BRIDGE_WARM: '0', MCP_BRIDGE_CONCURRENCY: '4' });
    const child = spawn(process.execPath, [MAIN], { cwd: home, env, stdio: ['pipe', 'pipe', 'ignore'] });
    const send = (message: object) =>
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'deaf', version: '1' },
    };
    send({ id: 0, method: 'initialize', params });
    send({ method: 'notifications/initialized' });
    const codes = [...Array.from({ length: 5 }, () => 'print("x" * 39_000)'), 'import time; time.sleep(60)'];
    for (const [n, code] of codes.entries())
      send({
        id: n + 1,
        method: 'tools/call',
        params: { name: 'run_python', arguments: { code, timeout: 5 } },
      });
    expect(await eventually(() => ourContainers().length > 0)).toBe(true);
    expect(await eventually(() => runningSandboxes().length === 0)).toBe(true);
    const ids: number[] = [];
    let rest = '';
    child.stdout.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) ids.push((JSON.parse(line) as { id: number }).id);
    });
    expect(await eventually(() => ids.length === codes.length + 1)).toBe(true);
    expect(ids.toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6]);
    child.stdin.end();
    await once(child, 'exit');
  });
});
