// From the lines of a machine's report to checks that hold or do not, and to what differs between machines. Pure.

import { isDeepStrictEqual } from 'node:util';
import { MAIN_JOB_RESULT } from '../main-job.mjs';
import { LIMIT_ATTACKS } from './limit-attacks.mjs';

/**
 * What is demanded of a machine: [{check, ok, detail}]. A step that is missing or failed is one check that does not hold.
 * `judges` has a function per step, from its value to checks, in the order of the report.
 */
export function judge(lines, /** @type {Record<string, (value: any) => any[]>} */ judges = JUDGES) {
  const steps = new Map(lines.map((line) => [line.step, line]));
  return Object.keys(judges).flatMap((name) => {
    const line = steps.get(name);
    if (line === undefined) return [check(name, false, 'the machine did not come to it')];
    if (line.error !== undefined) return [check(name, false, line.error)];
    return judges[name](line.value);
  });
}

export const check = (name, ok, detail) => ({ check: name, ok, detail: ok ? '' : detail });

export const attackChecks = (attacks, demanded) =>
  demanded.map(({ name }) => {
    const attack = attacks.find((one) => one.name === name);
    return check(
      `limits: ${name}`,
      attack !== undefined && attack.complaint === undefined,
      attack?.complaint ?? 'not made',
    );
  });

export const wallChecks = (controls) =>
  controls
    .filter(({ required }) => required)
    .map(({ control, verdict, observed, how }) =>
      check(`probe: ${control}`, verdict === 'ENFORCED', `${verdict}: ${observed} (${how})`),
    );

/** By step, in the order in which they are made. */
export const JUDGES = {
  machine: ({ cgroups, delegated, ociRuntime }) => [
    check('cgroup v2, kept by systemd', cgroups === 'v2, systemd', cgroups),
    check('cpu, memory and pids are delegated', delegated === 'cpu memory pids', delegated),
    check('crun is the default', /^crun/.test(ociRuntime), ociRuntime),
  ],
  image: () => [],
  doctor: ({ findings }) => [
    check(
      'doctor finds no fault',
      findings.every(isNoFault),
      findings
        .filter((one) => !isNoFault(one))
        .map(sentence)
        .join('; '),
    ),
  ],
  'main job': ({ first, second, log }) =>
    [first, second].map((payload, index) =>
      check(
        `main job, ${['first', 'second'][index]} call`,
        payload?.status === 'success' && isDeepStrictEqual(payload.result, MAIN_JOB_RESULT),
        `${JSON.stringify(payload)}\n${log}`,
      ),
    ),
  // Measured, and not judged: which way sandboxes start is found out for each machine.
  launches: () => [],
  limits: ({ enforcement, attacks }) => [
    ...Object.entries(enforcement).map(([control, by]) =>
      check(`${control} by control group`, by === 'cgroup', by),
    ),
    ...attackChecks(attacks, LIMIT_ATTACKS),
  ],
  probe: ({ exitCode, engine, controls, ...failure }) => {
    if (controls === undefined) return [check('probe', false, JSON.stringify(failure))];
    return [
      check(
        'probe: rootless under crun',
        engine.mode === 'rootless' && /crun$/.test(engine.ociRuntime),
        JSON.stringify(engine),
      ),
      ...wallChecks(controls),
      check('probe exits with 0', exitCode === 0, `it exited with ${exitCode}`),
    ];
  },
  left: (containers) => [check('no container left', containers.length === 0, containers.join(', '))],
  end: () => [],
};

const isNoFault = ({ status }) => status !== 'fail';
const sentence = ({ name, detail }) => `${name}: ${detail}`;

/**
 * What differs between machines, each a name and what `doctor` and `doctor --probe` printed there: rows of one text per
 * machine. Controls differ by verdict or by how it was told, findings by status.
 */
export function differences(machines) {
  return [
    ...rows(machines, ({ probe }) => Object.entries(probe?.engine ?? {})),
    ...rows(machines, ({ doctor }) =>
      (doctor?.findings ?? []).map(({ name, status }) => [`doctor: ${name}`, status]),
    ),
    ...rows(machines, ({ probe }) =>
      (probe?.controls ?? []).map(({ control, verdict, how }) => [control, `${verdict} (${how})`]),
    ),
  ];
}

function rows(machines, pairsOf) {
  const found = machines.map((machine) => new Map(pairsOf(machine)));
  const names = [...new Set(found.flatMap((pairs) => [...pairs.keys()]))];
  return names
    .map((name) => [name, ...found.map((pairs) => pairs.get(name) ?? '')])
    .filter(([, ...texts]) => new Set(texts).size > 1);
}
