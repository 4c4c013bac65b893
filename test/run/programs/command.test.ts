// What the harness is told of a command: how it is started, and what it reads.

import { expect, it } from 'vitest';
import { type Command, commandFrame, inputOf, vectorText } from '../../../src/run/life/sandboxed-command.js';
import { INPUT_PIECE_BYTES } from '../../../src/wire/frames.js';

const command: Command = {
  argv: ['/usr/bin/env', 'a b', '{file}', ''],
  stdin: undefined,
  cwd: '/work/sub',
  env: { A: 'b c' },
  maxOutputBytes: 40_000,
  shownBytes: 40_000,
};
const programOf = (change: Partial<Command> = {}) => commandFrame({ ...command, ...change }, 30).program;

it('is started as it is, where it is to run', () => {
  expect(programOf()).toEqual({
    file: 'env',
    args: ['a b', '{file}', ''],
    stdin: null,
    cwd: '/work/sub',
    env: { A: 'b c' },
    ways: [{ needs: [], steps: [['/usr/bin/env', 'a b', '{file}', '']] }],
  });
});

it('has input of one frame in its run, and longer input ahead of it, in pieces that make it up', () => {
  const whole = Buffer.alloc(INPUT_PIECE_BYTES, 'abcdefg');
  const short = { ...command, stdin: whole };
  expect([[...inputOf(short)], programOf(short)?.stdin]).toEqual([[], whole.toString('base64')]);
  const long = { ...command, stdin: Buffer.concat([whole, whole, Buffer.from('é')]) };
  const pieces = [...inputOf(long)];
  expect([pieces.length, programOf(long)?.stdin]).toEqual([3, null]);
  expect(new Set(pieces.map(({ folder }) => folder))).toEqual(new Set(['/work']));
  const bytes = pieces.map(({ data }) => Buffer.from(data, 'base64'));
  expect(Buffer.concat(bytes).equals(long.stdin)).toBe(true);
  expect([...inputOf(command)]).toEqual([]);
});

it('has no files and no servers, and an audit weighs its words', () => {
  expect(commandFrame(command, 30)).toMatchObject({
    files: [],
    loaded: [],
    discovered: [],
    timeoutSeconds: 30,
  });
  expect(vectorText(command)).toBe('["/usr/bin/env","a b","{file}",""]');
});
