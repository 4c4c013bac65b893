// Runs that outlive their host's patience: the call is answered with what there is, and whoever has the handle has the rest.

import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { descendants } from '../support/nothing-left.js';
import { npmServer, startBridge, type TestBridge } from '../support/start-bridge.js';
import { eventually } from '../support/time.js';

/** So short that a test need not wait; whether the code runs by then is no matter. */
const PATIENCE_SECONDS = 3;
const PATIENCE = { MCP_BRIDGE_PATIENCE: String(PATIENCE_SECONDS) };
const start = (env: Readonly<Record<string, string>> = {}, servers = {}): Promise<TestBridge> =>
  startBridge(servers, { env: { ...PATIENCE, MCP_BRIDGE_MAX_TIMEOUT: '600', ...env } });

const textOf = ({ content }: CallToolResult): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');

function handleIn(result: CallToolResult): string {
  const [, handle] = /^\[running (r-[a-z2-9]{16})\] /.exec(textOf(result)) ?? [];
  if (handle === undefined) throw new Error(`no handle: ${textOf(result)}`);
  return handle;
}

/** Waits until a call has ended; all that was said. */
async function waitedFor(bridge: TestBridge, handle: string): Promise<readonly CallToolResult[]> {
  const parts: CallToolResult[] = [];
  for (;;) {
    const part = await bridge.call({ wait: handle });
    parts.push(part);
    if (!textOf(part).startsWith('[running ')) return parts;
  }
}

/** Prints a line each second, and has a value. */
const counting = (seconds: number): string =>
  `import time\nfor n in range(${seconds}):\n    print("line", n)\n    time.sleep(1)\n6 * 7`;

describe.concurrent('a run that takes longer than its host waits', () => {
  it('is answered with what there is, and gives the rest in parts: nothing is lost or said twice', async () => {
    await using bridge = await start();
    const first = await bridge.call({ code: counting(10), timeout: 60 });
    expect(first.isError).toBe(false);
    const handle = handleIn(first);
    expect(first.structuredContent).toMatchObject({ status: 'running', run: handle });
    expect(textOf(first)).toContain(`The rest: run_python(wait="${handle}")`);
    const parts = [first, ...(await waitedFor(bridge, handle))];
    expect(parts.length).toBeGreaterThan(2);
    const lines = parts.flatMap((part) => textOf(part).split('\n')).filter((line) => /^line \d+$/.test(line));
    expect(lines).toEqual(Array.from({ length: 10 }, (_, n) => `line ${n}`));
    const last = parts.at(-1) as CallToolResult;
    expect(textOf(last)).toContain('=> 42');
    // Whoever has lost the answer asks again.
    expect(textOf(await bridge.call({ wait: handle }))).toBe(textOf(last));
  });

  it('says how it has failed', async () => {
    await using bridge = await start();
    const first = await bridge.call({ code: `${counting(5)}\n1 / 0`, timeout: 60 });
    const last = (await waitedFor(bridge, handleIn(first))).at(-1) as CallToolResult;
    expect(last.isError).toBe(true);
    expect(textOf(last)).toContain('ZeroDivisionError');
  });

  it('is ended by its own time-out all the same', async () => {
    await using bridge = await start();
    const first = await bridge.call({ code: counting(60), timeout: PATIENCE_SECONDS + 2 });
    const last = (await waitedFor(bridge, handleIn(first))).at(-1) as CallToolResult;
    expect(textOf(last)).toContain('[timeout]');
  });

  it('is ended by a word, and nothing of it is left', async () => {
    await using bridge = await start();
    const handle = handleIn(await bridge.call({ code: counting(500), timeout: 600 }));
    const stopped = await bridge.call({ stop: handle });
    expect(textOf(stopped)).toContain('[cancelled]');
    expect(textOf(await bridge.call({ wait: handle }))).toBe(textOf(stopped));
  });

  it('runs beside others, each with its own handle', async () => {
    await using bridge = await start();
    const firsts = await Promise.all(
      [1, 2, 3].map((n) => bridge.call({ code: `print("begun ${n}")\n${counting(6)}`, timeout: 60 })),
    );
    const handles = firsts.map(handleIn);
    expect(new Set(handles).size).toBe(3);
    const ends = await Promise.all(handles.map((handle) => waitedFor(bridge, handle)));
    for (const [at, parts] of ends.entries()) {
      const said = [firsts[at] as CallToolResult, ...parts].map(textOf).join('\n');
      expect(said.match(/begun \d/g)).toEqual([`begun ${at + 1}`]);
      expect(said).toContain('=> 42');
    }
  });

  it('tells how far it is to whoever waits', async () => {
    await using bridge = await start();
    const code = `from mcp import runtime\nimport time\nfor n in range(8):\n    runtime.progress(n, 8, f"page {n}")\n    time.sleep(1)`;
    const handle = handleIn(await bridge.call({ code, timeout: 60 }));
    const told: string[] = [];
    const onprogress = ({ message = '' }) => void told.push(message);
    let part: CallToolResult;
    do part = await bridge.call({ wait: handle }, { onprogress });
    while (textOf(part).startsWith('[running '));
    expect(told.join('\n')).toContain('page');
  });

  it('calls its servers after its first answer, too', async () => {
    await using bridge = await start(
      {},
      { everything: npmServer('@modelcontextprotocol/server-everything') },
    );
    const code = 'import asyncio\nawait asyncio.sleep(5)\nawait mcp_everything.get_sum(a=2, b=40)';
    const first = await bridge.call({ code, servers: ['everything'], timeout: 60 });
    const last = (await waitedFor(bridge, handleIn(first))).at(-1) as CallToolResult;
    expect(textOf(last)).toContain('42');
  });

  it('waits in the queue as others do', async () => {
    await using bridge = await start({ MCP_BRIDGE_CONCURRENCY: '1' });
    const ahead = bridge.call({ code: counting(7), timeout: 60 });
    const queued = await bridge.call({ code: '"my turn"' });
    expect(textOf(queued)).toContain('Queued: next in line.');
    const last = (await waitedFor(bridge, handleIn(queued))).at(-1) as CallToolResult;
    expect(textOf(last)).toContain('my turn');
    handleIn(await ahead);
  });

  it('goes on for as long as it takes where nobody is to be answered early', async () => {
    await using bridge = await start({ MCP_BRIDGE_PATIENCE: '0' });
    expect(textOf(await bridge.call({ code: counting(5) }))).toContain('=> 42');
  });

  it('ends with its bridge, and the next bridge says that it knows none', async () => {
    const bridge = await start();
    const handle = handleIn(await bridge.call({ code: counting(500), timeout: 600 }));
    const { pid } = bridge;
    await bridge[Symbol.asyncDispose]();
    expect(await eventually(() => descendants(pid).length === 0)).toBe(true);
    await using next = await start();
    const answer = await next.call({ wait: handle });
    expect(answer.isError).toBe(true);
    expect(textOf(answer)).toContain(`there is no run '${handle}' of yours`);
  });
});
