// Conditions under fire: whatever stands in the arguments, no condition says that it is met, or not met, of what one reader
// reads otherwise. The readers are servers in JavaScript; `npm run fuzz -- --readers` takes those in Go and in Python too.
// A failure prints the seed that makes it again.

import { spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { checking, convertFields, type Read } from '../../scripts/fuzz/reader.mjs';
import { wellFormedJson } from '../../src/base/json/json-text.js';
import { readCondition } from '../../src/policy/rules/condition.js';
import { type Random, seeded } from '../wire/random.js';

/** Set by scripts/fuzz.mjs: this file is meant, and not the fuzz of the parsers. */
const IS_ASKED_FOR = process.env['FUZZ_READERS'] !== undefined;
const INPUTS = IS_ASKED_FOR ? Number(process.env['FUZZ_INPUTS']) : 800;
const SEED = IS_ASKED_FOR ? Number(process.env['FUZZ_SEED']) : 1;
/** Command lines of further readers, as JSON: by name, the program and its arguments. */
const FURTHER = JSON.parse(process.env['FUZZ_READERS'] ?? '{}') as Record<string, readonly string[]>;

type Fields = NonNullable<Read>;
/** Whether the condition is true of what was read; undefined where it needs something that is not there. */
type Means = (read: Fields) => boolean | undefined;
type Case = { readonly when: string; readonly means: Means; readonly isOfSchema?: true };

const of = <T>(value: T | undefined, test: (value: T) => boolean): boolean | undefined =>
  value === undefined ? undefined : test(value);

const CASES: readonly Case[] = [
  { when: 'args.amount > 1000', means: ({ amount }) => of(amount, (it) => it > 1000) },
  {
    when: 'has(args.amount) && args.amount > 1000',
    means: ({ amount }) => amount !== undefined && amount > 1000,
  },
  { when: 'args.amount == 42', means: ({ amount }) => of(amount, (it) => it === 42) },
  { when: 'args["amount"] != 42', means: ({ amount }) => of(amount, (it) => it !== 42) },
  { when: 'args.amount in [42, 5000]', means: ({ amount }) => of(amount, (it) => it === 42 || it === 5000) },
  { when: 'args.limit >= 10', means: ({ limit }) => of(limit, (it) => it >= 10) },
  {
    when: '!has(args.limit) || args.limit == 0',
    means: ({ limit }) => limit === undefined || limit === 0,
  },
  { when: 'args.force == true', means: ({ force }) => of(force, (it) => it) },
  { when: 'has(args.force) && args.force == true', means: ({ force }) => force === true },
  { when: 'has(args.force) && args.force', means: ({ force }) => force === true },
  { when: 'args.force != false', means: ({ force }) => of(force, (it) => it) },
  { when: '!has(args.force)', means: ({ force }) => force === undefined },
  { when: '"force" in args', means: ({ force }) => force !== undefined },
  { when: 'args.exists(name, name == "force")', means: ({ force }) => force !== undefined },
  { when: 'args.to == "eve"', means: ({ to }) => of(to, (it) => it === 'eve') },
  { when: 'has(args.to) && args.to in ["eve", "5"]', means: ({ to }) => to === 'eve' || to === '5' },
  { when: '!has(args.to) || args.to != "eve"', means: ({ to }) => to !== 'eve' },
  { when: 'args.to != null && args.to == "eve"', means: ({ to }) => to === 'eve' },
  { when: 'args.to.startsWith("ev")', means: ({ to }) => of(to, (it) => it.startsWith('ev')) },
  { when: 'args.to.matches("^e.e$")', means: ({ to }) => of(to, (it) => /^e.e$/.test(it)) },
  { when: '"admin" in args.ids', means: ({ ids }) => of(ids, (it) => it.includes('admin')) },
  { when: 'args.ids == ["admin"]', means: ({ ids }) => of(ids, (it) => it.join() === 'admin') },
  { when: 'args.ids[0] == "admin"', means: ({ ids }) => of(ids?.[0], (it) => it === 'admin') },
  {
    when: 'args.ids.exists(id, id == "admin" || id.startsWith("4"))',
    means: ({ ids }) => of(ids, (it) => it.some((id) => id === 'admin' || id.startsWith('4'))),
  },
  { when: 'args.order.price > 100.0', means: ({ order }) => of(order?.price, (it) => it > 100) },
  {
    when: 'has(args.order.price) && args.order.price > 100.0',
    means: ({ order }) => of(order, ({ price }) => price !== undefined && price > 100),
  },
  { when: '"x" in args.tags', means: ({ tags }) => of(tags, (it) => Object.hasOwn(it, 'x')) },
  { when: 'args.tags.x > 5.0', means: ({ tags }) => of(tags?.['x'], (it) => it > 5) },
  {
    when: 'args.tags.exists(tag, tag == "x")',
    means: ({ tags }) => of(tags, (it) => Object.hasOwn(it, 'x')),
  },
  { when: 'size(args.tags) > 1', means: ({ tags }) => of(tags, (it) => Object.keys(it).length > 1) },
  {
    when: 'args.tags == {"x": 1}',
    means: ({ tags }) => of(tags, (it) => Object.keys(it).join() === 'x' && it['x'] === 1),
  },
  {
    when: 'has(args.max_size) && args.max_size > 9',
    means: ({ max_size: size }) => size !== undefined && size > 9,
  },
  {
    when: 'has(args.force) && args.force == true && args.amount > 1000',
    means: ({ force, amount }) => (force === true ? of(amount, (it) => it > 1000) : false),
  },
  {
    when: 'args.amount + args.limit > 1000.0',
    means: ({ amount, limit }) => of(amount, (it) => it + (limit ?? Number.NaN) > 1000),
  },
  // What no schema lists may be part of it to one reader and nothing to another, and what no schema calls a list may be one.
  {
    when: 'args.order == {"price": 42}',
    means: ({ order }) => of(order, ({ price }) => price === 42),
    isOfSchema: true,
  },
  {
    when: 'args.ids.all(id, id == "admin")',
    means: ({ ids }) => of(ids, (it) => it.every((id) => id === 'admin')),
    isOfSchema: true,
  },
  { when: 'size(args.ids) > 2', means: ({ ids }) => of(ids, (it) => it.length > 2), isOfSchema: true },
  { when: 'size(args.ids) == 0', means: ({ ids }) => of(ids, (it) => it.length === 0), isOfSchema: true },
];

const number = { type: 'number' };
const SCHEMA = {
  type: 'object',
  properties: {
    amount: number,
    limit: { type: 'integer' },
    force: { type: 'boolean' },
    to: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    ids: { type: 'array', items: { type: 'string' } },
    order: { $ref: '#/$defs/Order' },
    tags: { type: 'object', additionalProperties: number },
    max_size: number,
  },
  $defs: { Order: { type: 'object', properties: { price: { anyOf: [number, { type: 'null' }] } } } },
};

const USUAL: Readonly<Record<string, readonly string[]>> = {
  amount: ['5', '42', '5000', '1000.5'],
  limit: ['0', '5', '10', '10.0', '1e1'],
  force: ['true', 'false'],
  to: ['"eve"', '"bob"', '"5"', '"\\u0065ve"'],
  ids: ['["admin"]', '[]', '["a","b","42"]', '["bob","admin"]'],
  order: ['{"price":42}', '{"price":500}', '{}'],
  tags: ['{"x":1}', '{"x":7,"y":1}', '{}', '{"X":9}'],
  max_size: ['1', '10'],
};
const NAMES = Object.keys(USUAL);
/** What readers convert into something else, or do not know. */
const ODD: readonly string[] = [
  ...'null true false 0 1 -0 1.0 1e400 1e-400 1000.00000000000000001 9007199254740993 4.2e1 42e0 0.1'.split(
    ' ',
  ),
  ...'"true" "1" "0" "on" "no" "T" "yes" "42" "4_2" "42.0" "5e3" "0x2A" "" "null" "[]" "inf" "nan" "Infinity"'.split(
    ' ',
  ),
  ...'"+42" "-0" "４２" "\\ud800" "[\\"admin\\"]" [] [null] {} ["eve"] [5000] [["admin"]] [true]'.split(' '),
  ...'{"price":"500"} {"Price":500} {"price":null} {"price":[500]} {"x":"7"} {"x":null} {"price":42,"zzz":1}'.split(
    ' ',
  ),
  ...'{"__proto__":{"price":500}} {"length":3} {"0":"admin"}'.split(' '),
  '" 42 "',
];
const INVISIBLE = ['\u200b', '\u00ad', '\ufeff', '\u2060', '\\u0000', '\u180e'];

/** A name that somebody takes for `name`, as it stands between quotes. */
function alike(random: Random, name: string): string {
  const at = random.below(name.length);
  const changed = (to: (char: string) => string) =>
    name.slice(0, at) + to(name[at] ?? '') + name.slice(at + 1);
  switch (random.below(10)) {
    case 0:
      return name.toUpperCase();
    case 1:
      return changed((char) => char.toUpperCase());
    case 2:
      return ` ${name}`;
    case 3:
      return `${name}\\t`;
    case 4:
      return changed((char) => char + random.pick(INVISIBLE));
    case 5:
      return changed((char) => String.fromCodePoint((char.codePointAt(0) ?? 0) - 0x21 + 0xff01));
    case 6:
      return name.replace('s', 'ſ').replace('k', '\u212a');
    case 7:
      return name.includes('_') ? name.replace('_', '') : `_${name}`;
    case 8:
      return changed((char) => `\\u00${(char.codePointAt(0) ?? 0).toString(16)}`);
    default:
      return random.pick(['__proto__', 'constructor', 'zzz', name]);
  }
}

/** The arguments of a call: mostly what a tool expects, and something that is not. */
function hostileArguments(random: Random): string {
  const members = NAMES.filter(() => random.oneIn(2)).map(
    (name) => [name, random.pick(USUAL[name] ?? ['0'])] as [string, string],
  );
  for (let left = random.below(3); left > 0; left--) {
    const name = random.pick(NAMES);
    const value = random.oneIn(2) ? random.pick(ODD) : random.pick(USUAL[name] ?? ['0']);
    const written = random.oneIn(2) ? name : alike(random, name);
    const member: [string, string] =
      written === '__proto__' ? [written, `{${JSON.stringify(name)}:${value}}`] : [written, value];
    const same = members.findIndex(([other]) => other === member[0]);
    // Seldom twice, which is seen at once.
    if (same >= 0 && !random.oneIn(8)) members[same] = member;
    else members.splice(random.below(members.length + 1), 0, member);
  }
  const space = () => (random.oneIn(10) ? random.pick([' ', '\t', '  ']) : '');
  return `{${space()}${members.map(([name, value]) => `"${name}"${space()}:${space()}${value}`).join(`,${space()}`)}}`;
}

type Reader = { readonly name: string; readonly all: (texts: readonly string[]) => readonly Read[] };

const READERS: readonly Reader[] = [
  { name: 'JavaScript that converts', all: (texts) => texts.map(convertFields) },
  { name: 'JavaScript that checks', all: (texts) => texts.map(checking) },
  ...Object.entries(FURTHER).map(([name, [program = '', ...args]]) => ({
    name,
    all: (texts: readonly string[]): readonly Read[] => {
      const { stdout, stderr } = spawnSync(program, args, {
        input: `${texts.join('\n')}\n`,
        encoding: 'utf8',
        maxBuffer: 2 ** 31 - 1,
      });
      const lines = stdout.trimEnd().split('\n');
      if (lines.length !== texts.length)
        throw new Error(`${name} read ${lines.length} of ${texts.length}: ${stderr.slice(0, 500)}`);
      return lines.map((line) => JSON.parse(line) as Read);
    },
  })),
];

/** One input, what is asked of it, and what is said of that without the schema of the tool and with it. */
type Trial = { readonly seed: number; readonly text: string; readonly judged: readonly Judged[] };
type Judged = { readonly asked: Case; readonly hasSchema: boolean; readonly is: 'met' | 'not met' };

const CASES_OF_ONE = 5;

function tried(seed: number): Trial {
  const random = seeded(seed);
  const text = wellFormedJson(hostileArguments(random));
  const facts = { server: 'bank', tool: 'pay', principal: 'local', argumentsText: text };
  const judged: Judged[] = [];
  for (let left = CASES_OF_ONE; left > 0; left--) {
    const asked = random.pick(CASES);
    for (const inputSchema of asked.isOfSchema === true ? [SCHEMA] : [undefined, SCHEMA]) {
      const { is } = readCondition(asked.when, { ...facts, inputSchema });
      if (is !== 'unclear') judged.push({ asked, hasSchema: inputSchema !== undefined, is });
    }
  }
  return { seed, text, judged };
}

describe(`of ${INPUTS} arguments`, () => {
  let trials: readonly Trial[] = [];
  beforeAll(() => {
    trials = Array.from({ length: INPUTS }, (_, index) => tried(SEED + index));
  });

  it.each(READERS)('$name reads nothing otherwise than a condition says', ({ all }) => {
    const wrong: string[] = [];
    const counts = { refused: 0, clear: 0, met: 0 };
    for (const [at, read] of all(trials.map(({ text }) => text)).entries()) {
      const { seed, text, judged } = trials[at] as Trial;
      if (read === null) counts.refused++;
      for (const { asked, hasSchema, is } of read === null ? [] : judged) {
        counts.clear++;
        if (is === 'met') counts.met++;
        if (asked.means(read as Fields) === (is === 'met')) continue;
        const where = hasSchema ? ' with the schema' : '';
        const as = JSON.stringify(read);
        wrong.push(`FUZZ_SEED=${seed}: ${asked.when} is ${is}${where} of ${text}, read as ${as}`);
      }
    }
    expect(wrong.slice(0, 20)).toEqual([]);
    // Who finds everything unclear is never wrong.
    expect(counts.clear).toBeGreaterThan(INPUTS);
    expect(counts.met).toBeGreaterThan(INPUTS / 10);
    if (IS_ASKED_FOR) console.log(JSON.stringify(counts));
  });
});
