// Measures of the benchmark that look at what the bridge and the kernel leave to be read, beside a stage that has no engine.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { SessionFiles, type SessionRecord } from '../../src/run/sessions/session-file.js';

type Row = { readonly measure: string; readonly skipped?: string };
type Bridge = { readonly run: () => Promise<void> };

const { sessionCall, firstProcess } = (await import(
  new URL('../../scripts/bench/session-call.mjs', import.meta.url).href
)) as {
  readonly sessionCall: (stage: object) => Promise<readonly Row[]>;
  readonly firstProcess: (stateDir: string) => number | undefined;
};

const { launches } = (await import(new URL('../../scripts/bench/launches.mjs', import.meta.url).href)) as {
  readonly launches: (stage: object) => Promise<readonly Row[]>;
};

const { inChild } = (await import(new URL('../../scripts/bench/frames.mjs', import.meta.url).href)) as {
  readonly inChild: (stage: object) => Promise<readonly number[]>;
};

const { countingGroup } = (await import(
  new URL('../../scripts/bench/processor.mjs', import.meta.url).href
)) as {
  readonly countingGroup: (mounts: string, groups: string) => { mount: string; group: string } | undefined;
};

const stateDir = mkdtempSync(join(tmpdir(), 'bench-measures-'));
afterEach(() => {
  vi.useRealTimers();
  rmSync(stateDir, { recursive: true, force: true });
});

const session: Omit<SessionRecord, 'owner'> = {
  handle: 's-0123456789abcdef',
  name: 'bench',
  client: 'bench 1',
  principal: null,
  scope: null,
  container: 'mcp-sandbox-bridge-0-1',
  process: { pid: 4711, startTime: '1' },
  memoryLimitBytes: 1,
  createdAt: '2026-01-01T00:00:00.000Z',
  lastCallAt: '2026-01-01T00:00:00.000Z',
  calls: 1,
  idleSeconds: 1,
  lifeSeconds: 1,
  ended: null,
};

it('the benchmark finds the first process of a session in the record that a bridge writes', () => {
  new SessionFiles(stateDir).write(session);
  expect(firstProcess(stateDir)).toBe(4711);
});

it('the benchmark of a session says what is missing where no first process can be seen', async () => {
  new SessionFiles(stateDir).write({ ...session, process: null });
  const stage = {
    stateDir,
    withBridge: (_with: object, work: (bridge: Bridge) => unknown) => work({ run: () => Promise.resolve() }),
  };
  const rows = await sessionCall(stage);
  expect(rows).toHaveLength(1);
  expect(rows[0]?.skipped).toContain('no record of it names one here');
});

it('the benchmark of both launches says so where no sandbox comes from a template', async () => {
  const stage = {
    times: () => 1,
    withBridge: (_with: object, work: (bridge: object) => unknown) =>
      work({ run: () => Promise.resolve({ stdout: ['False'] }) }),
  };
  vi.useFakeTimers();
  const measured = launches(stage);
  await vi.runAllTimersAsync();
  expect((await measured).map(({ skipped }) => skipped)).toEqual(
    Array(2).fill(expect.stringContaining('template')),
  );
});

it('the benchmark of frames is answered by the harness that it starts as a plain child process', async () => {
  const perSecond = await inChild({ stateDir: tmpdir() });
  expect(perSecond).toHaveLength(20);
  expect(Math.min(...perSecond)).toBeGreaterThan(0);
});

it.each([
  {
    what: 'a hierarchy that counts alone',
    mounts: '33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct',
    groups: '2:cpuacct:/\n1:cpu:/cpu',
    expected: { mount: '/sys/fs/cgroup/cpuacct', group: '/sys/fs/cgroup/cpuacct' },
  },
  {
    what: 'one that has another controller, too',
    mounts: '33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct',
    groups: '4:cpu,cpuacct:/user.slice',
    expected: { mount: '/sys/fs/cgroup/cpu,cpuacct', group: '/sys/fs/cgroup/cpu,cpuacct/user.slice' },
  },
  {
    what: 'one of which only a part is mounted',
    mounts: '33 31 0:30 /box /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct',
    groups: '2:cpuacct:/box/inner',
    expected: { mount: '/sys/fs/cgroup/cpuacct', group: '/sys/fs/cgroup/cpuacct/inner' },
  },
  {
    what: 'none of version 1',
    mounts: '33 31 0:30 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw',
    groups: '0::/user.slice',
    expected: undefined,
  },
])(
  'the benchmark finds the control group that counts processor time: $what',
  ({ mounts, groups, expected }) => {
    expect(countingGroup(mounts, groups)).toEqual(expected);
  },
);
