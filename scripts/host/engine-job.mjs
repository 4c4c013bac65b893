// What is done with a machine whose engine is used from outside: the job of a bridge here, and then what happens to the
// virtual machine of a laptop, which sleeps, is started anew and is turned off. Judges only what an attack came to.

import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ask, run, withBridge } from './bridge.mjs';
import { ATTACKS } from './engine-judge.mjs';
import { attackLimits, containers, DELEGATED, engineFacts, leftovers, mainJob, step } from './job-steps.mjs';
import { LIMIT_SETTINGS } from './limit-attacks.mjs';
import { IMAGE_FILE } from './suites.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BRIDGE = [process.execPath, join(ROOT, 'dist/cli/main.js')];
/** How often a command of the engine's is timed, to know what one takes over this connection. */
const COMMANDS_TIMED = 3;
const SLEEP_MS = 60_000;
/** Ends while the machine sleeps, and long after it has woken up. */
const DEADLINES = { inSleep: 20, afterSleep: 120 };
const BEGUN = 'begun';
const NEXT_CALL = { code: '6 * 7' };
const LOOKS_FOR_CLIENTS = 10;

const seconds = (fromMs, toMs = performance.now()) => Math.round((toMs - fromMs) / 100) / 10;
/** Says that it has begun, and then works for as long as it is told, a quarter of a second at a time. */
const work = (forSeconds) => `import time
runtime.progress(1, 2, "${BEGUN}")
for _ in range(${forSeconds * 4}): time.sleep(0.25)
"worked"`;

/**
 * The report's lines, as those of a job in a machine. `machine` is an engine machine that is up;
 * `scratch` is a folder for what the clients here keep. The machine is off afterwards.
 */
export async function engineJob(machine, { scratch, onLine }) {
  const env = clientEnv(machine, scratch);
  const lines = [];
  const doStep = (name, what) =>
    step(name, what, (line) => {
      lines.push(line);
      onLine(line);
    });
  await doStep('machine', async () => ({
    os: /^PRETTY_NAME="(.*)"$/m.exec(await machine.shell('cat /etc/os-release'))?.[1],
    kernel: (await machine.shell('uname -r')).trim(),
    node: process.version,
    ...(await engineFacts(env)),
    delegated: (await machine.shell(`cat ${DELEGATED}`)).trim(),
  }));
  await doStep('connection', async () => ({
    client: (await run('podman', ['--version'])).stdout.trim(),
    reachesUs: await machine.reachesUs(),
    commandSeconds: await timeCommand(env),
  }));
  // As one would carry it to a machine without a registry.
  await doStep('image', () => machine.shell(`podman load --quiet --input ${IMAGE_FILE}`));
  await doStep('doctor', () => ask(BRIDGE, ['doctor', '--json'], env));
  await doStep('main job', () => mainJob(BRIDGE, env, join(ROOT, 'node_modules')));
  await doStep('files', () => filesBothWays(env));
  await doStep('cancel', () => cancelRun(machine, env));
  await doStep('sleep', () => sleepThrough(machine, env));
  await doStep('reboot', () => rebootUnder(machine, env));
  // Under other settings another choice is made and remembered, which would take the place of that of all other steps.
  const limited = { ...env, MCP_BRIDGE_STATE_DIR: join(scratch, 'state-of-limits') };
  await doStep('limits', () => attackLimits(BRIDGE, limited, ATTACKS));
  await doStep('probe', () =>
    ask(BRIDGE, ['doctor', '--probe', '--json'], {
      ...limited,
      MCP_BRIDGE_CPUS: LIMIT_SETTINGS.MCP_BRIDGE_CPUS,
    }),
  );
  await doStep('left', () => leftovers(env));
  await doStep('power off', () => powerOffUnder(machine, env));
  await doStep('end', async () => clientsLeft(scratch));
  return lines;
}

/** podman 4 checks the key of a machine by ~/.ssh/known_hosts, where there is one: this home has none. */
function clientEnv(machine, scratch) {
  const home = join(scratch, 'home');
  mkdirSync(home, { recursive: true });
  const { url, key } = machine.connection;
  return {
    HOME: home,
    // One for most bridges here: what an earlier one has found out and made, the next need not.
    MCP_BRIDGE_STATE_DIR: join(scratch, 'state'),
    CONTAINER_SSHKEY: key,
    // The checks' own use of podman's client; the bridge gets the address by its setting.
    CONTAINER_HOST: url,
    MCP_BRIDGE_ENGINE_URL: url,
    MCP_BRIDGE_RUNTIME: 'podman',
  };
}

/** Seconds that one small command of the engine's takes over this connection, the median of a few. */
async function timeCommand(env) {
  const times = [];
  for (let time = 0; time < COMMANDS_TIMED; time += 1) {
    const startedAt = performance.now();
    await containers(env);
    times.push(seconds(startedAt));
  }
  return times.sort((a, b) => a - b)[Math.floor(COMMANDS_TIMED / 2)];
}

function filesBothWays(env) {
  const bytes = Buffer.from(Array.from({ length: 4_096 }, (_, n) => n % 251));
  const code = `data = open("in/data.bin", "rb").read()
open("out/reversed.bin", "wb").write(data[::-1])
open("in/words.txt").read()`;
  const files = [
    { name: 'in/data.bin', base64: bytes.toString('base64') },
    { name: 'in/words.txt', text: 'grüße' },
  ];
  return withBridge(
    BRIDGE,
    { ...env, MCP_BRIDGE_STRUCTURED: 'always' },
    async (_call, _home, _log, { client, callWhole }) => {
      const { content, structuredContent } = await callWhole({ code, files });
      const link = content.find(({ type }) => type === 'resource_link');
      const kept =
        link === undefined ? undefined : (await client.readResource({ uri: link.uri })).contents[0];
      return {
        payload: structuredContent,
        isSame: kept?.blob !== undefined && Buffer.from(kept.blob, 'base64').equals(bytes.reverse()),
      };
    },
  );
}

/**
 * Starts a run and waits until its code has begun. `ended` never rejects: it resolves with the answer, or what was thrown
 * in its place, and with the time on performance.now() at which it came.
 */
async function begin(call, args, signal) {
  let hasBegun;
  const begun = new Promise((resolve) => {
    hasBegun = resolve;
  });
  // The bridge's own signs of life repeat the code's last word.
  const onprogress = ({ message }) => message?.includes(BEGUN) && hasBegun();
  const ended = outcomeOf(call(args, { onprogress, signal }));
  const early = await Promise.race([begun, ended]);
  if (early !== undefined) throw new Error(`a run ended before it began: ${JSON.stringify(early)}`);
  return { ended };
}

/** What was answered, and how many seconds after `since`. */
const answer = ({ payload, thrown, at }, since) => ({
  status: payload?.status ?? 'thrown',
  errorType: payload?.errorType,
  remedy: payload?.remedy,
  said: payload?.error ?? payload?.result ?? thrown,
  seconds: seconds(since, at),
});

async function answerTo(call, args) {
  const startedAt = performance.now();
  return answer(await outcomeOf(call(args)), startedAt);
}

const outcomeOf = (answering) =>
  answering.then(
    (payload) => ({ payload, at: performance.now() }),
    (thrown) => ({ thrown: String(thrown), at: performance.now() }),
  );

/** Nothing is started ahead here, so that the only container is the run's. */
function cancelRun(machine, env) {
  return withBridge(BRIDGE, { ...env, MCP_BRIDGE_WARM: '0' }, async (call) => {
    const cancelling = new AbortController();
    const run = await begin(call, { code: work(100), timeout: 120 }, cancelling.signal);
    const [pid] = (await podman(env, 'ps', '--format', '{{.Pid}}')).split('\n');
    const watch = machine.watch(pid);
    await watch.watched;
    const cancelledAt = performance.now();
    cancelling.abort();
    await run.ended;
    const processSeconds = seconds(cancelledAt, await watch.gone);
    const left = await leftovers(env);
    return { processSeconds, listSeconds: seconds(cancelledAt), left };
  });
}

/** One run's deadline passes while the machine sleeps, and another's long after; a sandbox waits for the next call. */
function sleepThrough(machine, env) {
  return withBridge(BRIDGE, { ...env, MCP_BRIDGE_CONCURRENCY: '2' }, async (call) => {
    const long = await begin(call, { code: work(10), timeout: DEADLINES.afterSleep });
    const shortAt = performance.now();
    const short = await begin(call, { code: work(100), timeout: DEADLINES.inSleep });
    const pausedAt = performance.now();
    await machine.pause();
    const doctor = ask(BRIDGE, ['doctor', '--json'], env).then((said) => ({ said, at: performance.now() }));
    await delay(SLEEP_MS);
    const wokenAt = performance.now();
    await machine.resume();
    const asleep = await doctor;
    return {
      deadlinePassed: answer(await short.ended, pausedAt),
      wentOn: answer(await long.ended, wokenAt),
      doctor: {
        exitCode: asleep.said.exitCode,
        said: saidOfEngine(asleep.said),
        seconds: seconds(pausedAt, asleep.at),
      },
      next: await answerTo(call, NEXT_CALL),
      left: await leftovers(env, 1),
      betweenSeconds: seconds(shortAt, pausedAt),
    };
  }).then(async (value) => ({ ...value, leftAtEnd: await leftovers(env) }));
}

function rebootUnder(machine, env) {
  return withBridge(BRIDGE, env, async (call) => {
    const boot = await machine.untilReachable();
    const run = await begin(call, { code: work(100), timeout: 120 });
    const rebootedAt = performance.now();
    await machine.shell('systemctl --no-block reboot', { as: 'root' });
    const under = answer(await run.ended, rebootedAt);
    await machine.untilReachable(boot);
    // The first command after a start of the machine has the engine look through its store, which takes longer there than
    // the bridge waits for an engine. The machine is back when that is done.
    await containers(env);
    return {
      under,
      backSeconds: seconds(rebootedAt),
      next: await answerTo(call, NEXT_CALL),
      left: await leftovers(env, 1),
    };
  }).then(async (value) => ({ ...value, leftAtEnd: await leftovers(env) }));
}

async function powerOffUnder(machine, env) {
  let closingAt;
  const value = await withBridge(BRIDGE, env, async (call) => {
    const run = await begin(call, { code: work(100), timeout: 120 });
    const offAt = performance.now();
    await machine.shell('systemctl --no-block poweroff', { as: 'root' });
    const under = answer(await run.ended, offAt);
    await machine.ended;
    const next = await answerTo(call, NEXT_CALL);
    closingAt = performance.now();
    return { under, next };
  });
  const closeSeconds = seconds(closingAt);
  const askedAt = performance.now();
  const doctor = await ask(BRIDGE, ['doctor', '--json'], env);
  return {
    ...value,
    closeSeconds,
    doctor: { exitCode: doctor.exitCode, said: saidOfEngine(doctor), seconds: seconds(askedAt) },
  };
}

const saidOfEngine = ({ findings }) =>
  findings
    .filter(({ status }) => status === 'fail')
    .map(({ name, detail, remedy }) => `${name}: ${detail} ${remedy ?? ''}`)
    .join('; ');

async function podman(env, ...args) {
  const { exitCode, stdout, stderr } = await run('podman', args, env);
  if (exitCode !== 0) throw new Error(`podman ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** Command lines of processes here that name the folder of this run, which only clients of the engine's do. */
async function clientsLeft(scratch) {
  for (let look = 0; ; look += 1) {
    const found = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(commandLine)
      .filter((text) => text.startsWith('podman') && text.includes(scratch));
    if (found.length === 0 || look === LOOKS_FOR_CLIENTS) return found;
    await delay(1_000);
  }
}

function commandLine(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}
