// The page below /ui of the built bridge over HTTP: who is let in, by which link, and what a principal sees of others.

import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KeptFiles } from '../../src/run/artifacts/kept-files.js';
import { principalStateDir } from '../../src/settings/files/state-dir.js';
import { ask, type Sent, visit } from '../support/browser-request.js';
import { HttpInstances } from '../support/http-instances.js';
import { PATIENTLY } from '../support/time.js';

let instances: HttpInstances;

beforeEach(() => {
  instances = new HttpInstances();
});
afterEach(() => instances[Symbol.asyncDispose]());

const linkFor = (...words: readonly string[]): string =>
  instances.command('ui', '--no-browser', '--service', ...words);

async function runAs(url: URL, token: string, words: string): Promise<void> {
  const client = new Client({ name: `agent-${words}`, version: '1' });
  await client.connect(
    new StreamableHTTPClientTransport(url, {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );
  await client.callTool({ name: 'execute', arguments: { command: 'echo', args: [words] } });
  await client.close();
}

const tokenOf = (name: string): string =>
  /msb_\w+/.exec(instances.command('token', 'create', name, '--servers', '*'))?.[0] ?? '';

describe('the page of a bridge over HTTP', () => {
  it('shows the operator the runs of everybody, and each principal their own', async () => {
    const [ann, ben] = [tokenOf('ann'), tokenOf('ben')];
    const bridge = instances.start(['serve', '--http', '127.0.0.1:0'], { MCP_BRIDGE_LOG_LEVEL: 'debug' });
    const url = await bridge.url();
    await runAs(url, ann, 'ann');
    await runAs(url, ben, 'ben');
    type Run = { readonly run: string; readonly client: string; readonly principal: string };
    const clientsOf = async (link: string) => {
      const { data } = await visit(link);
      return await vi.waitFor(async () => {
        const runs = (await data('runs')) as Run[];
        expect(runs.length).toBeGreaterThan(0);
        return runs;
      }, PATIENTLY);
    };
    const all = await clientsOf(linkFor());
    expect(all.map(({ client }) => client).sort()).toEqual(['agent-ann 1', 'agent-ben 1']);
    const anns = await clientsOf(linkFor('--principal', 'ann'));
    expect(anns.map(({ client }) => client)).toEqual(['agent-ann 1']);
    const bens = all.find(({ client }) => client === 'agent-ben 1')?.run ?? '';
    const own = await visit(linkFor('--principal', 'ann'));
    expect((await own.see(`run?run=${bens}`)).status).toBe(404);
    expect((await own.see(`run?run=${anns[0]?.run}`)).status).toBe(200);
    // Of the bridge ann is told her servers, and nothing of the process.
    expect(await own.data('bridges')).toEqual([{ servers: [expect.objectContaining({ name: 'box' })] }]);
    expect((await own.data('verdicts')) as unknown[]).toMatchObject([{ is: 'allowed', run: anns[0]?.run }]);
    expect(await own.data('tools')).toMatchObject({ tools: [{ calls: 1 }] });

    // A file in the folder of the run's own principal is found, and one that names the run elsewhere is not.
    const { principal = '' } = all.find(({ run }) => run === bens) ?? {};
    const root = join(instances.dir, 'state');
    for (const [stateDir, text] of [
      [principalStateDir(root, { id: principal }), "ben's words"],
      [root, 'words of another'],
      [principalStateDir(root, { id: String(anns[0]?.principal) }), "ann's words"],
    ] as const) {
      using files = new KeptFiles({ stateDir, keepSeconds: 3_600, quotaBytes: 1_000_000 });
      const left = files.open(bens);
      await left.put('out/a.html', 'text/plain', Buffer.from(text));
      await left.seal();
    }
    const ofBen = await visit(linkFor('--principal', 'ben'));
    for (const { data, see } of [ofBen, await visit(linkFor())]) {
      expect(await data(`files?run=${bens}`)).toEqual([{ name: 'out/a.html', bytes: 11, shows: 'text' }]);
      const { status, body, headers } = await see(`file?run=${bens}&name=out/a.html`);
      expect({ status, body }).toEqual({ status: 200, body: "ben's words" });
      expect(headers['content-disposition']).toMatch(/^attachment; /);
    }
    expect((await own.see(`files?run=${bens}`)).status).toBe(404);
    expect((await own.see(`file?run=${bens}&name=out/a.html`)).status).toBe(404);

    // A token that is taken back closes the page of its principal, and no other.
    const operator = await visit(linkFor());
    instances.command('token', 'revoke', 'ann');
    expect((await own.see('runs')).status).toBe(403);
    expect((await operator.see('runs')).status).toBe(200);
    // The log says that the page was asked for, and none of its secrets.
    const log = bridge.stderr();
    expect(log).toContain('"path":"/ui"');
    for (const { link, address, cookie } of [own, operator])
      for (const secret of [link.split('/').at(-1), address.pathname.split('/')[2], cookie.split('=')[1]])
        expect(log).not.toContain(secret);
  });

  it('is opened by one link alone, once: by no token, no guess, no other name and no other web page', async () => {
    const token = tokenOf('ann');
    const bridge = instances.start(['serve', '--http', '127.0.0.1:0']);
    const { origin, host } = await bridge.url();
    const authorization = `Bearer ${token}`;
    for (const path of ['/ui', '/ui/', '/ui/open/', '/ui/open/guess', `/ui/open/${token}`, '/ui/x/runs'])
      for (const headers of [{}, { authorization }])
        expect((await ask(origin + path, { headers })).status, path).toBe(403);
    const { link, see, setCookie, address, cookie } = await visit(linkFor());
    expect(new URL(link).origin).toBe(origin);
    expect(setCookie).toMatch(/; Path=\/ui\/[\w-]{32}\/; HttpOnly; SameSite=Strict$/);
    expect((await ask(link)).status).toBe(403);
    expect((await ask(address, { headers: { authorization } })).status).toBe(403);
    expect((await see('now', { host: `evil.example:${new URL(link).port}` })).status).toBe(403);
    expect((await see('now', { origin: 'https://evil.example' })).status).toBe(403);
    expect((await see('now', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' })).status).toBe(403);
    const form = { cookie, 'content-type': 'application/x-www-form-urlencoded' };
    const answer = (headers: Sent['headers'] = {}) =>
      ask(new URL('answer', address), { method: 'POST', headers: { ...form, ...headers }, body: 'id=q' });
    expect((await answer()).status).toBe(403);
    expect((await answer({ origin: 'http://localhost:1' })).status).toBe(403);
    // The control: the page's own form reaches the question, which is none.
    expect((await answer({ origin: `http://${host}` })).status).toBe(409);
    const first = await see('');
    expect(first).toMatchObject({ status: 200, headers: { 'x-frame-options': 'DENY' } });
    expect(first.headers['access-control-allow-origin']).toBeUndefined();
    expect(String(first.headers['content-security-policy'])).not.toMatch(/unsafe|https?:/);
  });
});

it('whoever logs out by the form of their own page is let in by no cookie any more, and others stay', async () => {
  const bridge = instances.start(['serve', '--http', '127.0.0.1:0']);
  await bridge.url();
  const [leaver, other] = [await visit(linkFor()), await visit(linkFor())];
  const leave = async ({ see, address, cookie }: typeof leaver, page = see('')) =>
    await ask(new URL('leave', address), {
      method: 'POST',
      headers: { cookie, origin: address.origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: `token=${/ data-leave="([\w-]+)"/.exec((await page).body)?.[1]}`,
    });
  expect((await leave(leaver, other.see(''))).status).toBe(403);
  expect((await leaver.see('runs')).status).toBe(200);
  // The page without JavaScript has the same form.
  const [, token = ''] = / data-leave="([\w-]+)"/.exec((await leaver.see('')).body) ?? [];
  expect((await leaver.see('plain')).body).toContain(
    `<form method="post" action="leave"><input type="hidden" name="token" value="${token}">`,
  );
  const { status, body, headers } = await leave(leaver);
  expect([status, body]).toEqual([200, expect.stringContaining('You are logged out')]);
  for (const cookie of headers['set-cookie'] as string[])
    expect(cookie).toMatch(
      /^mcp-sandbox-bridge-page=; Path=\/ui\/[^;]+; HttpOnly; SameSite=Strict; Max-Age=0$/,
    );
  for (const path of ['', 'runs', 'events', 'plain']) expect((await leaver.see(path)).status, path).toBe(403);
  expect((await ask(leaver.link, { headers: { cookie: leaver.cookie } })).status).toBe(403);
  expect((await other.see('runs')).status).toBe(200);
});

it('ui --service says what is missing where no bridge serves, and where the principal is none', () => {
  expect(() => linkFor()).toThrow();
  expect(() => linkFor('http://127.0.0.1:1', '--principal', 'nobody')).toThrow();
  expect(linkFor('https://bridge.example/mcp')).toMatch(/^https:\/\/bridge\.example\/ui\/open\/[\w-]{32}$/);
});
