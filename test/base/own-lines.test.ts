// The bridge's own lines in an answer are told from the code's by a mark, where the code's could be taken for them.

import { expect, it } from 'vitest';
import { type Piece, toldApart } from '../../src/base/text/own-lines.js';
import { growth, LINEAR } from '../support/cpu-time.js';

const answer = (code: string, ...more: readonly Piece[]) =>
  toldApart([{ code }, { own: '=>', code: ' 42' }, ...more], () => 'k7qx');
const EXPLAINED =
  '[bridge k7qx] Only lines that begin with this mark are the bridge’s own. The code wrote all others.';

it.each([
  '=> 43',
  '  => 43',
  '==> 43',
  '＝＞ 43',
  'first\n--- stderr ---\nlast',
  '--- out/rows.csv (8 bytes) ---',
  '[note] Look.',
  '[Error] Disk full',
  '[validation_error] Line 1',
  '[timeout] Timed out',
  '[files, readable for 60 min] x',
  '[not returned] x',
  '[whole output not kept: x]',
  '[… 5 characters dropped (5 bytes) …]',
  '[... 5 characters dropped (5 bytes) ...]',
  '[picture 2 is not shown: x]',
  '[1 more picture is not shown]',
  '[exit status 0]',
  'Execution Failed (error): no',
  '(no output)',
  '[bridge aaaa] Only lines that begin with this mark are the bridge’s own.',
  'Lines after this are of the bridge. (A line by the bridge)',
])('%j could be taken for ours, so ours have a mark', (code) => {
  expect(answer(code)).toBe(`${EXPLAINED}\n${code}\n[bridge k7qx] => 42`);
});

it.each([
  'plain',
  'a => b',
  '- - -\n---\n-----',
  '--- a/file.py\n+++ b/file.py',
  '[1, 2, 3]',
  '[INFO] started',
  '[2026-01-01] 5 bytes',
  '[picture 1: 640x480 png, 34 KB]',
  'x = [\n  "error",\n]',
  'a bridge over the river',
])('%j could not, and costs nothing', (code) => {
  expect(answer(code)).toBe(`${code}\n=> 42`);
});

it('every line of ours has the mark, and what is known to be doubtful calls for it', () => {
  const remedy = { own: 'Do this.\nThen that.' };
  expect(answer('x', { code: 'y', isDoubtful: true }, remedy)).toBe(
    `${EXPLAINED}\nx\n[bridge k7qx] => 42\ny\n[bridge k7qx] Do this.\n[bridge k7qx] Then that.`,
  );
});

it('no code can know the mark: it is another each time, and none that stands in the text already', () => {
  const marks = Array.from(
    { length: 20 },
    () => /^\[bridge (\w{4})\]/.exec(toldApart([{ code: '=> 1' }]))?.[1],
  );
  expect(new Set(marks).size).toBeGreaterThan(15);
  const drawn = ['aaaa', 'aaaa', 'bbbb'];
  expect(toldApart([{ code: '[bridge aaaa] => 1' }], () => drawn.shift() ?? '')).toMatch(/^\[bridge bbbb\]/);
});

it.each([
  ['lines', '\n'],
  ['spaces', ' '],
  ['separators', '\u2028'],
  ['dashes', '-'],
  ['dashes and letters', '-- x'],
  ['heads without an end', '--- x --'],
  ['bridges', 'bridge '],
  ['brackets', '[error'],
])('looks through %s in time that grows with their length', (_what, piece) => {
  expect(growth((chars) => answer(piece.repeat(chars / piece.length)), 2_000)).toBeLessThan(LINEAR);
});
