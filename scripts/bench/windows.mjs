// What windows of one user cost that share a bridge, beside bridges of their own: memory of all that runs for three windows with
// five servers from npm, and how long a further window takes until it has the list of tools.

import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { commandLine, family, pidsMentioning, pssMb, rssMb } from './processes.mjs';
import { MAIN, npmServer, pause, timeWork } from './stage.mjs';
import { figure } from './statistics.mjs';

const WINDOWS = 3;
const SETTLE_MS = 2_000;
/** After a start, so that the next one does not share the processor with what it leaves to do. */
const QUIET_MS = 150;
const MEMORY_RATIO = 0.5;
const START_RATIO = 2;

const run = promisify(execFile);

export async function windows(stage) {
  const home = stage.home(servers(stage));
  const runtime = join(home, 'runtime');
  mkdirSync(runtime, { mode: 0o700 });
  const environment = (shared) =>
    stage.environment(home, { MCP_BRIDGE_SHARED: shared, MCP_BRIDGE_WARM: '0', XDG_RUNTIME_DIR: runtime });
  try {
    const [shared, own] = [
      await measureHeld(stage, environment('on'), home),
      await measureHeld(stage, environment('off'), home),
    ];
    return [...memoryRows(shared, own), await startRow(stage, environment('on'), home)];
  } finally {
    await run(process.execPath, [MAIN, 'stop', '--now'], { env: environment('on') });
  }
}

const servers = (stage) => {
  const folder = join(stage.stateDir, 'windows');
  mkdirSync(folder, { recursive: true });
  return {
    everything: npmServer('server-everything'),
    files: npmServer('server-filesystem', folder),
    memory: { ...npmServer('server-memory'), env: { MEMORY_FILE_PATH: join(folder, 'memory.json') } },
    thinking: npmServer('server-sequential-thinking'),
    more: npmServer('server-filesystem', folder, '/usr/share'),
  };
};

/** Memory of all processes while every server of every window is open, and how many processes they are. */
async function measureHeld(stage, env, home) {
  const program = { command: process.execPath, args: [MAIN], env, cwd: home };
  const open = (pids) =>
    pids.length === WINDOWS
      ? measureMemory(pids, env)
      : stage.withClient(program, async (client, pid) => {
          await client.listTools();
          await client.callTool({ name: 'run_python', arguments: { code: '1', servers: ['*'] } }, undefined, {
            timeout: 120_000,
          });
          return await open([...pids, pid]);
        });
  return await open([]);
}

async function measureMemory(pids, env) {
  await pause(SETTLE_MS);
  const shared = env.MCP_BRIDGE_SHARED === 'on' ? pidsMentioning(`shared-bridge ${env.XDG_RUNTIME_DIR}`) : [];
  const all = [...new Set([...pids, ...shared].flatMap(family))];
  const isServer = (pid) => commandLine(pid).includes('server-');
  return {
    processes: all.length,
    servers: all.filter(isServer).length,
    rss: all.reduce((sum, pid) => sum + rssMb(pid), 0),
    pss: all.reduce((sum, pid) => sum + (pssMb(pid) ?? 0), 0),
  };
}

function memoryRows(shared, own) {
  const words = ({ processes, servers: count }) => `${processes} processes, ${count} of them servers`;
  const row = (kind, what) => ({
    measure: `memory of ${WINDOWS} windows with 5 servers (${what})`,
    unit: 'MB',
    ours: figure('one bridge for all', [shared[kind]]),
    theirs: figure('a bridge for each', [own[kind]]),
    ratio: shared[kind] / own[kind],
    target: `<= ${MEMORY_RATIO} of bridges of their own`,
    met: shared[kind] <= MEMORY_RATIO * own[kind],
    note: `${words(shared)}; with a bridge for each ${words(own)}`,
  });
  return [row('rss', 'RSS'), row('pss', 'PSS')];
}

async function startRow(stage, env, home) {
  const program = { command: process.execPath, args: [MAIN], env, cwd: home };
  const times = { window: [], node: [] };
  await stage.withClient(program, async (first) => {
    await first.listTools();
    for (let round = 0; round < stage.times(20, 5); round++) {
      await pause(QUIET_MS);
      const startedAt = performance.now();
      await stage.withClient(program, async (client) => {
        await client.listTools();
        times.window.push(performance.now() - startedAt);
      });
      await pause(QUIET_MS);
      times.node.push((await timeWork(() => run(process.execPath, ['-e', '0'], { env }))).ms);
    }
  });
  const ours = figure('a further window', times.window);
  const theirs = figure('node -e 0', times.node);
  return {
    measure: 'start of a further window to tools/list',
    unit: 'ms',
    ours,
    theirs,
    ratio: ours.p50 / theirs.p50,
    target: `<= ${START_RATIO} times node -e 0`,
    met: ours.p50 <= START_RATIO * theirs.p50,
  };
}
