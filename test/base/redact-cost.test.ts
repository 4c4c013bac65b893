// What the redactor reads was written by strangers, and nothing else is done while it reads.

import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { withoutSecretMembers } from '../../src/base/secrets/by-key.js';
import { Redactor } from '../../src/base/secrets/redact.js';
import { growth, LINEAR } from '../support/cpu-time.js';

const SMALL_CHARS = 2 * 1024;
/** What grows with the square takes minutes for 64 of these at once; only what has passed the small text gets it. */
const LARGE_CHARS = 16 * 1024;

const secretsOf = (length: number) =>
  Object.fromEntries(
    Array.from({ length }, (_, at) => [`TOKEN_${at}`, `sk-proj-${randomBytes(24).toString('base64')}`]),
  );
const env = secretsOf(200);
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
])('reads hostile text in time that grows with its length: %s', (_name, read) => {
  const measured = (kind: [string, string?], size: number) => ({
    kind,
    times: growth((chars) => read(filled(kind, chars)), size),
  });
  const small = HOSTILE.map((kind) => measured(kind, SMALL_CHARS));
  const tooMuch = (all: typeof small) =>
    all
      .filter(({ times }) => times > LINEAR)
      .map(({ kind, times }) => `${JSON.stringify(kind).slice(0, 60)}: ${Math.round(times)} times`);
  expect(tooMuch(small)).toEqual([]);
  const worst = small.sort((left, right) => right.times - left.times).slice(0, 3);
  expect(tooMuch(worst.map(({ kind }) => measured(kind, LARGE_CHARS)))).toEqual([]);
});

it('learns secrets in time that grows with their number', () => {
  const learn = (secrets: number) => {
    const made = new Redactor();
    made.addAll(secretsOf(secrets));
    made.redact('x');
  };
  expect(growth(learn, 16)).toBeLessThan(LINEAR);
});
