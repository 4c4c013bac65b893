// Files of ours on the host: what is used is what was installed, whatever somebody did to the copy on disk.

import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { prepareSeccomp } from '../../src/sandbox/launch/launch-set-up.js';
import { prepareHarness } from '../../src/sandbox/spec/harness-files.js';
import { inOrder, installedDir, installFiles } from '../../src/sandbox/spec/installed-files.js';

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'installed-'));
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

it('an altered profile or harness is written anew', () => {
  const profile = prepareSeccomp(state, 'strict');
  const entrypoint = join(prepareHarness(state), 'entrypoint.py');
  for (const file of [profile, entrypoint]) {
    const installed = readFileSync(file, 'utf8');
    writeFileSync(file, '{"defaultAction":"SCMP_ACT_ALLOW"}');
    expect([prepareSeccomp(state, 'strict'), prepareHarness(state)]).toEqual([profile, dirname(entrypoint)]);
    expect(readFileSync(file, 'utf8')).toBe(installed);
  }
});

it('an added file, and a link to the same text, are no part of it', () => {
  const profile = prepareSeccomp(state, 'strict');
  const added = join(dirname(profile), 'other.json');
  writeFileSync(added, '{}');
  prepareSeccomp(state, 'strict');
  expect(statSync(added, { throwIfNoEntry: false })).toBeUndefined();

  const elsewhere = join(state, 'elsewhere.json');
  writeFileSync(elsewhere, readFileSync(profile));
  rmSync(profile);
  symlinkSync(elsewhere, profile);
  writeFileSync(elsewhere, readFileSync(elsewhere));
  prepareSeccomp(state, 'strict');
  writeFileSync(elsewhere, '{}');
  expect(readFileSync(profile, 'utf8')).not.toBe('{}');
});

it('what containers run can be run by others than us, in all its folders, whatever our umask is', () => {
  const umask = process.umask(0o077);
  try {
    const files = inOrder(
      new Map([
        ['loader', 'L'],
        ['lib/python3.11/os.pyc', 'O'],
      ]),
    );
    const dir = installFiles(state, 'python-fallback', files);
    for (const name of ['', 'lib', 'lib/python3.11', 'lib/python3.11/os.pyc', 'loader'])
      expect(statSync(join(dir, name)).mode & 0o777, name).toBe(0o755);
    expect(statSync(join(prepareHarness(state), 'harness/main.py')).mode & 0o777).toBe(0o644);
  } finally {
    process.umask(umask);
  }
});

it('a directory that is known by its hash only counts while it is as it was', () => {
  const files = inOrder(
    new Map([
      ['loader', 'L'],
      ['bin/python3', 'P'],
    ]),
  );
  const dir = installFiles(state, 'python-fallback', files);
  const hash = basename(dir);
  expect(installedDir(state, 'python-fallback', hash)).toBe(dir);
  expect(installedDir(state, 'python-fallback', '0123456789abcdef')).toBeUndefined();
  const changes: ReadonlyArray<() => void> = [
    () => writeFileSync(join(dir, 'loader'), 'M'),
    () => writeFileSync(join(dir, 'other'), ''),
    () => rmSync(join(dir, 'bin/python3')),
    () => {
      rmSync(join(dir, 'loader'));
      symlinkSync('bin/python3', join(dir, 'loader'));
    },
  ];
  for (const change of changes) {
    change();
    expect(installedDir(state, 'python-fallback', hash)).toBeUndefined();
    expect(installFiles(state, 'python-fallback', files)).toBe(dir);
    expect(installedDir(state, 'python-fallback', hash)).toBe(dir);
  }
});

it('the profiles are two files, each allowing by name only', () => {
  for (const name of ['strict', 'compat'] as const) {
    const profile = JSON.parse(readFileSync(prepareSeccomp(state, name), 'utf8')) as {
      defaultAction: string;
      syscalls: Array<{ names: string[]; action: string }>;
    };
    expect(profile.defaultAction).toBe('SCMP_ACT_ERRNO');
    const allowed = profile.syscalls.filter(({ action }) => action === 'SCMP_ACT_ALLOW');
    const names = allowed.flatMap((rule) => rule.names);
    for (const never of ['unshare', 'setns', 'clone3', 'mount', 'chroot', 'keyctl', 'bpf', 'io_uring_setup'])
      expect(names, never).not.toContain(never);
    expect(names.includes('ptrace')).toBe(name === 'compat');
    // What is refused is not allowed elsewhere: the order of contradicting rules is the library's affair.
    const refused = profile.syscalls.filter((rule) => rule.action !== 'SCMP_ACT_ALLOW' && !('args' in rule));
    expect(refused.flatMap((rule) => rule.names).filter((each) => names.includes(each))).toEqual([]);
  }
});
