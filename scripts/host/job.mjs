// What is done in the machine, as its user: loads the image, asks doctor, does the main job, attacks the limits. Writes
// one line of JSON per step to the file it is given, a step that fails included. Judges only what an attack came to.

import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, readFileSync, writeSync } from 'node:fs';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { furnish, MAIN_JOB, SERVERS } from '../main-job.mjs';
import { complaint, LIMIT_ATTACKS, LIMIT_SETTINGS } from './limit-attacks.mjs';
import { USER } from './suites.mjs';

const [reportFile, jobDir] = process.argv.slice(2);
const MODULES = join(jobDir, 'app/node_modules');
const BRIDGE = join(MODULES, '.bin/mcp-sandbox-bridge');
const DELEGATED = `/sys/fs/cgroup/user.slice/user-${USER.id}.slice/user@${USER.id}.service/cgroup.controllers`;
/** For one answer; the product's own deadlines are shorter. */
const PATIENCE_MS = 600_000;
/** Of the engine in an emulated machine; one that is well takes a second or two. */
const ENGINE_PATIENCE_MS = 60_000;
const LOOKS_FOR_LEFTOVERS = 15;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

const report = openSync(reportFile, 'w');

async function step(name, work) {
  const startedAt = performance.now();
  const since = () => Math.round((performance.now() - startedAt) / 100) / 10;
  let line;
  try {
    line = { step: name, value: await work() };
  } catch (thrown) {
    line = { step: name, error: thrown.stack ?? String(thrown) };
  }
  writeSync(report, `${JSON.stringify({ ...line, seconds: since() })}\n`);
}

/** Never throws: exit code and what was said. */
function run(program, args, env = {}, timeout = PATIENCE_MS) {
  const options = { env: { ...process.env, ...env }, timeout, maxBuffer: MAX_OUTPUT_BYTES };
  return new Promise((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) =>
      resolve({ exitCode: error === null ? 0 : (error.code ?? 1), stdout, stderr }),
    );
  });
}

/** What the engine answers; undefined where it hangs. */
async function answered(program, args) {
  const result = await run(program, args, {}, ENGINE_PATIENCE_MS);
  return result.exitCode === 0 ? result : undefined;
}

/** What there is of the engine's processes, and what in the kernel each waits for. */
async function processes() {
  const { stdout } = await run('ps', ['-eo', 'pid,ppid,stat,etimes,wchan:24,args', '--cols', '220']);
  const lines = stdout.split('\n').filter((line) => /podman|conmon|crun|runc|python3/.test(line));
  return lines.join('\n');
}

/** A command of ours that prints JSON, whatever it then exits with. */
async function ask(args, env) {
  const { exitCode, stdout, stderr } = await run(BRIDGE, args, env);
  try {
    return { exitCode, ...JSON.parse(stdout) };
  } catch {
    throw new Error(`${args.join(' ')} ended with ${exitCode}: ${stdout}${stderr}`);
  }
}

async function withBridge(env, work) {
  const home = mkdtempSync(join(tmpdir(), 'agent-'));
  const transport = new StdioClientTransport({
    command: BRIDGE,
    env: { ...process.env, MCP_BRIDGE_STATE_DIR: join(home, 'state'), MCP_BRIDGE_LOG_LEVEL: 'warn', ...env },
    cwd: home,
    stderr: 'pipe',
  });
  let log = '';
  transport.stderr?.setEncoding('utf8').on('data', (text) => {
    log = (log + text).slice(-4_000);
  });
  const client = new Client({ name: 'host', version: '1.0.0' });
  await client.connect(transport);
  const call = async (args) => {
    const { structuredContent } = await client.callTool({ name: 'run_python', arguments: args }, undefined, {
      timeout: PATIENCE_MS,
      resetTimeoutOnProgress: true,
    });
    return structuredContent;
  };
  try {
    return await work(call, home, () => log);
  } finally {
    await client.close();
  }
}

const versionOf = async (program) => (await run(program, ['--version'])).stdout.split('\n')[0];

await step('machine', async () => {
  const info = JSON.parse((await run('podman', ['info', '--format', 'json'])).stdout);
  return {
    os: /^PRETTY_NAME="(.*)"$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1],
    kernel: release(),
    node: process.version,
    podman: info.version.Version,
    ociRuntime: await versionOf(info.host.ociRuntime.path),
    cgroups: `${info.host.cgroupVersion}, ${info.host.cgroupManager}`,
    // podman 4.3 leaves out cpu when it tells this.
    delegated: existsSync(DELEGATED) ? readFileSync(DELEGATED, 'utf8').trim() : 'nothing',
    storage: info.store.graphDriverName,
  };
});
await step('image', async () => {
  const { exitCode, stdout, stderr } = await run('podman', [
    'load',
    '--quiet',
    '--input',
    join(jobDir, 'image.tar'),
  ]);
  if (exitCode !== 0) throw new Error(stderr);
  return stdout.trim();
});
await step('doctor', () => ask(['doctor', '--json']));
await step('main job', () => {
  const furnished = mkdtempSync(join(tmpdir(), 'home-'));
  furnish(furnished, MODULES);
  const config = join(furnished, '.config/mcp/servers/demo.json');
  return withBridge({ MCP_SERVERS_CONFIG: config }, async (call, _home, log) => {
    const first = await call({ code: MAIN_JOB, servers: SERVERS });
    const startedAt = performance.now();
    const second = await call({ code: MAIN_JOB, servers: SERVERS });
    return { first, second, secondMs: Math.round(performance.now() - startedAt), log: log() };
  });
});
await step('limits', () =>
  withBridge(LIMIT_SETTINGS, async (call, home) => {
    const attacks = [];
    for (const attack of LIMIT_ATTACKS) {
      const { name, code, timeout = 60 } = attack;
      const payload = await call({ code, timeout });
      attacks.push({ name, complaint: complaint(attack, payload), said: payload.error ?? payload.result });
    }
    const { choice } = JSON.parse(readFileSync(join(home, 'state/cache/engine.json'), 'utf8'));
    return { enforcement: choice.enforcement, attacks };
  }),
);
await step('probe', () =>
  ask(['doctor', '--probe', '--json'], { MCP_BRIDGE_CPUS: LIMIT_SETTINGS.MCP_BRIDGE_CPUS }),
);
await step('left', async () => {
  // The engine's own tidying takes a moment after a container has ended.
  for (let look = 0; ; look += 1) {
    const listed = await answered('podman', ['ps', '--all', '--format', '{{.Names}} {{.Status}}']);
    // An engine that hangs is no engine without containers: who waits for what is the first question then.
    if (listed === undefined) return [`podman ps hangs; ${await processes()}`];
    const { stdout } = listed;
    const containers = stdout.split('\n').filter(Boolean);
    if (containers.length === 0 || look === LOOKS_FOR_LEFTOVERS) return containers;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
});
await step('end', async () => true);
