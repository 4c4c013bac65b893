// Conditions on the arguments of a call: what they say, and that what cannot be told is told as that.

import { Script } from 'node:vm';
import { describe, expect, it, vi } from 'vitest';
import { conditionTrouble, judgeCondition } from '../../src/config/condition.js';

const judged = (condition: string, argumentsText: string) =>
  judgeCondition(condition, { server: 'bank', tool: 'pay', principal: 'local', argumentsText });

it.each([
  ['args.amount > 100', '{"amount":150}', 'met'],
  ['args.amount > 100', '{"amount":100.5}', 'met'],
  ['args.amount > 100', '{"amount":50}', 'not met'],
  ['args.to.endsWith("@example.com")', '{"to":"a@example.com"}', 'met'],
  ['!("to" in args)', '{}', 'met'],
  ['has(args.force) && args.force', '{"force":true}', 'met'],
  ['has(args.force) && args.force', '{}', 'not met'],
  ['args.items.exists(i, i.path.startsWith("/etc"))', '{"items":[{"path":"/x"},{"path":"/etc/x"}]}', 'met'],
  ['server == "bank" && tool == "pay" && principal == "local"', '{}', 'met'],
])('%s of %s', (condition, text, verdict) => {
  expect(conditionTrouble(condition)).toBeUndefined();
  expect(judged(condition, text)).toBe(verdict);
});

describe('what cannot be told', () => {
  it.each([
    ['a member that is not there', 'args.amount > 100', '{}'],
    ['a value of another type', 'args.amount > 100', '{"amount":"many"}'],
    ['a value that is no yes or no', 'args.amount', '{"amount":1}'],
    ['a name that is there twice', 'args.amount > 100', '{"amount":1,"amount":1}'],
    ['the same, written otherwise', 'args.amount > 100', '{"amount":1,"\\u0061mount":1}'],
    ['the same, further down', 'args.amount > 100', '{"amount":1,"x":[{"y":1,"y":2}]}'],
    ['a number that is no double', 'args.amount > 100', '{"amount":9007199254740993}'],
    ['a number without an end', 'args.amount > 100', '{"amount":1e999}'],
    ['what is no JSON', 'true', '{"amount":'],
    ['what is nested too deeply', 'true', `{"a":${'['.repeat(80)}${']'.repeat(80)}}`],
    ['what is too long', 'true', JSON.stringify({ a: 'x'.repeat(1024 * 1024) })],
    ['what JavaScript has of its own', 'args.constructor == null', '{}'],
    [
      'a pattern that takes for ever',
      'args.a.matches("^(a+)+$")',
      JSON.stringify({ a: `${'a'.repeat(40)}!` }),
    ],
  ])('%s', (_what, condition, text) => {
    expect(judged(condition, text)).toBe('unclear');
  });

  it('one that has taken too long is not tried again for a while, and stalls nobody', () => {
    const condition = 'args.b.matches("^(a+)+$")';
    const long = JSON.stringify({ b: `${'a'.repeat(40)}!` });
    expect(judged(condition, long)).toBe('unclear');
    // Its rest does not end meanwhile, however long this takes.
    const evaluated = vi.spyOn(Script.prototype, 'runInContext');
    const now = performance.now();
    const clock = vi.spyOn(performance, 'now').mockReturnValue(now);
    try {
      for (let n = 0; n < 20; n++) expect(judged(condition, long)).toBe('unclear');
      expect(evaluated).not.toHaveBeenCalled();
      clock.mockReturnValue(now + 60_000);
      expect(judged('args.b == "!"', '{"b":"!"}')).toBe('met');
      expect(evaluated).toHaveBeenCalled();
      clock.mockReturnValue(now);
      expect(judged(condition, '{"b":"!"}')).toBe('unclear');
    } finally {
      vi.restoreAllMocks();
    }
  });

  it('what is called __proto__ is a member like others', () => {
    expect(judged('has(args.amount)', '{"__proto__":{"amount":1}}')).toBe('not met');
  });
});

it.each(['', 'args.', 'nobody > 1', '1 + 1', 'process.exit()', 'x'.repeat(3_000)])('%s is none', (text) => {
  expect(conditionTrouble(text)).toEqual(expect.any(String));
});
