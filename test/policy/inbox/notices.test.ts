// Words about a question that waits, outside of agent and page: to a webhook that is a real HTTP server here, and on the desktop.

import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { BridgeEvent } from '../../../src/base/log/events.js';
import type { ApprovalAnswer, Inbox } from '../../../src/policy/approvals/question.js';
import { withNotices } from '../../../src/policy/inbox/inbox.js';
import { desktopCommand } from '../../../src/policy/inbox/notifiers.js';
import { type HostFacts, hostFacts } from '../../../src/settings/files/host-facts.js';
import { pause, until } from '../../support/time.js';
import { question, withArguments } from './questions.js';

const KEY = Buffer.alloc(32, 7);

type Received = { readonly headers: NodeJS.Dict<string | string[]>; readonly body: string };

/** A webhook that answers with these statuses, and then with 204. */
async function webhook(...statuses: readonly number[]) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const status = statuses[received.length] ?? 204;
    received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
    response.writeHead(status).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

function noticed(
  notify: { webhook?: string; desktop?: boolean; arguments?: boolean },
  { key = `whsec_${KEY.toString('base64')}\n`, afterMs = 0, host = {} as Partial<HostFacts> } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'notices-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const secretFile = join(folder, 'key');
  writeFileSync(secretFile, key, { mode: 0o600 });
  const events: BridgeEvent[] = [];
  let answer: (given: ApprovalAnswer) => void = () => {};
  const plain: Inbox = {
    post: () => ({ answered: new Promise((resolve) => (answer = resolve)), withdraw: () => {} }),
    pageOf: () => Promise.resolve(undefined),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const inbox = withNotices(
    plain,
    {
      settings: { notify: { desktop: false, webhook: undefined, arguments: false, secretFile, ...notify } },
      host: { ...hostFacts(), ...host },
      env: {},
      redact: (text) => text.replaceAll('hush', '[TOKEN]'),
      observer: (event) => void events.push(event),
    },
    afterMs,
  );
  onTestFinished(() => inbox[Symbol.asyncDispose]());
  return { inbox, plain, events, answer: (given: ApprovalAnswer) => answer(given) };
}

it('is the inbox itself where nobody is to be told', () => {
  const { inbox, plain } = noticed({});
  expect(inbox).toBe(plain);
});

it('tells a webhook, signed, without arguments and secrets, and again with one id while it is busy', async () => {
  const { received, url } = await webhook(503);
  const { inbox } = noticed({ webhook: url });
  const asked = question({ object: withArguments('{"to":"bob"}'), client: 'agent hush 1' });
  inbox.post(asked);
  await until(() => received.length === 2, 'the same word again');
  for (const { headers, body } of received) {
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const signature = createHmac('sha256', KEY).update(signed).digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${signature}`);
  }
  const [first, second] = received;
  expect(first?.headers['webhook-id']).toBe(second?.headers['webhook-id']);
  expect(JSON.parse(first?.body ?? '')).toMatchObject({
    type: 'approval.waiting',
    data: { question: asked.id, server: 'github', tool: 'create_issue', calls: 1, client: 'agent [TOKEN] 1' },
  });
  expect(first?.body).not.toContain('bob');
});

it('sends arguments where the operator asks for them', async () => {
  const { received, url } = await webhook();
  noticed({ webhook: url, arguments: true }).inbox.post(question({ object: withArguments('{"to":"hush"}') }));
  await until(() => received.length === 1, 'the word');
  expect(JSON.parse(received[0]?.body ?? '').data.arguments).toEqual(['{"to":"[TOKEN]"}']);
});

it('tells nothing of what is answered at once', async () => {
  const { received, url } = await webhook();
  const { inbox, answer } = noticed({ webhook: url }, { afterMs: 50 });
  inbox.post(question({}));
  answer({ decision: 'once', by: 'agent', who: 'ann' });
  await pause(200);
  expect(received).toEqual([]);
});

it.each([
  [
    'a webhook that refuses',
    { status: 401 },
    /webhook: http:\/\/127\.0\.0\.1:\d+ takes nothing: it answers 401/,
  ],
  ['a key that is none', { key: 'secret' }, /MCP_BRIDGE_NOTIFY_SECRET_FILE: .* has no key: expected whsec_/],
])(
  'says once that nobody is told: %s',
  async (_what, { status, key }: { status?: number; key?: string }, words) => {
    const { received, url } = await webhook(...(status === undefined ? [] : [status, status]));
    const { inbox, events } = noticed({ webhook: url }, key === undefined ? {} : { key });
    inbox.post(question({}));
    inbox.post(question({}));
    await until(
      () => events.length > 0 && received.length === (key === undefined ? 2 : 0),
      'a word in the log',
    );
    await pause(50);
    expect(events).toEqual([{ type: 'inbox.trouble', message: expect.stringMatching(words) }]);
  },
);

it('hands the text of a notification over beside the program, on each system', () => {
  const notice = { title: 'Waits', text: `a <b> & "c"'; rm -rf $HOME` };
  const commandOn = (platform: NodeJS.Platform) => desktopCommand(platform, notice, (name) => `C:\\${name}`);
  expect(commandOn('linux').argv.slice(-2)).toEqual(['Waits', `a &lt;b&gt; &amp; "c"'; rm -rf $HOME`]);
  expect(commandOn('darwin').argv.slice(-2)).toEqual([notice.title, notice.text]);
  const { argv, variables } = commandOn('win32');
  expect(argv.join(' ')).not.toContain('rm -rf');
  expect(variables).toEqual({ NOTICE_TITLE: notice.title, NOTICE_TEXT: notice.text });
});

it('runs notify-send where the desktop is to show it, and says once where there is none', async () => {
  const { inbox, events } = noticed({ desktop: true });
  const { PATH } = process.env;
  process.env['PATH'] = '/nonexistent';
  onTestFinished(() => {
    process.env['PATH'] = PATH;
  });
  inbox.post(question({}));
  await until(() => events.length > 0, 'a word in the log');
  expect(events).toEqual([
    { type: 'inbox.trouble', message: expect.stringMatching(/by desktop: .*notify-send/) },
  ]);
});

it('shows it on the bus that is at its usual place, if no variable says where', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'desktop-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const told = join(folder, 'told');
  const program = `#!/bin/sh\nprintf %s "$DBUS_SESSION_BUS_ADDRESS" > "${told}.tmp"; mv "${told}.tmp" "${told}"\n`;
  writeFileSync(join(folder, 'notify-send'), program, { mode: 0o755 });
  vi.stubEnv('PATH', `${folder}:${process.env['PATH']}`);
  vi.stubEnv('DBUS_SESSION_BUS_ADDRESS', undefined);
  onTestFinished(() => void vi.unstubAllEnvs());
  const bus = '/run/user/1000/bus';
  const { inbox, events } = noticed(
    { desktop: true },
    { host: { uid: 1000, exists: (path) => path === bus } },
  );
  inbox.post(question({}));
  await until(() => existsSync(told), 'a word on the desktop');
  expect(readFileSync(told, 'utf8')).toBe(`unix:path=${bus}`);
  expect(events).toEqual([]);
});
