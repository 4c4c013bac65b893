// A run with twenty calls, of an agent that traces and through a server that traces, and whether all of it is one trace.

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROOT, Stage } from '../bench/stage.mjs';

const SERVER = fileURLToPath(new URL('spanning-server.mjs', import.meta.url));
/** The last releases of the SDK for Node 20. */
const SDK = {
  '@opentelemetry/api': '1.9.0',
  '@opentelemetry/core': '2.9.0',
  '@opentelemetry/exporter-trace-otlp-proto': '0.220.0',
  '@opentelemetry/sdk-trace-base': '2.9.0',
};
const CALLS = 20;
const CODE = `for _ in range(${CALLS}):\n    await mcp_counting.count()`;
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const AGENT = 'b7ad6b7169203331';
const RUN_MS = 120_000;
const [OF_SERVER, OF_CLIENT] = [2, 3];

/** Folder of the SDK, from npm the first time. Throws with npm's words. */
function prepareSdk() {
  const folder = join(ROOT, '.cache/metrics');
  const isThere = Object.entries(SDK).every(([name, version]) => {
    try {
      return (
        JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version ===
        version
      );
    } catch {
      return false;
    }
  });
  if (isThere) return folder;
  mkdirSync(folder, { recursive: true });
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--no-package-lock'];
  const packages = Object.entries(SDK).map((pair) => pair.join('@'));
  const { status, stderr } = spawnSync('npm', ['install', '--prefix', folder, ...options, ...packages], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`npm install: ${stderr.trim().slice(-1_000)}`);
  return folder;
}

/**
 * @param {string} url of the collector
 * @returns the words of what went wrong with the run; undefined where it succeeded
 */
export async function runTraced(url) {
  const folder = prepareSdk();
  const stage = new Stage({ quick: true });
  const exported = { OTEL_EXPORTER_OTLP_ENDPOINT: url };
  const counting = {
    command: process.execPath,
    args: [SERVER, folder],
    env: exported,
  };
  const home = stage.home({ counting });
  const env = stage.environment(home, { ...exported, MCP_BRIDGE_WARM: '0' });
  const program = { command: process.execPath, args: [join(ROOT, 'dist/cli/main.js')], env, cwd: home };
  try {
    return await stage.withClient(program, async (/** @type {any} */ client) => {
      const { structuredContent } = await client.callTool(
        {
          name: 'run_python',
          arguments: { code: CODE, servers: ['counting'] },
          _meta: { traceparent: `00-${TRACE}-${AGENT}-01` },
        },
        undefined,
        { timeout: RUN_MS },
      );
      return structuredContent.status === 'success' ? undefined : JSON.stringify(structuredContent);
    });
  } finally {
    stage.close();
  }
}

/** How many spans the whole trace has. */
export const ALL_SPANS = 1 + 2 * CALLS;

/**
 * What holds of the trace, and what does not.
 * @param {readonly import('./collector.mjs').TakenSpan[]} spans
 * @returns {{ holds: boolean, what: string }[]}
 */
export function judgeTrace(spans) {
  const roots = spans.filter(({ kind, scope }) => kind === OF_SERVER && scope !== 'counting');
  const calls = spans.filter(({ kind }) => kind === OF_CLIENT);
  const served = spans.filter(({ scope }) => scope === 'counting');
  const parents = new Set(served.map(({ parentSpanId }) => parentSpanId));
  const [root] = roots;
  return [
    { holds: spans.every(({ traceId }) => traceId === TRACE), what: "all spans are of the agent's trace" },
    {
      holds: roots.length === 1 && root?.name === 'tools/call run_python' && root.parentSpanId === AGENT,
      what: "one span is the run's, below the agent's own",
    },
    {
      holds: calls.length === CALLS && calls.every(({ parentSpanId }) => parentSpanId === root?.spanId),
      what: `${calls.length} spans of calls are below it`,
    },
    {
      holds:
        served.length === CALLS && parents.size === CALLS && calls.every(({ spanId }) => parents.has(spanId)),
      what: `each has one of the ${served.length} spans below it that the server has kept itself`,
    },
  ];
}
