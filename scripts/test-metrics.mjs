// Has a real Prometheus read the figures of a real bridge over HTTP, runs each query of the Grafana dashboard against it, and has a
// real collector of OpenTelemetry take the trace of a run. Exits with 1 when something did not hold, 2 for a wrong option, 3 when this
// machine lacks something. --help says how.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import pc from 'picocolors';
import { ROOT } from './bench/stage.mjs';
import { freePort } from './free-port.mjs';
import { collectorIn, prepareCollector } from './metrics/collector.mjs';
import { playFigures } from './metrics/played.mjs';
import { ALL_SPANS, judgeTrace, runTraced } from './metrics/traced-run.mjs';
import { takeOptions } from './options.mjs';

const PARTS = ['prometheus', 'trace'];

const { install, only } = takeOptions({
  command: 'npm run test:metrics --',
  about:
    'Has a real Prometheus read a bridge, and runs each query of packaging/grafana/mcp-sandbox-bridge.json against it; has a real\ncollector of OpenTelemetry take the trace of a run with twenty calls. The first part needs Prometheus, the second an engine, Go\nand npm; without one of them it says so and exits with 3.',
  options: {
    install: { says: "install Debian's Prometheus first where there is none; takes root" },
    only: { value: 'PART,PART', says: 'only these parts', among: PARTS },
  },
});

const MAIN = join(ROOT, 'dist/cli/main.js');
const DASHBOARD = join(ROOT, 'packaging/grafana/mcp-sandbox-bridge.json');
const TOKEN = 'a-token-of-the-operator-for-figures';
/** Whatever takes so long hangs. */
const HANGS_MS = 120_000;
const LOOK_MS = 200;

/** @type {(exitCode: number, message: string) => never} */
const leave = (exitCode, message) => {
  console.error(message);
  process.exit(exitCode);
};
const isThere = () => spawnSync('prometheus', ['--version'], { stdio: 'ignore' }).status === 0;
if (!existsSync(MAIN)) leave(3, 'The bridge is not built. Run `npm run build`.');
const isRead = only.includes('prometheus');
if (isRead && install && !isThere())
  spawnSync('apt-get', ['install', '--yes', '--no-install-recommends', 'prometheus'], { stdio: 'inherit' });
if (isRead && !isThere())
  leave(3, 'There is no Prometheus on PATH. Install it, run this with --install, or with --only trace.');
/** @type {{ program?: string, why?: string }} */
const collector = only.includes('trace') ? prepareCollector(console.error) : {};
if (collector.why !== undefined) leave(3, `${collector.why} --only prometheus goes without it.`);

/** @param {string} file */
const built = async (file) => await import(pathToFileURL(join(ROOT, 'dist/cli/figures', file)).href);
const dir = mkdtempSync(join(tmpdir(), 'metrics-'));
/** @type {(() => unknown)[]} */
const ended = [];
/** @type {string[]} */
const wrong = [];
/** @type {(holds: boolean, what: string) => void} */
const check = (holds, what) => {
  console.log(`${holds ? pc.green('holds') : pc.red('WRONG')}  ${what}`);
  if (!holds) wrong.push(what);
};

/**
 * @template T
 * @param {() => T | Promise<T>} holds
 * @param {string} what is waited for
 * @returns {Promise<NonNullable<T>>}
 */
async function until(holds, what) {
  const latest = performance.now() + HANGS_MS;
  for (;;) {
    const found = await holds();
    if (found) return found;
    if (performance.now() > latest) throw new Error(`waited ${HANGS_MS / 1000} s for ${what}`);
    await sleep(LOOK_MS);
  }
}

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnOptions} options
 * @returns what it has said so far
 */
function started(command, args, options) {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr?.on('data', (piece) => {
    said += piece;
  });
  const gone = new Promise((resolve) => child.once('close', resolve));
  ended.push(async () => {
    if (child.exitCode === null) child.kill('SIGTERM');
    await gone;
  });
  return () => said;
}

/** A bridge over HTTP, with commands only: it starts no container. */
async function startBridge() {
  const file = join(dir, 'servers.json');
  const mcpServers = { box: { command: process.execPath, args: [MAIN, 'code-exec'] } };
  writeFileSync(file, JSON.stringify({ mcpServers }), { mode: 0o600 });
  writeFileSync(join(dir, 'token'), TOKEN, { mode: 0o600 });
  const env = {
    HOME: dir,
    PATH: process.env['PATH'],
    MCP_SERVERS_CONFIG: file,
    MCP_BRIDGE_STATE_DIR: join(dir, 'state'),
    MCP_BRIDGE_TOOLS: 'execute',
    MCP_BRIDGE_EXECUTE_SERVER: 'box',
    MCP_BRIDGE_ALLOW_SELF_SERVER: '1',
    MCP_BRIDGE_HTTP_METRICS: join(dir, 'token'),
    MCP_EXEC_WORKDIR: dir,
  };
  const said = started(process.execPath, [MAIN, 'serve', '--http', '127.0.0.1:0'], { env, cwd: dir });
  const address = () => /listens at (http:\S+\/mcp)/.exec(said())?.[1];
  const token = () => /msb_\w+/.exec(said())?.[0];
  return { url: new URL(await until(address, 'the bridge')), token: await until(token, 'its first token') };
}

/**
 * @param {readonly { job: string, target: string }[]} targets
 * @returns a way to ask it
 */
async function startPrometheus(targets) {
  const port = await freePort();
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    scrape_configs: targets.map(({ job, target }) => ({
      job_name: job,
      authorization: { credentials_file: join(dir, 'token') },
      static_configs: [{ targets: [target] }],
    })),
  };
  // JSON is YAML.
  writeFileSync(join(dir, 'prometheus.yml'), JSON.stringify(config));
  const args = [
    `--config.file=${join(dir, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(dir, 'tsdb')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  started('prometheus', args, { cwd: dir });
  const url = `http://127.0.0.1:${port}`;
  const isReady = () =>
    fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(isReady, 'Prometheus');
  return async (/** @type {string} */ query) => {
    const answer = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query })}`);
    return /** @type {Answer} */ (await answer.json());
  };
}

/** @typedef {{ status: string, error?: string, data?: { result?: { value: [number, string] }[] } }} Answer */
/** @param {Answer} answer */
const valuesOf = ({ data }) => (data?.result ?? []).map(({ value }) => Number(value[1]));
/** @param {Answer} answer */
const hasData = (answer) => valuesOf(answer).some((value) => !Number.isNaN(value));

/**
 * Queries of the dashboard as Grafana would send them for the job.
 * @param {string} job
 * @returns {{ title: string, query: string }[]}
 */
function queriesFor(job) {
  /** @type {{ panels: { title: string, targets: { expr: string, refId: string }[] }[] }} */
  const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8'));
  return panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, refId }) => ({
      title: `${title}, ${refId}`,
      query: expr.replaceAll('$__rate_interval', '30s').replaceAll('$__range', '30s').replaceAll('$job', job),
    })),
  );
}

/**
 * Metrics in a query, and labels with the value that the query asks for.
 * @param {string} query
 */
const namesIn = (query) => [
  ...(query.match(/\b(?:mcp|http_server|process)_[a-z_]+(?=\{)/g) ?? []),
  ...(query.match(/\bmcp_\w+="\w+"/g) ?? []),
];

/** @param {string} program */
async function takeTrace(program) {
  const taking = collectorIn(dir, await freePort());
  const said = started(program, taking.args, { cwd: dir });
  const isUp = () =>
    fetch(taking.url).then(
      () => true,
      () => false,
    );
  await until(isUp, 'the collector');
  const trouble = await runTraced(taking.url);
  check(
    trouble === undefined,
    `the run with its calls succeeds${trouble === undefined ? '' : `: ${trouble}`}`,
  );
  if (trouble !== undefined) return;
  await until(() => taking.spans().length >= ALL_SPANS, 'the whole trace at the collector').catch((thrown) =>
    check(false, `${thrown.message}: ${taking.spans().length} spans of ${ALL_SPANS} ${said()}`),
  );
  for (const { holds, what } of judgeTrace(taking.spans())) check(holds, what);
  check(taking.metrics().has('mcp_bridge.run.duration'), 'the collector takes the figures too');
}

async function readFigures() {
  const { EventFigures } = await built('event-figures.js');
  const { prometheusText } = await built('prometheus-text.js');
  const played = await playFigures({ EventFigures, prometheusText });
  ended.push(played.close);
  const bridge = await startBridge();
  const page = async (/** @type {string} */ token) =>
    await fetch(new URL('/metrics', bridge.url), { headers: { authorization: `Bearer ${token}` } });
  check((await page(bridge.token)).status === 401, 'the token of an agent does not open /metrics');
  const requestInit = { headers: { authorization: `Bearer ${bridge.token}` } };
  const client = new Client({ name: 'metrics', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(bridge.url, { requestInit }));
  ended.push(() => client.close());
  let isOver = false;
  ended.push(async () => {
    isOver = true;
    await calling.catch((thrown) => check(false, `each call is answered: ${thrown}`));
  });
  const calling = (async () => {
    for (let count = 0; !isOver; count++) {
      const command = count % 4 === 0 ? 'no-such-command' : 'echo';
      await client.callTool({ name: 'execute', arguments: { command, args: ['hello'] } });
      await sleep(LOOK_MS);
    }
  })();
  calling.catch(() => {});
  const ask = await startPrometheus([
    { job: 'bridge', target: bridge.url.host },
    { job: 'played', target: `127.0.0.1:${played.port}` },
  ]);
  const isUp = async () => valuesOf(await ask('min(up)'))[0] === 1;
  await until(isUp, 'both targets to be read');
  check(true, 'Prometheus reads the bridge with the token of its own');
  const withCalls = async () => {
    const read = await (await page(TOKEN)).text();
    return read.includes('mcp_client_operation_duration_seconds_count') ? read : undefined;
  };
  const text = await until(withCalls, 'calls on the page');
  const lint = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
  check(
    lint.status === 0,
    `promtool finds nothing wrong with the page${lint.stderr && `: ${lint.stderr.trim()}`}`,
  );
  for (const job of ['played', 'bridge']) {
    for (const { title, query } of queriesFor(job)) {
      // Of the real bridge only what has happened there is asked for.
      if (job === 'bridge' && !namesIn(query).every((name) => text.includes(name))) continue;
      let answer = await ask(query);
      const latest = performance.now() + HANGS_MS / 4;
      while (answer.status === 'success' && !hasData(answer) && performance.now() < latest) {
        await sleep(LOOK_MS);
        answer = await ask(query);
      }
      const why = answer.error === undefined ? '' : `: ${answer.error}`;
      check(answer.status === 'success' && hasData(answer), `${job}: ${title}${why}`);
    }
  }
}

try {
  if (collector.program !== undefined) await takeTrace(collector.program);
  if (isRead) await readFigures();
} catch (thrown) {
  wrong.push(String(thrown));
  console.error(thrown);
} finally {
  for (const end of ended.reverse()) await end();
  rmSync(dir, { recursive: true, force: true });
}
console.log(wrong.length === 0 ? 'All of it holds.' : `${wrong.length} did not hold.`);
process.exitCode = wrong.length === 0 ? 0 : 1;
