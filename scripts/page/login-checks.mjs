// Checks of the login to the page in a real browser, at a real OpenID provider (oidc-provider): from /ui over the provider's own forms
// to the page, and how it ends. A check throws where its title does not hold.

import { ok } from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SCOPE, serveAuthorization } from '../agents/authorization.mjs';
import { seriousIn, shows } from './watch-checks.mjs';

/** @typedef {Awaited<ReturnType<typeof import('./watch-stage.mjs').watchStage>>} Stage */
/** @typedef {import('playwright-core').Page} Page */

const CLIENT = 'page';
const AGENT = { id: 'agent', redirect: 'http://127.0.0.1/agent' };
const RESOURCE = 'http://127.0.0.1:1/mcp';
const ADMINS = 'bridge-admins';
const ADMIN = 'boss';
/** Whoever logs in with a run of their own; the others have none. */
const PEOPLE = ['ann', 'ben'];
const MINUTE_MS = 60_000;
/** Shorter than what ends a page that nobody uses, and so often within the 8 hours of a login. */
const STEP_MINUTES = 50;
const STEPS_OF_A_LOGIN = 9;

/**
 * A provider on loopback that lets in whoever names themselves, and the environment of a bridge that sends people there; it is as much
 * later for that bridge as `setLater` says, in minutes.
 */
export async function openProvider() {
  const common = {
    ...{ application_type: 'native', token_endpoint_auth_method: 'none' },
    ...{ grant_types: ['authorization_code'], response_types: ['code'] },
  };
  const { issuer, close } = await serveAuthorization({
    clients: [
      { ...common, client_id: CLIENT, redirect_uris: ['http://127.0.0.1/ui/callback'] },
      { ...common, client_id: AGENT.id, redirect_uris: [AGENT.redirect] },
    ],
    scopes: ['openid', 'groups', SCOPE],
    claims: { openid: ['sub'], groups: ['groups'] },
    conformIdTokenClaims: false,
    findAccount: (/** @type {unknown} */ _context, /** @type {string} */ id) => ({
      accountId: id,
      claims: () => ({ sub: id, groups: id === ADMIN ? [ADMINS] : [] }),
    }),
  });
  const folder = mkdtempSync(join(tmpdir(), 'later-'));
  const file = join(folder, 'ms');
  const setLater = (/** @type {number} */ minutes) => writeFileSync(file, String(minutes * MINUTE_MS));
  setLater(0);
  return {
    issuer,
    setLater,
    close() {
      close();
      rmSync(folder, { recursive: true });
    },
    env: {
      ...{ LATER_FILE: file, NODE_OPTIONS: `--import=${new URL('later.mjs', import.meta.url).href}` },
      ...{ MCP_BRIDGE_HTTP_OAUTH_ISSUER: issuer, MCP_BRIDGE_HTTP_OAUTH_RESOURCE: RESOURCE },
      ...{ MCP_BRIDGE_HTTP_UI_CLIENT: CLIENT, MCP_BRIDGE_HTTP_UI_SCOPES: 'groups' },
      MCP_BRIDGE_HTTP_UI_ADMIN: `groups=${ADMINS}`,
    },
  };
}

/**
 * A browser of somebody's own at `address`; `told` are complaints about the bridge's own pages.
 * @param {Stage} stage
 * @param {string} address
 */
async function browse(stage, address, extraHTTPHeaders = {}) {
  stage.expectComplaint(Number.POSITIVE_INFINITY);
  const context = await stage.newContext({ extraHTTPHeaders });
  // The provider's forms ask for letters from elsewhere.
  await context.route(/^https:/, (route) => route.abort());
  const page = await context.newPage();
  /** @type {string[]} */
  const told = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && page.url().startsWith(stage.origin)) told.push(message.text());
  });
  await page.goto(address);
  return { page, told };
}

/** @param {Stage} stage */
async function atProvider(stage, issuer = '') {
  const browser = await browse(stage, `${stage.origin}/ui`);
  ok(browser.page.url().startsWith(issuer), `/ui leads to ${browser.page.url()}`);
  return browser;
}

/**
 * Fills in the provider's forms, which send the browser on.
 * @param {Page} page
 * @param {string} name
 */
async function fillIn(page, name) {
  await page.fill('input[name=login]', name);
  await page.fill('input[name=password]', 'any');
  await page.click('button[type=submit]');
  await page.waitForSelector('form input[name=prompt][value=consent]', { state: 'attached' });
  await page.click('button[type=submit]');
}

/**
 * Logs in as `name`, from /ui to the page.
 * @param {Stage} stage
 * @param {string} issuer
 * @param {string} name
 */
async function logIn(stage, issuer, name) {
  const { page, told } = await atProvider(stage, issuer);
  await fillIn(page, name);
  await page.waitForSelector('nav');
  const address = page.url().replace(/#.*/, '');
  ok(/\/ui\/[\w-]{32}\/$/.test(address), `the login ends at ${page.url()}`);
  return { page, told, address };
}

/**
 * The answer that the provider gives the browser of `name` for the bridge, which does not come there.
 * @param {Stage} stage
 * @param {string} issuer
 * @param {string} name
 */
async function withheldAnswer(stage, issuer, name) {
  const { page } = await atProvider(stage, issuer);
  // What a redirect leads to is stopped by the browser's own protocol alone.
  const inspector = await page.context().newCDPSession(page);
  await inspector.send('Fetch.enable', { patterns: [{ urlPattern: '*/ui/callback?*' }] });
  const stopped = new Promise((resolve) =>
    inspector.once('Fetch.requestPaused', ({ requestId, request }) => {
      void inspector.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' });
      resolve(request.url);
    }),
  );
  await fillIn(page, name);
  const url = /** @type {string} */ (await stopped);
  await inspector.detach();
  return { page, url };
}

/**
 * An access token for /mcp that an agent of `name` has, as OAuth gives it.
 * @param {Stage} stage
 * @param {string} issuer
 * @param {string} name
 */
async function agentToken(stage, issuer, name) {
  const verifier = randomBytes(32).toString('base64url');
  const asked = new URL('/auth', issuer);
  asked.search = new URLSearchParams({
    ...{ response_type: 'code', client_id: AGENT.id, redirect_uri: AGENT.redirect, resource: RESOURCE },
    ...{ scope: SCOPE, code_challenge_method: 'S256' },
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  }).toString();
  const { page } = await browse(stage, asked.href);
  const answered = page.waitForRequest((request) => request.url().startsWith(AGENT.redirect));
  await fillIn(page, name);
  const code = new URL((await answered).url()).searchParams.get('code') ?? '';
  const said = await fetch(new URL('/token', issuer), {
    method: 'POST',
    body: new URLSearchParams({
      ...{ grant_type: 'authorization_code', code, client_id: AGENT.id },
      ...{ redirect_uri: AGENT.redirect, resource: RESOURCE, code_verifier: verifier },
    }),
  });
  return /** @type {string} */ ((await said.json()).access_token);
}

/** What the page is answered with at one of its own paths. */
const statusAt = (/** @type {Page} */ page, path = 'runs') =>
  page.evaluate(async (at) => (await fetch(at)).status, path);

/** @typedef {Pick<Awaited<ReturnType<typeof openProvider>>, 'issuer' | 'setLater'>} Provider */
/** @type {readonly { what: string, check: (stage: Stage, provider: Provider) => Promise<void> }[]} */
export const LOGIN_CHECKS = [
  {
    what: 'a person goes from /ui over the forms of a real provider to what is theirs, and an administrator to everything',
    async check(stage, { issuer }) {
      for (const name of PEOPLE)
        await stage.run(`run-of-${name}`, {
          principal: `oauth:${issuer} ${name}`,
          client: `agent of ${name}`,
        });
      for (const name of [...PEOPLE, ADMIN, 'nobody']) {
        const { page, told, address } = await logIn(stage, issuer, name);
        await page.goto(`${address}#/runs`);
        const own = name === ADMIN ? PEOPLE : PEOPLE.filter((one) => one === name);
        for (const one of own) await shows(page, `agent of ${one}`);
        if (own.length === 0) await shows(page, 'Nothing has run yet');
        const runs = await page.evaluate(async () => await (await fetch('runs')).json());
        const seen = runs.map((/** @type {{ run: string }} */ { run }) => run).sort();
        ok(seen.join() === own.map((one) => `run-of-${one}`).join(), `${name} sees ${seen}`);
        for (const one of PEOPLE) {
          const status = await statusAt(page, `run?run=run-of-${one}`);
          ok(status === (own.includes(one) ? 200 : 404), `${name} is given the run of ${one} with ${status}`);
        }
        // Nothing of the way is left in the address, and no script of the page reads a cookie.
        ok(!/code=|state=/.test(page.url()), page.url());
        ok((await page.evaluate(() => document.cookie)) === '', 'a script reads a cookie');
        const refusals = PEOPLE.length - own.length;
        ok(told.length === refusals, told.join());
        // Another browser with the same address is sent to log in itself.
        const other = await (await stage.newContext()).newPage();
        ok((await other.goto(address))?.status() === 403, 'the address opens the page for another browser');
      }
    },
  },
  {
    what: 'a login that is cancelled at the provider opens nothing, and says so',
    async check(stage, { issuer }) {
      const { page } = await atProvider(stage, issuer);
      await page.click('a[href$="/abort"]');
      await shows(page, 'The issuer refuses the login: access_denied.');
      ok(new URL(page.url()).pathname === '/ui/callback', page.url());
    },
  },
  {
    what: 'an answer of the provider opens the page in the browser that has asked alone, with its own state, and once',
    async check(stage, { issuer }) {
      const refused = 'has not begun this login';
      const { url } = await withheldAnswer(stage, issuer, 'ann');
      const { page: bens } = await atProvider(stage, issuer);
      await bens.goto(url);
      await shows(bens, refused);
      const { page: forged, url: own } = await withheldAnswer(stage, issuer, 'ann');
      const wrong = new URL(own);
      wrong.searchParams.set('state', String(new URL(url).searchParams.get('state')));
      await forged.goto(wrong.href);
      await shows(forged, refused);
      // The control: unchanged, and in its own browser, it opens the page, and then no more.
      const { page, url: right } = await withheldAnswer(stage, issuer, 'ann');
      await page.goto(right);
      await page.waitForSelector('nav');
      await page.goto(right);
      await shows(page, refused);
    },
  },
  {
    what: "an agent's access token of the same person is taken at /mcp, and opens neither the page nor its questions",
    async check(stage, { issuer }) {
      const token = await agentToken(stage, issuer, 'ann');
      const headers = { authorization: `Bearer ${token}` };
      const client = new Client({ name: 'agent', version: '1' });
      await client.connect(
        new StreamableHTTPClientTransport(new URL('/mcp', stage.origin), { requestInit: { headers } }),
      );
      const { tools } = await client.listTools();
      await client.close();
      ok(tools.length > 0, 'the token is not taken at /mcp');
      const question = stage.ask({ principal: `oauth:${issuer} ann` });
      const anns = await logIn(stage, issuer, 'ann');
      await anns.page.goto(`${anns.address}#/questions`);
      await anns.page.waitForSelector(`#${question.id}`);
      const { page: sent } = await browse(stage, `${stage.origin}/ui`, headers);
      ok(sent.url().startsWith(issuer), `with the token, /ui leads to ${sent.url()}`);
      for (const path of [anns.address, `${anns.address}questions`, `${stage.origin}/ui/open/${token}`]) {
        const status = (await sent.goto(path))?.status();
        ok(status === 403, `with the token, ${path.slice(0, 60)} is answered with ${status}`);
      }
      const callback = `${stage.origin}/ui/callback?code=${token}`;
      ok((await sent.goto(callback))?.status() === 403, 'the token ends a login');
      await anns.page.click(`#${question.id} button.once`);
      ok((await question.answered).decision === 'once', 'the person is not heard');
    },
  },
  {
    what: 'whoever logs out sees nothing any more in any window of that browser, and has to say at the provider that they come back',
    async check(stage, { issuer }) {
      const { page, address } = await logIn(stage, issuer, 'ann');
      const ben = await logIn(stage, issuer, 'ben');
      const other = await page.context().newPage();
      await other.goto(address);
      await other.waitForSelector('nav');
      ok((await seriousIn(page)).length === 0, (await seriousIn(page)).join());
      await page.focus('header button');
      await page.keyboard.press('Enter');
      await shows(page, 'You are logged out here.');
      await other.waitForSelector('.lost:not([hidden])');
      ok((await statusAt(other)) === 403, 'another window is still let in');
      ok(
        (await page.context().cookies()).every(({ name }) => name !== 'mcp-sandbox-bridge-page'),
        'a cookie is left',
      );
      ok((await page.goto(address))?.status() === 403, 'the address opens the page');
      ok((await statusAt(ben.page)) === 200, 'somebody else was logged out, too');
      await other.click('.lost a');
      await other.click('button[type=submit]');
      await other.waitForSelector('nav');
      ok((await statusAt(other)) === 200, 'the way back leads to nothing');
    },
  },
  {
    what: 'a login ends after 8 hours however busy its page is, and an hour after the last request otherwise',
    async check(stage, { issuer, setLater }) {
      const busy = await logIn(stage, issuer, 'ann');
      const idle = await logIn(stage, issuer, 'ben');
      await idle.page.goto('about:blank');
      for (let step = 1; step <= STEPS_OF_A_LOGIN; step += 1) {
        setLater(step * STEP_MINUTES);
        const status = await statusAt(busy.page);
        ok(status === 200, `after ${step * STEP_MINUTES} minutes the page is answered with ${status}`);
      }
      ok((await idle.page.goto(idle.address))?.status() === 403, 'a page that nobody used is there still');
      setLater((STEPS_OF_A_LOGIN + 1) * STEP_MINUTES);
      ok((await statusAt(busy.page)) === 403, 'the page is there after 8 hours');
      await busy.page.waitForSelector('.lost:not([hidden])');
      // The provider still knows the browser, and only asks whether the bridge may.
      await busy.page.goto(`${stage.origin}/ui`);
      await busy.page.click('button[type=submit]');
      await busy.page.waitForSelector('nav');
      ok(busy.page.url() !== `${busy.address}#/`, 'the address is that of the login that has ended');
      ok((await statusAt(busy.page)) === 200, 'the new login shows nothing');
    },
  },
];
