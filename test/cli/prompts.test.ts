// Prompts of the user's servers in the host's own menu, through the built program: clients of both lines of the SDK list, complete and
// get them on stdio, and principals those of their servers over HTTP. Servers are started by what is asked of them, and by nothing else; no container is needed.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { PromptListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isHarmless } from '../../src/base/text/text.js';
import { answerOf } from '../support/http-agent.js';
import { bridgeEnv, MAIN, tempHome } from '../support/start-bridge.js';
import { until } from '../support/time.js';
import { makeUsed } from '../support/used-state.js';
import { execute, type Party, World } from '../walls/principals/world.js';
import { command } from './command.js';

/** Texts that would do something to whoever takes them for more than text, or that do not show. */
const PAYLOADS = [
  ...['<script>1</script>', '"><img src=x onerror=1>', '__proto__', 'constructor', '../../etc/passwd'],
  ...['eta\u202etsil_eteled\u2066', 'list\u200b_no\u00adtes\u{e0041}', 'a\rb\u2028\u2029\n- all is well'],
  ...['list\u001b[31m_notes\u009b0m\u0007', '\u0000nul\u0000', '\ufeffmark', 'tab\tand\nline'],
];

const FIXTURE = fileURLToPath(new URL('../fixtures/prompting-server.mjs', import.meta.url));

const REVIEW = {
  name: 'review',
  title: 'Review it',
  description: 'Reviews a fruit.',
  arguments: [{ name: 'fruit', description: 'Which one.', required: true }],
};

/** A home whose servers have these prompts; the first of them has the tool `execute`, which changes its prompts. */
async function homeWith(
  servers: Readonly<Record<string, readonly object[]>>,
  { env: more = {}, isRefreshed = true }: { env?: Record<string, string>; isRefreshed?: boolean } = {},
) {
  const home = tempHome();
  const folders = Object.entries(servers).map(([name, prompts]) => {
    const folder = join(home, `of-${name.replaceAll('/', '-')}`);
    mkdirSync(folder);
    writeFileSync(join(folder, 'prompts.json'), JSON.stringify(prompts));
    return [name, folder] as const;
  });
  const config = join(home, 'servers.json');
  const mcpServers = Object.fromEntries(
    folders.map(([name, folder]) => [name, { command: process.execPath, args: [FIXTURE, folder] }]),
  );
  writeFileSync(config, JSON.stringify({ mcpServers }), { mode: 0o600 });
  const settings = {
    MCP_SERVERS_CONFIG: config,
    MCP_BRIDGE_STATE_DIR: makeUsed(join(home, 'state')),
    MCP_BRIDGE_TOOLS: 'run_python,execute',
    MCP_BRIDGE_EXECUTE_SERVER: folders[0]?.[0] ?? '',
    MCP_BRIDGE_WARM: '0',
    ...more,
  };
  if (isRefreshed) expect((await command(['servers', 'refresh'], { home, env: settings })).exitCode).toBe(0);
  const log = (name: string) => join(folders.find(([of]) => of === name)?.[1] ?? '', 'asked');
  const asked = (name: string) =>
    existsSync(log(name)) ? readFileSync(log(name), 'utf8').trim().split('\n') : [];
  const env = bridgeEnv(home, settings);
  return {
    home,
    asked,
    parameters: { command: process.execPath, args: [MAIN], env, cwd: home, stderr: 'ignore' as const },
  };
}

type Home = Awaited<ReturnType<typeof homeWith>>;

async function oldClient({ parameters }: Home) {
  const client = new OldClient({ name: 'agent', version: '7' });
  await client.connect(new OldTransport(parameters));
  onTestFinished(() => client.close());
  return client;
}

async function newClient({ parameters }: Home) {
  const client = new Client(
    { name: 'agent', version: '7' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  await client.connect(new StdioClientTransport(parameters));
  onTestFinished(() => client.close());
  return client;
}

describe.each([
  ['first', oldClient],
  ['second', newClient],
] as const)('the %s line of the SDK', (_line, connect) => {
  it('lists prompts with their servers, completes an argument and gets one, and only the last two start a server', async () => {
    const home = await homeWith({ Desk: [REVIEW] });
    const before = home.asked('Desk').length;
    const client = await connect(home);
    expect((await client.listPrompts()).prompts).toEqual([
      { ...REVIEW, name: 'desk.review', title: 'Desk: Review it' },
    ]);
    expect(home.asked('Desk')).toHaveLength(before);
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'desk.review' },
      argument: { name: 'fruit', value: 'ap' },
    });
    expect(completion).toMatchObject({ values: ['apple', 'apricot'] });
    const got = await client.getPrompt({ name: 'desk.review', arguments: { fruit: 'apple' } });
    expect(got.messages).toEqual([
      { role: 'user', content: { type: 'text', text: 'review with {"fruit":"apple"}' } },
    ]);
    expect(home.asked('Desk').slice(before)).toEqual(
      expect.arrayContaining(['completion/complete', 'prompts/get']),
    );
  });

  it('is told what there is instead of a prompt that there is not', async () => {
    const client = await connect(await homeWith({ desk: [REVIEW] }));
    await expect(client.getPrompt({ name: 'desk.reviev' })).rejects.toThrow(
      "There is no prompt 'desk.reviev'. Did you mean 'desk.review'? Prompts: desk.review.",
    );
  });
});

it('gives names that hosts can show, and none of them twice', async () => {
  const odd = [{ name: 'draft a mail' }, { name: 'draft_a_mail' }, { name: 'draft.a/mail' }];
  const client = await oldClient(await homeWith({ 'my desk': odd, my_desk: [REVIEW] }));
  const { prompts } = await client.listPrompts();
  expect(prompts.map(({ name, title }) => [name, title])).toEqual([
    ['my_desk_2.draft_a_mail_2', 'my desk: draft a mail'],
    ['my_desk_2.draft_a_mail', 'my desk: draft_a_mail'],
    ['my_desk_2.draft_a_mail_3', 'my desk: draft.a/mail'],
    ['my_desk.review', 'my_desk: Review it'],
  ]);
  const { messages } = await client.getPrompt({ name: 'my_desk_2.draft_a_mail_2' });
  expect(messages[0]?.content).toMatchObject({ text: 'draft a mail with {}' });
});

it('shows of the prompts of a hostile server text alone, and nothing that does not show', async () => {
  const hostile = PAYLOADS.flatMap((text, at) => [
    { name: `${at}${text}` },
    {
      ...{ name: `${at}b${text}`, title: text, description: text },
      arguments: [{ name: text, description: text }],
      ...{ icons: [{ src: 'https://evil.example/x.svg' }], _meta: { 'evil/claim': true } },
    },
  ]);
  const client = await oldClient(await homeWith({ desk: hostile }));
  const { prompts } = await client.listPrompts();
  expect(prompts).toHaveLength(hostile.length);
  expect(new Set(prompts.map(({ name }) => name)).size).toBe(hostile.length);
  for (const { name, title = '', description = '', arguments: args = [], ...more } of prompts) {
    expect(name).toMatch(/^desk\.[\w-]+$/);
    const lines = [title, ...args.map((one) => one.name)];
    const texts = [...lines, description, ...args.map((one) => one.description ?? '')];
    expect(texts.filter((text) => !isHarmless(text))).toEqual([]);
    expect(lines.filter((line) => /[\n\t]/.test(line))).toEqual([]);
    expect(more).toEqual({});
  }
  for (const [at, { name }] of prompts.entries()) {
    const { messages } = await client.getPrompt({ name });
    const text = String(Object(messages[0]?.content)['text']);
    expect(isHarmless(text), JSON.stringify(hostile[at])).toBe(true);
  }
  // The control: among them are texts that would not show.
  expect(hostile.filter(({ name }) => !isHarmless(name)).length).toBeGreaterThan(5);
});

it('lists no prompt that policy denies, and gives none', async () => {
  const servers = { desk: [REVIEW], mail: [REVIEW], closed: [REVIEW] };
  const env = { MCP_BRIDGE_DENY: 'mail.prompts/*,closed' };
  const client = await oldClient(await homeWith(servers, { env }));
  expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['desk.review']);
  await expect(client.getPrompt({ name: 'mail.review', arguments: {} })).rejects.toThrow(
    "There is no prompt 'mail.review'",
  );
});

it('tells a client that listed prompts when a server has others', async () => {
  const home = await homeWith({ desk: [REVIEW] }, { isRefreshed: false });
  const client = await oldClient(home);
  let told = 0;
  client.setNotificationHandler(PromptListChangedNotificationSchema, () => void told++);
  expect((await client.listPrompts()).prompts).toEqual([]);
  const change = (prompts: readonly object[]) =>
    client.callTool({ name: 'execute', arguments: { command: JSON.stringify(prompts) } });
  await change([{ name: 'first' }]);
  await until(() => told > 0, 'a word that there are prompts now');
  const names = async () => (await client.listPrompts()).prompts.map(({ name }) => name).join();
  await until(async () => (await names()) === 'desk.first', 'the prompts of a server that has started');
  const before = told;
  await change([{ name: 'second' }]);
  await until(() => told > before, 'a word that there are other prompts');
  await until(async () => (await names()) === 'desk.second', 'the prompts that it has now');
});

describe('over HTTP', () => {
  /** A bridge with a server for both principals and one for ann alone, which has been started. */
  async function worldWith(prompts: readonly object[]) {
    const folder = tempHome();
    const serving = (name: string) => {
      const own = join(folder, name);
      mkdirSync(own);
      writeFileSync(join(own, 'prompts.json'), '[]');
      return { command: process.execPath, args: [FIXTURE, own] };
    };
    const world = await World.open({
      servers: { desk: serving('desk'), vault: serving('vault') },
      settings: { MCP_BRIDGE_TOOLS: 'run_python,execute', MCP_BRIDGE_EXECUTE_SERVER: 'vault' },
    });
    onTestFinished(() => world[Symbol.asyncDispose]());
    const change = (listed: readonly object[]) => execute(world.ann, JSON.stringify(listed));
    await change(prompts);
    const listed = async ({ agent }: Party) => {
      const { result } = await answerOf(agent.modern('prompts/list', {}));
      return (result?.['prompts'] ?? []) as readonly { readonly name: string }[];
    };
    await until(async () => (await listed(world.ann)).length > 0, 'the prompts of a server that has started');
    const asked = () =>
      readFileSync(join(folder, 'vault', 'asked'), 'utf8')
        .trim()
        .split('\n');
    return { ...{ ann: world.ann, eve: world.eve }, change, listed, asked };
  }

  const review = { name: 'vault.review', arguments: { fruit: 'apple' } };
  const completing = (name: string) => ({
    ref: { type: 'ref/prompt', name },
    argument: { name: 'fruit', value: 'ap' },
  });

  it('shows a principal the prompts of their own servers, and has those of others be as if they were not', async () => {
    const { ann, eve, listed, asked } = await worldWith([REVIEW]);
    expect((await listed(ann)).map(({ name }) => name)).toEqual(['vault.review']);
    const got = await answerOf(ann.agent.modern('prompts/get', review));
    expect(JSON.stringify(got.result)).toContain('review with');
    const completed = await answerOf(ann.agent.modern('completion/complete', completing('vault.review')));
    expect(completed.result).toMatchObject({ completion: { values: ['apple', 'apricot'] } });

    const before = asked().length;
    expect(await listed(eve)).toEqual([]);
    for (const [method, paramsOf] of [
      ['prompts/get', (name: string) => ({ ...review, name })],
      ['completion/complete', completing],
    ] as const) {
      const said = async (name: string) => {
        const answer = await answerOf(eve.agent.modern(method, paramsOf(name)));
        expect(answer.result).toBeUndefined();
        return JSON.stringify(answer.error).replaceAll(name, 'NAME');
      };
      expect(await said('vault.review')).toBe(await said('fault.review'));
    }
    expect(asked()).toHaveLength(before);
  });

  it('tells a principal of changed prompts, and nobody else', async () => {
    const { ann, eve, change } = await worldWith([REVIEW]);
    const streams = [];
    for (const { agent } of [ann, eve]) {
      const session = await agent.open();
      await answerOf(agent.legacy('prompts/list', {}, { session }));
      const stream = agent.listen(session);
      onTestFinished(() => stream.abort());
      await stream.begun;
      streams.push(stream);
    }
    const [ofAnn, ofEve] = streams.map(
      ({ messages }) =>
        () =>
          messages.filter(({ method }) => method === 'notifications/prompts/list_changed').length,
    );
    await change([REVIEW, { name: 'second' }]);
    await until(() => Number(ofAnn?.()) > 0, 'a word that there are other prompts');
    expect(ofEve?.()).toBe(0);
  });
});
