// What the redactor reads was written by strangers, and nothing else is done while it reads.

import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { Redactor } from '../../src/base/redact.js';
import { withoutSecretMembers } from '../../src/base/secrets/by-key.js';
import { leastCpuMs } from '../support/cpu-time.js';

const SMALL_CHARS = 128 * 1024;
const LARGE_CHARS = 1024 * 1024;
/**
 * On a calm machine 1 MB takes 10 to 40 ms of a processor, and up to ten times that while coverage is measured beside other
 * tests. What grows with the square takes many seconds for the small text already.
 */
const SMALL_MAX_MS = 200;
const LARGE_MAX_MS = 1_200;

const env = Object.fromEntries(
  Array.from({ length: 200 }, (_, at) => [`TOKEN_${at}`, `sk-proj-${randomBytes(24).toString('base64')}`]),
);
const [value = ''] = Object.values(env);
const escaped = [...value].map((char) => `\\u00${char.charCodeAt(0).toString(16)}`).join('');
const many = new Redactor();
many.addAll({ ...env, PERIODIC: `${'ab'.repeat(400)}c`, LONG: randomBytes(3_000).toString('hex') });
const one = new Redactor();
one.addAll({ TOKEN: value });

/** What is repeated; after `|` what stands once before it. */
const HOSTILE = [
  ...[
    'a',
    '\\',
    '%',
    '&',
    "'",
    '"',
    ' ',
    '\n',
    '=',
    ':',
    ';',
    '0',
    'é',
    '😀',
    '\\u{',
    '\\u00',
    '%2',
    '%25',
    '&#x26;amp;',
  ],
  ...[
    'token',
    'token=',
    'token =',
    'token="',
    'a-token:',
    '-token',
    'token   ',
    'token= bearer ',
    'password=b1 ',
  ],
  ...[
    '://',
    'a://',
    'a.',
    'a://b:',
    'a://b:c',
    'a://b:c@',
    'a:|https://',
    'b|token=',
    ' |token',
    '\\|token=',
  ],
  ...[
    '"token"',
    '"token":',
    '"token":"',
    '\\"token\\":\\"',
    '"a":1,',
    'a":"token|"',
    '\\|{"token":"',
    '12345678,',
    '1',
  ],
  ...['ab', value, value.slice(0, -1), value.slice(0, 8), `${value}!`, escaped.slice(0, -1)],
  ...[
    Buffer.from(value).toString('base64').slice(0, -6),
    Buffer.from(value).toString('hex').slice(0, -2),
    '6:',
  ],
  ...[`${value.slice(0, 20)}%25&amp;\\${escaped.slice(0, 60)}`, 'ab'.repeat(399), "'\\''", `'"'"'`],
].map((kind) => kind.split('|') as [string, string?]);

const filled = ([pump, before = '']: [string, string?], chars: number) =>
  before + pump.repeat(Math.ceil(chars / pump.length)).slice(0, chars);

it.each([
  ['text, one secret', (text: string) => one.redact(text)],
  ['text, 200 secrets', (text: string) => many.redact(text)],
  ['JSON, 200 secrets', (text: string) => many.redactValues(text)],
  ['a string of JSON', (text: string) => many.redactValues(JSON.stringify(text))],
  ['members of JSON', (text: string) => withoutSecretMembers(text)],
])(
  'reads hostile text in time that grows with its length: %s',
  (_name, read) => {
    const took = HOSTILE.map((kind) => ({
      kind,
      ms: leastCpuMs(() => read(filled(kind, SMALL_CHARS)), SMALL_MAX_MS),
    }));
    const said = ({ kind, ms }: (typeof took)[number]) =>
      `${JSON.stringify(kind).slice(0, 60)}: ${Math.round(ms)} ms`;
    expect(took.filter(({ ms }) => ms > SMALL_MAX_MS).map(said)).toEqual([]);
    const slowest = took.sort((left, right) => right.ms - left.ms).slice(0, 3);
    const large = slowest.map(({ kind }) => ({
      kind,
      ms: leastCpuMs(() => read(filled(kind, LARGE_CHARS)), LARGE_MAX_MS),
    }));
    expect(large.filter(({ ms }) => ms > LARGE_MAX_MS).map(said)).toEqual([]);
  },
  60_000,
);

it('learns 200 secrets in no noticeable time', () => {
  const learn = () => {
    const made = new Redactor();
    made.addAll(env);
    made.redact('x');
  };
  expect(leastCpuMs(learn, 100)).toBeLessThan(150);
});
