// The steps that are the same whether the bridge is in the machine with its engine or outside of it: the machine itself,
// the main job, the attacks on limits, what is left. Each returns what a judge looks at.

import { mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PRINT_STARTER } from '../from-template.mjs';
import { furnish, MAIN_JOB, SERVERS } from '../main-job.mjs';
import { run, withBridge } from './bridge.mjs';
import { complaint, LIMIT_SETTINGS } from './limit-attacks.mjs';
import { USER } from './suites.mjs';

export const DELEGATED = `/sys/fs/cgroup/user.slice/user-${USER.id}.slice/user@${USER.id}.service/cgroup.controllers`;
/** Of the engine in an emulated machine; one that is well takes a second or two. */
const ENGINE_PATIENCE_MS = 60_000;
const LOOKS_FOR_LEFTOVERS = 15;
const MEMORY_EVERY_MS = 100;
/** A template is made behind a bridge's second sandbox. */
const CALLS_TO_TEMPLATE = 12;
const LAUNCHES = 6;
const SETTLE_MS = 1_500;

/** Does the work of the step `name` and hands its line to `write`: with a value, or with the error of a step that failed. */
export async function step(name, work, write) {
  const startedAt = performance.now();
  const since = () => Math.round((performance.now() - startedAt) / 100) / 10;
  let line;
  try {
    line = { step: name, value: await work() };
  } catch (thrown) {
    line = { step: name, error: thrown.stack ?? String(thrown) };
  }
  write({ ...line, seconds: since() });
}

/** What `podman info` says that is demanded of a machine; `env` is for its client. */
export async function engineFacts(env) {
  const info = JSON.parse((await run('podman', ['info', '--format', 'json'], env)).stdout);
  return {
    podman: info.version.Version,
    ociRuntime: info.host.ociRuntime.version.split('\n')[0],
    cgroups: `${info.host.cgroupVersion}, ${info.host.cgroupManager}`,
    storage: info.store.graphDriverName,
  };
}

/** The main job twice with one bridge; `modules` is the folder with the packages of its servers. */
export function mainJob(bridge, env, modules) {
  const furnished = mkdtempSync(join(tmpdir(), 'home-'));
  furnish(furnished, modules);
  const config = join(furnished, '.config/mcp/servers/demo.json');
  return withBridge(bridge, { ...env, MCP_SERVERS_CONFIG: config }, async (call, _home, log) => {
    const first = await call({ code: MAIN_JOB, servers: SERVERS });
    const startedAt = performance.now();
    const second = await call({ code: MAIN_JOB, servers: SERVERS });
    return { first, second, secondMs: Math.round(performance.now() - startedAt), log: log() };
  });
}

/**
 * A cold call from a template beside one by the engine's client, in turns: `ms` of each call by this machine's clock, without
 * `template` where no sandbox came from one. Where the clock counts instructions, a millisecond is a million of them.
 */
export function launches(bridge) {
  const by = (launch, work) =>
    withBridge(bridge, { MCP_BRIDGE_WARM: '0', MCP_BRIDGE_LAUNCH: launch }, (call) =>
      work((code) => call({ code })),
    );
  return by('template', (ours) =>
    by('engine', async (theirs) => {
      await theirs('1');
      const isFromTemplate = await comesFromTemplate(ours);
      const ways = { ...(isFromTemplate && { template: ours }), engine: theirs };
      const ms = Object.fromEntries(Object.keys(ways).map((way) => [way, []]));
      for (let round = 0; round < LAUNCHES; round += 1)
        for (const [way, call] of Object.entries(ways)) {
          await pause(SETTLE_MS);
          const startedAt = performance.now();
          await call('print(1)');
          ms[way].push(Math.round(performance.now() - startedAt));
        }
      return { ms };
    }),
  );
}

/** Whether one of a bridge's next sandboxes is started from a template. */
async function comesFromTemplate(call) {
  for (let calls = 0; calls < CALLS_TO_TEMPLATE; calls += 1) {
    const { stdout = [] } = await call(PRINT_STARTER);
    if (stdout.join('') === 'template') return true;
    await pause(SETTLE_MS);
  }
  return false;
}

/** What each attack came to, and what was found to enforce the limits. */
export function attackLimits(bridge, env, attacks) {
  return withBridge(bridge, { ...env, ...LIMIT_SETTINGS }, async (call, home) => {
    // The choice of an engine is not to take time from the first attack.
    const { status, error } = await call({ code: '1' });
    if (status !== 'success') throw new Error(`${error}\n${await engineProcesses()}`);
    const made = [];
    for (const attack of attacks) {
      const { name, code, timeout = 60 } = attack;
      const memory = watchMemory();
      const payload = await call({ code, timeout });
      const lostMb = memory.lostMb();
      made.push({
        name,
        complaint: complaint(attack, payload),
        said: payload.error ?? payload.result,
        lostMb,
      });
    }
    const cache = join(env.MCP_BRIDGE_STATE_DIR ?? join(home, 'state'), 'cache');
    // One for each set of settings; the latest is that of this bridge.
    const [latest] = readdirSync(cache)
      .filter((name) => name.startsWith('engine-'))
      .map((name) => join(cache, name))
      .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
    const { choice } = JSON.parse(readFileSync(latest, 'utf8'));
    return { enforcement: choice.enforcement, attacks: made };
  });
}

/** MB of memory that this machine has lost at most since; it is the bridge's, which is the engine's only where they share one. */
function watchMemory() {
  const available = () =>
    Number(/^MemAvailable: +(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8'))[1]) / 1024;
  const before = available();
  let least = before;
  const timer = setInterval(() => {
    least = Math.min(least, available());
  }, MEMORY_EVERY_MS);
  return {
    lostMb: () => {
      clearInterval(timer);
      return Math.round(before - Math.min(least, available()));
    },
  };
}

/** Names and states of the engine's containers. `env` is for its client. */
export async function containers(env) {
  const { exitCode, stdout, stderr } = await run(
    'podman',
    ['ps', '--all', '--format', '{{.Names}} {{.Status}}'],
    env,
    ENGINE_PATIENCE_MS,
  );
  // An engine that hangs is no engine without containers: who waits for what is the first question then.
  if (exitCode !== 0) throw new Error(`podman ps: ${stderr || 'no answer'}\n${await engineProcesses()}`);
  return stdout.split('\n').filter(Boolean);
}

/** What there is of the engine's processes here, and what in the kernel each waits for. */
async function engineProcesses() {
  const { stdout } = await run('ps', ['-eo', 'pid,ppid,stat,etimes,wchan:24,args', '--cols', '220']);
  const processes = stdout
    .split('\n')
    .filter((line) => /podman|conmon|crun|runc|systemd|dbus|slirp|pause/.test(line));
  // A lock that somebody holds and others wait for is told there with their pids.
  return [...processes, readFileSync('/proc/locks', 'utf8')].join('\n');
}

/** The containers that are still there after a while, when at most `wanted` were expected to be. */
export async function leftovers(env, wanted = 0) {
  // The engine's own tidying takes a moment after a container has ended.
  for (let look = 0; ; look += 1) {
    const found = await containers(env);
    if (found.length <= wanted || look === LOOKS_FOR_LEFTOVERS) return found.length <= wanted ? [] : found;
    await pause(1_000);
  }
}
