// Many calls, several at once, good and hostile mixed: nothing may pile up. Sixty in the suite; `npm run soak` asks
// for a thousand and prints the slope of the bridge's memory. What is live is measured after a forced collection; RSS
// beside it moves by tens of MB with the collector's moods.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { hostileServer, type Payload, type TestBridge } from '../support/start-bridge.js';
import { pause } from '../support/time.js';
import { amount } from './ledger.js';
import { fault } from './stage.js';

const CALLS = amount('SOAK_CALLS', 60);
const AT_ONCE = amount('SOAK_CONCURRENCY', 8);
/** Below this many calls the heap still fills, and a slope says nothing. */
const ENOUGH_FOR_SLOPE = 400;
const ROUNDS = 16;
/** Containers are removed behind the answers' backs. */
const SETTLE_MS = 400;
/** Live memory, that is. */
const MOST_LIVE_MB_PER_1000 = 2;
const MOST_RSS_GROWTH = 1.3;

type Kind = {
  readonly name: string;
  readonly code: string;
  readonly status: Payload['status'];
  /** The server rests after several crashes, which its next call is told. */
  readonly mayFail?: true;
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
    timeout: 100,
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
    mayFail: true,
    status: 'success',
  },
  { name: 'a large answer', code: 'len(str(await mcp_h.big(bytes=3_000_000)))', status: 'success' },
  { name: 'is given up', code: 'await mcp_h.hang()', status: 'cancelled', cancelAfterMs: 400 },
];

type Look = {
  readonly calls: number;
  readonly rssMb: number;
  readonly liveMb: number;
  readonly files: number;
};

/** Loaded into the bridge: on SIGUSR2 it collects garbage and writes what it uses into `file`. */
function measuring(dir: string, file: string): string {
  const module = join(dir, 'measure.mjs');
  writeFileSync(
    module,
    `import { renameSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');
process.on('SIGUSR2', () => {
  // Twice: what the first one finalises is only counted as gone by the second.
  gc();
  setTimeout(write, 50);
});
function write() {
  gc();
  writeFileSync('${file}.new', JSON.stringify(process.memoryUsage()));
  renameSync('${file}.new', '${file}');
}
`,
  );
  return `--import=${module}`;
}

async function look({ pid }: TestBridge, calls: number, file: string): Promise<Look> {
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 5));
  const { rss, heapUsed, external } = JSON.parse(readFileSync(file, 'utf8')) as NodeJS.MemoryUsage;
  const mb = (bytes: number) => bytes / 2 ** 20;
  const files = readdirSync(`/proc/${pid}/fd`).length;
  return { calls, rssMb: mb(rss), liveMb: mb(heapUsed + external), files };
}

/** Of the least-squares line, in MB per 1,000 calls; the first quarter is warming up. */
function slope(looks: readonly Look[], key: 'rssMb' | 'liveMb'): number {
  const kept = looks.slice(Math.floor(looks.length / 4));
  const mean = (of: (look: Look) => number) => kept.reduce((sum, each) => sum + of(each), 0) / kept.length;
  const [x, y] = [mean(({ calls }) => calls), mean((each) => each[key])];
  const over = mean((each) => (each.calls - x) * (each[key] - y));
  return (over / mean(({ calls }) => (calls - x) ** 2)) * 1000;
}

fault(
  'soak',
  `${CALLS} calls, ${AT_ONCE} at once`,
  async (stage) => {
    stage.injected = CALLS;
    const dir = mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'soak-'));
    const file = join(dir, 'memory.json');
    // The server crashes on purpose and then rests: two of them, so that others still find theirs.
    const servers = { h: hostileServer(), c: hostileServer('well-behaved') };
    const env = {
      MCP_BRIDGE_CONCURRENCY: String(AT_ONCE),
      MCP_BRIDGE_WARM: '2',
      MCP_BRIDGE_LOG_LEVEL: 'warn',
      NODE_OPTIONS: measuring(dir, file),
    };
    const bridge = await stage.bridge(servers, env);
    await stage.stillWorks(bridge);
    const [looks, wrong, latencies]: [Look[], string[], number[]] = [[], [], []];
    let begun = 0;
    const one = async ({ name, code, status, timeout = 100, cancelAfterMs, mayFail }: Kind) => {
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
      const payload = await stage.answered(bridge.run(text, args));
      latencies.push(performance.now() - startedAt);
      if (payload.status !== status && mayFail !== true)
        wrong.push(`${name}: ${payload.status} ${payload.error}`);
    };
    // Between the rounds nothing runs, so that what is live then is what was kept.
    const rounds = Math.min(ROUNDS, Math.ceil(CALLS / AT_ONCE));
    for (let round = 1; round <= rounds; round++) {
      const until = Math.round((CALLS * round) / rounds);
      const worker = async () => {
        while (begun < until) {
          const kind = KINDS[begun++ % KINDS.length];
          if (kind !== undefined) await one(kind);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      await pause(SETTLE_MS);
      looks.push(await look(bridge, begun, file));
    }
    await stage.stillWorks(bridge);
    latencies.sort((a, b) => a - b);
    const part = (p: number) => Math.round(latencies[Math.floor(latencies.length * p)] ?? 0);
    const [first, last] = [looks[Math.floor(looks.length / 4)], looks.at(-1)];
    const range = (key: 'rssMb' | 'liveMb') =>
      `${first?.[key].toFixed(1)} to ${last?.[key].toFixed(1)} MB` +
      (CALLS < ENOUGH_FOR_SLOPE ? '' : ` (${slope(looks, key).toFixed(2)} MB per 1,000 calls)`);
    console.log(
      `${CALLS} calls, ${AT_ONCE} at once: p50 ${part(0.5)} ms, p99 ${part(0.99)} ms; live memory ${range('liveMb')}; ` +
        `RSS ${range('rssMb')}; descriptors ${first?.files} to ${last?.files}; wrong ${wrong.length}`,
    );
    expect(wrong).toEqual([]);
    // A container that comes or goes is three pipes; a hundred would be a leak.
    expect((last?.files ?? 0) - (first?.files ?? 0)).toBeLessThan(30);
    if (CALLS < ENOUGH_FOR_SLOPE) return;
    expect(slope(looks, 'liveMb')).toBeLessThan(MOST_LIVE_MB_PER_1000);
    expect(last?.rssMb).toBeLessThan((first?.rssMb ?? 0) * MOST_RSS_GROWTH);
  },
  { rounds: CALLS / AT_ONCE },
);
