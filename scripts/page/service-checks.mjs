// Checks of the page below /ui of a real bridge over HTTP in a real browser: who is let in, and what each of them sees of the others.

import { ok } from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { seriousIn, shows, VIEW_NAMES } from './watch-checks.mjs';
import { PRINCIPALS, principalsIn } from './watch-stage.mjs';

/** @typedef {Awaited<ReturnType<typeof import('./watch-stage.mjs').watchStage>>} Stage */
/** @typedef {import('playwright-core').Page} Page */

/**
 * Opens a link in a browser of its own; gives back the page and the address that its views lie below.
 * @param {Stage} stage
 * @param {string} link
 */
async function visit(stage, link) {
  const context = await stage.newContext();
  const page = await context.newPage();
  await page.goto(link);
  await page.waitForSelector('nav');
  return { page, address: page.url().replace(/#.*/, '') };
}

/**
 * All that the page is sent of each view, and all that it shows.
 * @param {{ page: Page, address: string }} visited
 */
async function everythingOf({ page, address }) {
  let all = '';
  for (const view of VIEW_NAMES) {
    await page.goto(`${address}#/${view}`);
    await page.waitForFunction(
      () => !(document.querySelector('main')?.textContent ?? 'Loading.').includes('Loading.'),
    );
    all += await page.textContent('main');
    all += await page.evaluate(async (name) => await (await fetch(name)).text(), view);
  }
  return all;
}

/**
 * Has everybody do one thing of each kind, every text of which has a mark of whose it is.
 * @param {Stage} stage
 */
async function furnish(stage) {
  /** @type {ReturnType<Stage['ask']>[]} */
  const asked = [];
  for (const [at, name] of PRINCIPALS.entries()) {
    const principal = principalsIn(stage.stateDir)[at];
    const mark = `mark-of-${name}`;
    await stage.run(`run-${mark}`, {
      ...{ code: `code ${mark}`, stdout: `out ${mark}`, files: [`file-${mark}`], principal },
      ...{ client: `agent ${mark}`, servers: [`server-${mark}`] },
      calls: [{ server: `server-${mark}`, tool: `tool-${mark}`, rule: `rule ${mark}` }],
    });
    await stage.run(`going-${mark}`, {
      principal,
      client: `agent ${mark}`,
      code: `code ${mark}`,
      goesOn: true,
    });
    stage.session(`session-${mark}`, `agent ${mark}`, principal);
    asked.push(
      stage.ask({
        principal,
        calls: [JSON.stringify({ mark })],
        run: `run-${mark}`,
        client: `agent ${mark}`,
      }),
    );
    const client = new Client({ name: `real-${mark}`, version: '1' });
    const headers = { authorization: `Bearer ${stage.tokens[at]}` };
    const transport = new StreamableHTTPClientTransport(new URL('/mcp', stage.origin), {
      requestInit: { headers },
    });
    await client.connect(transport);
    await client.callTool({ name: 'execute', arguments: { command: 'echo', args: [mark] } });
    await client.close();
  }
  return asked;
}

/**
 * @param {string} what
 * @param {(stage: Stage) => Promise<string | void>} check
 */
const checkOf = (what, check) => ({ what, check });

export const SERVICE_CHECKS = [
  checkOf(
    'a principal sees what is theirs in each view, and the operator sees what everybody does',
    async (stage) => {
      await furnish(stage);
      const operator = await visit(stage, stage.link);
      await shows(operator.page, 'going-mark-of-ben');
      const all = await everythingOf(operator);
      for (const name of PRINCIPALS) {
        const other = PRINCIPALS.find((one) => one !== name);
        const own = await visit(stage, stage.linkFor('--principal', name));
        await shows(own.page, `going-mark-of-${name}`);
        const seen = await everythingOf(own);
        for (const kind of ['run', 'session', 'tool', 'rule', 'server', 'agent', 'code', 'real']) {
          const mark = new RegExp(`${kind}.mark-of-${name}`);
          ok(mark.test(all), `the operator does not see the ${kind} of ${name}`);
          ok(mark.test(seen), `${name} does not see their ${kind}`);
        }
        ok(!seen.includes(`mark-of-${other}`), `${name} is sent something of ${other}`);
        ok(seen.includes('Your servers') && seen.includes('box'), `${name} does not see their servers`);
        ok(!/of memory|memoryBytes|"pid"/.test(seen), `${name} is told of the process`);
        const { page, address } = own;
        const code = async (/** @type {string} */ of) =>
          await page.evaluate(async (run) => (await fetch(`run?run=run-mark-of-${run}`)).status, of);
        ok((await code(name)) === 200, `${name} cannot open their run`);
        stage.expectComplaint();
        ok((await code(String(other))) === 404, `${name} opens the run of ${other}`);
        await page.goto(`${address}#/runs/run-mark-of-${name}`);
        await shows(page, `file-mark-of-${name}`);
        await page.goto(`${address}#/bridges`);
        await shows(page, 'box');
        ok((await seriousIn(page)).length === 0, (await seriousIn(page)).join());
      }
    },
  ),
  checkOf('a principal answers their own question, and that of nobody else', async (stage) => {
    const [ofAnn, ofBen] = await furnish(stage);
    const { page, address } = await visit(stage, stage.linkFor('--principal', 'ann'));
    await page.goto(`${address}#/questions`);
    await page.waitForSelector(`#${ofAnn?.id}`);
    ok((await page.locator('article').count()) === 1, 'there is more than one question');
    const { token } = await page.evaluate(async () => (await (await fetch('questions')).json())[0]);
    stage.expectComplaint();
    const said = await page.evaluate(
      async (fields) => (await fetch('answer', { method: 'POST', body: new URLSearchParams(fields) })).status,
      { id: String(ofBen?.id), token, decision: 'once' },
    );
    ok(said === 409, `the answer to a question of somebody else is answered with ${said}`);
    await page.click(`#${ofAnn?.id} button.once`);
    const { decision, who } = await Object(ofAnn).answered;
    ok(decision === 'once' && who === 'ann', `answered ${decision} by ${who}`);
    const nothing = await Promise.race([
      ofBen?.answered,
      new Promise((resolve) => setImmediate(resolve, 'nothing')),
    ]);
    ok(nothing === 'nothing', 'the question of somebody else was answered');
  }),
  checkOf(
    'a token of /mcp opens nothing, a link opens once, and the end of the token closes the page',
    async (stage) => {
      const link = stage.linkFor('--principal', 'ann');
      const context = await stage.newContext({
        extraHTTPHeaders: { authorization: `Bearer ${stage.tokens[0]}` },
      });
      const stranger = await context.newPage();
      for (const path of ['/ui', '/ui/', `/ui/open/${stage.tokens[0]}`]) {
        stage.expectComplaint();
        const answer = await stranger.goto(stage.origin + path);
        ok(answer?.status() === 403, `${path} is answered with ${answer?.status()}`);
      }
      // The control: the link opens it, also beside the token.
      const { page, address } = await visit(stage, link);
      stage.expectComplaint();
      ok(
        (await stranger.goto(address))?.status() === 403,
        'the address of the page opens it for another browser',
      );
      stage.expectComplaint();
      ok((await stranger.goto(link))?.status() === 403, 'the link opens the page twice');
      stage.command('token', 'revoke', 'ann');
      stage.expectComplaint();
      await page.waitForFunction(async () => (await fetch('runs')).status === 403);
      stage.expectComplaint(Number.POSITIVE_INFINITY);
    },
  ),
];
