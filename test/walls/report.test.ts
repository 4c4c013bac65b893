// The judgement itself: what counts as contained, as unproven, and as excused.

import { expect, it } from 'vitest';
import type { AttackResult, Probe, Seen, Setting } from './attack.js';
import { isFailure, judge, summarize, summaryLine } from './report.js';

const probe: Probe = {
  kind: 'probe',
  id: 'kernel.example',
  group: 'kernel',
  tries: 'Tries.',
  code: '',
  off: ['seccomp'],
};
const runc: Setting = { mode: 'rootless', ids: 'rootless', ociRuntime: 'runc' };
const held: Seen = { verdict: 'held', detail: 'EPERM' };
const through: Seen = { verdict: 'through', detail: 'gave 3' };

const stateOf = (seen: Seen, control: Seen | undefined, more: Partial<Probe> = {}, setting = runc) => {
  const result: AttackResult = { attack: { ...probe, ...more }, seen, control };
  const judged = judge(result, setting);
  return [judged.state, isFailure(judged)];
};

it('counts as contained only what is held and gets through without the defence', () => {
  expect(stateOf(held, through)).toEqual(['contained', false]);
  expect(stateOf(held, held)).toEqual(['unproven', true]);
  expect(stateOf(held, { verdict: 'broken', detail: 'NameError' })).toEqual(['unproven', true]);
  expect(stateOf(through, through)).toEqual(['not contained', true]);
  expect(stateOf({ verdict: 'broken', detail: 'no answer' }, through)).toEqual(['not contained', true]);
});

it('excuses what has no target, or needs root to be shown', () => {
  expect(stateOf(held, { verdict: 'held', detail: 'ENOSYS' })).toEqual(['absent', false]);
  expect(stateOf({ verdict: 'absent', detail: 'no /sys' }, through)).toEqual(['contained', false]);
  expect(stateOf(held, undefined, { rootControl: 'of the host' })).toEqual(['contained', false]);
  expect(stateOf(held, undefined)).toEqual(['unproven', true]);
});

it('takes a listed difference for one under gVisor alone', () => {
  const listed = { gvisor: 'its own kernel' };
  expect(stateOf(held, held, listed, { ...runc, ociRuntime: 'runsc' })).toEqual(['difference', false]);
  expect(stateOf(held, held, listed)).toEqual(['unproven', true]);
});

it('says in one line what it came to, and names what is not contained', () => {
  const judged = [held, through].map((seen, at) =>
    judge({ attack: { ...probe, id: `kernel.${at}` }, seen, control: through }, runc),
  );
  expect(summaryLine(summarize(judged, runc))).toBe(
    'runc, rootless: 2 attacks: 1 contained; 2 controls passed; NOT contained: kernel.1',
  );
});
