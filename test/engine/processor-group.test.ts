// Processor time as control groups count it, read from files of the test's own.

import { expect, it } from 'vitest';
import type { ReadText } from '../../src/base/files/read-text.js';
import { processorGroup, processorUseIn, unifiedGroup } from '../../src/engine/machine/enforcement.js';

const V2: Readonly<Record<string, string>> = {
  '/proc/self/mountinfo': '30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw',
  '/proc/self/cgroup': '0::/user.slice/bridge.scope',
  '/proc/42/cgroup': '0::/user.slice/libpod-1.scope/container',
  '/sys/fs/cgroup/user.slice/libpod-1.scope/container/cpu.stat': 'usage_usec 2500000\nuser_usec 1\n',
};
const V1: Readonly<Record<string, string>> = {
  '/proc/self/mountinfo': '30 20 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct',
  '/proc/self/cgroup': '4:cpu,cpuacct:/bridge',
  '/proc/42/cgroup': '4:cpu,cpuacct:/libpod-1',
  '/sys/fs/cgroup/cpu/libpod-1/cpuacct.usage': '1500000000\n',
};
/** Each controller mounted by itself. */
const APART: Readonly<Record<string, string>> = {
  '/proc/self/mountinfo': `30 20 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
31 20 0:27 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct`,
  '/proc/self/cgroup': '4:cpuacct:/bridge\n3:cpu:/bridge',
  '/proc/42/cgroup': '4:cpuacct:/libpod-1\n3:cpu:/libpod-1',
  '/sys/fs/cgroup/cpu/libpod-1/cpu.stat': 'nr_periods 0\n',
  '/sys/fs/cgroup/cpuacct/libpod-1/cpuacct.usage': '1500000000\n',
};
const reading =
  (files: Readonly<Record<string, string>>): ReadText =>
  (path) =>
    files[path];

it.each([
  ['version 2', V2, 2.5],
  ['version 1', V1, 1.5],
  ['version 1, with a mount for each controller', APART, 1.5],
])('counts the seconds of the group of the container, not of ours, with %s', (_version, files, seconds) => {
  const read = reading(files);
  const dir = processorGroup(42, read);
  expect(dir).toMatch(/libpod-1/);
  expect(processorUseIn(dir ?? '', read)).toBe(seconds);
});

it('a process in our own group, and a group that is gone, count nothing', () => {
  const read = reading({ ...V2, '/proc/42/cgroup': '0::/user.slice/bridge.scope' });
  expect(processorGroup(42, read)).toBeUndefined();
  expect(processorUseIn('/gone', read)).toBeUndefined();
});

it('the group of version 2 is found beside those of version 1, and is none where we stand in it too', () => {
  const both = {
    '/proc/self/mountinfo': `${V1['/proc/self/mountinfo']}
31 20 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw`,
    '/proc/self/cgroup': '4:cpu,cpuacct:/bridge\n0::/bridge',
    '/proc/42/cgroup': '4:cpu,cpuacct:/libpod-1\n0::/libpod-1',
  };
  expect(unifiedGroup(42, reading(both))).toBe('/sys/fs/cgroup/unified/libpod-1');
  expect(unifiedGroup(42, reading(V2))).toBe('/sys/fs/cgroup/user.slice/libpod-1.scope/container');
  expect(
    unifiedGroup(42, reading({ ...both, '/proc/42/cgroup': '4:cpu,cpuacct:/libpod-1\n0::/' })),
  ).toBeUndefined();
  expect(unifiedGroup(42, reading(V1))).toBeUndefined();
});
