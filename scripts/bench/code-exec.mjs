// The service of compose.code-exec.yaml under gVisor beside the same image, flags and calls under runc: from `podman run` until it is
// healthy, and one call of `true` from a plain client. Under runc the limits that this machine's runc cannot set are left out.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { composeService, podmanArgs } from '../compose-argv.mjs';
import { pause, timeWork } from './stage.mjs';
import { figure } from './statistics.mjs';

const TOKEN = 'a-token-for-the-benchmark';
const PORT = '18765';
const URL_OF = new URL(`http://127.0.0.1:${PORT}/mcp`);
const NAME = `mcp-sandbox-bridge-bench-${process.pid}`;
const POLL_MS = 10;
const RUNTIMES = {
  runsc: ['--runtime=runsc', '--runtime-flag=network=host'],
  runc: ['--runtime=runc'],
};
/** A root that lacks CAP_SYS_RESOURCE cannot raise limits as podman's defaults ask it to. */
const LIMITS = ['--ulimit=nofile=1024:1024', '--ulimit=nproc=2048:2048'];

const run = promisify(execFile);

export async function codeExec(stage) {
  const compose = composeService({
    MCP_EXEC_TOKEN: TOKEN,
    MCP_EXEC_PORT: PORT,
    MCP_EXEC_NETWORK: 'slirp4netns',
  });
  const missing = await whyNot(compose.service.image);
  if (missing !== undefined) return [{ measure: 'execute under gVisor', skipped: missing }];
  const times = { runsc: { start: [], call: [] }, runc: { start: [], call: [] } };
  for (let round = 0; round < stage.times(10, 2); round++) {
    for (const [runtime, { start, call }] of Object.entries(times)) {
      const taken = await runOnce(RUNTIMES[runtime], podmanArgs(compose, `${NAME}-`), stage.times(20, 5));
      start.push(taken.start);
      call.push(...taken.calls);
    }
  }
  return [
    row('execute: start to healthy', 'start', times),
    row('execute: a call of true', 'call', times, 2.5),
  ];
}

async function whyNot(image) {
  /** @type {[string, string[]][]} */
  const tried = [
    ['runsc', ['--version']],
    ['slirp4netns', ['--version']],
    ['podman', ['image', 'exists', image]],
  ];
  for (const [program, args] of tried) {
    const isThere = await run(program, args).then(
      () => true,
      () => false,
    );
    if (!isThere) return program === 'podman' ? `there is no ${image}` : `${program} is not installed`;
  }
  return undefined;
}

async function runOnce(global, args, calls) {
  const podman = (...rest) => run('podman', ['--log-level=error', ...global, ...rest]);
  const label = '--label=mcp-sandbox-bridge=bench';
  try {
    const { ms: start } = await timeWork(async () => {
      await podman('run', '--detach', `--name=${NAME}`, label, ...LIMITS, ...args);
      await waitUntilHealthy();
    });
    return { start, calls: await callTimes(calls) };
  } finally {
    await podman('rm', '--force', '--ignore', '--time=0', NAME);
    await podman('volume', 'rm', '--force', `${NAME}-sandbox-work`);
  }
}

async function waitUntilHealthy() {
  for (let waited = 0; waited < 30_000; waited += POLL_MS) {
    const answer = await fetch(new URL('/health', URL_OF)).catch(() => undefined);
    if (answer?.ok) return;
    await pause(POLL_MS);
  }
  throw new Error('the service did not become healthy');
}

async function callTimes(count) {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const requestInit = { headers: { authorization: `Bearer ${TOKEN}` } };
  await client.connect(new StreamableHTTPClientTransport(URL_OF, { requestInit }));
  try {
    const call = () => client.callTool({ name: 'execute', arguments: { command: 'true' } });
    await call();
    const times = [];
    for (let index = 0; index < count; index++) times.push((await timeWork(call)).ms);
    return times;
  } finally {
    await client.close();
  }
}

/** `most`: of the ratio; none where nothing is promised. */
function row(measure, key, { runsc, runc }, most) {
  const ours = figure('gVisor', runsc[key]);
  const theirs = figure('the same under runc', runc[key]);
  const ratio = ours.p50 / theirs.p50;
  const judged = most === undefined ? {} : { target: `<= ${most}`, met: ratio <= most };
  return { measure, unit: 'ms', ours, theirs, ratio, ...judged, plotted: false };
}
