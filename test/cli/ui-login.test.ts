// The page below /ui of the built bridge, opened by a login at a real authorization server instead of a link.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ask } from '../support/browser-request.js';
import { HttpInstances } from '../support/http-instances.js';
import { ADMINS, type AuthServer, Browser, PAGE_CLIENT, startAuthServer } from '../support/oauth.js';

let instances: HttpInstances;
let issuer: AuthServer;

beforeEach(async () => {
  instances = new HttpInstances();
  issuer = await startAuthServer();
});
afterEach(async () => {
  await instances[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
});

const environment = (): Record<string, string> => ({
  MCP_BRIDGE_HTTP_OAUTH_ISSUER: issuer.issuer,
  MCP_BRIDGE_HTTP_OAUTH_RESOURCE: 'http://127.0.0.1:1/mcp',
  MCP_BRIDGE_HTTP_UI_CLIENT: PAGE_CLIENT,
  MCP_BRIDGE_HTTP_UI_ADMIN: `groups=${ADMINS}`,
  MCP_BRIDGE_HTTP_UI_SCOPES: 'groups',
});

/** A run in the audit for each principal. */
function keepRunsOf(...principals: readonly string[]): void {
  const folder = join(instances.dir, 'state', 'audit');
  mkdirSync(folder, { recursive: true });
  const lines = principals.map((principal) => ({
    ...{
      kind: 'run',
      at: new Date().toISOString(),
      run: `run of ${principal}`,
      client: 'agent',
      servers: [],
      principal,
    },
    ...{
      code: { bytes: 1, sha256: '0' },
      timeoutSeconds: 30,
      status: 'success',
      durationMs: 1,
      calls: 0,
      notListed: 0,
    },
  }));
  writeFileSync(join(folder, 'aaaaaaaa.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

/** Logs in as somebody, and says which runs their page has. */
async function runsOf(browser: Browser, origin: string): Promise<readonly string[]> {
  const { url, status, text } = await browser.visit(`${origin}/ui`);
  expect([new URL(url).pathname, status], text).toEqual(['/ui/callback', 200]);
  const place = /url=(\/ui\/[\w-]{32}\/)"/.exec(text)?.[1] ?? '';
  const runs = await browser.visit(`${origin}${place}runs`);
  return (JSON.parse(runs.text) as { readonly run: string }[]).map(({ run }) => run);
}

it('whoever logs in sees what is theirs, and who has the claim of administrators all', async () => {
  const [ann, ben] = ['ann', 'ben'].map((name) => `oauth:${issuer.issuer} ${name}`) as [string, string];
  keepRunsOf(ann, ben);
  const bridge = instances.start(['serve', '--http', '127.0.0.1:0'], environment());
  const { origin } = await bridge.url();
  expect(await runsOf(new Browser({ name: 'ann' }), origin)).toEqual([`run of ${ann}`]);
  expect((await runsOf(new Browser({ name: 'boss' }), origin)).length).toBe(2);
  expect(await runsOf(new Browser({ name: 'nobody' }), origin)).toEqual([]);
  const refused = await new Browser({ denies: true }).visit(`${origin}/ui`);
  expect([refused.status, refused.text]).toEqual([403, 'The issuer refuses the login: access_denied.\n']);

  // An answer that was meant for another browser opens nothing, and nobody gets in twice by one.
  const victim = new Browser({ name: 'ann' });
  const { url: answer } = await victim.visit(`${origin}/ui/login`, /\/ui\/callback\?/);
  expect((await ask(answer)).status).toBe(403);
  expect((await new Browser().visit(answer)).text).toContain('has not begun this login');
  expect((await victim.visit(answer)).status).toBe(200);
  expect((await victim.visit(answer)).status).toBe(403);

  // Of the cookies neither is sent by another page, nor read by a script.
  const begun = await ask(`${origin}/ui/login`);
  expect(begun.status).toBe(302);
  expect(String(begun.headers['set-cookie'])).toMatch(/; Path=\/ui\/callback; .*HttpOnly; SameSite=Lax$/);
  const log = bridge.stderr();
  expect(log).not.toContain(new URL(answer).searchParams.get('code'));
  // What opens the page at its issuer is not what opens it here: a token of /mcp still opens nothing.
  expect((await ask(`${origin}/ui/x/runs`, { headers: { authorization: 'Bearer x' } })).status).toBe(403);
});

it('without a client nobody is sent to log in', async () => {
  const { MCP_BRIDGE_HTTP_OAUTH_ISSUER: issuers = '', MCP_BRIDGE_HTTP_OAUTH_RESOURCE: resource = '' } =
    environment();
  const bridge = instances.start(['serve', '--http', '127.0.0.1:0'], {
    MCP_BRIDGE_HTTP_OAUTH_ISSUER: issuers,
    MCP_BRIDGE_HTTP_OAUTH_RESOURCE: resource,
  });
  const { origin } = await bridge.url();
  for (const path of ['/ui', '/ui/', '/ui/login', '/ui/callback?code=c&state=s'])
    expect((await ask(origin + path)).status, path).toBe(403);
});
