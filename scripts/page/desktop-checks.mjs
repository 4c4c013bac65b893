// Checks of the word about a question on a real desktop's bus: a session bus of its own, the notify-send of libnotify, and a server of
// notifications that writes down what it was asked to show. A check throws where its title does not hold.

import { ok } from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../bench/stage.mjs';

/** Debian's packages of the bus, the program that the bridge calls, and the server that records. */
export const DESKTOP_PACKAGES = ['dbus-daemon', 'libnotify-bin', 'python3-dbusmock'];
const TRIES = [
  ['dbus-daemon', '--version'],
  ['notify-send', '--version'],
  ['python3', '-c', 'import dbusmock'],
];
const HANGS_MS = 120_000;
const LOOK_EVERY_MS = 50;

/** Names of the packages that are missing here. */
export const desktopMissing = () =>
  DESKTOP_PACKAGES.filter((_, at) => spawnSync(TRIES[at][0], TRIES[at].slice(1)).status !== 0);

const load = (/** @type {string} */ file) => import(pathToFileURL(join(ROOT, 'dist', file)).href);

/** Waits until `found` finds something. */
async function until(/** @type {() => string | undefined} */ found, /** @type {string} */ what) {
  const end = Date.now() + HANGS_MS;
  for (;;) {
    const seen = found();
    if (seen !== undefined) return seen;
    ok(Date.now() < end, `there is no ${what}`);
    await sleep(LOOK_EVERY_MS);
  }
}

/** A bus with a server of notifications on it, and what that was asked; `close` ends both. */
async function openDesktop() {
  const folder = mkdtempSync(join(tmpdir(), 'desktop-'));
  const log = join(folder, 'log');
  const bus = spawn('dbus-daemon', ['--session', '--nofork', '--print-address', `--address=unix:dir=${folder}`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [address] = await once(createInterface(bus.stdout), 'line');
  const env = { ...process.env, DBUS_SESSION_BUS_ADDRESS: address };
  const server = spawn('python3', ['-m', 'dbusmock', '--session', '--logfile', log, '--template', 'notification_daemon'], {
    env,
    stdio: 'ignore',
  });
  const asks = (/** @type {string} */ method, /** @type {readonly string[]} */ ...words) =>
    spawnSync(
      'dbus-send',
      ['--session', '--print-reply', '--dest=org.freedesktop.DBus', '/org/freedesktop/DBus', method, ...words],
      { env, encoding: 'utf8' },
    ).stdout;
  await until(
    () =>
      asks('org.freedesktop.DBus.NameHasOwner', 'string:org.freedesktop.Notifications').includes('boolean true')
        ? address
        : undefined,
    'server of notifications',
  );
  return {
    address,
    shown: () => (existsSync(log) ? readFileSync(log, 'utf8') : '').split('\n').filter((line) => / Notify /.test(line)),
    async close() {
      for (const child of [server, bus]) {
        const ended = once(child, 'exit');
        if (child.exitCode === null && child.kill('SIGTERM')) await ended;
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Asks a question as the bridge does, with nobody there to answer; resolves with what there was to complain of. */
async function askOn(/** @type {string} */ address, /** @type {object} */ question) {
  const { withNotices } = await load('policy/inbox/notices.js');
  const { hostFacts } = await load('settings/files/host-facts.js');
  /** @type {string[]} */
  const complaints = [];
  const silent = {
    post: () => ({ answered: new Promise(() => {}), withdraw: () => {} }),
    pageOf: async () => undefined,
    [Symbol.asyncDispose]: async () => {},
  };
  const before = process.env.DBUS_SESSION_BUS_ADDRESS;
  process.env.DBUS_SESSION_BUS_ADDRESS = address;
  const settings = { notify: { desktop: true, webhook: undefined, arguments: false, secretFile: undefined } };
  const inbox = withNotices(
    silent,
    {
      ...{ settings, host: hostFacts(), env: process.env },
      redact: (/** @type {string} */ text) => text.replaceAll('hush', '[TOKEN]'),
      observer: (/** @type {{ message: string }} */ { message }) => complaints.push(message),
    },
    0,
  );
  inbox.post(question);
  return {
    complaints,
    async end() {
      await inbox[Symbol.asyncDispose]();
      if (before === undefined) delete process.env.DBUS_SESSION_BUS_ADDRESS;
      else process.env.DBUS_SESSION_BUS_ADDRESS = before;
    },
  };
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
    what: 'a question that waits is shown by the server of notifications, as text, without arguments and secrets',
    check: onDesktop(async ({ address, shown }) => {
      const tool = 'create_<b>issue</b>&amp;"$(touch /tmp/x)"\u202e';
      const asked = await askOn(address, questionOf(tool));
      try {
        const line = await until(() => shown()[0] ?? asked.complaints[0], 'notification');
        ok(line.includes('"mcp-sandbox-bridge"'), line);
        ok(line.includes('A call waits for your approval'), line);
        ok(line.includes('1 call of github.create_&lt;b&gt;issue&lt;/b&gt;&amp;amp;'), line);
        ok(line.includes('[TOKEN]') && !line.includes('hush'), line);
        ok(!line.includes('not for a desktop') && !line.includes('\u202e'), line);
        ok(asked.complaints.length === 0, asked.complaints.join());
      } finally {
        await asked.end();
      }
    }),
  },
  {
    what: "a principal's question is not shown on the desktop of whoever runs the bridge",
    check: onDesktop(async ({ address, shown }) => {
      const theirs = await askOn(address, questionOf('of_ann', { principal: 'token:ann#01' }));
      // The control comes after it, and is shown.
      const own = await askOn(address, questionOf('of_the_user'));
      try {
        await until(() => shown()[0], 'notification');
        ok(shown().length === 1 && shown()[0]?.includes('of_the_user'), shown().join('\n'));
      } finally {
        await theirs.end();
        await own.end();
      }
    }),
  },
];
