import { describe, expect, it } from 'vitest';
import { withoutSecretMembers } from '../../src/base/secrets/by-key.js';
import { Redactor } from '../../src/base/secrets/redact.js';

const SECRET = 'sk-"Zürich"/4+7\\n?1';

function redactor(): Redactor {
  const made = new Redactor();
  made.addAll({ TOKEN: SECRET, LONGER: `${SECRET}${SECRET}`, MODE: 'on', EMPTY: '', GONE: undefined });
  return made;
}

it('hides a value that it has shown before it learned it', () => {
  const made = redactor();
  expect(made.redact('the late-value-1')).toBe('the late-value-1');
  made.addAll({ LATE: 'late-value-1' });
  expect(made.redact('the late-value-1')).toBe('the [LATE]');
});

describe('by value', () => {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  it.each([
    ['itself', SECRET],
    ['twice', `${SECRET} ${SECRET}`],
    ['inside a longer one', `${SECRET}${SECRET}`],
    ['JSON', JSON.stringify({ key: SECRET })],
    ['ASCII JSON', JSON.stringify(SECRET).replace('ü', '\\u00fc')],
    ['a URL', `https://x/?q=${encodeURIComponent(SECRET)}`],
    ['base64', base64(SECRET)],
    ['base64 after a user', base64(`me:${SECRET}`)],
    ['base64 after another user', base64(`you:${SECRET}:x`)],
    ['base64 in a URL', Buffer.from(`user:${SECRET}`).toString('base64url')],
  ])('hides the secret: %s', (_form, text) => {
    const shown = redactor().redact(`before ${text} after`);
    expect(shown).toMatch(/\[(TOKEN|LONGER)\]/);
    expect(shown).toMatch(/^before .* after$/s);
    for (const form of [SECRET, encodeURIComponent(SECRET), JSON.stringify(SECRET).slice(1, -1)])
      expect(shown).not.toContain(form);
    for (let at = 0; at + 12 < text.length; at++)
      if (/^[A-Za-z0-9+/_-]{12}$/.test(text.slice(at, at + 12)))
        expect(shown).not.toContain(text.slice(at, at + 12));
  });

  it('of a value that is replaced now and then, the last few', () => {
    const made = new Redactor();
    for (let turn = 1; turn <= 500; turn++) made.addLatest('token', `access-token-${turn}-end`);
    expect(made.redact('access-token-500-end access-token-497-end')).toBe('[token] [token]');
    expect(made.redact('x access-token-496-end')).toBe('x access-token-496-end');
  });

  it('leaves short values and everything else alone', () => {
    expect(redactor().redact('the mode is on, and sk-1 is none')).toBe('the mode is on, and sk-1 is none');
    expect(new Redactor().redact('nothing is known')).toBe('nothing is known');
  });

  it('leaves JSON well-formed', () => {
    const text = JSON.stringify({ content: [{ type: 'text', text: `bad key ${SECRET}` }], isError: true });
    expect(JSON.parse(redactor().redactValues(text))).toEqual({
      content: [{ type: 'text', text: 'bad key [TOKEN]' }],
      isError: true,
    });
  });

  it('of an environment takes what is secret by its name, or named', () => {
    const made = new Redactor();
    made.addSecrets(
      {
        GITHUB_TOKEN: 'ghp-12345678',
        aws_secret_access_key: 'aws-12345678',
        HOME: '/home/somebody',
        DISPLAY_AS: 'some-thing-odd',
      },
      ['DISPLAY_AS'],
    );
    expect(made.redact('ghp-12345678 aws-12345678 /home/somebody some-thing-odd')).toBe(
      '[GITHUB_TOKEN] [aws_secret_access_key] /home/somebody [DISPLAY_AS]',
    );
  });
});

describe('members of JSON whose names say that they are secret', () => {
  it.each([
    ['{"password":"correct horse","user":"a"}', '{"password":"…","user":"a"}'],
    ['{"a":{"API_Key" : "ab\\"c","n":1}}', '{"a":{"API_Key" : "…","n":1}}'],
    ['{"Authorization":"Bearer x","password":""}', '{"Authorization":"…","password":"…"}'],
    ['{"author":"token","q":"the password: x"}', '{"author":"token","q":"the password: x"}'],
    ['{"max_tokens":100}', '{"max_tokens":100}'],
  ])('%s', (json, shown) => {
    expect(withoutSecretMembers(json)).toBe(shown);
  });
});

describe('by key', () => {
  it.each([
    ['token=abc12345678', 'token=…'],
    ['{"apiKey": "abcdefgh1"}', '{"apiKey": "…"}'],
    ['Authorization: Bearer eyJhbGciOi1', 'Authorization: Bearer …'],
    ['GITHUB_TOKEN=ghp_0000000001 is wrong', 'GITHUB_TOKEN=… is wrong'],
    ['https://me:hunter2@proxy:3128/', 'https://me:…@proxy:3128/'],
    ['token: expired or revoked', 'token: expired or revoked'],
    ['password: must have 12 characters', 'password: must have 12 characters'],
    ['see https://example.org:8080/a@b', 'see https://example.org:8080/a@b'],
  ])('%s', (text, shown) => {
    expect(new Redactor().redact(text)).toBe(shown);
  });
});
