// What is demanded where the engine is in a machine and the bridge outside of it. Pure; the sentences that a user must
// read there are patterns here, since it is they that say what to do.

import { attackChecks, check, JUDGES, wallChecks } from './judge.mjs';
import { LIMIT_ATTACKS } from './limit-attacks.mjs';

/** Those that fill the kernel's memory take an emulated machine too long, and are made by the machines with a job. */
export const ATTACKS = LIMIT_ATTACKS.filter(({ name }) => !name.startsWith('memory of the kernel'));

/**
 * A cancelled run is ended by one command of the engine's, which elsewhere takes 0.2 s and in an emulated machine takes
 * seconds. So the bound is in commands, by what one took in this machine: one that ends it and one that may be under way,
 * each several times as costly as the small one that was timed.
 */
const COMMANDS_TO_CANCEL = 8;
/** Beyond that a user thinks that it hangs; the deadlines of the bridge's own questions to an engine are 15 s. */
const ANSWERED_SECONDS = 30;
/** Its servers are asked to end, and its clients; none may wait for an engine that is gone. */
const CLOSED_SECONDS = 30;
/** What a run is told whose engine goes away: not its code's fault, and not a success. */
const LOST = /connection|engine|machine|sandbox/i;
/** Names the address and what to start or correct. */
const WHAT_TO_DO = /Start the engine at ssh:\/\/|MCP_BRIDGE_ENGINE_URL/;

/** Of the probe, by its names: what an engine elsewhere may only claim, and the probe has to attack. */
const DEMANDED = ['memory, in four processes', 'processes'];

const said = (answer) => JSON.stringify(answer).slice(0, 600);
const works = (name, next) => check(`${name}: the next call works`, next.said === 42, said(next));
const nothingLeft = (name, { left, leftAtEnd }) => [
  check(`${name}: no container left of what was`, left.length === 0, left.join(', ')),
  check(`${name}: no container left after the bridge`, leftAtEnd.length === 0, leftAtEnd.join(', ')),
];
const isHonest = ({ status, said: words }) => status === 'error' && LOST.test(words ?? '');

/** By step, as JUDGES; `commandSeconds` is what a small command of the engine's took. */
export const engineJudges = (commandSeconds) => ({
  machine: (facts) => [
    ...JUDGES.machine(facts),
    check(
      'the machine reaches nothing',
      facts.reachesUs === false,
      'it reaches the computer that it runs on',
    ),
  ],
  image: JUDGES.image,
  doctor: JUDGES.doctor,
  'main job': JUDGES['main job'],
  files: (value) => [
    check('files, in and out', value.payload?.result === 'grüße' && value.isSame, said(value)),
  ],
  cancel: ({ processSeconds, listSeconds, left }) => {
    const bound = COMMANDS_TO_CANCEL * commandSeconds;
    return [
      check(
        'cancellation: the process is gone in the time of a few commands',
        processSeconds <= bound,
        `${processSeconds} s, and ${bound} s are allowed`,
      ),
      check(
        'cancellation: no container left',
        left.length === 0,
        `${left.join(', ')} after ${listSeconds} s`,
      ),
    ];
  },
  sleep: ({ deadlinePassed, wentOn, doctor, next, ...left }) => [
    check(
      'sleep: a run whose deadline passed hears of its deadline',
      deadlinePassed.status === 'timeout',
      said(deadlinePassed),
    ),
    check('sleep: a run with time left goes on', wentOn.said === 'worked', said(wentOn)),
    check('sleep: doctor ends, and says so', doctor.exitCode === 1 && doctor.said !== '', said(doctor)),
    works('sleep', next),
    ...nothingLeft('sleep', left),
  ],
  reboot: ({ under, next, ...left }) => [
    check('reboot: the run is told that its sandbox was lost', isHonest(under), said(under)),
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
        return check(`probe demands and finds: ${wanted}`, isHeld, said(found ?? 'not tried'));
      }),
      ...wallChecks(controls),
      check('probe exits with 0', exitCode === 0, `it exited with ${exitCode}`),
    ];
  },
  left: JUDGES.left,
  'power off': ({ under, next, closeSeconds, doctor }) => [
    check('power off: the run is told that its sandbox was lost', isHonest(under), said(under)),
    check('power off: the next call says what to do', WHAT_TO_DO.test(JSON.stringify(next)), said(next)),
    check('power off: it is answered in time', next.seconds <= ANSWERED_SECONDS, `${next.seconds} s`),
    check('power off: doctor says what to do', WHAT_TO_DO.test(doctor.said), said(doctor)),
    check('power off: doctor answers in time', doctor.seconds <= ANSWERED_SECONDS, `${doctor.seconds} s`),
    check('power off: the bridge ends in time', closeSeconds <= CLOSED_SECONDS, `${closeSeconds} s`),
  ],
  end: (clients) => [check('no client of the engine left here', clients.length === 0, clients.join('\n'))],
});
