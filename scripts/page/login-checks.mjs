// Checks of the login to the page in a real browser, at a real OpenID provider (oidc-provider): from /ui over the provider's own forms
// to the page. A check throws where its title does not hold.

import { ok } from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { shows } from './watch-checks.mjs';

/** @typedef {Awaited<ReturnType<typeof import('./watch-stage.mjs').watchStage>>} Stage */

const CLIENT = 'page';
const ADMINS = 'bridge-admins';
const ADMIN = 'boss';
/** Whoever logs in with a run of their own; the others have none. */
const PEOPLE = ['ann', 'ben'];

// The provider's look at addresses is written for a newer Node.
if (!('parse' in URL))
  Object.defineProperty(URL, 'parse', {
    value: (/** @type {string} */ url, /** @type {string} */ base) =>
      URL.canParse(url, base) ? new URL(url, base) : null,
  });

/** A provider on loopback that lets in whoever names themselves, and the environment of a bridge that sends people there. */
export async function openProvider() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
  const configuration = {
    clients: [
      {
        ...{ client_id: CLIENT, application_type: 'native', token_endpoint_auth_method: 'none' },
        ...{ grant_types: ['authorization_code'], response_types: ['code'] },
        redirect_uris: ['http://127.0.0.1/ui/callback'],
      },
    ],
    scopes: ['openid', 'groups'],
    features: { devInteractions: { enabled: true } },
    pkce: { required: () => true },
    cookies: { keys: ['check'] },
    ttl: { Interaction: 600, Session: 600, Grant: 600, IdToken: 600, AccessToken: 600 },
    findAccount: (/** @type {unknown} */ _context, /** @type {string} */ id) => ({
      accountId: id,
      claims: () => ({ sub: id, groups: id === ADMIN ? [ADMINS] : [] }),
    }),
    claims: { openid: ['sub'], groups: ['groups'] },
    conformIdTokenClaims: false,
  };
  // It says that this is no set-up for production, which it is not.
  const { warn, info } = console;
  console.warn = console.info = () => {};
  const { default: Provider } = await import('oidc-provider');
  const provider = new Provider(issuer, /** @type {any} */ (configuration));
  Object.assign(console, { warn, info });
  server.on('request', provider.callback());
  return {
    issuer,
    env: {
      ...{ MCP_BRIDGE_HTTP_OAUTH_ISSUER: issuer, MCP_BRIDGE_HTTP_OAUTH_RESOURCE: 'http://127.0.0.1:1/mcp' },
      ...{ MCP_BRIDGE_HTTP_UI_CLIENT: CLIENT, MCP_BRIDGE_HTTP_UI_SCOPES: 'groups' },
      MCP_BRIDGE_HTTP_UI_ADMIN: `groups=${ADMINS}`,
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/**
 * A browser of somebody's at the provider's first form; `told` are complaints about the bridge's own pages.
 * @param {Stage} stage
 * @param {string} issuer
 */
async function atProvider(stage, issuer) {
  stage.expectComplaint(Number.POSITIVE_INFINITY);
  const context = await stage.newContext();
  const page = await context.newPage();
  /** @type {string[]} */
  const told = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && page.url().startsWith(stage.origin)) told.push(message.text());
  });
  await page.goto(`${stage.origin}/ui`);
  ok(page.url().startsWith(issuer), `/ui leads to ${page.url()}`);
  return { page, told };
}

/**
 * Fills in the provider's forms as `name`, and ends on the page.
 * @param {Stage} stage
 * @param {string} issuer
 * @param {string} name
 */
async function logIn(stage, issuer, name) {
  const { page, told } = await atProvider(stage, issuer);
  await page.fill('input[name=login]', name);
  await page.fill('input[name=password]', 'any');
  await page.click('button[type=submit]');
  await page.waitForSelector('form input[name=prompt][value=consent]', { state: 'attached' });
  await page.click('button[type=submit]');
  await page.waitForSelector('nav');
  ok(/\/ui\/[\w-]{32}\/$/.test(page.url().replace(/#.*/, '')), `the login ends at ${page.url()}`);
  return { page, told };
}

/** @type {readonly { what: string, check: (stage: Stage, issuer: string) => Promise<void> }[]} */
export const LOGIN_CHECKS = [
  {
    what: 'a person goes from /ui over the forms of a real provider to what is theirs, and an administrator to everything',
    async check(stage, issuer) {
      for (const name of PEOPLE) await stage.run(`run-of-${name}`, { principal: `oauth:${issuer} ${name}` });
      for (const name of [...PEOPLE, ADMIN, 'nobody']) {
        const { page, told } = await logIn(stage, issuer, name);
        const address = page.url().replace(/#.*/, '');
        await page.goto(`${address}#/runs`);
        const own = name === ADMIN ? PEOPLE : PEOPLE.filter((one) => one === name);
        await shows(page, own.length === 0 ? 'Nothing has run yet' : `run-of-${own[0]}`);
        const runs = await page.evaluate(async () => await (await fetch('runs')).json());
        const seen = runs.map((/** @type {{ run: string }} */ { run }) => run).sort();
        ok(seen.join() === own.map((one) => `run-of-${one}`).join(), `${name} sees ${seen}`);
        ok(told.length === 0, told.join());
        // Nothing of the way is left in the address, and no script of the page reads a cookie.
        ok(!/code=|state=/.test(page.url()), page.url());
        ok((await page.evaluate(() => document.cookie)) === '', 'a script reads a cookie');
        // Another browser with the same address is sent to log in itself.
        const other = await (await stage.newContext()).newPage();
        ok((await other.goto(address))?.status() === 403, 'the address opens the page for another browser');
      }
    },
  },
  {
    what: 'a login that is cancelled at the provider opens nothing, and says so',
    async check(stage, issuer) {
      const { page } = await atProvider(stage, issuer);
      await page.click('a[href$="/abort"]');
      await shows(page, 'The issuer refuses the login: access_denied.');
      ok(new URL(page.url()).pathname === '/ui/callback', page.url());
      // The answer of somebody else's login, brought here, opens nothing either.
      const { page: anns } = await atProvider(stage, issuer);
      const answered = anns.waitForRequest(/\/ui\/callback\?/);
      await anns.route(/\/ui\/callback\?/, (route) => route.abort());
      await anns.fill('input[name=login]', 'ann');
      await anns.fill('input[name=password]', 'any');
      await anns.click('button[type=submit]');
      await anns.waitForSelector('form input[name=prompt][value=consent]', { state: 'attached' });
      await anns.click('button[type=submit]');
      const { page: bens } = await atProvider(stage, issuer);
      await bens.goto((await answered).url());
      await shows(bens, 'has not begun this login');
    },
  },
];
