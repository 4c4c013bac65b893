// Many calls, several at once, good and hostile mixed: nothing may pile up. Sixty in the suite; `npm run soak` asks
// for a thousand and prints the slope of the bridge's memory.

import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { descendants } from '../support/nothing-left.js';
import { hostileServer, type Payload, type TestBridge } from '../support/start-bridge.js';
import { amount } from './ledger.js';
import { fault } from './stage.js';

const CALLS = amount('SOAK_CALLS', 60);
const AT_ONCE = amount('SOAK_CONCURRENCY', 8);
/** Below this many calls the heap still fills, and a slope says nothing. */
const ENOUGH_FOR_SLOPE = 400;
const MOST_MB_PER_1000 = 8;

type Kind = {
  readonly name: string;
  readonly code: string;
  readonly status: Payload['status'];
  readonly timeout?: number;
  /** The client gives up after so long. */
  readonly cancelAfterMs?: number;
};

const KINDS: readonly Kind[] = [
  { name: 'sum', code: 'sum(range(1000))', status: 'success' },
  { name: 'tool', code: 'await mcp_h.echo(text="hello")', status: 'success' },
  { name: 'prints', code: 'for n in range(200): print(n)', status: 'success' },
  {
    name: 'many calls',
    code: 'import asyncio\nlen(await asyncio.gather(*[mcp_h.echo(text=str(n)) for n in range(30)]))',
    status: 'success',
  },
  { name: 'syntax error', code: 'def', status: 'validation_error' },
  { name: 'exception', code: '1 / 0', status: 'error' },
  { name: 'leaves at once', code: 'import os\nos._exit(3)', status: 'error' },
  { name: 'crashes', code: 'import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)', status: 'error' },
  { name: 'spins', code: 'while True: pass', status: 'timeout', timeout: 1 },
  {
    name: 'floods',
    code: 'import sys\nfor _ in range(40): sys.stdout.write("x" * 100000)',
    status: 'success',
  },
  {
    name: 'breaks the protocol',
    code: 'import os\nfor fd in range(3, 256):\n    try: os.write(fd, b"garbage\\n" * 50)\n    except OSError: pass\nimport time; time.sleep(5)',
    status: 'error',
    timeout: 8,
  },
  {
    name: 'leaves daemons',
    code: 'import os, time\nfor _ in range(5):\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(60)\n        os._exit(0)\n1',
    status: 'success',
  },
  { name: 'kills its parent', code: 'import os, signal\nos.kill(1, signal.SIGKILL)\n1', status: 'success' },
  {
    name: 'crashes the server',
    code: 'try:\n    await mcp_h.crash()\nexcept runtime.MCPError:\n    pass\n1',
    status: 'success',
  },
  { name: 'a large answer', code: 'len(str(await mcp_h.big(bytes=3_000_000)))', status: 'success' },
  { name: 'is given up', code: 'await mcp_h.hang()', status: 'cancelled', cancelAfterMs: 400 },
];

type Look = {
  readonly calls: number;
  readonly rssMb: number;
  readonly files: number;
  readonly children: number;
};

function look({ pid }: TestBridge, calls: number): Look {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
  const files = readdirSync(`/proc/${pid}/fd`).length;
  return { calls, rssMb: (pages * 4096) / 2 ** 20, files, children: descendants(pid).length };
}

/** Of the least-squares line, in MB per 1,000 calls; the first quarter is warming up. */
function slope(looks: readonly Look[]): number {
  const kept = looks.slice(Math.floor(looks.length / 4));
  const mean = (of: (look: Look) => number) => kept.reduce((sum, each) => sum + of(each), 0) / kept.length;
  const [x, y] = [mean(({ calls }) => calls), mean(({ rssMb }) => rssMb)];
  const over = mean(({ calls, rssMb }) => (calls - x) * (rssMb - y));
  return (over / mean(({ calls }) => (calls - x) ** 2)) * 1000;
}

fault(
  'soak',
  `${CALLS} calls, ${AT_ONCE} at once`,
  async (stage) => {
    stage.injected = CALLS;
    // The server crashes on purpose and then rests: two of them, so that others still find theirs.
    const servers = { h: hostileServer(), c: hostileServer('well-behaved') };
    const env = {
      MCP_BRIDGE_CONCURRENCY: String(AT_ONCE),
      MCP_BRIDGE_WARM: '2',
      MCP_BRIDGE_LOG_LEVEL: 'warn',
    };
    const bridge = await stage.bridge(servers, env);
    await stage.stillWorks(bridge);
    const [looks, wrong, latencies]: [Look[], string[], number[]] = [[], [], []];
    let begun = 0;
    const one = async ({ name, code, status, timeout = 20, cancelAfterMs }: Kind) => {
      const server = name === 'crashes the server' ? 'c' : 'h';
      const args = { servers: [server], timeout };
      const text = code.replaceAll('mcp_h', `mcp_${server}`);
      if (cancelAfterMs !== undefined) {
        const signal = AbortSignal.timeout(cancelAfterMs);
        await bridge.run(text, { ...args, signal }).then(
          () => wrong.push(`${name}: answered`),
          () => {},
        );
        return;
      }
      const startedAt = performance.now();
      const payload = await stage.answered(bridge.run(text, args), 60_000);
      latencies.push(performance.now() - startedAt);
      if (payload.status !== status) wrong.push(`${name}: ${payload.status} ${payload.error}`);
    };
    const worker = async () => {
      while (begun < CALLS) {
        const n = begun++;
        const kind = KINDS[n % KINDS.length];
        if (kind !== undefined) await one(kind);
        if (n % Math.max(1, Math.floor(CALLS / 40)) === 0) looks.push(look(bridge, n));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    await stage.stillWorks(bridge);
    latencies.sort((a, b) => a - b);
    const part = (p: number) => Math.round(latencies[Math.floor(latencies.length * p)] ?? 0);
    const [first, last] = [looks[Math.floor(looks.length / 4)], looks.at(-1)];
    console.log(
      `${CALLS} calls, ${AT_ONCE} at once: p50 ${part(0.5)} ms, p99 ${part(0.99)} ms; ` +
        `RSS ${first?.rssMb.toFixed(1)} to ${last?.rssMb.toFixed(1)} MB, ${CALLS < ENOUGH_FOR_SLOPE ? 'too few calls for a slope' : `${slope(looks).toFixed(2)} MB per 1,000 calls`}; ` +
        `descriptors ${first?.files} to ${last?.files}; wrong ${wrong.length}`,
    );
    expect(wrong).toEqual([]);
    // A container that comes or goes is three pipes; a hundred would be a leak.
    expect((last?.files ?? 0) - (first?.files ?? 0)).toBeLessThan(30);
    if (CALLS >= ENOUGH_FOR_SLOPE) expect(slope(looks)).toBeLessThan(MOST_MB_PER_1000);
  },
  { timeoutMs: 60_000 + CALLS * 1_000 },
);
