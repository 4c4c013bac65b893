// `doctor --probe`: makes the attacks and says, per control, what was asked for and what was seen. Everything goes the way
// of an agent's run, through a real bridge. Exits with 0, 1 or 2 as exitCodeOf says, 2 also when nothing could be probed.

import { BridgeError, messageOf } from '../../base/errors.js';
import type { BridgeEvent } from '../../base/log/events.js';
import { ownCommand } from '../../base/process/own-command.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { chooseEngine } from '../../engine/detect.js';
import { absentImage } from '../../engine/images/image-choice.js';
import { probeKey, rememberProbe } from '../../sandbox/launch/last-probe.js';
import { engineSelectionOf, specOn } from '../../sandbox/launch/launch-set-up.js';
import { carry } from '../../sandbox/spec/harness-files.js';
import { pythonProfile } from '../../sandbox/spec/profile.js';
import { attempt } from '../doctor/examination.js';
import { type Prepared, prepare, withProgress } from '../serving/prepare.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { printJson, reportFailure, sayNote } from '../terminal/output.js';
import {
  AttackedBridge,
  DEADLINE_ATTACK,
  DEADLINES_SECONDS,
  MEMORY_ATTACKS,
  MEMORY_LIMIT_MB,
  type MemoryKind,
  PIDS_LIMIT,
  pidsAttack,
  type Seen,
} from './attack.js';
import { attackSession, judgeSession, SESSION_ATTACKS } from './between-calls.js';
import { openCanaries } from './canaries.js';
import type { Judgement, ProbedControl, ProbedSandbox } from './control.js';
import { judgeRuntime, RUNTIME_REQUEST } from './host-look.js';
import {
  judgeCpus,
  judgeDeadline,
  judgeDeadMan,
  judgeIds,
  judgeLog,
  judgeMemory,
  judgeOwner,
  judgePids,
  judgeToldDeadMan,
  judgeToldIds,
  judgeWall,
} from './judge.js';
import { killOwner } from './owner-kill.js';
import { exitCodeOf, makeReport, type ProbeReport, reportText, summaryOf } from './report.js';
import { guestCode, WALLS } from './walls.js';

const COULD_NOT_PROBE = 2;
const ATTACK_SECONDS = 20;
const KINDS: Readonly<Record<MemoryKind, string>> = {
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
    const judged = limit(KINDS[kind as MemoryKind], asked, judgeMemory(seen), MEMORY_REMEDY);
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
