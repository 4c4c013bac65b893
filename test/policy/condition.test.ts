// Conditions on the arguments of a call: what they say, and that what cannot be told is told as that.

import { Script } from 'node:vm';
import { describe, expect, it, vi } from 'vitest';
import { conditionTrouble, readCondition } from '../../src/policy/rules/condition.js';

type Schema = Readonly<Record<string, unknown>>;
const factsOf = (argumentsText: string, inputSchema?: Schema) => ({
  server: 'bank',
  tool: 'pay',
  principal: 'local',
  argumentsText,
  inputSchema,
});
const judged = (condition: string, argumentsText: string, inputSchema?: Schema) =>
  readCondition(condition, factsOf(argumentsText, inputSchema)).is;

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

  // JSON.parse makes a member of it, and Object.assign the prototype of what it fills.
  it('a member that is called __proto__ gives some readers members that are not there', () => {
    expect(judged('has(args.amount)', '{"__proto__":{"amount":1}}')).toBe('unclear');
  });
});

const PAYS = 'args.amount > 1000';
const FORCES = 'has(args.force) && args.force == true';

/** What readers take differently: Go's encoding/json, pydantic in its default mode, and what JavaScript converts. */
describe('what one reader takes for what the condition means, and another does not', () => {
  it.each([
    ['a name in another case, beside it', PAYS, '{"amount":5,"Amount":5000}'],
    ['the same, before it', PAYS, '{"AMOUNT":5000,"amount":5}'],
    ['the same, in its place', 'has(args.amount) && args.amount > 1000', '{"Amount":5000}'],
    ['a letter that only folding makes the same', 'has(args.k)', '{"\u212a":1}'],
    ['a long s', 'has(args.size)', '{"\u017fize":1}'],
    ['the capital of a sharp s', '"stra\u00dfe" in args', '{"stra\u1e9ee":1}'],
    ['a compatibility form', 'has(args.amount)', '{"\uff41mount":1}'],
    ['blanks around it', 'has(args.amount)', '{" amount ":1}'],
    ['what does not show', 'has(args.amount)', '{"am\u200bount":1}'],
    ['a control character', 'has(args.amount)', '{"amount\\u0000":1}'],
    ['dashes and underscores', 'has(args.max_amount)', '{"maxAmount":1}'],
    ['a name as key', 'has(args.amount) || args["amount"] == 1', '{"Amount":1}'],
    ['a name that is looked for', '"amount" in args', '{"Amount":1}'],
    ['a name that is not to be there', '!("amount" in args)', '{"Amount":1}'],
    ['a name further down', 'args.items.exists(i, has(i.path))', '{"items":[{"Path":1}]}'],
    ['names one after the other', 'args.exists(name, name == "amount")', '{"Amount":1}'],
    ['names that meet one after the other', 'args.exists(name, name == "x")', '{"a":1,"A":2}'],
    ['names that meet in what is counted', 'size(args.x) > 1', '{"x":{"a":1,"A":2}}'],
    ['names in what is compared as a whole', 'args.x == {"a": 1}', '{"x":{"A":1}}'],
    ['a name that nobody can fold', 'has(args.amount)', JSON.stringify({ ['a'.repeat(2_000)]: 1 })],
    ['text for yes', FORCES, '{"force":"true"}'],
    ['a number for yes', FORCES, '{"force":1}'],
    ['not the opposite either', 'args.force != false', '{"force":0}'],
    ['text for a number', 'args.amount == 42', '{"amount":"42"}'],
    ['the same, the other way round', 'args.amount == "42"', '{"amount":42}'],
    ['text for one of several', 'args.amount in [41, 42]', '{"amount":"42"}'],
    ['text in a list', '42 in args.ids', '{"ids":["42"]}'],
    ['text in lists', 'args.ids == [42]', '{"ids":["42"]}'],
    ['a list for its only item', 'args.to == "eve"', '{"to":["eve"]}'],
    ['text further down', 'args.x == {"a": {"b": 1}}', '{"x":{"a":{"b":"1"}}}'],
    ['a list that is an object', 'args.ids[0] == "a"', '{"ids":{"0":"a"}}'],
    ['null, which may be left out', 'has(args.to)', '{"to":null}'],
    ['null, in whose place another stands', 'args.recursive == true', '{"recursive":null}'],
    ['null among what is counted', 'size(args.filter) == 0', '{"filter":{"id":null}}'],
    ['a fraction with too many digits', PAYS, '{"amount":1000.00000000000000001}'],
    ['a number that is too small', 'args.amount == 0', '{"amount":1e-400}'],
    ['a name of a tool', 'tool == "Pay"', '{}'],
    ['a name of a server', 'server in ["x", "BANK"]', '{}'],
  ])('%s: unclear', (_what, condition, text) => {
    expect(conditionTrouble(condition)).toBeUndefined();
    expect(judged(condition, text)).toBe('unclear');
  });
});

/** As pydantic writes it for `amount: int, to: str | None, force: bool = False, order: Order | None, tags: dict[str, int]`. */
const SCHEMA: Schema = {
  type: 'object',
  properties: {
    amount: { type: 'integer' },
    note: { type: 'string', enum: ['a', 'b'] },
    to: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null },
    force: { type: 'boolean', default: false },
    order: { $ref: '#/$defs/Order' },
    last: { anyOf: [{ $ref: '#/$defs/Order' }, { type: 'null' }] },
    lines: { type: 'array', items: { $ref: '#/$defs/Order' } },
    tags: { type: 'object', additionalProperties: { type: 'integer' } },
    ids: { type: ['array', 'null'], items: { type: 'string' } },
  },
  required: ['amount', 'note'],
  $defs: {
    Order: {
      type: 'object',
      properties: { price: { type: 'number' }, more: { $ref: '#/$defs/Order' } },
    },
  },
};

describe('what does not fit the schema of the tool', () => {
  it.each([
    ['a type', 'args.note == "c" || size(args.note) == 2', '{"note":42}'],
    ['a number with a fraction', PAYS, '{"amount":5.5}'],
    ['null', PAYS, '{"amount":null}'],
    ['none of the values', 'args.note == "b"', '{"note":"B"}'],
    ['whether it is there', 'has(args.force)', '{"force":"no"}'],
    ['in one of several', 'args.last.price > 5.0', '{"last":{"price":"5"}}'],
    ['in a list', 'args.lines.exists(l, l.price > 5.0)', '{"lines":[{"price":"1"}]}'],
    ['in a list that is counted', 'args.lines[0].more.price > 5.0', '{"lines":[{"more":{"price":true}}]}'],
    ['in what has names of its own', 'args.tags.x > 5', '{"tags":{"x":"1"}}'],
    ['in what has names of its own, one by one', 'args.tags.exists(t, t == "y")', '{"tags":{"x":"1"}}'],
    ['text for a list', 'size(args.ids) > 10', '{"ids":"[1,2]"}'],
    ['what it does not name, among what is counted', 'size(args.order) == 0', '{"order":{"zzz":1}}'],
    [
      'what it does not name, in what is compared',
      'args.order == {"price": 1}',
      '{"order":{"price":1,"zzz":1}}',
    ],
    ['a name of the schema in another case', 'args.exists(a, a.startsWith("am"))', '{"Amount":5000}'],
    ['arguments that are none', 'true', '[]'],
  ])('%s: unclear', (_what, condition, text) => {
    expect(judged(condition, text, SCHEMA)).toBe('unclear');
  });

  it('says nothing of the values beside it', () => {
    expect(judged(PAYS, '{"amount":5,"note":42,"force":"no","Extra":1}', SCHEMA)).toBe('not met');
    expect(judged(PAYS, '{"amount":5000,"note":42}', SCHEMA)).toBe('met');
  });

  it.each([
    ['a circle', { $ref: '#' }],
    ['a circle of two', { anyOf: [{ $ref: '#' }, { $ref: '#' }] }],
    ['what leads nowhere', { $ref: '#/nowhere' }],
    ['what leads elsewhere', { $ref: 'https://example.com/x' }],
    ['what is none', { type: 7, properties: [], items: 'x', enum: {}, anyOf: [] }],
    ['a name of every object', { type: 'object', properties: { constructor: 5 } }],
  ])('of a schema with %s it is known soon', (_what, schema) => {
    expect(['met', 'unclear']).toContain(judged('args.amount > 1', '{"amount":5}', schema));
  });

  it('in a great many values against a schema that asks much of each is given up', () => {
    let schema: Schema = { type: 'string' };
    for (let n = 0; n < 12; n++) schema = { anyOf: [schema, schema] };
    const many = JSON.stringify({ amount: 5, x: Array.from({ length: 10_000 }, () => 1) });
    expect(judged('args.amount > 1001', many, { properties: { x: { items: schema } } })).toBe('unclear');
  });
});

/** Nobody can use conditions that ordinary calls make unclear. */
describe('ordinary calls are clear', () => {
  it.each([
    [PAYS, '{"amount":5}', 'not met'],
    [PAYS, '{"amount":5.0}', 'not met'],
    [PAYS, '{"amount":5e0}', 'not met'],
    [PAYS, '{"amount":1001.0}', 'met'],
    ['args.amount == 1', '{"amount":1.0}', 'met'],
    ['args.amount == 1.0', '{"amount":1}', 'met'],
    ['args.amount != 1', '{"amount":2}', 'met'],
    ['args.amount in [1, 2]', '{"amount":2.0}', 'met'],
    ['args.price < 0.5', '{"price":0.1}', 'met'],
    ['args.price > 0.0', '{"price":0.30000000000000004}', 'met'],
    ['args.price > 0.0', '{"price":1.50}', 'met'],
    ['args.amount == 0', '{"amount":-0}', 'met'],
    [PAYS, '{"amount":9007199254740991}', 'met'],
    [PAYS, '{"amount":5,"to":null,"last":null,"ids":null}', 'not met'],
    [PAYS, '{"amount":5,"tags":{"The":1,"the":2},"env":{"PATH":"x","Path":"y"}}', 'not met'],
    ['args.force == true', '{"force":true}', 'met'],
    ['args.force == true', '{"force":false}', 'not met'],
    [FORCES, '{"amount":5}', 'not met'],
    ['!has(args.force)', '{"amount":5}', 'met'],
    ['"to" in args && args.to == "eve"', '{"amount":5}', 'not met'],
    ['args.to == "eve"', '{"to":"bob"}', 'not met'],
    ['args.to in ["eve", "mallory"]', '{"to":"mallory"}', 'met'],
    ['!(args.to in ["eve", "mallory"])', '{"to":"bob"}', 'met'],
    ['args.to != null && args.to == "eve"', '{"to":null}', 'not met'],
    ['args.to != null && args.to == "eve"', '{"to":"eve"}', 'met'],
    ['args.to == null', '{"to":null}', 'met'],
    ['null != args.to', '{"to":"bob"}', 'met'],
    ['args.ids == ["a", "b"]', '{"ids":["a","b"]}', 'met'],
    ['args.ids == []', '{"ids":["a"]}', 'not met'],
    ['"a" in args.ids', '{"ids":["b","a"]}', 'met'],
    ['size(args.ids) > 1 && args.ids.size() == 2', '{"ids":["a","b"]}', 'met'],
    ['args.ids[1] == "b"', '{"ids":["a","b"]}', 'met'],
    ['size(args.to) == 3', '{"to":"bob"}', 'met'],
    ['size(args.tags) == 0', '{"tags":{}}', 'met'],
    ['args.tags == {}', '{"tags":{"a":1}}', 'not met'],
    ['args.tags == {"a": 1}', '{"tags":{"a":1.0}}', 'met'],
    ['args.tags.all(t, t in ["a", "b"])', '{"tags":{"a":1,"b":2}}', 'met'],
    ['args.all(a, a in ["amount"])', '{"amount":1,"to":"x"}', 'not met'],
    ['args.lines.map(l, l.price).exists(p, p > 5.0)', '{"lines":[{"price":7}]}', 'met'],
    ['args.lines.filter(l, has(l.price)) == []', '{"lines":[{}]}', 'met'],
    ['args.order.price > 5.0', '{"order":{"price":7}}', 'met'],
    ['args.order == {"price": 7}', '{"order":{"price":7.0}}', 'met'],
    ['args.order == {}', '{"order":{"price":7}}', 'not met'],
    ['args.last == null || args.last.price > 5.0', '{"last":{"price":7}}', 'met'],
    ['cel.bind(x, args.amount, x > 5 && x - (x - 1.0) == 1.0)', '{"amount":7}', 'met'],
    ['args.amount > 10 ? args.to == "eve" : false', '{"amount":7}', 'not met'],
    ['type(args.amount) == double', '{"amount":7}', 'met'],
    ['args.to.matches(r"^b\\w+$")', '{"to":"bob"}', 'met'],
    ['int("5") == 5 && 7u == 7u && b"a" == b"a" && -args.amount < 0.0', '{"amount":7}', 'met'],
    ['timestamp("2024-01-01T00:00:00Z") == timestamp("2024-01-01T00:00:00Z")', '{}', 'met'],
    ['duration("1h") == duration("60m") && duration("1h") != duration("1s")', '{}', 'met'],
    ['tool in ["pay", "send"] && server != "shop"', '{}', 'met'],
  ])('%s of %s', (condition, text, verdict) => {
    expect(conditionTrouble(condition)).toBeUndefined();
    expect(judged(condition, text)).toBe(verdict);
    expect(judged(condition, text, SCHEMA)).toBe(verdict);
    expect(judged(condition, text, { type: 'object' })).toBe(verdict);
  });
});

describe('why', () => {
  it.each([
    [PAYS, '{"amount":5,"Amount":5000}', "'amount' has 'Amount' beside it, which some readers take for it"],
    [
      'has(args.amount)',
      '{"AMOUNT":5000}',
      "there is 'AMOUNT' and no 'amount', and some readers take one for the other",
    ],
    [
      FORCES,
      '{"force":"true"}',
      `"true" is a string and true a boolean, and some readers take one for the other`,
    ],
    ['args.to == "x"', '{"to":null}', 'null stands where some readers take what is left out'],
    ['args.amount == 1', '{}', "there is no 'amount', which has(…) would tell"],
    ['true', '{"amount":1e999}', '1e999 is a number that is not kept exactly'],
    ['true', '{"a":1,"a":1}', 'a name is there twice'],
    ['true', '{', 'the arguments are not JSON'],
    ['args.amount', '{"amount":1}', 'it is neither true nor false'],
  ])('%s of %s', (condition, text, why) => {
    expect(readCondition(condition, factsOf(text))).toEqual({ is: 'unclear', why });
  });

  it('names the member that does not fit the schema', () => {
    expect(readCondition(FORCES, factsOf('{"force":"no"}', SCHEMA))).toEqual({
      is: 'unclear',
      why: "'force' is a string, and the tool's schema says boolean",
    });
  });
});

it.each(['', 'args.', 'nobody > 1', '1 + 1', 'process.exit()', 'x'.repeat(3_000)])('%s is none', (text) => {
  expect(conditionTrouble(text)).toEqual(expect.any(String));
});
