// What is demanded of the machines of `npm run test:host`, on reports made up for it. No machine is started.

import { describe, expect, it } from 'vitest';

type Check = { readonly check: string; readonly ok: boolean; readonly detail: string };
type Attack = { readonly name: string };

const load = (name: string) => import(new URL(`../../scripts/host/${name}.mjs`, import.meta.url).href);
const { differences, judge } = (await load('judge')) as {
  differences: (machines: readonly unknown[]) => string[][];
  judge: (lines: readonly unknown[]) => Check[];
};
const { complaint, LIMIT_ATTACKS } = (await load('limit-attacks')) as {
  complaint: (attack: Attack | undefined, payload: unknown) => string | undefined;
  LIMIT_ATTACKS: readonly Attack[];
};

const RESULT = { fields: 5, total: 48, median: 9.25 };
const PROBE = {
  exitCode: 0,
  engine: { mode: 'rootless', ociRuntime: 'crun' },
  controls: [{ control: 'memory', required: true, verdict: 'ENFORCED', observed: 'at 60 MB', how: 'cgroup' }],
};
const GOOD = {
  machine: { cgroups: 'v2, systemd', delegated: 'cpu memory pids', ociRuntime: 'crun version 1.8.1' },
  image: 'Loaded image',
  doctor: { findings: [{ name: 'storage driver', status: 'warn', detail: 'vfs' }] },
  'main job': {
    first: { status: 'success', result: RESULT },
    second: { status: 'success', result: RESULT },
    log: '',
  },
  launches: { ms: { template: [900], engine: [2100] } },
  limits: {
    enforcement: { memory: 'cgroup', pids: 'cgroup', cpu: 'cgroup' },
    attacks: LIMIT_ATTACKS.map(({ name }) => ({ name })),
  },
  probe: PROBE,
  left: [],
  end: true,
};

const failures = (values: Readonly<Record<string, unknown>>): string[] =>
  judge(Object.entries(values).map(([step, value]) => ({ step, value })))
    .filter(({ ok }) => !ok)
    .map(({ check, detail }) => `${check}: ${detail}`);

describe('what is demanded of a machine', () => {
  it('holds where everything does', () => {
    expect(failures(GOOD)).toEqual([]);
  });

  it.each([
    ['a watchdog in the place of a control group', 'limits', 'watchdog'],
    ['an attack that was not made', 'limits', 'not made'],
    ['a probe that found a wall missing', 'probe', 'NOT ENFORCED'],
    ['a container that stayed', 'left', 'Up 2 minutes'],
    ['a wrong result', 'main job', '"total":47'],
  ])('does not hold for %s', (_what, step, detail) => {
    const bad: Readonly<Record<string, unknown>> = {
      watchdog: { ...GOOD.limits, enforcement: { ...GOOD.limits.enforcement, memory: 'watchdog' } },
      'not made': { ...GOOD.limits, attacks: GOOD.limits.attacks.slice(1) },
      'NOT ENFORCED': { ...PROBE, controls: [{ ...PROBE.controls[0], verdict: 'NOT ENFORCED' }] },
      'Up 2 minutes': ['cm-1 Up 2 minutes'],
      '"total":47': { ...GOOD['main job'], second: { status: 'success', result: { ...RESULT, total: 47 } } },
    };
    expect(failures({ ...GOOD, [step]: bad[detail] })).toEqual([expect.stringContaining(detail)]);
  });

  it('does not hold for a machine that stopped half-way, or a step that failed', () => {
    const { end: _end, ...unfinished } = GOOD;
    expect(failures(unfinished)).toEqual(['end: the machine did not come to it']);
    expect(judge([{ step: 'machine', error: 'Error: no podman' }])[0]).toMatchObject({
      ok: false,
      detail: 'Error: no podman',
    });
  });
});

it('an attack that was answered otherwise is complained of', () => {
  const [memory] = LIMIT_ATTACKS;
  const contained = { status: 'error', errorType: 'E_MEMORY', error: 'Memory limit 150 MB exceeded.' };
  expect(complaint(memory, contained)).toBeUndefined();
  expect(complaint(memory, { status: 'success' })).toContain('errorType');
  const cpu = LIMIT_ATTACKS.find(({ name }) => name === 'processors');
  expect(complaint(cpu, { result: 0.5 })).toBeUndefined();
  expect(complaint(cpu, { result: 0.99 })).toContain('0.99');
});

it('what differs is told, and what does not is left out', () => {
  const there = { name: 'there', probe: { ...PROBE, engine: { ...PROBE.engine, ociRuntime: 'runc' } } };
  expect(differences([{ name: 'here', probe: PROBE }, there])).toEqual([['ociRuntime', 'crun', 'runc']]);
});
