// Checks of the page of `ui` in a real browser; a check throws where the page does not do what its title says.

import { ok } from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { otherSite, REBOUND } from './checks.mjs';
import { PAYLOADS } from './payloads.mjs';
import { CHART, furnish } from './watch-stage.mjs';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {Awaited<ReturnType<typeof import('./watch-stage.mjs').watchStage>>} Stage */

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Words by which each view shows that its data are there. */
export const VIEWS = {
  now: '7be0d1c2-4',
  questions: 'create_issue',
  runs: 'KeyError',
  'runs/7be0d1c2-1': '214 issues',
  sessions: 'figures',
  bridges: 'calendar',
  tools: 'delete_repository',
  verdicts: 'by ann',
};
/** Without those of one thing in a view. */
export const VIEW_NAMES = Object.keys(VIEWS).filter((view) => !view.includes('/'));
/** A file that is kept nowhere but in the record. */
const SMALL = { name: 'out/small.txt', text: 'a few words' };
/** The page takes no press for so long after something has moved, and a little more. */
const SETTLED_MS = 1_000;

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
const expectSame = (/** @type {unknown} */ saw, /** @type {unknown} */ wanted) =>
  ok(Object.is(saw, wanted), `saw ${JSON.stringify(saw)}, not ${JSON.stringify(wanted)}`);
export const shows = (/** @type {Page} */ page, /** @type {string} */ text) =>
  page.waitForFunction((wanted) => document.body.textContent?.includes(wanted), text);

/**
 * Finds what axe calls serious or critical.
 * @param {Page} page
 */
export async function seriousIn(page) {
  await page.evaluate(AXE);
  /** @type {{ violations: { impact: string, id: string, nodes: { html: string }[] }[] }} */
  const { violations } = await page.evaluate(() => /** @type {any} */ (globalThis).axe.run());
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
}

export const runLine = (/** @type {number} */ at) => ({
  ...{ kind: 'run', at: new Date(1_700_000_000_000 + at * 1_000).toISOString(), run: `many-${at}` },
  ...{ client: 'claude-code 2.1.330', servers: [`server-${at % 7}`], language: 'python' },
  ...{ code: { bytes: 10, sha256: '0' }, timeoutSeconds: 30, status: at % 10 === 0 ? 'error' : 'success' },
  ...{ durationMs: at, calls: 0, notListed: 0 },
});

/**
 * @param {string} what
 * @param {(stage: Stage) => Promise<string | void>} check
 */
const checkOf = (what, check) => ({ what, check });

export const WATCH_CHECKS = [
  .../** @type {const} */ (['light', 'dark']).map((colorScheme) =>
    checkOf(`each view shows what there is, ${colorScheme}, and axe finds nothing serious`, async (stage) => {
      await furnish(stage);
      for (const [view, words] of Object.entries(VIEWS)) {
        const page = await stage.open(view, { colorScheme, viewport: { width: 1_100, height: 800 } });
        await shows(page, words);
        await stage.shoot(page, `${view.replace(/\/.*/, '-one')}-${colorScheme}`);
        expectSame((await seriousIn(page)).join('; '), '');
        await page.close();
      }
    }),
  ),
  checkOf('on a phone no view scrolls sideways, and fingers hit the buttons', async (stage) => {
    await furnish(stage);
    for (const [view, words] of Object.entries(VIEWS)) {
      const page = await stage.open(view, { viewport: { width: 360, height: 740 } });
      await shows(page, words);
      await stage.shoot(page, `phone-${view.replace(/\/.*/, '-one')}`);
      ok(
        await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
        `${view} scrolls sideways`,
      );
      for (const button of await page.locator('button:visible').all())
        ok(((await button.boundingBox())?.height ?? 0) >= 44, `a button of ${view} is too small`);
      await page.close();
    }
  }),
  checkOf('a question comes by itself, is answered here, and goes', async (stage) => {
    const page = await stage.open('questions');
    await shows(page, 'Nothing waits for you');
    const asked = stage.ask();
    await page.waitForSelector(`#${asked.id}`);
    await page.waitForSelector('nav .count');
    await pause(SETTLED_MS);
    await page.fill(`#word-${asked.id}`, 'not today');
    await page.click(`#${asked.id} button.no`);
    const { decision, word, by } = await asked.answered;
    expectSame(`${decision} ${word} ${by}`, 'no not today page');
    await page.waitForSelector(`#${asked.id}`, { state: 'detached' });
    await shows(page, 'Denied by');
  }),
  ...['once', 'run', 'session', 'always'].map((decision) =>
    checkOf(`the button "${decision}" answers so`, async (stage) => {
      const asked = stage.ask();
      const page = await stage.open('questions');
      await page.waitForSelector(`#${asked.id}`);
      await page.click(`#${asked.id} button.${decision}`);
      expectSame((await asked.answered).decision, decision);
    }),
  ),
  checkOf(
    'a press in the moment in which a question comes counts for nothing, and Enter in the field never does',
    async (stage) => {
      const page = await stage.open('questions');
      await shows(page, 'Nothing waits for you');
      // As soon as the button is there, however slow the machine is.
      await page.evaluate(() => {
        const press = new MutationObserver(() => {
          const button = /** @type {HTMLElement | null} */ (document.querySelector('button.once'));
          if (button === null) return;
          press.disconnect();
          button.click();
          Object.assign(globalThis, { hasPressed: true });
        });
        press.observe(document.body, { childList: true, subtree: true });
      });
      const asked = stage.ask();
      await page.waitForFunction(() => /** @type {any} */ (globalThis).hasPressed);
      await pause(SETTLED_MS);
      await page.press(`#word-${asked.id}`, 'Enter');
      const nothing = await Promise.race([asked.answered, pause(SETTLED_MS).then(() => 'nothing')]);
      expectSame(nothing, 'nothing');
      await page.click(`#${asked.id} button.once`);
      expectSame((await asked.answered).decision, 'once');
    },
  ),
  checkOf('keys alone go from view to view, through a run, and answer a question', async (stage) => {
    const asked = await furnish(stage);
    const page = await stage.open('now');
    await shows(page, VIEWS.now);
    const tabTo = async (/** @type {() => boolean} */ isThere) => {
      for (let at = 0; at < 60; at++) {
        await page.keyboard.press('Tab');
        if (await page.evaluate(isThere)) return;
      }
      throw new Error(`Tab does not lead to ${isThere}`);
    };
    await tabTo(() => document.activeElement?.textContent === 'Runs');
    await page.keyboard.press('Enter');
    await shows(page, 'KeyError');
    await tabTo(() => document.activeElement?.className === 'run');
    await page.keyboard.press('Enter');
    await page.waitForSelector('article h2');
    await tabTo(() => document.activeElement?.textContent?.startsWith('Questions') === true).catch(
      async () => {
        // Tab goes round by the browser's own bar.
        await page.keyboard.press('Escape');
        await page.evaluate(() => /** @type {HTMLElement} */ (document.querySelector('nav a')).focus());
        await page.keyboard.press('Tab');
      },
    );
    await page.keyboard.press('Enter');
    await page.waitForSelector(`#${asked.id}`);
    await pause(SETTLED_MS);
    await tabTo(() => document.activeElement?.className === 'no');
    await page.keyboard.press('Enter');
    expectSame((await asked.answered).decision, 'no');
  }),
  checkOf(
    'verdicts name their rule, are found by what was decided and by words, and lead to their run',
    async (stage) => {
      await furnish(stage);
      const page = await stage.open('verdicts');
      await shows(page, "deny 'github.delete_*'");
      const count = () => page.locator('.row').count();
      const all = await count();
      await page.selectOption('select >> nth=0', 'asked');
      await shows(page, `1 verdict of ${all}`);
      await shows(page, 'once by ann (page)');
      await page.selectOption('select >> nth=0', 'refused');
      await shows(page, 'delete_repository');
      expectSame(await count(), 1);
      await page.selectOption('select >> nth=0', '');
      await page.fill('input[type=search]', 'search_code');
      ok((await count()) < all, 'words leave all verdicts in the list');
      await page.keyboard.press('Tab');
      await page.click('.row a');
      await page.waitForSelector('article[aria-label^="Run 7be0d1c2"]');
    },
  ),
  checkOf('a call under way has a bar, and a picture of the run is seen', async (stage) => {
    await furnish(stage);
    const now = await stage.open('now');
    await now.waitForSelector('.bar.under');
    await shows(now, 'under way');
    const page = await stage.open('runs/7be0d1c2-1');
    await page.waitForFunction(() => document.querySelector('img')?.naturalWidth === 360);
  }),
  checkOf(
    'ten thousand runs are listed, few of them are in the document, and the last one is reached',
    async (stage) => {
      stage.audit(Array.from({ length: 10_000 }, (_, at) => runLine(at)));
      const page = await stage.open('runs');
      await shows(page, '10000 runs');
      await page.evaluate(() => {
        /** @type {number[]} */
        const taken = [];
        Object.assign(globalThis, { tasks: taken });
        new PerformanceObserver((list) => {
          for (const { duration } of list.getEntries()) taken.push(duration);
        }).observe({ type: 'longtask' });
      });
      for (let at = 1; at <= 40; at++)
        await page.evaluate(async (share) => {
          const list = document.querySelector('.window');
          if (list) list.scrollTop = list.scrollHeight * share;
          await new Promise((resolve) => requestAnimationFrame(resolve));
        }, at / 40);
      await shows(page, 'server-0');
      await page.waitForSelector('a[href="#/runs/many-0"]');
      ok((await page.locator('.row').count()) < 100, 'too many rows are in the document');
      const tasks = await page.evaluate(() => /** @type {any} */ (globalThis).tasks);
      await page.selectOption('select >> nth=0', 'error');
      await shows(page, '1000 runs of 10000');
      await page.fill('input[type=search]', 'many-9990');
      await shows(page, '1 run of 10000');
      return `longest task while it scrolled ${Math.round(Math.max(0, ...tasks))} ms`;
    },
  ),
  checkOf(
    `${PAYLOADS.length} hostile texts in every field are text in every view, and none of them runs, loads or adds anything`,
    async (stage) => {
      for (const [at, text] of PAYLOADS.entries()) {
        const tool = {
          name: `t${text}`,
          description: `d${text}`,
          arguments: `a${text}`,
          changed: `c${text}`,
        };
        stage.serve(`s${at}${text}`, [tool], { state: `z${text}`, reason: `w${text}` });
        await stage.run(`r${at}${text}`, {
          ...{
            code: `c${text}`,
            stdout: `o${text}`,
            stderr: `e${text}`,
            files: [`f${text}`],
            status: 'error',
          },
          error: { kind: `k${text}`, message: `m${text}` },
          ...{ client: `a${text}`, language: `l${text}`, servers: [`s${text}`], principal: `p${text}` },
          calls: [
            {
              server: `s${text}`,
              tool: `t${text}`,
              rule: `u${text}`,
              error: `x${text}`,
              argumentsText: `g${text}`,
            },
          ],
        });
        // In the view of what runs now, too.
        const calls = [{ server: `s${text}`, tool: `t${text}`, rule: `u${text}` }];
        const underWay = { server: `s${text}`, tool: `v${text}`, rule: `u${text}` };
        await stage.run(`g${at}${text}`, {
          code: `c${text}`,
          client: `a${text}`,
          calls,
          underWay,
          goesOn: true,
        });
        stage.session(`n${text}`, `a${text}`);
        stage.ask({
          ...{ server: `s${text}`, tool: `t${text}`, rule: `u${text}`, run: `r${text}`, client: `a${text}` },
          ...{ session: `n${text}`, calls: [JSON.stringify({ [text]: text })] },
        });
      }
      const allowed = new Set(
        'html head meta title link script body noscript header p nav a span main h1 h2 h3 form label input select option section div time bdi article dl dt dd ol ul li pre code details summary button table thead tbody tr th td strong img'.split(
          ' ',
        ),
      );
      const judge = async (/** @type {Page} */ page) => {
        const found = await page.evaluate(() => ({
          names: [...new Set([...document.querySelectorAll('*')].map(({ localName }) => localName))],
          links: [...document.querySelectorAll('a')].map((link) => link.getAttribute('href') ?? ''),
          handlers: [...document.querySelectorAll('*')].filter((element) =>
            [...element.attributes].some(
              ({ name }) =>
                /^(?:on|srcdoc|formaction|action$|src$)/.test(name) && element.localName !== 'script',
            ),
          ).length,
          scripts: document.scripts.length,
          ran: /** @type {any} */ (globalThis).ran,
        }));
        expectSame(found.names.filter((name) => !allowed.has(name)).join(), '');
        expectSame(found.links.filter((href) => !href.startsWith('#/')).join(), '');
        expectSame(found.handlers, 0);
        expectSame(found.scripts, 1);
        expectSame(found.ran, undefined);
      };
      for (const view of VIEW_NAMES) {
        const page = await stage.open(view);
        await page.waitForFunction(() => (document.querySelector('main')?.textContent?.length ?? 0) > 200);
        if (view === 'bridges')
          await page.evaluate(() => {
            for (const part of document.querySelectorAll('details')) part.open = true;
          });
        await judge(page);
        await page.close();
      }
      const page = await stage.open('runs');
      for (const [at, text] of PAYLOADS.entries()) {
        await page.evaluate((name) => {
          location.hash = `#/runs/${encodeURIComponent(name)}`;
        }, `r${at}${text}`);
        await page.waitForSelector(`article[aria-label^="Run r${at}"] pre`);
        await judge(page);
        // The control: it is there to be read, and what does not show is read as an escape.
        const read = (await page.locator('article').textContent()) ?? '';
        const isPlain = /^[ -~]+$/.test(text);
        ok(
          read.includes(isPlain ? text : (/[a-z]{3,}/i.exec(text)?.[0] ?? '')),
          `${JSON.stringify(text)} is not there`,
        );
        ok(!/[\p{Cf}\p{Zl}\p{Zp}]/u.test(read), `${JSON.stringify(text)} shows what does not show`);
      }
      expectSame(stage.dialogs.join(), '');
      expectSame(stage.strangers.join(), '');
    },
  ),
  checkOf(
    'a text and a picture of a run are shown, any file is saved, and one that is gone says so',
    async (stage) => {
      await stage.run('with-files', {
        files: ['out/a.csv', 'out/small.txt', 'out/lost.txt'],
        texts: [SMALL],
      });
      await stage.keep('with-files', 'out/a.csv', 'text/csv', 'one,two');
      await stage.keep('with-files', 'out/chart.png', 'image/png', Buffer.from(CHART, 'base64'));
      await stage.keep('with-files', 'out/more.zip', 'application/zip', 'PK');
      const remove = await stage.keep('with-files', 'out/short.txt', 'text/plain', 'not for long');
      const page = await stage.open('runs/with-files');
      await page.waitForSelector('.files');
      const row = (/** @type {string} */ name) => page.locator('.files li', { hasText: name });
      for (const [name, content] of /** @type {const} */ ([
        ['out/a.csv', 'one,two'],
        ['out/small.txt', SMALL.text],
      ])) {
        await row(name).locator('button').click();
        await row(name).locator('pre', { hasText: content }).waitFor();
        await row(name).locator('button').click();
        await row(name).locator('pre').waitFor({ state: 'detached' });
      }
      await row('out/chart.png').locator('button').click();
      await page.waitForFunction(() => document.images[0]?.naturalWidth === 360);
      expectSame(await row('out/more.zip').locator('button').count(), 0);
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        row('out/more.zip').locator('a').click(),
      ]);
      expectSame(saved.suggestedFilename(), 'more.zip');
      expectSame(readFileSync(await saved.path(), 'utf8'), 'PK');
      ok((await row('out/lost.txt').textContent())?.includes('not any more'));
      expectSame((await seriousIn(page)).join('; '), '');
      await stage.shoot(page, 'files');
      await remove();
      stage.expectComplaint();
      await row('out/short.txt').locator('button').click();
      await row('out/short.txt').locator('.warn', { hasText: 'not kept any more' }).waitFor();
      stage.expectComplaint();
      await row('out/short.txt').locator('a').click();
      await shows(page, 'not kept any more');
    },
  ),
  checkOf(
    'another web page that knows the address and a token answers nothing, and shows nothing of the page',
    async (stage) => {
      const asked = stage.ask();
      const own = await stage.open('questions');
      await own.waitForSelector(`#${asked.id}`);
      const { token } = await own.evaluate(async () => (await (await fetch('questions')).json())[0]);
      const { address, origin } = stage;
      const fields = `<input name="id" value="${asked.id}"><input name="token" value="${token}"><input name="decision" value="once">`;
      const site = await otherSite(
        `<iframe name="f" src="${address}"></iframe><form method="post" target="f" action="${address}answer">${fields}</form><script>
        fetch('${address}answer', { method: 'POST', mode: 'no-cors', credentials: 'include', body: new URLSearchParams({ id: '${asked.id}', token: '${token}', decision: 'once' }) });
        fetch('${address}now', { credentials: 'include' }).then((a) => a.text(), (e) => 'refused').then((t) => { document.title = t });
        setTimeout(() => document.forms[0].submit(), 200);</script>`,
      );
      try {
        const page = await stage.context.newPage();
        const before = stage.complaints.length;
        await page.goto(site.url.replace('localhost', new URL(origin).hostname));
        await pause(SETTLED_MS);
        expectSame(await page.title(), 'refused');
        const nothing = await Promise.race([asked.answered, pause(SETTLED_MS).then(() => 'nothing')]);
        expectSame(nothing, 'nothing');
        stage.complaints.length = before;
        stage.strangers.length = 0;
        // The control: the page itself answers with the same.
        await own.click(`#${asked.id} button.once`);
        expectSame((await asked.answered).decision, 'once');
      } finally {
        site.close();
      }
    },
  ),
  checkOf('a name that was rebound to this machine leads nowhere', async (stage) => {
    await stage.open('now');
    const page = await stage.context.newPage();
    const before = stage.complaints.length;
    await page.goto(stage.address.replace('127.0.0.1', REBOUND));
    ok((await page.textContent('body'))?.includes('not known by that name'));
    stage.complaints.length = before;
    stage.strangers.length = 0;
  }),
  checkOf('the end of its program is told', async (stage) => {
    const page = await stage.open('now');
    await pause(SETTLED_MS);
    const ended = once(stage.program, 'exit');
    stage.program.kill('SIGTERM');
    await ended;
    await page.waitForSelector('.lost:visible');
    stage.complaints.length = 0;
  }),
];
