// The catalog fed by real servers through the pool, and read without them.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { Redactor } from '../../src/base/secrets/redact.js';
import type { DownstreamSpec } from '../../src/hosts/downstream-spec.js';
import { toServerDoc } from '../../src/servers/catalog/catalog.js';
import { KeptCatalog } from '../../src/servers/catalog/kept-catalog.js';
import { KnownServers } from '../../src/servers/catalog/known-servers.js';
import { searchTools } from '../../src/servers/catalog/search.js';
import { DownstreamPool } from '../../src/servers/pool/pool.js';
import { NEVER, until } from '../support/time.js';
import { call, hostile, spec } from './hostile.js';

const require = createRequire(import.meta.url);
const CHANGING = fileURLToPath(new URL('../fixtures/changing-server.mjs', import.meta.url));

let state: string;
let events: BridgeEvent[];
let catalog: KeptCatalog;
const pools: DownstreamPool[] = [];
beforeEach(() => {
  state = mkdtempSync(path.join(tmpdir(), 'learned-test-'));
  events = [];
  catalog = new KeptCatalog(state, observer);
});
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool[Symbol.asyncDispose]()));
  rmSync(state, { recursive: true });
});

const observer = (event: BridgeEvent) => void events.push(event);
function poolOf(...specs: readonly DownstreamSpec[]): DownstreamPool {
  const pool = new DownstreamPool({
    specs,
    hostEnv: process.env,
    extraEnvNames: [],
    depth: 0,
    observer,
    redactor: new Redactor(),
    onListed: (server) => catalog.learn(server),
  });
  pools.push(pool);
  return pool;
}
const none = () => undefined;
const known = (...specs: readonly DownstreamSpec[]) => {
  const servers = new KnownServers(new KeptCatalog(state, observer), { of: () => none });
  servers.adopt(specs, (name) => name);
  return servers;
};

function packaged(name: string, ...args: string[]) {
  const manifest = require.resolve(`@modelcontextprotocol/server-${name}/package.json`);
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: Record<string, string> };
  const [program = ''] = Object.values(bin);
  return spec(name, process.execPath, [path.join(path.dirname(manifest), program), ...args]);
}

it('what real servers said is the same without them, and a second start changes nothing', async () => {
  const specs = [packaged('everything'), packaged('filesystem', state), packaged('memory')];
  const pool = poolOf(...specs);
  const live = await Promise.all(specs.map(({ name }) => pool.get(name, NEVER)));
  const docs = live.map((server) => toServerDoc(server, server.spec.name, none));
  await pool[Symbol.asyncDispose]();
  const servers = known(...specs);
  expect(servers.allDocs()).toEqual(docs);
  expect(servers.docOf('memory')).toEqual(docs[2]);
  expect(servers.briefs([]).map(({ tools }) => tools)).toEqual([13, 14, 9]);
  expect(searchTools(servers.allDocs(), 'read text file', 1)).toMatchObject([
    { tool: { name: 'read_text_file' } },
  ]);
  const again = poolOf(...specs);
  await Promise.all(specs.map(({ name }) => again.get(name, NEVER)));
  expect(known(...specs).allDocs()).toEqual(docs);
  expect(events.filter(({ type }) => type === 'downstream.changed')).toEqual([]);
});

it('a poisoned list is kept as it was capped, and shown as harmless as the live one', async () => {
  const poisoned = hostile('poisoned');
  const live = await poolOf(poisoned).get('hostile', NEVER);
  expect(known(poisoned).docOf('hostile')).toEqual(toServerDoc(live, 'hostile', none));
});

it('list_changed is learned, and a tool that it changes is flagged before anybody starts it again', async () => {
  const folder = path.join(state, 'changing');
  mkdirSync(folder);
  const tools = (description: string) => JSON.stringify([{ name: 'send', description, inputSchema: {} }]);
  writeFileSync(path.join(folder, 'tools.json'), tools('Sends.'));
  const changing = spec('changing', process.execPath, [CHANGING, folder]);
  const server = await poolOf(changing).get('changing', NEVER);
  expect(known(changing).docOf('changing')?.tools[0]?.changed).toBeNull();
  await call(server, 'change', { to: tools('Sends, and tells me.') });
  await until(() => catalog.of(changing)?.changes.size === 1);
  const [send] = known(changing).docOf('changing')?.tools ?? [];
  expect(send).toMatchObject({
    description: 'Sends, and tells me.',
    changed: expect.stringMatching(
      /^description changed since it was first seen on \d{4}-\d\d-\d\d; accept with /,
    ),
  });
  expect(events.filter(({ type }) => type === 'downstream.changed')).toEqual([
    { type: 'downstream.changed', server: 'changing', tools: ['send (description)'] },
  ]);
  // What is kept makes nothing callable, and the live list is what it was asked for.
  expect(server.tools().map(({ name }) => name)).toEqual(['send', 'change']);
});

it('a server that does not start leaves what is kept of it', async () => {
  const good = { ...hostile(), name: 'moody' };
  await poolOf(good).get('moody', NEVER);
  const before = known(good).docOf('moody');
  const bad = { ...good, command: '/nowhere/node' };
  await expect(poolOf(bad).get('moody', NEVER)).rejects.toThrow();
  expect(known(good).docOf('moody')).toEqual(before);
  expect(known(bad).docOf('moody')).toBeUndefined();
});
