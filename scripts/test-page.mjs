// Opens the page of a bridge's questions and the page of `ui` in a real browser and looks at what a person would: that they answer, tell what
// happens elsewhere, fit a phone, and take nothing from other web pages. Exits with 1 when something did not hold, 2 for a wrong
// option, 3 when this machine lacks something. --help says how.

import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pc from 'picocolors';
import { ROOT } from './bench/stage.mjs';
import { takeOptions } from './options.mjs';
import { BROWSER_PACKAGE, browserHere, installPackages, startBrowser } from './page/browser.mjs';
import { CHECKS, REBOUND } from './page/checks.mjs';

const {
  browser: named,
  install,
  only,
  shots,
} = takeOptions({
  command: 'npm run test:page --',
  about:
    "Opens the page of a bridge's questions and that of `ui` in a Chromium of this machine, with runs and questions of its own. Needs no\nengine and no network; without a browser it says so and exits with 3.",
  options: {
    browser: { value: 'PATH', says: 'this Chromium or Chrome, instead of the one on PATH' },
    install: {
      says: "install Debian's Chromium first where there is none, and what the checks of the desktop take; takes root",
    },
    only: { value: 'WORDS', says: 'only the checks that have these words in their title' },
    shots: { value: 'FOLDER', says: 'write pictures of the page there' },
  },
});

const leave = (exitCode, message) => {
  console.error(message);
  process.exit(exitCode);
};
const builtFile = (file) => join(ROOT, 'dist', file);
if (!existsSync(builtFile('policy/inbox/inbox.js')))
  leave(3, 'The bridge is not built. Run `npm run build`.');
if (named !== undefined && !existsSync(named)) leave(2, `--browser: there is no '${named}'. See --help.`);
const { DESKTOP_CHECKS, desktopMissing } = await import('./page/desktop-checks.mjs');
if (install) {
  const missing = named === undefined && browserHere() === undefined ? [BROWSER_PACKAGE] : [];
  missing.push(...desktopMissing());
  const why = missing.length === 0 ? undefined : installPackages(missing);
  if (why !== undefined) leave(3, why);
}
const executable = named ?? browserHere();
if (executable === undefined)
  leave(3, 'There is no Chromium on PATH. Install one, name one with --browser, or run this with --install.');
if (shots !== undefined) mkdirSync(shots, { recursive: true });

const load = (file) => import(pathToFileURL(builtFile(file)).href);
const { openInbox } = await load('policy/inbox/inbox.js');
const { QuestionPage } = await load('watch/front/question-page.js');
const { drawnLetters } = await load('base/crypto.js');

const CALL =
  '{"owner":"ann","repo":"garden","title":"The gate does not close","number":12345678901234567890}';

/** What one check has: an inbox of its own, and windows that are closed at its end. */
function stageOf(browser) {
  const stateDir = mkdtempSync(join(tmpdir(), 'page-'));
  const inbox = openInbox({ stateDir, observer: () => {}, openPage: QuestionPage.open });
  const complaints = [];
  const contexts = [];
  return {
    complaints,
    ask({
      server = 'github',
      tool = 'create_issue',
      rule = "ask 'github.create_*'",
      calls = [CALL],
      session = 'figures',
      client = 'claude-code 2.1.330',
      principal = undefined,
    } = {}) {
      const id = `q-${drawnLetters(16)}`;
      const object = {
        kind: 'tool',
        server,
        tool,
        calls: calls.map((text) => ({ arguments: text })),
      };
      const [askedAt, expiresAt] = [0, 600_000].map((ms) => new Date(Date.now() + ms).toISOString());
      const facts = { rule, run: '4f1c2a9b-12', client, principal, session };
      const offers = ['once', 'run', 'session', 'always', 'no'];
      const posted = inbox.post({ id, object, ...facts, offers, askedAt, expiresAt });
      return { id, ...posted, page: () => inbox.pageOf(id) };
    },
    async open(url, { isNoisy = false, javaScriptEnabled = true, ...look } = {}) {
      const context = await browser.newContext({ ...look, javaScriptEnabled });
      contexts.push(context);
      const page = await context.newPage();
      if (!isNoisy) {
        page.on('console', (message) => complaints.push(message.text()));
        page.on('pageerror', (error) => complaints.push(error.message));
      }
      await page.goto(url);
      // The link goes on to the page by itself, and that to its plain form where there is no JavaScript.
      if (url.includes('/open/') && new URL(url).hostname === '127.0.0.1')
        await page.waitForURL(javaScriptEnabled ? /\/$/ : /\/plain$/);
      return page;
    },
    shoot: async (page, name) => {
      if (shots !== undefined) await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
    },
    end: () => inbox[Symbol.asyncDispose](),
    async close() {
      for (const context of contexts) await context.close();
      await inbox[Symbol.asyncDispose]();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

const { watchStage } = await import('./page/watch-stage.mjs');
const { WATCH_CHECKS } = await import('./page/watch-checks.mjs');
const { LOGIN_CHECKS, openProvider } = await import('./page/login-checks.mjs');
const { SERVICE_CHECKS } = await import('./page/service-checks.mjs');
const browser = await startBrowser(executable, [REBOUND]);
const ofApprovals = /** @type {[string, (stage: object) => Promise<void>][]} */ (CHECKS).map(
  ([what, check]) => ({ what, check, stageFor: async () => stageOf(browser) }),
);
const ofUi = WATCH_CHECKS.map(({ what, check }) => ({
  what: `ui: ${what}`,
  check,
  stageFor: () => watchStage(browser, { shots }),
}));
const ofService = SERVICE_CHECKS.map(({ what, check }) => ({
  what: `over HTTP: ${what}`,
  check,
  stageFor: () => watchStage(browser, { shots, isService: true }),
}));
const ofLogin = LOGIN_CHECKS.map(({ what, check }) => ({
  what: `login: ${what}`,
  check: (stage) => check(stage, stage.provider),
  async stageFor() {
    const provider = await openProvider();
    const stage = await watchStage(browser, { shots, isService: true, env: provider.env });
    const closeStage = stage.close;
    return Object.assign(stage, {
      provider,
      async close() {
        await closeStage();
        provider.close();
      },
    });
  },
}));
// A stage of the bus alone: no browser is opened.
const ofDesktop = DESKTOP_CHECKS.map(({ what, check }) => ({
  what: `desktop: ${what}`,
  check,
  stageFor: async () => ({ complaints: [], close: async () => {} }),
}));
const isWanted = ({ what }) => only === undefined || what.includes(only);
const missing = ofDesktop.some(isWanted) ? desktopMissing() : [];
const passedOver = `passed over: checks of the desktop, for want of ${missing.join(', ')}; --install`;
const all = [...ofApprovals, ...ofUi, ...ofService, ...ofLogin, ...(missing.length > 0 ? [] : ofDesktop)];
const wanted = all.filter(isWanted);
if (wanted.length === 0 && missing.length > 0) leave(3, passedOver);
if (wanted.length === 0) leave(2, `--only: no check has '${only}' in its title. See --help.`);
if (missing.length > 0) console.log(pc.dim(passedOver));
console.log(pc.dim(`${executable} ${browser.version()}`));
try {
  for (const { what, check, stageFor } of wanted) {
    const stage = await stageFor();
    let trouble;
    let note;
    try {
      note = await /** @type {(stage: object) => Promise<string | void>} */ (check)(stage);
      if (stage.complaints.length > 0) trouble = `the browser complains: ${stage.complaints.join('; ')}`;
    } catch (thrown) {
      trouble = thrown.message;
    } finally {
      await stage.close();
    }
    const said = typeof note === 'string' ? pc.dim(` (${note})`) : '';
    console.log(
      trouble === undefined ? `${pc.green('✓')} ${what}${said}` : `${pc.red('✗')} ${what}: ${trouble}`,
    );
    if (trouble !== undefined) process.exitCode = 1;
  }
} finally {
  await browser.close();
}
