// What is demanded where the engine is in a machine and the bridge outside of it. Pure; the sentences that a user must
// read there are patterns here, since it is they that say what to do.

import { attackChecks, check, JUDGES, wallChecks } from './judge.mjs';
import { LIMIT_ATTACKS } from './limit-attacks.mjs';

/**
 * Those that fill the kernel's memory take an emulated machine too long, and are made by the machines with a job. What the
 * kernel has killed for memory is counted in a group that podman's sandboxes do not see and the bridge cannot, so that
 * the answer to those is another; the attack has to be ended all the same.
 */
export const ATTACKS = LIMIT_ATTACKS.filter(({ name }) => !name.startsWith('memory of the kernel')).map(
  ({ expectElsewhere, ...attack }) =>
    expectElsewhere === undefined ? attack : { ...attack, expect: expectElsewhere },
);

/**
 * Elsewhere a cancelled run's process is gone within a second. It hears of it by the connection that it has, which takes no
 * command of the engine's, so in an emulated machine only its turns come late: 0.3 s were measured beside other work.
 */
const CANCELLED_SECONDS = 3;
/** Removing the container is a command of the engine's, and so is every look at the list; each takes a few times a small one. */
const COMMANDS_TO_REMOVE = 6;
/** Beyond that a user thinks that it hangs; the deadlines of the bridge's own questions to an engine are 15 s. */
const ANSWERED_SECONDS = 30;
/** Its servers are asked to end, and its clients; none may wait for an engine that is gone. */
const CLOSED_SECONDS = 30;
/** What a run is told whose engine goes away: not its code's fault, and not a success. */
const LOST = /connection|engine|machine|sandbox/i;
/** The next step after a signal that the machine may have sent. */
const TURNED_OFF = /machine was being turned off/;
/** Names the address and what to start or correct. */
const WHAT_TO_DO = /Start the engine at ssh:\/\/|MCP_BRIDGE_ENGINE_URL/;

/** Of the probe, by its names: what an engine elsewhere may only claim, and the probe has to attack. */
const DEMANDED = ['memory, in four processes', 'processes'];

const answerExcerpt = (answer) => JSON.stringify(answer).slice(0, 600);
const works = (name, next) => check(`${name}: the next call works`, next.said === 42, answerExcerpt(next));
const nothingLeft = (name, /** @type {any} */ { left, leftAtEnd }) => [
  check(`${name}: no container left of what was`, left.length === 0, left.join(', ')),
  check(`${name}: no container left after the bridge`, leftAtEnd.length === 0, leftAtEnd.join(', ')),
];
const isHonest = ({ status, said: words, remedy }) =>
  status === 'error' && (LOST.test(words ?? '') || TURNED_OFF.test(remedy ?? ''));

/** By step, as JUDGES; `commandSeconds` is what a small command of the engine's took. */
export const engineJudges = (commandSeconds) => ({
  machine: JUDGES.machine,
  connection: ({ reachesUs }) => [
    check('the machine reaches nothing', reachesUs === false, 'it reaches the computer that it runs on'),
  ],
  image: JUDGES.image,
  doctor: JUDGES.doctor,
  'main job': JUDGES['main job'],
  files: (value) => [
    check('files, in and out', value.payload?.result === 'grüße' && value.isSame, answerExcerpt(value)),
  ],
  cancel: ({ processSeconds, listSeconds, left }) => {
    const removedSeconds = COMMANDS_TO_REMOVE * commandSeconds;
    return [
      check(
        `cancellation: the process is gone within ${CANCELLED_SECONDS} s`,
        processSeconds <= CANCELLED_SECONDS,
        `${processSeconds} s`,
      ),
      check(
        'cancellation: the container is off the list in the time of a few commands',
        listSeconds <= removedSeconds,
        `${listSeconds} s, and ${removedSeconds} s are allowed`,
      ),
      check('cancellation: no container left', left.length === 0, left.join(', ')),
    ];
  },
  sleep: ({ deadlinePassed, wentOn, doctor, next, ...left }) => [
    check(
      'sleep: a run whose deadline passed hears of its deadline',
      deadlinePassed.status === 'timeout',
      answerExcerpt(deadlinePassed),
    ),
    check('sleep: a run with time left goes on', wentOn.said === 'worked', answerExcerpt(wentOn)),
    check(
      'sleep: doctor ends, and says so',
      doctor.exitCode === 1 && doctor.said !== '',
      answerExcerpt(doctor),
    ),
    works('sleep', next),
    ...nothingLeft('sleep', left),
  ],
  reboot: ({ under, next, ...left }) => [
    check('reboot: the run is told that its sandbox was lost', isHonest(under), answerExcerpt(under)),
    works('reboot', next),
    ...nothingLeft('reboot', left),
  ],
  limits: ({ enforcement, attacks }) => [
    ...Object.entries(enforcement).map(([control, by]) =>
      check(`${control} by the engine's word`, by === 'claimed', by),
    ),
    ...attackChecks(attacks, ATTACKS),
  ],
  probe: ({ exitCode, engine, controls, ...failure }) => {
    if (controls === undefined) return [check('probe', false, JSON.stringify(failure))];
    return [
      check('probe: the engine runs elsewhere', engine.mode === 'remote', JSON.stringify(engine)),
      ...DEMANDED.map((wanted) => {
        const found = controls.find(({ control }) => control === wanted);
        const isHeld = found?.required === true && found.verdict === 'ENFORCED';
        return check(`probe demands and finds: ${wanted}`, isHeld, answerExcerpt(found ?? 'not tried'));
      }),
      ...wallChecks(controls),
      check('probe exits with 0', exitCode === 0, `it exited with ${exitCode}`),
    ];
  },
  left: JUDGES.left,
  'power off': ({ under, next, closeSeconds, doctor }) => [
    check('power off: the run is told that its sandbox was lost', isHonest(under), answerExcerpt(under)),
    check(
      'power off: the next call says what to do',
      WHAT_TO_DO.test(JSON.stringify(next)),
      answerExcerpt(next),
    ),
    check('power off: it is answered in time', next.seconds <= ANSWERED_SECONDS, `${next.seconds} s`),
    check('power off: doctor says what to do', WHAT_TO_DO.test(doctor.said), answerExcerpt(doctor)),
    check('power off: doctor answers in time', doctor.seconds <= ANSWERED_SECONDS, `${doctor.seconds} s`),
    check('power off: the bridge ends in time', closeSeconds <= CLOSED_SECONDS, `${closeSeconds} s`),
  ],
  end: (clients) => [check('no client of the engine left here', clients.length === 0, clients.join('\n'))],
});

/** What was measured, as sentences; nothing of a step that was not made. */
export function measuredSteps(lines) {
  const value = (step) => lines.find((line) => line.step === step)?.value;
  const [connection, cancel, sleep, reboot, off] = [
    'connection',
    'cancel',
    'sleep',
    'reboot',
    'power off',
  ].map(value);
  return [
    connection && `${connection.client}; a small command of the engine's took ${connection.commandSeconds} s`,
    cancel &&
      `a cancelled process was gone after ${cancel.processSeconds} s, its container off the list after ${cancel.listSeconds} s`,
    sleep &&
      `asleep, a passed deadline was told after ${sleep.deadlinePassed.seconds} s: ${sleep.deadlinePassed.said}`,
    sleep &&
      `asleep, doctor took ${sleep.doctor.seconds} s; awake, the next call took ${sleep.next.seconds} s`,
    reboot && `restarted, the run was told after ${reboot.under.seconds} s: ${reboot.under.said}`,
    reboot &&
      `restarted, the machine was back after ${reboot.backSeconds} s; the next call took ${reboot.next.seconds} s`,
    off && `turned off, the run was told after ${off.under.seconds} s: ${off.under.said}`,
    off && `turned off, the next call took ${off.next.seconds} s: ${off.next.said}`,
    off && `turned off, doctor took ${off.doctor.seconds} s, and the end of the bridge ${off.closeSeconds} s`,
  ].filter(Boolean);
}
