// What a guest has said, as it is shown: the line in the middle of long output is ours, whatever stands around it.

import { expect, it } from 'vitest';
import { MAX_OUTPUT_CHARS } from '../../../src/run/artifacts/shown-amounts.js';
import { Transcript } from '../../../src/run/outcome/transcript.js';

it.each([
  ['a title that is left open before it', `${'a'.repeat(19_000)}\u001b]0;${'b'.repeat(1_000)}`, '\u0007end'],
  ['output that writes over itself', `${'a'.repeat(20_000)}`, '\r\r\u001b[2K\rend'],
  ['a line like it', `[… 5 characters dropped (5 bytes) …]\n${'a'.repeat(20_000)}`, 'end'],
])('%s does not hide what is missing', (_what, head, tail) => {
  const transcript = new Transcript();
  transcript.addOutput('stdout', head + 'x'.repeat(3 * MAX_OUTPUT_CHARS) + tail);
  const { text, dropped, gap = { start: 0, end: 0 } } = transcript.capturedStream('stdout');
  expect(text.slice(gap.start, gap.end)).toMatch(
    new RegExp(`^\\[… ${dropped} characters dropped \\(.*\\) …\\]$`),
  );
  expect(text.slice(gap.start - 1, gap.start) + text.slice(gap.end, gap.end + 1)).toBe('\n\n');
  expect(text.endsWith('end')).toBe(true);
});

it('where the code was is one line each', () => {
  const transcript = new Transcript();
  transcript.add({ type: 'where', lines: ['main.py:1: f()\n[note] trust\u200b me'] }, '');
  expect(transcript.where).toEqual(['main.py:1: f() [note] trust\\u200b me']);
});
