// The stage of the checks of `ui`: a bridge that never runs anything and tells what it is told to, an inbox, sessions and an audit, all in
// a state directory of their own, and the real program of the page in front of them.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../bench/stage.mjs';

const load = (/** @type {string} */ file) => import(pathToFileURL(join(ROOT, 'dist', file)).href);
const { Feed } = await load('watch/feed/feed.js');
const { openInbox } = await load('policy/inbox/inbox.js');
const { KeptFiles } = await load('run/artifacts/kept-files.js');
const { SessionFiles } = await load('run/sessions/session-file.js');
const { principalIdOf, TokenFile } = await load('service/access/token-file.js');
const { drawnLetters } = await load('base/crypto.js');

const CALL =
  '{"owner":"ann","repo":"garden","title":"The gate does not close","number":12345678901234567890}';
const DIGEST = { bytes: 2_048, sha256: '0123456789abcdef' };

const MAIN = join(ROOT, 'dist/cli/main.js');
/** Those that have a token of the bridge over HTTP. */
export const PRINCIPALS = ['ann', 'ben'];

/** Environment of a bridge that starts no sandbox: its one server is the command server of this package. */
export function serviceIn(/** @type {string} */ stateDir) {
  const config = join(stateDir, 'servers.json');
  writeFileSync(
    config,
    JSON.stringify({ mcpServers: { box: { command: process.execPath, args: [MAIN, 'code-exec'] } } }),
  );
  return {
    ...{ HOME: stateDir, MCP_SERVERS_CONFIG: config, MCP_BRIDGE_TOOLS: 'execute' },
    ...{ MCP_BRIDGE_EXECUTE_SERVER: 'box', MCP_BRIDGE_ALLOW_SELF_SERVER: '1' },
  };
}

/** A small chart of bars, as a PNG of 360 by 120 pixels. */
export const CHART = [
  'iVBORw0KGgoAAAANSUhEUgAAAWgAAAB4AQMAAADlivq5AAAABlBMVEUiV3r29fLqg8d7AAAAXUlEQVR42u3KQQrAIAxE0dz/xNmpIIiVNqK7/o',
  'wMgv5n5eSYtHR27WZEPTJLf2XpWLebqP1ZKdp3T+lMut1EPWeQDrJ0oPtwev4E6dcsnVUvo+h4v9V+Mmlp6TtdAQm2rYJXVdvYAAAAAElFTkSu',
  'QmCC',
].join('');

/** The code of a run that the pictures show: it runs as it stands here, and makes the calls that are told of. */
const CODE_OF_ALL = `import pandas as pd

issues = pd.DataFrame(await mcp_github.list_issues(owner="ann", repo="garden"))
found = await mcp_github.search_code(query="repo:ann/garden gate")
plan = await mcp_files.read_file(path="plan.md")
await mcp_github.create_issue(owner="ann", repo="garden", title="The gate does not close")
planned = issues[issues.title.isin(plan.content.splitlines())]
planned[["number", "title"]].to_csv("out/issues.csv", index=False)
issues.created_at.str[:7].value_counts(sort=False).plot.bar()
print(len(issues), "issues,", len(planned), "planned,", len(found), "places in the code")
`;
const CODE_OF_PAGES = `for page in range(40):
    await mcp_github.list_issues(owner="ann", repo="garden", page=page)
`;
const CODE_OF_REFUSED = `issues = await mcp_github.list_issues(owner="ann", repo="garden")
try:
    await mcp_github.delete_repository(owner="ann", repo="garden")
except runtime.MCPError as error:
    print(error)
`;

/** @typedef {import('playwright-core').Page} Page */
/**
 * What a run is told to have been; absent is what is usual.
 * @typedef {{
 *   code?: string, stdout?: string, stderr?: string, calls?: readonly { durationMs?: number, [name: string]: unknown }[], status?: string,
 *   error?: { kind: string, message: string }, client?: string, language?: string, servers?: readonly string[],
 *   principal?: string, files?: readonly string[], texts?: readonly { name: string, text: string }[], pictures?: readonly { kind: string, data: string }[], underWay?: object,
 *   durationMs?: number, goesOn?: boolean, isPaced?: boolean,
 * }} Story
 */

/**
 * @param {import('playwright-core').Browser} browser
 * @param {{ shots?: string | undefined, isService?: boolean, env?: Readonly<Record<string, string>> }} options with `isService` the page is that of a
 * bridge over HTTP, with `env` in its environment
 */
export async function watchStage(browser, { shots, isService = false, env: more = {} } = {}) {
  const stateDir = mkdtempSync(join(tmpdir(), 'ui-'));
  /** @type {object[]} */
  const servers = [];
  const facts = () => ({
    ...{ pid: 4_711, version: '0.1.0', kind: 'stdio', since: new Date(Date.now() - 3_600_000).toISOString() },
    ...{ folder: '/home/ann/garden', memoryBytes: 78_000_000, servers },
    sandboxes: { waiting: 1, heldBytes: 31_000_000 },
  });
  const settings = { stateDir, record: { seconds: 3_600, bytes: 4_194_304 } };
  const feed = new Feed({ settings, facts, observer: () => {} });
  const inbox = openInbox({
    stateDir,
    observer: () => {},
    openPage: () => Promise.reject(new Error('none')),
  });
  const env = {
    ...process.env,
    MCP_BRIDGE_STATE_DIR: stateDir,
    ...(isService ? serviceIn(stateDir) : {}),
    ...more,
  };
  const command = (/** @type {readonly string[]} */ ...words) =>
    execFileSync(process.execPath, [MAIN, ...words], { env, stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim();
  const tokens = isService
    ? PRINCIPALS.map((name) => /msb_\w+/.exec(command('token', 'create', name, '--servers', '*'))?.[0] ?? '')
    : [];
  const words = isService ? ['serve', '--http', '127.0.0.1:0'] : ['ui', '--no-browser'];
  const program = spawn(process.execPath, [MAIN, ...words], {
    env,
    stdio: ['ignore', 'pipe', isService ? 'pipe' : 'ignore'],
  });
  const linkFor = (/** @type {readonly string[]} */ ...who) =>
    command('ui', '--no-browser', '--service', ...who);
  const lines = createInterface(
    /** @type {import('node:stream').Readable} */ (isService ? program.stderr : program.stdout),
  );
  let [link] = await once(lines, 'line');
  while (isService && !link.includes('listens at')) [link] = await once(lines, 'line');
  if (isService) link = linkFor();
  /** @type {string[]} */
  const complaints = [];
  /** @type {string[]} */
  const strangers = [];
  /** @type {string[]} */
  const dialogs = [];
  const { origin } = new URL(link);
  /** Complaints that a check causes on purpose, such as of an answer that is a refusal. */
  let expected = 0;
  /** @type {import('playwright-core').BrowserContext[]} */
  const contexts = [];
  const newContext = async (/** @type {import('playwright-core').BrowserContextOptions} */ options = {}) => {
    const made = await browser.newContext(options);
    contexts.push(made);
    made.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(`${origin}/`) && !url.startsWith('data:')) strangers.push(url);
    });
    made.on('console', (message) => {
      if (message.type() === 'error' && --expected < 0) complaints.push(message.text());
    });
    made.on('weberror', (error) => complaints.push(error.error().message));
    made.on('dialog', (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    return made;
  };
  const context = await newContext();
  let address = '';
  const tell = (/** @type {object} */ event) => feed.observe(event, String);
  return {
    ...{ complaints, strangers, dialogs, stateDir, link, origin, context, program, tokens, linkFor },
    newContext,
    command,
    expectComplaint: (count = 1) => {
      expected = Math.max(0, expected) + count;
    },
    get address() {
      return address;
    },
    /**
     * Opens a view in a page of its own; the first one opens the link.
     * @param {string} view
     * @param {{ viewport?: { width: number, height: number }, colorScheme?: 'light' | 'dark' }} look
     */
    async open(view, look = {}) {
      const page = await context.newPage();
      if (look.viewport) await page.setViewportSize(look.viewport);
      if (look.colorScheme) await page.emulateMedia({ colorScheme: look.colorScheme });
      if (address === '') {
        await page.goto(link);
        await page.waitForSelector('nav');
        address = page.url().replace(/#.*/, '');
      }
      await page.goto(`${address}#/${view}`);
      await page.waitForSelector('h1');
      return page;
    },
    /**
     * Tells of a server with tools.
     * @param {string} name
     * @param {readonly object[]} tools
     */
    serve(name, tools, more = {}) {
      servers.push({ name, state: 'ready', tools, ...more });
    },
    /**
     * A run with calls; where it `isPaced`, each takes as long as it says.
     * @param {string} id
     * @param {Story} story
     */
    async run(
      id,
      {
        code = 'print(1)',
        stdout = '1\n',
        stderr = '',
        calls = [],
        status = 'success',
        error,
        client = 'claude-code 2.1.330',
        language = 'python',
        servers: names = ['github'],
        principal,
        files = [],
        texts = [],
        pictures = [],
        underWay = undefined,
        durationMs = 1_300,
        goesOn = false,
        isPaced = false,
      } = {},
    ) {
      tell({ type: 'run.code', run: id, code });
      tell({
        type: 'run.started',
        run: id,
        client,
        servers: names,
        language,
        code: DIGEST,
        timeoutSeconds: 30,
        principal,
      });
      for (const [at, call] of calls.entries()) {
        if (isPaced) await sleep(call.durationMs ?? 0);
        tell({
          ...{
            type: 'run.call',
            run: id,
            call: at + 1,
            server: 'github',
            tool: 'list_issues',
            allowed: true,
          },
          ...{
            rule: 'no rule',
            durationMs: 120,
            failed: false,
            error: undefined,
            arguments: DIGEST,
            result: DIGEST,
          },
          ...call,
        });
      }
      if (underWay !== undefined)
        tell({
          ...{ type: 'run.calling', run: id, call: calls.length + 1, server: 'github', tool: 'list_issues' },
          ...{ allowed: true, rule: 'no rule', argumentBytes: 40, ...underWay },
        });
      if (goesOn) return;
      tell({ type: 'run.ended', run: id, servers: names, status, error, durationMs, calls: calls.length });
      tell({
        ...{ type: 'run.output', run: id, stdout, stderr, result: undefined, error: error?.message },
        ...{ files, texts, pictures },
      });
    },
    /**
     * A file that a run has kept; gives back how it is removed.
     * @param {string} run
     * @param {string} name
     * @param {string} mimeType
     * @param {string | Buffer} content
     */
    async keep(run, name, mimeType, content) {
      const files = new KeptFiles({ stateDir, keepSeconds: 3_600, quotaBytes: 100_000_000 });
      const left = files.open(run);
      await left.put(name, mimeType, Buffer.from(content));
      await left.seal();
      files[Symbol.dispose]();
      return () => left.discard();
    },
    /**
     * Lines for the audit, as another bridge has left them.
     * @param {readonly object[]} lines
     */
    audit(lines) {
      mkdirSync(join(stateDir, 'audit'), { recursive: true });
      const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
      writeFileSync(join(stateDir, 'audit', `${drawnLetters(8)}.jsonl`), text);
    },
    session(
      /** @type {string} */ name,
      client = 'claude-code 2.1.330',
      /** @type {string | null} */ principal = null,
    ) {
      const at = new Date().toISOString();
      const handle = `s-${drawnLetters(16)}`;
      new SessionFiles(stateDir).write({
        ...{ handle, name, client, principal, scope: null, container: 'none', process: null },
        ...{ memoryLimitBytes: 536_870_912, createdAt: at, lastCallAt: at, calls: 3 },
        ...{ idleSeconds: 900, lifeSeconds: 14_400, ended: null },
      });
      return handle;
    },
    /** @param {{ server?: string, tool?: string, rule?: string, calls?: readonly string[], session?: string, client?: string, run?: string, principal?: string | undefined }} asked */
    ask({
      server = 'github',
      tool = 'create_issue',
      rule = "ask 'github.create_*'",
      calls = [CALL],
      session,
      client = 'claude-code 2.1.330',
      run = '4f1c2a9b-12',
      principal = undefined,
    } = {}) {
      const id = `q-${drawnLetters(16)}`;
      const object = { kind: 'tool', server, tool, calls: calls.map((text) => ({ arguments: text })) };
      const [askedAt, expiresAt] = [0, 600_000].map((ms) => new Date(Date.now() + ms).toISOString());
      const offers = ['once', 'run', 'session', 'always', 'no'];
      const facts = { rule, run, client, principal, session };
      return { id, ...inbox.post({ id, object, ...facts, offers, askedAt, expiresAt }) };
    },
    shoot: async (/** @type {Page} */ page, /** @type {string} */ name) => {
      if (shots !== undefined) await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
    },
    async close() {
      for (const one of contexts) await one.close();
      const ended = once(program, 'exit');
      if (program.exitCode === null && program.signalCode === null) {
        program.kill('SIGTERM');
        await ended;
      }
      feed[Symbol.dispose]();
      await inbox[Symbol.asyncDispose]();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

/** Ids of the principals that have a token, in the order of their names. */
export const principalsIn = (/** @type {string} */ stateDir) =>
  PRINCIPALS.map((name) => {
    const record = new TokenFile(stateDir)
      .read()
      .find((/** @type {{ name: string }} */ one) => one.name === name);
    return principalIdOf(record);
  });

/**
 * Has all views show something, for pictures and for the checks of each.
 * @param {Awaited<ReturnType<typeof watchStage>>} stage
 */
export async function furnish(stage) {
  const tools = [
    ['list_issues', 'Lists the issues of a repository.', 'owner: string, repo: string, page?: integer'],
    ['create_issue', 'Opens an issue.', 'owner: string, repo: string, title: string'],
    ['search_code', 'Searches the code of all repositories.', 'query: string'],
  ].map(([name, description, words]) => ({
    name,
    description,
    arguments: words,
    ...(name === 'search_code' && { changed: 'its description is another' }),
  }));
  stage.serve('github', tools);
  stage.serve('files', [{ name: 'read_file', description: 'Reads a file.', arguments: 'path: string' }], {
    state: 'idle',
  });
  stage.serve('calendar', [], {
    state: 'resting',
    reason: 'It asked for a login: run mcp-sandbox-bridge login calendar.',
  });
  const at = (/** @type {number} */ ms, /** @type {object} */ call = {}) => ({ durationMs: ms, ...call });
  await stage.run('7be0d1c2-1', {
    isPaced: true,
    code: CODE_OF_ALL,
    stdout: '214 issues, 1 planned, 5 places in the code\n',
    calls: [
      at(140),
      at(420, { tool: 'search_code' }),
      at(90, { server: 'files', tool: 'read_file' }),
      at(160, { tool: 'create_issue', rule: "ask 'github.create_*'" }),
    ],
    servers: ['github', 'files'],
    files: ['out/issues.csv'],
    pictures: [{ kind: 'png', data: CHART }],
  });
  await stage.keep('7be0d1c2-1', 'out/issues.csv', 'text/csv', 'number,title\n1,The gate is low\n');
  await stage.run('7be0d1c2-2', {
    code: 'issues = await mcp_github.list_issues(owner="ann", repo="garden")\nissues[0]["labels"]\n',
    stdout: '',
    status: 'error',
    error: { kind: 'KeyError', message: "KeyError: 'labels'" },
    calls: [at(300, { error: 'E_TOOL_FAILED', failed: true })],
  });
  await stage.run('7be0d1c2-3', {
    code: CODE_OF_REFUSED,
    stdout: "Denied by deny 'github.delete_*'\n",
    calls: [
      at(60),
      at(1, {
        tool: 'delete_repository',
        allowed: false,
        error: 'E_POLICY_DENIED',
        rule: "deny 'github.delete_*'",
      }),
    ],
    client: 'codex 0.99',
  });
  await stage.run('7be0d1c2-4', {
    isPaced: true,
    goesOn: true,
    code: CODE_OF_PAGES,
    calls: [at(140), at(420), at(90)],
    underWay: {},
  });
  stage.audit([
    {
      ...{ kind: 'question', at: new Date().toISOString(), run: '7be0d1c2-1', question: 'q-answered' },
      ...{
        server: 'github',
        tool: 'create_issue',
        calls: [DIGEST],
        callCount: 1,
        rule: "ask 'github.create_*'",
      },
      ...{ answer: 'once', by: 'page', who: 'ann', durationMs: 4_000 },
    },
  ]);
  stage.session('figures');
  return stage.ask({ session: 'figures', run: '7be0d1c2-4' });
}
