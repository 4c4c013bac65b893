// `doctor --probe`: makes the attacks and says, per control, what was asked for and what was seen. Everything goes the way
// of an agent's run, through a real bridge. Exits with 0, 1 or 2 as exitCodeOf says, 2 also when nothing could be probed.

import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { BridgeError, messageOf } from '../../base/errors.js';
import { textBeside } from '../../base/files/read-text.js';
import type { BridgeEvent } from '../../base/log/events.js';
import type { Environment } from '../../base/process/environment.js';
import { ownCommand } from '../../base/process/own-command.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { chooseEngine } from '../../engine/detect.js';
import type { Engine } from '../../engine/engine.js';
import { absentImage } from '../../engine/images/image-choice.js';
import { byCommandLine } from '../../run/calls/call-context.js';
import type { Outcome } from '../../run/outcome/outcome.js';
import { probeKey, rememberProbe } from '../../sandbox/launch/last-probe.js';
import { engineSelectionOf, specOn } from '../../sandbox/launch/launch-set-up.js';
import { carry } from '../../sandbox/spec/harness-files.js';
import { pythonProfile } from '../../sandbox/spec/profile.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { Bridge } from '../../tenant/bridge.js';
import { attempt } from '../doctor/examination.js';
import { type Prepared, prepare, withProgress } from '../serving/prepare.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { printJson, reportFailure, sayNote } from '../terminal/output.js';
import {
  AttackedBridge,
  DEADLINE_ATTACK,
  DEADLINES_SECONDS,
  IDLE_ATTACK,
  MEMORY_ATTACKS,
  MEMORY_LIMIT_MB,
  PIDS_LIMIT,
  pidsAttack,
  type Seen,
} from './attack.js';
import type { Judgement, ProbedControl, ProbedSandbox } from './control.js';
import { firstProcessOf, isAlive, judgeRuntime, RUNTIME_REQUEST } from './host-look.js';
import {
  judgeCpus,
  judgeDeadline,
  judgeDeadMan,
  judgeIds,
  judgeLog,
  judgeMemory,
  judgeOwner,
  judgePids,
  judgeTold,
  judgeToldDeadMan,
  judgeToldIds,
  judgeWall,
} from './judge.js';
import { exitCodeOf, makeReport, type ProbeReport, reportText, summaryOf } from './report.js';
import { guestCode, openCanaries, pythonCall, WALLS } from './walls.js';

const COULD_NOT_PROBE = 2;
const ATTACK_SECONDS = 20;
const KINDS: Readonly<Record<keyof typeof MEMORY_ATTACKS, string>> = {
  private: 'memory, in four processes',
  shared: 'memory, shared',
  tmpfs: 'memory, files in tmpfs',
  sockets: 'memory, buffers of sockets',
};

export async function probe({ json }: { readonly json?: true }): Promise<void> {
  const signal = interruptSignal();
  let report: ProbeReport;
  try {
    const prepared = prepare('error', 'ends');
    await refuseAbsentImage(prepared, signal);
    report = await probeWalls(prepared, sayNote, signal);
  } catch (thrown) {
    reportFailure(thrown);
    process.exitCode = COULD_NOT_PROBE;
    return;
  }
  if (json) printJson(report);
  else process.stdout.write(reportText(report));
  process.exitCode = exitCodeOf(report);
}

/** Nobody has asked for an image to be pulled or built. An engine that does not answer is the business of what comes after. */
async function refuseAbsentImage({ settings }: Prepared, signal: AbortSignal): Promise<void> {
  const found = await attempt(chooseEngine(engineSelectionOf(settings), signal));
  if ('error' in found) return;
  const absent = await absentImage(pythonProfile(settings), found.value.images, signal);
  if (absent !== undefined) throw absent;
}

/** Makes all attacks, shows each slow step to `show`, and remembers what came of them. Throws what kept it from that. */
export async function probeWalls(
  prepared: Prepared,
  show: (step: string) => void,
  signal: AbortSignal,
): Promise<ProbeReport> {
  const { settings, discovery } = prepared;
  const startedAt = performance.now();
  const probedAt = new Date();
  const observer = withProgress(prepared.observer, show);
  await using plain = new AttackedBridge(settings, discovery, observer);
  const pad = await plain.bridge.launcher.pad();
  const { choice, engine, image } = pad;
  const hostEnvNames = Object.keys(discovery.env);
  const freezeSeconds = () => plain.bridge.freezeSeconds;
  const carried = await carry(pad.engine, pad, signal);
  const spec = specOn(
    { ...pad, ...carried },
    { settings, instance: 'probe', observer, freezeSeconds },
    'probe',
  );
  const probed: ProbedSandbox = { spec, settings, choice, engine, hostEnvNames };
  // One after the other: what is measured is time and memory.
  const [walls, seen] = await attackWalls(plain, probed, signal);
  const [deadline, deadlineSeconds] = await attackDeadline(plain, signal);
  const controls = [
    ...walls,
    ...hostControls(seen, probed),
    ...(seen.told?.walls ?? []).map(judgeTold),
    ...(await attackLimits(prepared, observer, engine, signal)),
    limit('deadline', `${deadlineSeconds} s`, judgeDeadline(deadline, deadlineSeconds)),
    ...(settings.cpus === undefined
      ? []
      : [
          {
            ...limit('CPUs', `${settings.cpus}`, judgeCpus(deadline)),
            // The quota of another machine's control group cannot be read from here.
            required: deadline.host !== undefined && !settings.acceptUnenforced.includes('cpu'),
          },
        ]),
    {
      ...limit('container log', 'nothing on disk', judgeLog(deadline)),
      required: deadline.host !== undefined || deadline.told !== undefined,
    },
    ...(await attackSessions(plain, settings, signal)),
    await ownerControl(plain, prepared, seen.host !== undefined, signal),
    advisory('OCI runtime', RUNTIME_REQUEST, judgeRuntime(await engine.runtimeVersion(signal))),
  ];
  const report = makeReport(controls, probed, probedAt, performance.now() - startedAt);
  remember(report, prepared, probeKey(choice, image.id, settings));
  return report;
}

/** All attempts of the table in one sandbox; throws what kept it from running. */
async function attackWalls(
  bridge: AttackedBridge,
  probed: ProbedSandbox,
  signal: AbortSignal,
): Promise<[readonly ProbedControl[], Seen]> {
  await using canaries = await openCanaries();
  const asked = WALLS.filter(({ unseen }) => unseen?.(probed) === undefined);
  const code = guestCode(asked, canaries, probed);
  const seen = await bridge.run({ code, timeoutSeconds: attackSeconds(probed.settings) }, signal);
  const { result, error, status } = seen.outcome;
  const text = result?.json?.text;
  if (text === undefined) {
    throw new BridgeError('E_SANDBOX_LOST', `The probe did not run: ${error?.message ?? status}`, {
      fault: 'engine',
      remedy: error?.remedy ?? `Run \`${ownCommand('doctor')}\`.`,
    });
  }
  const answers = JSON.parse(text) as Readonly<Record<string, unknown>>;
  return [WALLS.map((wall) => judgeWall(wall, answers, canaries.visitors(), probed)), seen];
}

/** Controls that are judged by a look from outside at the sandbox of the walls. */
function hostControls({ host, told }: Seen, probed: ProbedSandbox): ProbedControl[] {
  const isSeen = host !== undefined;
  const own = process.getuid?.() ?? 0;
  const ids = host === undefined ? judgeToldIds(told?.ids) : judgeIds(host.ids, own);
  const deadMan =
    told?.timeoutSeconds === undefined
      ? judgeDeadMan(host?.monitorSeconds, isSeen, probed)
      : judgeToldDeadMan(told.timeoutSeconds, probed);
  return [
    {
      ...limit('ids on the host', 'neither root nor yours', ids),
      required: isSeen,
    },
    {
      ...limit("dead-man's switch", `${probed.spec.deadManSeconds} s`, deadMan),
      required: isSeen && probed.engine.traits.hasClock,
    },
  ];
}

/** The first deadline that the code has lived to see, or the last: what was seen at it, and its seconds. */
async function attackDeadline(plain: AttackedBridge, signal: AbortSignal): Promise<[Seen, number]> {
  const [short, long] = DEADLINES_SECONDS;
  const first = await plain.run({ code: DEADLINE_ATTACK, timeoutSeconds: short }, signal);
  if (first.started || first.outcome.status !== 'timeout') return [first, short];
  return [await plain.run({ code: DEADLINE_ATTACK, timeoutSeconds: long }, signal), long];
}

async function attackLimits(
  { settings, discovery }: Prepared,
  observer: (event: BridgeEvent) => void,
  { traits }: ProbedSandbox['engine'],
  signal: AbortSignal,
): Promise<ProbedControl[]> {
  const timeoutSeconds = attackSeconds(settings);
  const controls: ProbedControl[] = [];
  const memoryBytes = MEMORY_LIMIT_MB * MB_BYTES;
  await using small = new AttackedBridge({ ...settings, memoryBytes }, discovery, observer);
  for (const [kind, code] of Object.entries(MEMORY_ATTACKS)) {
    const seen = await small.run({ code, timeoutSeconds, weighs: true }, signal);
    const asked = `${Math.floor(settings.memoryBytes / MB_BYTES)} MB (${MEMORY_LIMIT_MB} here)`;
    const judged = limit(KINDS[kind as keyof typeof KINDS], asked, judgeMemory(seen), MEMORY_REMEDY);
    controls.push({ ...judged, required: !settings.acceptUnenforced.includes('memory') });
  }
  const pids = PIDS_LIMIT;
  await using few = new AttackedBridge({ ...settings, pids }, discovery, observer);
  const forked = await few.run({ code: pidsAttack(pids), timeoutSeconds }, signal);
  const judged = limit(
    'processes',
    `${settings.pids} (${pids} here)`,
    judgePids(forked, traits.ownKernel !== undefined),
  );
  controls.push({ ...judged, required: !settings.acceptUnenforced.includes('pids') });
  return controls;
}

/** Side by side: most of it is waiting. */
async function attackSessions(
  { bridge }: AttackedBridge,
  { sessions }: ProbedSandbox['settings'],
  signal: AbortSignal,
): Promise<ProbedControl[]> {
  return await Promise.all(
    SESSION_ATTACKS.map(async (attack) => {
      const { control, requested } = attack;
      if (sessions.most > 0)
        return limit(control, requested, judgeSession(await attackSession(bridge, attack, signal), attack));
      const unasked = { observed: 'no sessions are offered', how: 'not asked', verdict: 'UNKNOWN' } as const;
      return advisory(control, requested, unasked);
    }),
  );
}

async function ownerControl(
  { bridge }: AttackedBridge,
  { settings, discovery }: Prepared,
  isSeen: boolean,
  signal: AbortSignal,
): Promise<ProbedControl> {
  const main = process.argv[1];
  const { engine } = await bridge.launcher.pad();
  const canSee = isSeen || engine.factsOf !== undefined;
  const goneMs =
    canSee && main !== undefined ? await killOwner(main, settings, discovery.env, engine, signal) : null;
  await bridge.launcher.sweep(signal);
  return {
    ...limit('a bridge that is killed', 'takes its container along', judgeOwner(goneMs)),
    required: canSee,
  };
}

const MEMORY_REMEDY =
  'Use a machine with cgroup v2 whose controllers are delegated to you (a systemd user session does that).';

function limit(control: string, requested: string, judgement: Judgement, remedy?: string): ProbedControl {
  const remedied = judgement.verdict === 'NOT ENFORCED' && remedy !== undefined ? { remedy } : {};
  return { control, requested, ...judgement, required: true, ...remedied };
}

const advisory = (control: string, requested: string, judgement: Judgement): ProbedControl => ({
  ...limit(control, requested, judgement),
  required: false,
});

const attackSeconds = ({ maxTimeoutSeconds }: ProbedSandbox['settings']): number =>
  Math.min(ATTACK_SECONDS, maxTimeoutSeconds);

/** A state directory that cannot be written is not what was asked about. */
function remember(report: ProbeReport, { settings, observer }: Prepared, key: string): void {
  try {
    rememberProbe(settings.stateDir, key, summaryOf(report));
  } catch (thrown) {
    observer({ type: 'engine.trouble', message: messageOf(thrown) });
  }
}

// Attacks by code of a session when its call is over: the code is to stand still, whatever it says and whatever wakes it. A
// thread of the code ticks all the time, and a later call of the same session says when the thread has ticked. No look from the
// host is needed, so that the ticks are seen wherever the engine runs.

type SessionAttack = {
  readonly control: string;
  readonly requested: string;
  readonly how: string;
  /** Python, ahead of which the thread has been started. */
  readonly code: string;
  /** Time from the start of the thread: by then the thread is to stand still, or its session to have ended. */
  readonly restsAfterSeconds: number;
};

/** The time of the call that the attack is made in. */
const CALL_SECONDS = 1;
const LAST_CALL_SECONDS = 20;
/** Time for which the ticks are counted. */
const COUNTED_SECONDS = 1;
const SPARE_SECONDS = 0.5;

export const SESSION_ATTACKS: readonly SessionAttack[] = [
  {
    control: 'code after its call',
    requested: 'stands still when the time is over',
    how: 'tells the supervisor that it has ended, and goes on counting',
    code: textBeside(new URL('./session_goodbye.py', import.meta.url)),
    restsAfterSeconds: CALL_SECONDS + 1.5,
  },
  {
    control: 'code that wakes itself',
    requested: 'stands still, or ends',
    how: 'timers that wake it whenever it was stopped',
    code: textBeside(new URL('./session_timers.py', import.meta.url)),
    // The session is stopped again a few times first.
    restsAfterSeconds: 7,
  },
];

const TICKS = textBeside(new URL('./session_ticks.py', import.meta.url));
const toldSince = (seconds: number): string =>
  pythonCall('ticked', { since_s: seconds, counted_s: COUNTED_SECONDS });

/** Makes the attack in a call of `callSeconds`. Gives the outcomes of that call and of the last one of its session. */
export async function attackSession(
  bridge: Bridge,
  { control, code, restsAfterSeconds }: SessionAttack,
  signal: AbortSignal,
  callSeconds = CALL_SECONDS,
) {
  const call = (text: string, timeoutSeconds: number, isRequired: boolean) =>
    bridge.run(
      {
        task: { type: 'cell', code: text },
        servers: [],
        files: [],
        timeoutSeconds,
        session: { name: control, isRequired },
      },
      byCommandLine(signal),
    );
  const first = await call(`${TICKS}\n${code}`, callSeconds, false);
  await pause((restsAfterSeconds + COUNTED_SECONDS + SPARE_SECONDS) * 1000, undefined, { signal });
  return { first, last: await call(toldSince(restsAfterSeconds), LAST_CALL_SECONDS, true) };
}

export function judgeSession(
  { first, last }: { readonly first: Outcome; readonly last: Outcome },
  { how }: Pick<SessionAttack, 'how'>,
): Judgement {
  const unknown = ({ error, status }: Outcome): Judgement => ({
    observed: error?.message ?? status,
    how,
    verdict: 'UNKNOWN',
  });
  if (first.status !== 'success') return unknown(first);
  // The session was there, and it is no more.
  if (last.status === 'validation_error')
    return { observed: last.error?.message ?? 'its session has ended', how, verdict: 'ENFORCED' };
  const text = last.result?.json?.text;
  if (text === undefined) return unknown(last);
  const [all, late] = JSON.parse(text) as readonly [number, number];
  if (all === 0) return { observed: 'it never counted', how, verdict: 'UNKNOWN' };
  return late === 0
    ? { observed: `stood still, after it counted ${all} times`, how, verdict: 'ENFORCED' }
    : { observed: `went on, and counted ${late} times in a second`, how, verdict: 'NOT ENFORCED' };
}

// A bridge that is killed in the middle of a run: another process of this program starts one, is given SIGKILL, and the
// container's first process is watched from here. The code in it ignores every signal that can be ignored.

const START_WITHIN_MS = 60_000;
/** Elsewhere the end of a container is known when its engine knows of it. */
const GONE_WITHIN_MS = { here: 5_000, elsewhere: 20_000 } as const;
const POLL_MS = 20;
/** Time from the greeting to code that runs; the code needs none of our attention. */
const CODE_RUNS_AFTER_MS = 200;
const RUN_SECONDS = 20;

/**
 * Milliseconds from the SIGKILL to the end of the container's first process; undefined when that process lived on, null when no
 * container could be seen. Where the container runs on another machine, its engine is asked. Files that the dead bridge left on
 * disk are the next sweep's.
 */
async function killOwner(
  main: string,
  { stateDir, maxTimeoutSeconds }: Settings,
  env: Environment,
  engine: Pick<Engine, 'factsOf'>,
  signal: AbortSignal,
): Promise<number | undefined | null> {
  const seconds = Math.min(RUN_SECONDS, maxTimeoutSeconds);
  const child = spawn(process.execPath, [main, 'run', '-', '--timeout', String(seconds)], {
    env: { ...env, MCP_BRIDGE_LOG_LEVEL: 'debug', MCP_BRIDGE_WARM: '0', MCP_BRIDGE_STATE_DIR: stateDir },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  const timer = setTimeout(kill, START_WITHIN_MS);
  try {
    child.stdin.on('error', () => {});
    child.stdin.end(IDLE_ATTACK);
    const container = await waitForGreeting(child.stderr);
    if (container === undefined) return null;
    await sleep(CODE_RUNS_AFTER_MS);
    const pid = firstProcessOf(stateDir, container);
    if (pid === undefined && engine.factsOf === undefined) return null;
    const goesOn = async () =>
      pid === undefined ? (await engine.factsOf?.(container, signal))?.isRunning === true : isAlive(pid);
    const withinMs = GONE_WITHIN_MS[pid === undefined ? 'elsewhere' : 'here'];
    if (!(await goesOn())) return null;
    const killedAt = performance.now();
    kill();
    while (await goesOn()) {
      if (performance.now() - killedAt > withinMs) return undefined;
      await sleep(POLL_MS);
    }
    return performance.now() - killedAt;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
    kill();
  }
}

/** The name of the first sandbox that its log calls ready; undefined when the log ends without. */
async function waitForGreeting(log: NodeJS.ReadableStream): Promise<string | undefined> {
  let said = '';
  log.setEncoding('utf8');
  return await new Promise((resolve) => {
    log.on('data', (text: string) => {
      said += text;
      // A trial of an OCI runtime is no run.
      const name = [...said.matchAll(/sandbox (\S+) ready/g)].find(([, one]) => !one?.includes('-try-'))?.[1];
      if (name !== undefined) resolve(name);
    });
    log.on('close', () => resolve(undefined));
  });
}

const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
