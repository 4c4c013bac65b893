// What is found in the kernel's files, on machines that are given as a table of files.

import { describe, expect, it } from 'vitest';
import type { ReadText } from '../../src/base/files/read-text.js';
import { demandEnforcement, groupLimit, lookAt, oomKillsIn } from '../../src/engine/machine/enforcement.js';

const MB = 1024 ** 2;
const asked = { memoryBytes: 100 * MB, pids: 50, cpus: undefined };

const V2 = '30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw';
const v1 = (controller: string) =>
  `31 20 0:27 / /sys/fs/cgroup/${controller} rw - cgroup cgroup rw,${controller}`;

const machine =
  (files: Readonly<Record<string, string>>): ReadText =>
  (path) =>
    files[path];

/** A session of systemd: podman makes a scope, crun a group below it, and the limits stand on the scope. */
const SCOPE = '/sys/fs/cgroup/user.slice/u/libpod-1.scope';
const modern = {
  '/proc/self/mountinfo': V2,
  '/proc/self/cgroup': '0::/user.slice/u/session',
  '/proc/7/cgroup': '0::/user.slice/u/libpod-1.scope/container',
  '/sys/fs/cgroup/user.slice/memory.max': `${50 * MB}`,
  [`${SCOPE}/container/memory.max`]: 'max',
  [`${SCOPE}/memory.max`]: `${100 * MB}`,
  [`${SCOPE}/pids.max`]: '50',
  [`${SCOPE}/cpu.weight`]: '100',
  [`${SCOPE}/cpu.max`]: '50000 100000',
  [`${SCOPE}/memory.events`]: 'low 0\noom 3\noom_kill 2\n',
};
const old = {
  '/proc/self/mountinfo': ['memory', 'pids', 'cpu'].map(v1).join('\n'),
  '/proc/self/cgroup': '4:memory:/api/x\n8:pids:/\n1:cpu:/\n0::/',
  '/proc/7/cgroup': '4:memory:/libpod/c\n8:pids:/libpod/c\n1:cpu:/libpod/c\n0::/libpod/c',
  '/sys/fs/cgroup/memory/libpod/c/memory.limit_in_bytes': `${100 * MB}`,
  '/sys/fs/cgroup/memory/libpod/c/memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 1\n',
  '/sys/fs/cgroup/pids/libpod/c/pids.max': '50',
  '/sys/fs/cgroup/cpu/libpod/c/cpu.shares': '1024',
  '/sys/fs/cgroup/cpu/libpod/c/cpu.cfs_quota_us': '-1',
  '/sys/fs/cgroup/cpu/libpod/c/cpu.cfs_period_us': '100000',
};
/** Rootless on v1: the container stands where we stand. */
const shared = {
  ...old,
  '/proc/7/cgroup': old['/proc/self/cgroup'],
  '/sys/fs/cgroup/memory/api/x/memory.limit_in_bytes': `${90 * MB}`,
  '/proc/7/limits': 'Limit   Soft Limit  Hard Limit  Units\nMax processes   50   50   processes\n',
};

it.each([
  ['v2', modern],
  ['v1', old],
])(
  'looks up a limit of cgroup %s with one look at the list of mounts, which each container makes longer',
  (_version, files) => {
    const read: string[] = [];
    const found = groupLimit(7, 'memory', (path) => {
      read.push(path);
      return machine(files)(path);
    });
    expect(found?.value).toBe(100 * MB);
    expect(read.filter((path) => path === '/proc/self/mountinfo')).toHaveLength(1);
  },
);

describe('lookAt', () => {
  it.each([
    ['cgroup v2', modern, { memory: 'cgroup', pids: 'cgroup', cpu: 'cgroup' }],
    ['cgroup v1', old, { memory: 'cgroup', pids: 'cgroup', cpu: 'cgroup' }],
    ['a group that is ours too', shared, { memory: 'watchdog', pids: 'rlimit', cpu: 'priority' }],
    ['nothing to see', {}, { memory: 'watchdog', pids: 'none', cpu: 'priority' }],
  ])('%s', (_name, files, found) => {
    expect(lookAt(7, asked, true, machine(files))).toEqual(found);
  });

  it('calls a limit that is not the one asked for none', () => {
    const files = { ...old, '/sys/fs/cgroup/memory/libpod/c/memory.limit_in_bytes': '9223372036854771712' };
    expect(lookAt(7, asked, false, machine(files)).memory).toBe('none');
    expect(lookAt(7, { ...asked, cpus: 0.5 }, true, machine(old)).cpu).toBe('priority');
    expect(lookAt(7, { ...asked, cpus: 0.5 }, true, machine(modern)).cpu).toBe('cgroup');
  });
});

it('the least limit on the way up binds, unless it is ours too', () => {
  const files = { ...modern, [`${SCOPE}/container/memory.max`]: `${400 * MB}` };
  expect(groupLimit(7, 'memory', machine(files))).toEqual({ value: 100 * MB, dir: SCOPE, version: 2 });
  expect(groupLimit(7, 'cpu', machine(files))).toEqual({ value: 0.5, dir: SCOPE, version: 2 });
  expect(groupLimit(7, 'cpu', machine(old))).toBeUndefined();
});

it('kills for memory are counted where the limit stands', () => {
  for (const [files, kills] of [
    [modern, 2],
    [old, 1],
  ] as const) {
    const read = machine(files);
    const group = groupLimit(7, 'memory', read) ?? { dir: '/none', version: 2 };
    const asked: string[] = [];
    const noting: ReadText = (path) => {
      asked.push(path);
      return read(path);
    };
    expect(oomKillsIn(group, noting)).toBe(kills);
    // A file that is not there costs more than one that is.
    expect(asked).toHaveLength(1);
    expect(oomKillsIn(group, machine({}))).toBeUndefined();
  }
});

describe('demandEnforcement', () => {
  const nothing = { memory: 'none', pids: 'rlimit', cpu: 'none' } as const;

  it('refuses, naming what is missing and how to accept it', () => {
    expect(() => demandEnforcement(nothing, ['cpu'])).toThrow(
      expect.objectContaining({
        code: 'E_UNENFORCED',
        message: expect.stringMatching(/limit of memory\./),
        remedy: expect.stringContaining('MCP_BRIDGE_ACCEPT_UNENFORCED=memory,cpu'),
      }),
    );
  });

  it('is content with what was accepted by name', () => {
    expect(() => demandEnforcement(nothing, ['memory', 'cpu'])).not.toThrow();
  });
});
