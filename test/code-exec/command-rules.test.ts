// What a rule means: the file that it leads to, by whatever name somebody calls it.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCommand } from '../../src/code-exec/command-rules.js';

let dir: string;
let place: { path: string; rulesPath: string; cwd: string };

beforeAll(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'rules-')));
  for (const folder of ['bin', 'other', 'work']) mkdirSync(join(dir, folder));
  for (const name of ['bin/git', 'bin/rm', 'bin/busybox', 'other/git', 'work/tool']) {
    writeFileSync(join(dir, name), '#!/bin/sh\n');
    chmodSync(join(dir, name), 0o755);
  }
  writeFileSync(join(dir, 'bin/plain'), '');
  symlinkSync('rm', join(dir, 'bin/delete'));
  symlinkSync('busybox', join(dir, 'bin/ls'));
  symlinkSync('busybox', join(dir, 'bin/sh'));
  const path = `${join(dir, 'bin')}:relative:${join(dir, 'other')}`;
  place = { path, rulesPath: path, cwd: join(dir, 'work') };
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const find = (command: string, rules: { allow?: readonly string[]; deny?: readonly string[] } = {}) =>
  findCommand(command, place, { allow: rules.allow, deny: rules.deny ?? [] });

describe('findCommand', () => {
  it('finds a name on the path, and a path from where the command runs', () => {
    expect(find('git')).toEqual({ path: join(dir, 'bin/git') });
    expect(find('./tool')).toEqual({ path: join(dir, 'work/tool') });
    expect(find('../other/git')).toEqual({ path: join(dir, 'other/git') });
    for (const absent of ['tool', 'plain', '.', '..', './', 'bin', '../bin', 'no/such'])
      expect(find(absent)).toEqual({ refused: `There is no program '${absent}' here.` });
  });

  it.each(['rm', '../bin/rm', 'delete', '../bin/delete', '/abs'])(
    'a denied program is denied as %s',
    (command) => {
      const called = command === '/abs' ? join(dir, 'bin/rm') : command;
      for (const rule of ['rm', 'delete', join(dir, 'bin/rm')])
        expect(find(called, { deny: [rule] })).toEqual({
          refused: `'${called}' is denied here, by the rule ${rule}.`,
        });
    },
  );

  it('denies a name also where there is no such program, and comes before what is allowed', () => {
    expect(find('curl', { deny: ['curl'] })).toMatchObject({ refused: expect.stringContaining('denied') });
    expect(find('git', { allow: ['git'], deny: ['git'] })).toMatchObject({
      refused: expect.stringContaining('denied'),
    });
  });

  it('allows the program that a name leads to, and none of the same name elsewhere', () => {
    expect(find('git', { allow: ['git'] })).toEqual({ path: join(dir, 'bin/git') });
    expect(find(join(dir, 'bin/git'), { allow: ['git'] })).toEqual({ path: join(dir, 'bin/git') });
    expect(find('../other/git', { allow: ['git'] })).toEqual({
      refused: "'../other/git' is not among the commands that are allowed here: git.",
    });
    expect(find('../other/git', { allow: [join(dir, 'other/git')] })).toMatchObject({
      path: join(dir, 'other/git'),
    });
  });

  it('means the programs of the server, wherever a call has its own searched', () => {
    const theirs = { ...place, path: join(dir, 'other'), rulesPath: join(dir, 'bin') };
    const rules = { allow: undefined, deny: [] };
    expect(findCommand('git', theirs, rules)).toEqual({ path: join(dir, 'other/git') });
    expect(findCommand('git', theirs, { ...rules, allow: ['git'] })).toMatchObject({
      refused: expect.stringContaining('not among'),
    });
    expect(findCommand('../bin/delete', theirs, { ...rules, deny: ['rm'] })).toMatchObject({
      refused: expect.stringContaining('denied'),
    });
  });

  it.skipIf(!existsSync('/proc/self/root'))('judges the very file that will run, wherever that runs', () => {
    // Like /proc/self/cwd, which in the command's process is another folder than in ours.
    const there = `/proc/self/root${join(dir, 'bin/delete')}`;
    expect(find(there, { allow: ['rm', 'delete'] })).toEqual({ path: join(dir, 'bin/delete') });
  });

  it('a program of many names is another command under each', () => {
    expect(find('ls', { allow: ['ls'] })).toEqual({ path: join(dir, 'bin/ls') });
    expect(find('sh', { allow: ['ls'] })).toMatchObject({ refused: expect.stringContaining('not among') });
  });
});
