// What a person reads of a question: all of each call, and nothing of it as a line of ours.

import { expect, it } from 'vitest';
import { type Question, questionText, readableJson } from '../../src/policy/approvals/question.js';

const question = (calls: readonly string[], more: Partial<Question['object']> = {}): Question => ({
  id: 'q-aaaabbbbccccdddd',
  object: {
    kind: 'tool',
    server: 'desk',
    tool: 'erase',
    calls: calls.map((text) => ({ arguments: text })),
    ...more,
  },
  rule: 'the rule',
  run: 'a-1',
  client: 'tester 1',
  principal: undefined,
  session: undefined,
  offers: ['once', 'no'],
  askedAt: '2026-11-25T12:00:00.000Z',
  expiresAt: '2026-11-25T12:10:00.000Z',
});

it('names server and tool first, who asks and why, and each call whole', () => {
  expect(
    questionText(question(['{"id":1}', '{"id":2}'])),
  ).toBe(`Server 'desk', tool 'erase': may this be called? 2 calls.
Asked by the rule, for run a-1 of tester 1.
Each line with a > below shows what the code wants to send.
1> {"id":1}
2> {"id":2}`);
});

it('long arguments go on in lines with a mark of their own, and lose nothing', () => {
  const text = JSON.stringify({ text: 'abc'.repeat(200) });
  const lines = questionText(question([text]))
    .split('\n')
    .slice(3);
  expect(lines.every((line) => /^(?:1| )> .{1,96}$/.test(line))).toBe(true);
  expect(lines.map((line) => line.slice(3)).join('')).toBe(text);
});

it.each([
  [
    'letters of all scripts, as themselves',
    '{"a":"Gr\\u00fc\\u00dfe \\u6f22 \\ud83d\\ude00"}',
    '{"a":"Grüße 漢 😀"}',
  ],
  ['marks of direction', '{"a":"x\\u202ey"}', '{"a":"x\\u202ey"}'],
  ['tags', '{"a":"\\udb40\\udc41"}', '{"a":"\\udb40\\udc41"}'],
  ['half a character', '{"a":"\\ud800"}', '{"a":"\\ud800"}'],
  ['lines of their own', '{"a":"x\\ny\\u2028z"}', '{"a":"x\\ny\\u2028z"}'],
  ['controls', '{"a":"\\u001b[2J"}', '{"a":"\\u001b[2J"}'],
  ['blanks that are none', '{"a":"x\\u00a0\\u3000\\u2800y"}', '{"a":"x\\u00a0\\u3000\\u2800y"}'],
  ['rows of spaces', '{"a":"x        y"}', '{"a":"x [8 spaces] y"}'],
  ['names of members', '{"x\\u200b":1}', '{"x\\u200b":1}'],
  ['white space between tokens', '{"a":\n1,\t"b" : 2}', '{"a": 1, "b" : 2}'],
  [
    'numbers, as they are',
    '{"a":1.0,"b":1e400,"c":12345678901234567890}',
    '{"a":1.0,"b":1e400,"c":12345678901234567890}',
  ],
])('%s', (_what, json, shown) => {
  expect(readableJson(json)).toBe(shown);
});

it('a name of a tool cannot begin a line of its own', () => {
  const text = questionText(question(['{}'], { tool: "x'\nServer 'bank', tool 'pay" }));
  expect(text.split('\n').filter((line) => line.startsWith('Server'))).toHaveLength(1);
});
