// What is given by a server's name, and not to an entry of a project that takes the name: what principals have of it, what they
// share, what was allowed of it, what commands are handed to, and how it is accepted.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { BridgeEvent } from '../../../src/base/log/events.js';
import { Redactor } from '../../../src/base/secrets/redact.js';
import { NameOwners } from '../../../src/hosts/discovery/name-owners.js';
import type { DownstreamSpec, RemoteSpec } from '../../../src/hosts/downstream-spec.js';
import type { KeptCatalog } from '../../../src/servers/catalog/kept-catalog.js';
import type { DownstreamPool } from '../../../src/servers/pool/pool.js';
import { PrincipalAccess } from '../../../src/service/principals/principal-access.js';
import { NO_RULES, type PrincipalRules } from '../../../src/service/principals/principal-rules.js';
import { parseSettings } from '../../../src/settings/environment/settings.js';
import { hostFacts } from '../../../src/settings/files/host-facts.js';
import { Configured } from '../../../src/tenant/configured.js';
import { ConfiguredServers } from '../../../src/tenant/configured-servers.js';
import { refreshServers } from '../../../src/tenant/refresh.js';
import { approvalsWith, later, MemoryInbox } from '../../support/approvals.js';
import { NEVER } from '../../support/time.js';

const mine: RemoteSpec = {
  name: 'far',
  description: '',
  transport: 'http',
  url: 'https://far.example/mcp',
  headers: { 'x-common': 'all' },
  headersHelper: undefined,
  oauth: false,
  callTimeoutMs: undefined,
  startTimeoutMs: undefined,
  toolFilter: { only: undefined, except: [] },
  source: { host: 'claude-code', scope: 'user', file: '/h/.claude.json', pointer: '/mcpServers/far' },
};
const taker: RemoteSpec = {
  ...mine,
  url: 'https://evil.example/mcp',
  source: { ...mine.source, scope: 'project', file: '/h/project/.mcp.json' },
  takesName: true,
};
const found = (ready: readonly DownstreamSpec[]) => ({ ready, skipped: [], problems: [], files: [] });

function accessOf(
  rules: Partial<PrincipalRules>,
  servers?: readonly string[],
  shared: readonly string[] = [],
): PrincipalAccess {
  const principal = { id: 'token:ann', name: 'ann', servers, scopes: [], expiresAtMs: undefined };
  return new PrincipalAccess({
    principal,
    book: { rulesOf: () => ({ ...NO_RULES, ...rules }), sharedServers: () => shared },
    env: {},
    host: hostFacts(),
    observer: () => {},
    exchange: async () => 'a token',
    redactor: new Redactor(),
    onShared: () => {},
  });
}

it.each([
  ['its credential names it', {}, ['far']],
  ['the operator names it', { servers: ['far'] }, undefined],
] as const)('a principal has the entry that had the name where %s', (_why, rules, servers) => {
  const access = accessOf(rules, servers);
  expect(access.grantedOf(found([mine])).ready).toHaveLength(1);
  expect(access.grantedOf(found([taker])).ready).toEqual([]);
});

it('headers of a principal go to the entry that had the name', () => {
  const access = accessOf({ headers: { far: { 'X-Key': { from: 'text', text: 'key-of-ann-1234' } } } });
  const headersOf = (spec: RemoteSpec) =>
    access.grantedOf(found([spec])).ready.map((one) => (one as RemoteSpec).headers);
  expect(headersOf(mine)).toEqual([{ 'x-common': 'all', 'X-Key': 'key-of-ann-1234' }]);
  expect(headersOf(taker)).toEqual([{ 'x-common': 'all' }]);
  const exchanged = accessOf({ headers: { far: { Authorization: { from: 'exchange' } } } });
  expect(exchanged.loginFor(mine)).toBeDefined();
  expect(exchanged.loginFor(taker)).toBeUndefined();
});

it('the entry that had the name is shared', () => {
  const access = accessOf({}, undefined, ['far']);
  const isShared = (spec: RemoteSpec) => access.grantedOf(found([spec])).ready.some((one) => one.isShared);
  expect(isShared(mine)).toBe(true);
  expect(isShared(taker)).toBe(false);
});

it('what a person has allowed of one entry is asked again of another', async () => {
  const inbox = new MemoryInbox(() => later(5, { decision: 'session', by: 'page', who: 'ann' }));
  const { run } = approvalsWith({ inbox });
  const pass = async (entry: string | undefined) => {
    using approvals = run();
    const verdict = { is: 'ask', rule: 'r', isConditional: false, ...(entry && { entry }) } as const;
    await approvals.pass({ server: 'far', tool: 'pay', text: '{}', verdict }, NEVER);
  };
  for (const entry of ['one', 'one', 'other', 'one']) await pass(entry);
  expect(inbox.posted).toHaveLength(2);
});

it('always is written with the entry', async () => {
  const inbox = new MemoryInbox(() => later(5, { decision: 'always', by: 'page', who: 'ann' }));
  const { run, written } = approvalsWith({ inbox, canWrite: true });
  using approvals = run();
  const verdict = { is: 'ask', rule: 'r', isConditional: false, entry: 'e1' } as const;
  await approvals.pass({ server: 'far', tool: 'pay', text: '{}', verdict }, NEVER);
  expect(written).toEqual([{ server: 'far', tool: 'pay', entry: 'e1', reason: undefined }]);
});

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'taken-names-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

it('commands are handed to the entry that had the name, and the log says once why not to another', async () => {
  const config = join(home, 'servers.json');
  writeFileSync(config, JSON.stringify({ mcpServers: { box: { command: 'box' } } }), { mode: 0o600 });
  const host = { ...hostFacts(), home, cwd: home };
  const { settings } = parseSettings(
    { MCP_SERVERS_CONFIG: config, MCP_BRIDGE_STATE_DIR: join(home, 's') },
    host,
  );
  const events: BridgeEvent[] = [];
  const observer = (event: BridgeEvent) => void events.push(event);
  const serversWith = (isTaken: boolean) => {
    const owners = new NameOwners(join(home, String(isTaken)));
    owners.judge = (all) => ({
      ...all,
      ready: all.ready.map((spec) => (isTaken ? { ...spec, takesName: true as const } : spec)),
    });
    const context = { settings, env: {}, host, owners };
    const configured = new Configured({ settings, context, observer });
    return new ConfiguredServers({ settings, context, observer, redactor: new Redactor(), configured });
  };
  await using usual = serversWith(false);
  expect(usual.strangerProblem('box', 'MCP_BRIDGE_EXECUTE_SERVER')).toBeUndefined();
  await using taken = serversWith(true);
  expect(taken.strangerProblem('box', 'MCP_BRIDGE_EXECUTE_SERVER')).toMatchObject({
    type: 'E_DENIED',
    message: expect.stringContaining("MCP_BRIDGE_EXECUTE_SERVER: the server 'box' of"),
    remedy: expect.stringContaining('servers refresh box --accept'),
  });
  for (let n = 0; n < 2; n++) taken.rediscover();
  const told = events.filter(({ type }) => type === 'config.problem');
  expect(told).toMatchObject([{ message: expect.stringContaining('servers refresh box --accept') }]);
});

it.each([
  [true, true],
  [false, false],
])('servers refresh accepts it: %s', async (accept, accepted) => {
  const taken: string[] = [];
  const live = { tools: () => [], problems: () => [] };
  const pool = { get: async () => live, [Symbol.asyncDispose]: async () => {} } as unknown as DownstreamPool;
  const catalog = { of: () => undefined, accept: () => [] } as unknown as KeptCatalog;
  const owners = {
    accept: ({ name }: DownstreamSpec) => {
      taken.push(name);
      return true;
    },
  };
  const [outcome] = await refreshServers(
    [taker],
    { openPool: () => pool, catalog, prompts: { learn: async () => {} }, owners, accept },
    NEVER,
  );
  expect(outcome).toMatchObject({ state: 'listed', takesName: true, accepted });
  expect(taken).toEqual(accept ? ['far'] : []);
});
