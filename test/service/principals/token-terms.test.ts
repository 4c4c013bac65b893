import { describe, expect, it } from 'vitest';
import { BridgeError } from '../../../src/base/errors.js';
import type { TokenRecord } from '../../../src/service/access/token-file.js';
import {
  checkedTokenName,
  expiryFrom,
  refuseTaken,
  scopesFrom,
  serversFrom,
} from '../../../src/service/access/token-terms.js';

const NOW_MS = Date.UTC(2026, 0, 31, 12);
const DAY_MS = 86_400_000;

function errorOf(act: () => unknown): BridgeError {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof BridgeError) return thrown;
  }
  throw new Error('it was accepted');
}

describe('the end of a token', () => {
  it.each([
    ['90m', NOW_MS + 90 * 60_000],
    ['12h', NOW_MS + DAY_MS / 2],
    ['30d', NOW_MS + 30 * DAY_MS],
    ['8w', NOW_MS + 56 * DAY_MS],
    ['1y', NOW_MS + 365 * DAY_MS],
    ['2026-02-28', Date.UTC(2026, 2, 1)],
    ['2026-01-31', Date.UTC(2026, 1, 1)],
    ['2026-02-28T10:00Z', Date.UTC(2026, 1, 28, 10)],
    ['2026-02-28T10:00:30+02:00', Date.UTC(2026, 1, 28, 8, 0, 30)],
    ['never', undefined],
  ])('%s', (text, atMs) => {
    expect(expiryFrom(text, NOW_MS)).toBe(atMs);
  });

  it.each([
    '',
    'soon',
    '30',
    '-3d',
    '1.5d',
    '30 d',
    '0d',
    '2026-02-30',
    '2026-13-01',
    '31.12.2026',
    '2026-01-30',
    '2026-02-28T10:00',
    '2020-01-01T00:00Z',
    '200y',
    '9999999d',
  ])('%j is refused, with what is allowed', (text) => {
    const { code, message, remedy } = errorOf(() => expiryFrom(text, NOW_MS));
    expect(code).toBe('E_ARGUMENTS');
    expect(message).toContain(`--expires is '${text}'`);
    expect(message).toContain('30d');
    expect(remedy).toBeTruthy();
  });
});

describe('the servers of a token', () => {
  it.each([
    ['', []],
    [' , ', []],
    ['github', ['github']],
    [' github, files ,github', ['github', 'files']],
    ['*', '*'],
  ])('%j', (text, servers) => {
    expect(serversFrom(text)).toEqual(servers);
  });

  it.each(['git*', '*,github', 'a\u200bb'])('%j is refused', (text) => {
    expect(errorOf(() => serversFrom(text)).message).toContain("or '*' alone");
  });
});

it('scopes are separated by spaces or commas', () => {
  expect(scopesFrom('mail:send  files:read,mail:send')).toEqual(['mail:send', 'files:read']);
  expect(errorOf(() => scopesFrom('a"b')).message).toContain("'a\"b'");
});

describe('the name of a token', () => {
  const record = (name: string): TokenRecord => ({
    id: '0'.repeat(16),
    name,
    hash: '0'.repeat(64),
    servers: [],
    scopes: [],
    createdAtMs: 0,
  });

  it.each(['ci', 'Ann Müller', 'build.linux-1', 'x'.repeat(128)])('may be %s', (name) => {
    expect(checkedTokenName(name)).toBe(name);
  });

  it.each(['', '  ', 'x'.repeat(129), 'two\nlines', 'tab\tbed', 'a\u200bb', '\u001b[31mred'])(
    'may not be %j',
    (name) => {
      expect(errorOf(() => checkedTokenName(name)).message).toContain('1 to 128 characters');
    },
  );

  it('is not that of another, nor one that looks like it', () => {
    expect(() => refuseTaken('cd', [record('ci')])).not.toThrow();
    expect(errorOf(() => refuseTaken('ci', [record('ci')])).remedy).toContain('token revoke ci');
    expect(errorOf(() => refuseTaken('CI', [record('ci')])).message).toContain("looks like 'CI'");
  });
});
