// What a credential gives over HTTP is what it gives now: the real parts behind the front, with persons whose tokens change
// between two requests of theirs. No container: commands go to a server.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import type { Principal } from '../../../src/base/principal.js';
import { httpParts } from '../../../src/cli/serving/serve-http.js';
import { HttpAccess } from '../../../src/service/access/authenticator.js';
import { HttpFront } from '../../../src/service/endpoint/front.js';
import { principalBridges } from '../../../src/service/principals/bridges.js';
import { parseSettings } from '../../../src/settings/environment/settings.js';
import { hostFacts } from '../../../src/settings/files/host-facts.js';
import { answerOf, HttpAgent, textOf } from '../../support/http-agent.js';
import { ownFolder } from '../../support/http-front.js';
import { PATIENTLY } from '../../support/time.js';

const ASKING = fileURLToPath(new URL('../../fixtures/asking-server.mjs', import.meta.url));
const ISSUER = 'https://issuer.test';
const RULES = `version: 1
subjects:
  ann: { servers: '*' }
  ben: { servers: '*' }
groups:
  staff: { servers: [asking] }
scopes:
  asking:use: { servers: [asking] }
`;
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

/** Whom each token stands for now; a test changes it. */
type People = Record<string, Pick<Principal, 'scopes' | 'groups'> & { readonly subject: string }>;

async function served(people: People, rules = RULES, more: Readonly<Record<string, string>> = {}) {
  const home = ownFolder(opened);
  mkdirSync(join(home, 'asking'));
  writeFileSync(join(home, 'asking', 'events'), '');
  const asking = { command: process.execPath, args: [ASKING, join(home, 'asking')] };
  writeFileSync(join(home, 'servers.json'), JSON.stringify({ mcpServers: { asking } }), { mode: 0o600 });
  writeFileSync(join(home, 'principals.yaml'), rules, { mode: 0o600 });
  const host = { ...hostFacts(), home };
  const { settings } = parseSettings(
    {
      MCP_SERVERS_CONFIG: join(home, 'servers.json'),
      MCP_BRIDGE_STATE_DIR: join(home, 'state'),
      MCP_BRIDGE_PRINCIPALS: join(home, 'principals.yaml'),
      MCP_BRIDGE_HTTP_OAUTH_ISSUER: ISSUER,
      MCP_BRIDGE_HTTP_OAUTH_RESOURCE: 'https://bridge.test/mcp',
      MCP_BRIDGE_TOOLS: 'execute',
      MCP_BRIDGE_EXECUTE_SERVER: 'asking',
      ...more,
    },
    host,
  );
  const observer = () => {};
  const access = new HttpAccess(settings, host, {}, observer);
  const discovery = { settings, env: { PATH: process.env['PATH'] ?? '' }, host };
  const bridges = principalBridges({ settings, discovery, observer, book: access.book });
  opened.push(bridges);
  const parts = httpParts({ bridges, access, settings, observer, warnings: [] }, true);
  const front = await HttpFront.open({
    address: { at: 'tcp', host: '127.0.0.1', port: 0 },
    parts: {
      ...parts,
      authenticate: async ({ authorization }) => {
        const { subject, ...granted } = people[authorization?.[0]?.slice('Bearer '.length) ?? ''] ?? {
          subject: 'nobody',
          scopes: [],
        };
        const id = `oauth:${ISSUER} ${subject}`;
        return { principal: { id, name: subject, servers: undefined, expiresAtMs: undefined, ...granted } };
      },
    },
  });
  opened.push(front);
  const place = { port: Number(new URL(front.address).port) };
  return { bridges, agent: (token: string) => new HttpAgent(place, token) };
}

const execute = (command: string, ...args: readonly string[]) => ({
  name: 'execute',
  arguments: { command, args },
});
const said = async (agent: HttpAgent, session?: string) => {
  const call = execute('wait', '1');
  const exchange =
    session === undefined ? agent.modern('tools/call', call) : agent.legacy('tools/call', call, { session });
  const { status } = await exchange.begun;
  return `${status} ${textOf(await answerOf(exchange))}`;
};

it('scopes and groups are those of the request, not of the first one of its principal', async () => {
  const people: People = {
    ann: { subject: 'ann', scopes: [] },
    eve: { subject: 'eve', scopes: ['asking:use'], groups: ['staff'] },
  };
  const { agent } = await served(people);
  const [ann, eve] = [agent('ann'), agent('eve')];
  expect(await said(ann)).toMatch(/^403 /);
  people['ann'] = { subject: 'ann', scopes: ['asking:use'] };
  expect(await said(ann)).toBe('200 waited 1 ms');
  people['ann'] = { subject: 'ann', scopes: [] };
  expect(await said(ann)).toMatch(/^403 /);
  expect(await said(eve)).toBe('200 waited 1 ms');
  const session = await eve.open();
  expect(await said(eve, session)).toBe('200 waited 1 ms');
  people['eve'] = { subject: 'eve', scopes: ['asking:use'], groups: ['guests'] };
  expect(await said(eve)).toContain("there is no server 'asking'");
  // What she had was of the group; with a new session she is who she is now.
  expect(await said(eve, session)).toMatch(/^404 /);
  expect(await said(eve, await eve.open())).toContain("there is no server 'asking'");
});

it('a call goes on with a wider token of the same person, and with none of another', async () => {
  const people: People = {
    ann: { subject: 'ann', scopes: ['asking:use'] },
    wider: { subject: 'ann', scopes: ['asking:use', 'more'] },
    narrow: { subject: 'ann', scopes: [] },
    ben: { subject: 'ben', scopes: ['asking:use'] },
  };
  const { agent, bridges } = await served(people);
  const call = execute('ask', 'Who?');
  const capabilities = { elicitation: {} };
  const begun = await answerOf(agent('ann').modern('tools/call', call, { capabilities }));
  expect(begun.result).toMatchObject({ resultType: 'input_required' });
  const inputResponses = { q1: { action: 'accept', content: { name: 'Ada' } } };
  const retry = { ...call, requestState: begun.result?.['requestState'], inputResponses };
  const goOn = (token: string) => answerOf(agent(token).modern('tools/call', retry, { capabilities }));
  expect((await goOn('ben')).error).toMatchObject({ data: { reason: 'invalid_request_state' } });
  const narrow = agent('narrow').modern('tools/call', retry, { capabilities });
  expect((await narrow.begun).status).toBe(403);
  expect(textOf(await goOn('wider'))).toContain('Ada');
  expect(bridges.busy).toBe(0);
});

it('a task is that of the person, and holds up the end until it was fetched', async () => {
  const people: People = {
    ann: { subject: 'ann', scopes: ['asking:use'] },
    wider: { subject: 'ann', scopes: ['asking:use', 'more'] },
    ben: { subject: 'ben', scopes: ['asking:use'] },
  };
  const { agent, bridges } = await served(people, RULES, { MCP_BRIDGE_TASK_AFTER: '0' });
  const asked = { capabilities: TASKS };
  const begun = await answerOf(agent('ann').modern('tools/call', execute('wait', '200'), asked));
  const taskId = begun.result?.['taskId'];
  expect(begun.result).toMatchObject({ resultType: 'task', status: 'working' });
  const get = (token: string) => answerOf(agent(token).modern('tasks/get', { taskId }, asked));
  // The call itself and its task, of which only the task is left when the call has ended.
  expect(bridges.busy).toBe(2);
  await expect.poll(() => bridges.busy, PATIENTLY).toBe(1);
  expect((await get('ben')).error).toMatchObject({ code: -32_602 });
  expect(bridges.busy).toBe(1);
  await expect
    .poll(async () => (await get('wider')).result, PATIENTLY)
    .toMatchObject({ status: 'completed' });
  // Its result is kept for those who ask again, but nobody waits for that.
  expect(bridges.busy).toBe(0);
  expect((await get('ann')).result).toMatchObject({ status: 'completed' });
});
