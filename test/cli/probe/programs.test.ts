// The probe's Python: each row of the table names a function that is there, and gives it what it takes.

import { expect, it } from 'vitest';
import { IDLE_ATTACK, MEMORY_ATTACKS, pidsAttack } from '../../../src/cli/probe/attack.js';
import type { ProbedSandbox } from '../../../src/cli/probe/control.js';
import { guestCode, openCanaries, pythonCall, WALLS } from '../../../src/cli/probe/walls.js';

/** What the attempts read of it. */
const probed = {
  spec: { ulimits: [{ name: 'nofile', limit: 64 }] },
  engine: { name: 'podman', traits: { masksAll: true, ownKernel: undefined } },
} as unknown as ProbedSandbox;

/** The parameters of each function of a program, in order. */
function functionsOf(code: string): Map<string, string[]> {
  const found = code.matchAll(/^def (\w+)\(([^)]*)\)/gm);
  return new Map(
    [...found].map(([, name = '', parameters = '']) => [
      name,
      [...parameters.matchAll(/(?:^|, )(\w+):/g)].map(([, one = '']) => one),
    ]),
  );
}

/** The function that is called in the last line, and what it is given. */
function calledIn(code: string): [name: string, given: Record<string, unknown>] {
  const [, name = '', literal = ''] = /\n(\w+)\(\*\*json\.loads\((".*")\)\)\n$/.exec(code) ?? [];
  return [name, JSON.parse(JSON.parse(literal) as string) as Record<string, unknown>];
}

it('each wall is tried by a function of walls.py, with its parameters', async () => {
  await using canaries = await openCanaries();
  const code = guestCode(WALLS, canaries, probed);
  const functions = functionsOf(code);
  const [name, given] = calledIn(code);
  expect([name, Object.keys(given)]).toEqual(['answers', functions.get('answers')]);
  const { asked } = given as { asked: [control: string, attempt: string, given: object][] };
  expect(asked.map(([control]) => control)).toEqual(WALLS.map(({ control }) => control));
  for (const [, attempt, own] of asked)
    expect([attempt, Object.keys(own)]).toEqual([attempt, functions.get(attempt)]);
  expect(new Set(asked.map(([, attempt]) => attempt)).size).toBe(asked.length);
});

it.each([...Object.entries(MEMORY_ATTACKS), ['processes', pidsAttack(24)], ['outlive', IDLE_ATTACK]])(
  'the attack %s calls a function of limits.py',
  (kind, code) => {
    const [name, given] = calledIn(code);
    expect([name, Object.keys(given)]).toEqual([kind, functionsOf(code).get(kind)]);
  },
);

it('what a function is given is never part of the code', () => {
  const given = { text: '"""); import os #\n\0\\', list: [1, null] };
  const code = pythonCall('f', given);
  expect(code.split('\n')).toHaveLength(3);
  expect(calledIn(`\n${code}`)).toEqual(['f', given]);
});
