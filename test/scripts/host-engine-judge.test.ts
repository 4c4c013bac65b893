// What is demanded where the engine is in a machine and the bridge outside of it, on reports made up for it.

import { describe, expect, it } from 'vitest';

type Check = { readonly check: string; readonly ok: boolean; readonly detail: string };
type Judges = Readonly<Record<string, unknown>>;

const load = (name: string) => import(new URL(`../../scripts/host/${name}.mjs`, import.meta.url).href);
const { judge } = (await load('judge')) as { judge: (lines: readonly unknown[], judges: Judges) => Check[] };
const { ATTACKS, engineJudges, measuredSteps } = (await load('engine-judge')) as {
  ATTACKS: readonly { readonly name: string }[];
  engineJudges: (commandSeconds: number) => Judges;
  measuredSteps: (lines: readonly unknown[]) => string[];
};

const MAIN_JOB = { status: 'success', result: { fields: 5, total: 48, median: 9.25 } };
const NEXT = { status: 'success', said: 42, seconds: 4 };
const LOST = { status: 'error', said: 'The connection to the engine was lost.', seconds: 3 };
const NOTHING_LEFT = { left: [], leftAtEnd: [] };
const control = (name: string) => ({
  control: name,
  required: true,
  verdict: 'ENFORCED',
  observed: 'ended',
  how: 'attack',
});
const GOOD = {
  machine: { cgroups: 'v2, systemd', delegated: 'cpu memory pids', ociRuntime: 'crun version 1.21' },
  connection: { client: 'podman version 4.3.1', reachesUs: false, commandSeconds: 2 },
  image: 'Loaded image',
  doctor: { findings: [] },
  'main job': { first: MAIN_JOB, second: MAIN_JOB, log: '' },
  files: { payload: { result: 'grüße' }, isSame: true },
  limits: {
    enforcement: { memory: 'claimed', pids: 'claimed', cpu: 'claimed' },
    attacks: ATTACKS.map(({ name }) => ({ name })),
  },
  probe: {
    exitCode: 0,
    engine: { mode: 'remote' },
    controls: [control('memory, in four processes'), control('processes')],
  },
  left: [],
  cancel: { processSeconds: 0.3, listSeconds: 12, left: [] },
  sleep: {
    deadlinePassed: { status: 'timeout', seconds: 25 },
    wentOn: { status: 'success', said: 'worked', seconds: 6 },
    doctor: { exitCode: 1, said: 'engine: podman info hangs', seconds: 15 },
    next: NEXT,
    ...NOTHING_LEFT,
  },
  reboot: { under: LOST, backSeconds: 70, next: NEXT, ...NOTHING_LEFT },
  'power off': {
    under: LOST,
    next: { status: 'error', said: 'Start the engine at ssh://user@127.0.0.1:1/', seconds: 2 },
    closeSeconds: 1,
    doctor: { exitCode: 1, said: 'engine: correct MCP_BRIDGE_ENGINE_URL', seconds: 1 },
  },
  end: [],
};

const failures = (values: Readonly<Record<string, unknown>>): string[] =>
  judge(
    Object.entries(values).map(([step, value]) => ({ step, value })),
    engineJudges(2),
  )
    .filter(({ ok }) => !ok)
    .map(({ check }) => check);

describe('what is demanded of an engine in a machine', () => {
  it('holds where everything does', () => {
    expect(failures(GOOD)).toEqual([]);
  });

  it.each([
    ['files that came back changed', 'files', { isSame: false }, 'files, in and out'],
    [
      'a cancelled run that went on',
      'cancel',
      { processSeconds: 3.1 },
      'cancellation: the process is gone within 3 s',
    ],
    [
      'a cancelled container that stayed for long',
      'cancel',
      { listSeconds: 12.1 },
      'cancellation: the container is off the list in the time of a few commands',
    ],
    [
      'a run that was called a success although its machine had gone',
      'reboot',
      { under: { status: 'success', said: 'worked' } },
      'reboot: the run is told that its sandbox was lost',
    ],
    [
      'a container that outlived its run and its bridge',
      'sleep',
      { leftAtEnd: ['cm-1 Up'] },
      'sleep: no container left after the bridge',
    ],
    [
      'an answer that names no next step',
      'power off',
      { next: { status: 'error', said: 'failed', seconds: 2 } },
      'power off: the next call says what to do',
    ],
    [
      'an answer that came late',
      'power off',
      { next: { ...LOST, said: 'Start the engine at ssh://', seconds: 31 } },
      'power off: it is answered in time',
    ],
  ])('does not hold for %s', (_what, step, change, failing) => {
    const good = GOOD[step as keyof typeof GOOD] as object;
    expect(failures({ ...GOOD, [step]: { ...good, ...change } })).toEqual([failing]);
  });

  it('does not hold where the probe left out a limit that it cannot demand', () => {
    const controls = [{ ...control('memory, in four processes'), required: false }, control('processes')];
    expect(failures({ ...GOOD, probe: { ...GOOD.probe, controls } })).toEqual([
      'probe demands and finds: memory, in four processes',
    ]);
  });
});

it('what was measured is told as far as its steps were made', () => {
  const lines = ['connection', 'cancel'].map((step) => ({ step, value: GOOD[step as 'cancel'] }));
  expect(measuredSteps(lines)).toEqual([
    "podman version 4.3.1; a small command of the engine's took 2 s",
    'a cancelled process was gone after 0.3 s, its container off the list after 12 s',
  ]);
});
