// One call of a session after a pause, beside a Python process on the host: while it is still awake, and when it stands still and
// has to be thawed first. Also what an idle session holds, beside a sandbox that only waits.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { unifiedGroup } from '../../dist/engine/machine/enforcement.js';
import { SessionFiles } from '../../dist/run/sessions/session-file.js';
import { hostPython } from './bare.mjs';
import { watchedMemory } from './memory.mjs';
import { family, stateOf } from './processes.mjs';
import { pause, timeWork } from './stage.mjs';
import { figure } from './statistics.mjs';

/** A session stands still half a second after an answer (HOLD_AFTER_MS in src/run/sessions/session.ts). */
const AWAKE_MS = 300;
const HELD_MS = 800;
const HELD_WITHIN_MS = 10_000;
/** Of the harness, which loads what most programs import only while it waits. */
const SETTLE_MS = 3_000;
const RATIO = 0.4;
const THAW_MS = 5;
const NAME = 'bench';
const CALL = 'call of print(1) in a session';
const UNSEEN =
  'whether a session stands still is seen by its first process, and no record of it names one here: measure on Linux, with an engine of this machine';
const PYTHON = "python3 -c 'print(1)' on the host";

export async function sessionCall(stage, bare, signal) {
  return stage.withBridge({}, async (bridge) => {
    const call = () => bridge.run('print(1)', { session: NAME });
    await call();
    const first = firstProcess(stage.stateDir);
    return first === undefined
      ? [{ measure: CALL, skipped: UNSEEN }]
      : measureSession({ first, call }, stage, bare, signal);
  });
}

async function measureSession({ first, call }, stage, bare, signal) {
  const times = { awake: [], held: [], python: [] };
  await pause(SETTLE_MS);
  for (let round = 0; round < stage.times(50, 8); round++) {
    times.held.push(await callHeld(first, call));
    times.awake.push(await callAwake(first, call));
    await pause(HELD_MS);
    const ms = await hostPython();
    if (ms !== undefined) times.python.push(ms);
    await call();
  }
  await standsStill(first);
  const memory = await besideWaiting(first, bare, signal);
  return [
    besidePython(CALL, times.awake, times.python),
    besidePython('call of print(1) in a session that stands still', times.held, times.python),
    thaw(times),
    memory,
  ];
}

/** Milliseconds of a call that comes before it is stopped; of another one where the machine was too slow for that. */
async function callAwake(first, call) {
  for (;;) {
    await pause(AWAKE_MS);
    const wasStopped = isStopped(first);
    const { ms } = await timeWork(call);
    if (!wasStopped) return ms;
  }
}

async function callHeld(first, call) {
  await pause(HELD_MS);
  await standsStill(first);
  return (await timeWork(call)).ms;
}

async function standsStill(first) {
  const end = performance.now() + HELD_WITHIN_MS;
  while (!isStopped(first)) {
    if (performance.now() > end) throw new Error('the session does not stand still between its calls');
    await pause(20);
  }
}

/** Whether everything below the first process of its container is stopped, or frozen with its control group. */
function isStopped(first) {
  const below = family(first).filter((pid) => pid !== first);
  return below.length > 0 && below.every((pid) => stateOf(pid) === 'T' || isFrozen(pid));
}

/** The kernel shows what the freezer of version 2 holds as asleep; the group says that it is frozen. */
function isFrozen(pid) {
  const group = unifiedGroup(pid);
  try {
    return group !== undefined && /^frozen 1$/m.test(readFileSync(join(group, 'cgroup.events'), 'utf8'));
  } catch {
    return false;
  }
}

/** The first process of the one session that there is, as the bridge tells people; undefined where it is another machine's. */
export const firstProcess = (stateDir) =>
  new SessionFiles(stateDir).all().find(({ name }) => name === NAME)?.process?.pid;

function besidePython(measure, samples, python) {
  const ours = figure(measure, samples);
  const target = `<= ${RATIO} of host python3, aim 0.2`;
  if (python.length === 0)
    return { measure, unit: 'ms', ours, target, note: 'the host has no python3 to compare with' };
  const theirs = figure(PYTHON, python);
  const ratio = ours.p50 / theirs.p50;
  return { measure, unit: 'ms', ours, theirs, ratio, target, met: ratio <= RATIO };
}

/** What a call takes longer for it, from one to the next. */
function thaw({ awake: quick, held: slow }) {
  const ours = figure(
    'still, less awake',
    slow.map((ms, round) => ms - quick[round]),
  );
  return {
    measure: 'thaw of a session that stands still',
    unit: 'ms',
    ours,
    target: `<= ${THAW_MS} ms`,
    met: ours.p50 <= THAW_MS,
    plotted: false,
  };
}

/** Both at the same time: what they share with each other counts half for each. */
async function besideWaiting(first, bare, signal) {
  const sandbox = await bare.sandbox(signal);
  try {
    await pause(SETTLE_MS);
    const waiting = watchedMemory(sandbox.pid);
    const idle = watchedMemory(first);
    return {
      measure: `memory of an idle session with its conmon (${idle.kind})`,
      unit: 'MB',
      ours: figure('session', [idle.mb]),
      theirs: figure('a waiting sandbox', [waiting.mb]),
      ratio: idle.mb / waiting.mb,
      note: `${idle.note}; a waiting sandbox: ${waiting.note}`,
    };
  } finally {
    await sandbox[Symbol.asyncDispose]();
  }
}
