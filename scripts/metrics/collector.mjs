// A collector of OpenTelemetry, built by Go of its makers' own parts, and left outside of the checkout for the next time. It writes
// what it has taken into a file, in the JSON of OTLP.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MODULE = fileURLToPath(new URL('collector/', import.meta.url));
const SOURCES = ['go.mod', 'go.sum', 'main.go'];

/**
 * A span as the collector writes it; `scope` is the library that kept it.
 * @typedef {{ traceId: string, spanId: string, parentSpanId?: string, name: string, kind: number, scope: string }} TakenSpan
 */

/** Where the program is kept, by what it is made of. */
function programPath() {
  const hash = createHash('sha256');
  for (const name of SOURCES) hash.update(`${name}\0`).update(readFileSync(join(MODULE, name)));
  const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'mcp-sandbox-bridge');
  return join(cache, 'metrics', `collector-${hash.digest('hex').slice(0, 12)}`);
}

/**
 * Path of the collector, which is built the first time; or why it cannot be, in a sentence.
 * @param {(line: string) => void} say
 * @returns {{ program: string } | { why: string }}
 */
export function prepareCollector(say) {
  const program = programPath();
  if (existsSync(program)) return { program };
  if (spawnSync('go', ['version'], { stdio: 'ignore' }).status !== 0)
    return { why: 'There is no Go on PATH, which builds the collector.' };
  say('building the collector: some two minutes, once');
  const fresh = `${program}.${process.pid}`;
  mkdirSync(join(program, '..'), { recursive: true });
  const args = ['build', '-buildvcs=false', '-trimpath', '-ldflags=-s -w', '-o', fresh, '.'];
  try {
    const { status, stderr } = spawnSync('nice', ['-n', '19', 'go', ...args], {
      cwd: MODULE,
      env: { ...process.env, CGO_ENABLED: '0' },
      encoding: 'utf8',
    });
    if (status !== 0) return { why: `Go could not build the collector: ${stderr.trim().slice(-1_000)}` };
    renameSync(fresh, program);
  } finally {
    rmSync(fresh, { force: true });
  }
  return { program };
}

/**
 * What a collector is started with at a port of this machine, and what it has taken since.
 * @param {string} folder
 * @param {number} port
 */
export function collectorIn(folder, port) {
  const taken = join(folder, 'taken.jsonl');
  const pipeline = { receivers: ['otlp'], exporters: ['file'] };
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: { file: { path: taken, flush_interval: '100ms' } },
    service: { pipelines: { traces: pipeline, metrics: pipeline } },
  };
  const file = join(folder, 'collector.yaml');
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(config));
  /** Whole lines; the last one may be under way. */
  const lines = () =>
    existsSync(taken)
      ? readFileSync(taken, 'utf8')
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line))
      : [];
  return {
    url: `http://127.0.0.1:${port}`,
    args: ['--config', file],
    /** @returns {TakenSpan[]} */
    spans: () => lines().flatMap(({ resourceSpans = [] }) => resourceSpans.flatMap(spansOf)),
    /** @returns {ReadonlySet<string>} names of all figures */
    metrics: () =>
      new Set(
        lines()
          .flatMap(({ resourceMetrics = [] }) => resourceMetrics)
          .flatMap(({ scopeMetrics }) => scopeMetrics)
          .flatMap(({ metrics }) => metrics)
          .map(({ name }) => name),
      ),
  };
}

/** @param {{ scopeSpans: readonly { scope: { name: string }, spans: readonly Omit<TakenSpan, 'scope'>[] }[] }} resourceSpans */
const spansOf = ({ scopeSpans }) =>
  scopeSpans.flatMap(({ scope, spans }) => spans.map((span) => ({ scope: scope.name, ...span })));
