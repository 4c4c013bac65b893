// Who may read the figures over HTTP.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MetricsToken } from '../../../src/service/access/metrics-token.js';
import { newTokenText } from '../../../src/service/access/token-file.js';
import { hostFacts } from '../../../src/settings/files/host-facts.js';
import { stubFront } from '../../support/http-front.js';

const TOKEN = '0123456789abcdef0123456789abcdef';
let dir: string;
let file: string;
const opened: AsyncDisposable[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'metrics-'));
  file = join(dir, 'token');
  writeFileSync(file, `${TOKEN}\n`, { mode: 0o600 });
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

const errorOf = (path: string): string => {
  try {
    new MetricsToken(path, hostFacts());
    return '';
  } catch (thrown) {
    return String(thrown);
  }
};

async function page() {
  const token = new MetricsToken(file, hostFacts());
  const figures = async (facts: Parameters<MetricsToken['refusalOf']>[0]) =>
    token.refusalOf(facts) ?? { status: 200, headers: { 'content-type': 'text/plain' }, text: 'a_total 1\n' };
  const { url } = await stubFront(opened, { parts: { figures } });
  return (headers: Record<string, string> = {}, method = 'GET') =>
    fetch(new URL('/metrics', url), { method, headers });
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('the page of figures', () => {
  it('opens to the token of its file', async () => {
    const read = await page();
    const answer = await read(bearer(TOKEN));
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      'text/plain',
      'a_total 1\n',
    ]);
    expect((await read(bearer(TOKEN), 'HEAD')).status).toBe(200);
    expect((await read(bearer(TOKEN), 'POST')).status).toBe(405);
  });

  it.each([
    ['nobody who shows nothing', {}],
    ['no token that opens /mcp', bearer('ann')],
    ['no other token', bearer(TOKEN.replace('0', '1'))],
    ['no other scheme', { authorization: `Basic ${TOKEN}` }],
  ])('opens to %s', async (_who, headers) => {
    const read = await page();
    expect((await read(headers)).status).toBe(401);
  });

  it('goes by the file as it is now', async () => {
    const read = await page();
    writeFileSync(file, 'another-token-of-the-operator');
    expect((await read(bearer(TOKEN))).status).toBe(401);
    expect((await read(bearer('another-token-of-the-operator'))).status).toBe(200);
    rmSync(file);
    expect((await read(bearer(TOKEN))).status).toBe(503);
  });

  it('is nowhere where none is asked for', async () => {
    const { url } = await stubFront(opened);
    expect((await fetch(new URL('/metrics', url), { headers: bearer(TOKEN) })).status).toBe(404);
  });
});

describe('a file that cannot be used keeps the bridge from starting', () => {
  it('as it is absent', () => {
    rmSync(file);
    expect(errorOf(file)).toMatch(/MCP_BRIDGE_HTTP_METRICS: .* does not exist/);
  });

  it.runIf(process.platform !== 'win32')('as others can read it', () => {
    chmodSync(file, 0o640);
    expect(errorOf(file)).toContain('can be read by other users');
  });

  it.each([
    ['as it has a token that agents have', newTokenText(), 'a token of /mcp'],
    ['as its token could be guessed', 'secret', 'no token'],
    ['as it has several words', `${TOKEN} ${TOKEN}`, 'no token'],
  ])('%s', (_why, text, words) => {
    writeFileSync(file, text);
    expect(errorOf(file)).toContain(words);
    expect(errorOf(file)).not.toContain(text);
  });
});
