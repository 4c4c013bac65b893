import { describe, expect, it } from 'vitest';
import { problemWith } from '../../src/code-exec/http-endpoint.js';

const TOKEN = 'a-token-of-some-length';
const open = {
  listen: { at: 'tcp', host: '127.0.0.1', port: 8000 },
  token: undefined,
  hosts: [],
  origins: [],
} as const;
const status = (headers: object, settings: object = {}) =>
  problemWith({ host: 'localhost:8000', ...headers }, { ...open, ...settings })?.status;

describe('objectionTo', () => {
  it('takes the names of loopback and its own address', () => {
    for (const host of ['localhost', 'LOCALHOST:8000', '127.0.0.1:8000', '127.1.2.3', '[::1]:8000'])
      expect([host, status({ host })]).toEqual([host, undefined]);
    for (const host of [
      'evil.example',
      'evil.example:8000',
      'localhost.evil.example',
      '127.0.0.1.nip.io',
      '',
    ])
      expect([host, status({ host })]).toEqual([host, 403]);
    expect(status({ host: 'code-sandbox:8000' }, { hosts: ['code-sandbox'] })).toBeUndefined();
    expect(
      status({ host: 'box.example' }, { listen: { ...open.listen, host: 'Box.example' } }),
    ).toBeUndefined();
    expect(status({ host: 'whatever' }, { listen: { at: 'socket', path: '/s' } })).toBeUndefined();
  });

  it('takes no web page but those that are named', () => {
    expect(status({ origin: 'http://localhost:3000' })).toBe(403);
    expect(status({ origin: 'null' })).toBe(403);
    expect(status({ origin: 'https://a.example' }, { origins: ['https://a.example'] })).toBeUndefined();
  });

  it('wants the token exactly, where there is one', () => {
    const settings = { token: TOKEN };
    for (const scheme of ['Bearer', 'bearer', 'BEARER '])
      expect(status({ authorization: `${scheme} ${TOKEN}` }, settings)).toBeUndefined();
    for (const authorization of [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      `bearer ${TOKEN}x`,
      `Basic ${TOKEN}`,
      TOKEN,
    ])
      expect(status({ authorization }, settings)).toBe(401);
  });
});
