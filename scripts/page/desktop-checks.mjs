// Checks of the word about a question on a real desktop's bus: a session bus of its own, the notify-send of libnotify, and a server of
// notifications that writes down what it was asked to show. A check throws where its title does not hold.

import { ok } from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { ROOT } from '../bench/stage.mjs';
import { serviceIn } from './watch-stage.mjs';

/** Debian's own Python: the first on PATH may be another, which has no modules of Debian's. */
const PYTHON = '/usr/bin/python3';
/** Debian's packages of the bus, the program that the bridge calls, and the server that records, each with how it is looked for. */
const NEEDS = /** @type {const} */ ([
  ['dbus-daemon', ['dbus-daemon', '--version']],
  ['libnotify-bin', ['notify-send', '--version']],
  ['python3-dbusmock', [PYTHON, '-c', 'import dbusmock']],
]);
const HANGS_MS = 60_000;
const LOOK_EVERY_MS = 50;
const MAIN = join(ROOT, 'dist/cli/main.js');

/** Names of the packages that are missing here. */
export const desktopMissing = () =>
  NEEDS.filter(([, [program, ...words]]) => spawnSync(program, words).status !== 0).map(([name]) => name);

const load = (/** @type {string} */ file) => import(pathToFileURL(join(ROOT, 'dist', file)).href);

/** Waits until `found` finds something. */
async function until(
  /** @type {() => string | undefined | Promise<string | undefined>} */ found,
  /** @type {string} */ what,
) {
  const end = Date.now() + HANGS_MS;
  for (;;) {
    const seen = await found();
    if (seen !== undefined) return seen;
    ok(Date.now() < end, `there is no ${what}`);
    await sleep(LOOK_EVERY_MS);
  }
}

/** A session bus without the services of this machine's desktop, which it would start. */
const busIn = (/** @type {string} */ folder) => `<busconfig>
  <type>session</type>
  <listen>unix:dir=${folder}</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`;

/** A bus with a server of notifications on it, and what that was asked to show; `close` ends both. */
async function openDesktop() {
  const folder = mkdtempSync(join(tmpdir(), 'desktop-'));
  const config = join(folder, 'bus.conf');
  const log = join(folder, 'log');
  writeFileSync(config, busIn(folder));
  /** @type {import('node:child_process').ChildProcess[]} */
  const started = [];
  const start = (
    /** @type {string} */ program,
    /** @type {readonly string[]} */ words,
    env = process.env,
  ) => {
    const child = spawn(program, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    started.unshift(child);
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    const ended = once(child, 'exit').then(() => {
      throw new Error(`${program} has ended: ${said}`);
    });
    // Whoever waits for it hears of it.
    ended.catch(() => {});
    return { child, ended };
  };
  const close = async () => {
    // The last one first: the bus after the server that is on it.
    for (const child of started) {
      const ended = once(child, 'exit');
      if (child.exitCode === null && child.signalCode === null && child.kill('SIGTERM')) await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const bus = start('dbus-daemon', [`--config-file=${config}`, '--nofork', '--print-address']);
    const [address] = await Promise.race([once(createInterface(bus.child.stdout), 'line'), bus.ended]);
    const env = { ...process.env, DBUS_SESSION_BUS_ADDRESS: address };
    const template = ['--logfile', log, '--template', 'notification_daemon'];
    const server = start(PYTHON, ['-m', 'dbusmock', '--session', ...template], env);
    const isThere = async () => {
      const question = ['org.freedesktop.DBus.NameHasOwner', 'string:org.freedesktop.Notifications'];
      const whom = ['--dest=org.freedesktop.DBus', '/org/freedesktop/DBus'];
      const words = ['--session', '--print-reply', ...whom, ...question];
      const { stdout } = await promisify(execFile)('dbus-send', words, { env });
      return stdout.includes('boolean true') ? stdout : undefined;
    };
    await Promise.race([until(isThere, 'server of notifications'), server.ended]);
    const shown = () =>
      (existsSync(log) ? readFileSync(log, 'utf8') : '').split('\n').filter((line) => / Notify /.test(line));
    return { address, env, folder, shown, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

/** Tells of questions on this bus as a bridge does whose desktop it is; resolves when the word was sent or given up. */
async function tellOn(/** @type {string} */ address, /** @type {readonly object[]} */ questions) {
  const { Notifiers } = await load('policy/inbox/notifiers.js');
  const { hostFacts } = await load('settings/files/host-facts.js');
  /** @type {string[]} */
  const complaints = [];
  const before = process.env['DBUS_SESSION_BUS_ADDRESS'];
  process.env['DBUS_SESSION_BUS_ADDRESS'] = address;
  try {
    const notifiers = new Notifiers({
      settings: { notify: { desktop: true, webhook: undefined, arguments: false, secretFile: undefined } },
      ...{ host: hostFacts(), env: process.env },
      redact: (/** @type {string} */ text) => text.replaceAll('hush', '[TOKEN]'),
      observer: (/** @type {{ message: string }} */ { message }) => complaints.push(message),
    });
    for (const question of questions) await notifiers.tell(question);
  } finally {
    if (before === undefined) delete process.env['DBUS_SESSION_BUS_ADDRESS'];
    else process.env['DBUS_SESSION_BUS_ADDRESS'] = before;
  }
  ok(complaints.length === 0, complaints.join());
}

const questionOf = (/** @type {string} */ tool, more = {}) => ({
  ...{ id: 'q-1', rule: 'ask *', run: 'r-1', client: 'agent hush 1', offers: ['once', 'no'] },
  ...{ askedAt: new Date().toISOString(), expiresAt: new Date().toISOString() },
  object: { kind: 'tool', server: 'github', tool, calls: [{ arguments: '{"to":"not for a desktop"}' }] },
  ...more,
});

/** @param {(desktop: Awaited<ReturnType<typeof openDesktop>>) => Promise<void>} check */
const onDesktop = (check) => async () => {
  const desktop = await openDesktop();
  try {
    await check(desktop);
  } finally {
    await desktop.close();
  }
};

export const DESKTOP_CHECKS = [
  {
    what: "a call of an agent that nobody answers is shown on the desktop, by a bridge that has the bus's address, without its arguments",
    check: onDesktop(async ({ env, folder, shown }) => {
      const client = new Client({ name: 'agent-of-the-check', version: '1' });
      const transport = new StdioClientTransport({
        ...{ command: process.execPath, args: [MAIN], stderr: 'ignore' },
        env: {
          .../** @type {Record<string, string>} */ (env),
          ...serviceIn(folder),
          ...{ MCP_BRIDGE_STATE_DIR: folder, MCP_BRIDGE_APPROVE: 'all', MCP_BRIDGE_NOTIFY_DESKTOP: '1' },
        },
      });
      await client.connect(transport);
      try {
        const call = { name: 'execute', arguments: { command: 'echo', args: ['not for a desktop'] } };
        const answered = client.callTool(call).then(({ content }) => JSON.stringify(content));
        const line = await Promise.race([
          until(() => shown()[0], 'notification'),
          answered.then((said) => Promise.reject(new Error(`nobody is asked: ${said}`))),
        ]);
        ok(/ Notify "mcp-sandbox-bridge" .*"A call waits for your approval"/.test(line), line);
        ok(line.includes('1 call of box.') && line.includes('agent-of-the-check'), line);
        ok(!line.includes('not for a desktop'), line);
        // The control: what was shown is a question that can be answered.
        const approve = [MAIN, 'approvals', '--json'];
        const { stdout } = await promisify(execFile)(process.execPath, approve, {
          env: { ...env, MCP_BRIDGE_STATE_DIR: folder },
        });
        ok(stdout.includes('not for a desktop'), stdout);
      } finally {
        await client.close();
      }
    }),
  },
  {
    what: 'the server of notifications is given text without markup, secrets and marks of direction',
    check: onDesktop(async ({ address, shown }) => {
      await tellOn(address, [questionOf('create_<b>issue</b>&amp;"$(touch /tmp/x)"\u202e')]);
      const [line = ''] = shown();
      ok(line.includes('1 call of github.create_&lt;b&gt;issue&lt;/b&gt;&amp;amp;'), line);
      ok(line.includes('[TOKEN]') && !line.includes('hush'), line);
      ok(!line.includes('not for a desktop') && !line.includes('\u202e'), line);
    }),
  },
  {
    what: "a principal's question is not shown on the desktop of whoever runs the bridge",
    check: onDesktop(async ({ address, shown }) => {
      // The control comes after it, and is shown.
      await tellOn(address, [questionOf('of_ann', { principal: 'token:ann#01' }), questionOf('of_the_user')]);
      ok(shown().length === 1 && shown()[0]?.includes('of_the_user'), shown().join('\n'));
    }),
  },
];
