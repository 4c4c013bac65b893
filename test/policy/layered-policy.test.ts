// Two policies as one: no layer gives back what the other one takes away.

import { expect, it } from 'vitest';
import { allowedFolders, layeredPolicy, type Policy, policyOf } from '../../src/policy/rules/policy.js';
import type { PolicyFile } from '../../src/policy/rules/policy-file.js';

type Lists = { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
type Limits = { readonly callsPerRun?: number; readonly secondsPerCall?: number };

const policy = ({ allow, deny = [] }: Lists, limits: Limits = {}): Policy => {
  const content = {
    version: 1,
    deny: [],
    perServer: {},
    limits,
    changedTools: 'flag',
  } as unknown as PolicyFile;
  const names = { allow: 'the allow list', deny: 'the deny list' };
  return policyOf({ allow, deny, file: { path: '/p.yaml', content }, names }, []);
};
const tool = (name: string) => ({ name, changed: null });

it.each([
  ['both allow', {}, {}, true],
  ['the first denies', { deny: ['s.t'] }, { allow: ['s', 's.*'] }, false],
  ['the second denies', { allow: ['s', 's.*'] }, { deny: ['s.t'] }, false],
  ['the second names the whole server', {}, { allow: ['s', 's.other'] }, true],
  ['the second does not name it', {}, { allow: ['other'] }, false],
])('%s', (_what, first, second, isAllowed) => {
  const { allowed } = layeredPolicy(policy(first), policy(second)).tool('s', tool('t'));
  expect(allowed).toBe(isAllowed);
});

it('names the list that denies', () => {
  const both = layeredPolicy(policy({}), policy({ deny: ['s'] }));
  expect(both.server('s')).toMatchObject({ allowed: false, rule: expect.stringContaining('the deny list') });
  expect(both.request('s', 'resources/read').allowed).toBe(false);
  const twice = layeredPolicy(policy({ deny: ['s.t'] }), policy({ allow: [] })).tool('s', tool('t'));
  expect(twice.rule).toBe("the deny list 's.t' and the allow list, which does not name it");
  expect(both.patterns.map(({ rule }) => rule)).toEqual(["the deny list 's'"]);
});

it('holds to the lower of two limits, whichever layer has it', () => {
  const [one, other] = [policy({}, { callsPerRun: 5 }), policy({}, { callsPerRun: 9, secondsPerCall: 3 })];
  for (const both of [layeredPolicy(one, other), layeredPolicy(other, one)]) {
    expect(both.runLimits.callsPerRun?.max).toBe(5);
    expect(both.serverLimits('s').secondsPerCall?.max).toBe(3);
    expect(both.serverLimits('s').bytesPerCall).toBeUndefined();
  }
});

it('code may use data folders as the stricter layer says', () => {
  const folders = [{ path: '/srv/out', target: '/data', isWritable: true }];
  const seen = (...layers: readonly Policy['data'][]) => {
    const [first, second] = layers.map((data) => ({ ...policy({}), data })) as [Policy, Policy];
    const servers = { policy: () => layeredPolicy(first, second) };
    return allowedFolders({ settings: { data: folders }, servers }).map(({ isWritable }) => isWritable);
  };
  expect(policy({}).data).toBe('write');
  expect(seen('write', 'write')).toEqual([true]);
  expect([seen('read', 'write'), seen('write', 'read')]).toEqual([[false], [false]]);
  expect([seen('none', 'write'), seen('read', 'none')]).toEqual([[], []]);
});
