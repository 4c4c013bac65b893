// Named tokens as a running bridge knows them, with a file of their own in a folder of its own.

import { timingSafeEqual } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TokenBook } from '../../../src/service/access/authenticator.js';
import {
  FIRST_TOKEN_NAME,
  LastUses,
  makeFirstToken,
  newTokenText,
  ROUGHLY_MS,
  TokenFile,
  type TokenTerms,
} from '../../../src/service/access/token-file.js';
import { NEVER, pause } from '../../support/time.js';

let folder: string;
let file: TokenFile;
let book: TokenBook;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tokens-'));
  file = new TokenFile(folder);
  book = new TokenBook(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const NONE: TokenTerms = { servers: [], scopes: [], expiresAtMs: undefined };
const add = (name: string, terms: Partial<TokenTerms> = {}) =>
  file.add(name, { ...NONE, ...terms }, () => {}, NEVER);
const revoke = (name: string) =>
  file.change((tokens) => tokens.filter((token) => token.name !== name), NEVER);

describe('a token', () => {
  it('is known under its name, with what it was given', async () => {
    const { text, record } = await add('ci', { servers: ['github'], scopes: ['a'], expiresAtMs: 2e12 });
    expect(book.verdict(text)).toEqual({
      state: 'known',
      principal: {
        id: `token:ci#${record.id}`,
        name: 'ci',
        servers: ['github'],
        scopes: ['a'],
        expiresAtMs: 2e12,
      },
    });
  });

  it('reaches no server unless it says which, and all that the policy allows by a star', async () => {
    const [none, all] = [await add('none'), await add('all', { servers: '*' })];
    expect(book.verdict(none.text)).toMatchObject({ principal: { servers: [] } });
    expect(book.verdict(all.text)).toMatchObject({ principal: { servers: undefined } });
  });

  it('is known to a bridge that ran before it was made, and unknown from the moment it is revoked', async () => {
    expect(book.verdict(newTokenText())).toEqual({ state: 'unknown' });
    const { text } = await add('ci');
    expect(book.verdict(text)).toMatchObject({ state: 'known' });
    await revoke('ci');
    expect(book.verdict(text)).toEqual({ state: 'unknown' });
  });

  it('is revoked for a bridge that has not looked for long, too', async () => {
    const { text } = await add('ci');
    await pause(150);
    expect(book.verdict(text)).toMatchObject({ state: 'known' });
    expect(book.verdict(text)).toMatchObject({ state: 'known' });
    await revoke('ci');
    expect(book.verdict(text)).toEqual({ state: 'unknown' });
  });

  it('ends at its end, to the millisecond', async () => {
    const { text } = await add('ci', { expiresAtMs: 1_000_000 });
    expect(book.verdict(text, 999_999)).toMatchObject({ state: 'known' });
    expect(book.verdict(text, 1_000_000)).toEqual({
      state: 'expired',
      principalId: expect.stringMatching(/^token:ci#/),
      expiredAtMs: 1_000_000,
      isReplaced: false,
    });
  });

  it('made anew under the same name is another principal', async () => {
    const before = book.verdict((await add('ci')).text);
    await revoke('ci');
    const after = book.verdict((await add('ci')).text);
    if (before.state !== 'known' || after.state !== 'known') throw new Error('unknown');
    expect(after.principal.name).toBe(before.principal.name);
    expect(after.principal.id).not.toBe(before.principal.id);
  });
});

it('is looked for in one way, whether it is the first, the last, unknown, revoked or expired', async () => {
  const texts = [];
  for (const name of ['a', 'b', 'c', 'gone']) texts.push((await add(name)).text);
  texts.push((await add('over', { expiresAtMs: 1 })).text, newTokenText());
  await revoke('gone');
  let compared: number[] = [];
  const counting = new TokenBook(folder, (one, other) => {
    compared.push(one.byteLength);
    return timingSafeEqual(one, other);
  });
  const states = texts.map((text) => {
    compared = [];
    const { state } = counting.verdict(text);
    // Every hash is compared, each as a whole.
    expect(compared).toEqual([32, 32, 32, 32]);
    return state;
  });
  expect(states).toEqual(['known', 'known', 'known', 'unknown', 'expired', 'unknown']);
});

describe('the file', () => {
  it('has no token in it, and is for its owner alone', async () => {
    const { text } = await add('ci');
    expect(readFileSync(file.path, 'utf8')).not.toContain(text.slice(4, 20));
    expect(statSync(file.path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'http')).mode & 0o777).toBe(0o700);
    expect(existsSync(`${file.path}.lock`)).toBe(false);
  });

  it('keeps all tokens that are made at the same moment', async () => {
    await Promise.all(Array.from({ length: 8 }, (_, index) => add(`t${index}`)));
    expect(
      file
        .read()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['t0', 't1', 't2', 't3', 't4', 't5', 't6', 't7']);
  });

  it.each([
    ['is damaged', (path: string) => writeFileSync(path, '{"version": 1, "tokens": [{')],
    ['is of a later version', (path: string) => writeFileSync(path, '{"version": 2, "tokens": []}')],
    ['can be read by others', (path: string) => chmodSync(path, 0o644)],
    [
      'is a link',
      (path: string) => {
        rmSync(path);
        symlinkSync('/etc/hostname', path);
      },
    ],
  ])('lets nobody in while it %s', async (_what, change) => {
    const { text } = await add('ci');
    expect(book.verdict(text)).toMatchObject({ state: 'known' });
    change(file.path);
    expect(() => book.verdict(text)).toThrow(/no token is accepted/);
    // Again, and not what it remembers.
    expect(() => book.verdict(text)).toThrow(/no token is accepted/);
    await expect(add('next')).rejects.toThrow(/no token is accepted/);
  });
});

describe('the last use', () => {
  it('is written with the first use, and then every ten minutes', async () => {
    const { text, record } = await add('ci');
    const uses = new LastUses(folder);
    expect(uses.read().size).toBe(0);
    book.verdict(text, 5_000_000);
    book.verdict(text, 5_000_000 + ROUGHLY_MS - 1);
    expect(uses.read().get(record.id)).toBe(5_000_000);
    book.verdict(text, 5_000_000 + ROUGHLY_MS);
    expect(uses.read().get(record.id)).toBe(5_000_000 + ROUGHLY_MS);
  });

  it('changes nothing of the tokens, and is forgotten with its token', async () => {
    const [ci, cd] = [await add('ci'), await add('cd')];
    const before = readFileSync(file.path, 'utf8');
    book.verdict(ci.text, 1);
    expect(readFileSync(file.path, 'utf8')).toBe(before);
    await revoke('ci');
    book.verdict(cd.text, 2);
    expect([...new LastUses(folder).read().keys()]).toEqual([cd.record.id]);
  });

  it('that cannot be written keeps nobody out', async () => {
    const { text } = await add('ci');
    writeFileSync(join(folder, 'http', 'token-uses.json'), '{"broken');
    expect(book.verdict(text)).toMatchObject({ state: 'known' });
  });
});

describe('the token of a first start', () => {
  it('is made once, reaches everything, and works', async () => {
    expect(book.hasUsable()).toBe(false);
    const first = await makeFirstToken(folder, NEVER);
    expect(first?.name).toBe(FIRST_TOKEN_NAME);
    expect(book.verdict(first?.text ?? '')).toMatchObject({ principal: { servers: undefined } });
    expect(book.hasUsable()).toBe(true);
    expect(await makeFirstToken(folder, NEVER)).toBeUndefined();
  });

  it('is one, whoever starts at the same moment', async () => {
    const made = await Promise.all([1, 2, 3].map(() => makeFirstToken(folder, NEVER)));
    expect(made.filter((one) => one !== undefined)).toHaveLength(1);
  });

  it('is made where every other has expired, under a free name', async () => {
    await add(FIRST_TOKEN_NAME, { expiresAtMs: 1 });
    expect(book.hasUsable()).toBe(false);
    expect((await makeFirstToken(folder, NEVER))?.name).toBe('first-start-2');
  });
});
