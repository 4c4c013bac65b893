// One principal against another: what one has, the other cannot see, use, guess or stop. Each attack has its control, which
// shows that it would have worked for the one whose it is. No container: calls go to servers as `execute` does.

import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { LOCAL_USER, type Principal } from '../../../src/base/principal.js';
import type { CallEvent } from '../../../src/run/calls/call-context.js';
import { type AgentCapabilities, NO_AGENT } from '../../../src/servers/asking/agent-capabilities.js';
import { TokenStore } from '../../../src/servers/login/token-store.js';
import type { HeaderSources } from '../../../src/service/principals/principal-rules.js';
import { principalStateDir } from '../../../src/settings/files/state-dir.js';
import { hostileWeb, type RemoteServer } from '../../servers/remote-servers.js';
import { NEVER, pause, until } from '../../support/time.js';
import {
  callTool,
  dataOf,
  hostileEntry,
  openBridges,
  principalNamed,
  type TestBridges,
} from './principal-bridges.js';

const ANN = principalNamed('ann');
const BEN = principalNamed('ben');

let bridges: TestBridges;
const webs: RemoteServer[] = [];
afterEach(async () => {
  await bridges[Symbol.asyncDispose]();
  for (const web of webs.splice(0)) await web.kill();
});

async function web(...modes: string[]): Promise<string> {
  const server = await hostileWeb('http', ...modes).start();
  webs.push(server);
  return `http://127.0.0.1:${server.port}/mcp`;
}

/** Something that a run of this principal has left, and its address. */
async function keptBy(principal: Principal, text: string): Promise<string> {
  const place = bridges.of(principal).kept.open('run-1');
  const { uri } = await place.put('secret.txt', 'text/plain', Buffer.from(text));
  await place.seal();
  return uri;
}

const isThere = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const pidOf = async (principal: Principal, server = 'a') =>
  (await dataOf(bridges.of(principal), server, 'pid'))['pid'];

describe('kept files', () => {
  it('of one are not read by another, not even by who knows the address', async () => {
    bridges = openBridges({});
    const uri = await keptBy(ANN, 'of ann');
    expect(uri).toMatch(/\/kept\/[0-9a-f]{32}\//);
    expect((await bridges.of(ANN).kept.read(uri))?.content.toString()).toBe('of ann');
    expect(await bridges.of(BEN).kept.read(uri)).toBeUndefined();
    expect(await bridges.of(LOCAL_USER).kept.read(uri)).toBeUndefined();
  });

  it('are told with their place on the machine to the user of the machine only', async () => {
    bridges = openBridges({});
    const pathFor = async (principal: Principal) => {
      const place = bridges.of(principal).kept.open('run-1');
      const { path } = await place.put('a.txt', 'text/plain', Buffer.from('x'));
      await place.seal();
      return path;
    };
    expect(await pathFor(ANN)).toBeUndefined();
    expect(await pathFor(LOCAL_USER)).toContain(bridges.stateDir);
    const { uri = '' } = bridges.of(ANN).kept.list()[0] ?? {};
    expect(await bridges.of(ANN).kept.read(uri)).toMatchObject({ path: undefined, name: 'a.txt' });
  });

  it('of one are in no list of another', async () => {
    bridges = openBridges({});
    await keptBy(ANN, 'of ann');
    expect(bridges.of(ANN).kept.list()).toHaveLength(1);
    expect(bridges.of(BEN).kept.list()).toEqual([]);
    expect(bridges.of(LOCAL_USER).kept.list()).toEqual([]);
  });

  it('of one are not pushed out by what another keeps', async () => {
    bridges = openBridges({}, { env: { MCP_BRIDGE_KEEP_MB: '1' } });
    const uri = await keptBy(ANN, 'of ann');
    const own = await keptBy(BEN, 'x'.repeat(700_000));
    await keptBy(BEN, 'y'.repeat(700_000));
    expect(await bridges.of(BEN).kept.read(own)).toBeUndefined();
    expect(await bridges.of(ANN).kept.read(uri)).toBeDefined();
  });

  it('that have expired are removed now and then, also of a principal that never comes back', async () => {
    bridges = openBridges(
      { a: hostileEntry() },
      { env: { MCP_BRIDGE_TOOLS: 'execute', MCP_BRIDGE_EXECUTE_SERVER: 'a', MCP_BRIDGE_KEEP_SECONDS: '60' } },
    );
    const folder = join(principalStateDir(bridges.stateDir, ANN), 'kept');
    const age = () => {
      for (const name of readdirSync(folder)) utimesSync(join(folder, name), 1, 1);
    };
    await keptBy(ANN, 'old');
    age();
    const uri = await keptBy(ANN, 'new');
    bridges.sweepRegularly(30);
    await until(() => readdirSync(folder).length === 1);
    expect(await bridges.of(ANN).kept.read(uri)).toBeDefined();
    age();
    await until(() => readdirSync(folder).length === 0);
    // No call starts a sandbox here, so no engine is asked for what sandboxes may have left.
    expect(bridges.events.filter(({ type }) => type.startsWith('engine.'))).toEqual([]);
  });

  it('of the user who started the bridge lie where they did', async () => {
    bridges = openBridges({});
    await keptBy(LOCAL_USER, 'x');
    expect(readdirSync(join(bridges.stateDir, 'kept'))).toHaveLength(1);
  });
});

it('containers that dead bridges have left are removed at the start, and again later', async () => {
  bridges = openBridges({});
  let looks = 0;
  const look = vi.spyOn(bridges.service.launcher, 'sweep').mockImplementation(async () => {
    if (++looks === 1) throw new Error('the engine does not answer');
    return 0;
  });
  bridges.sweepRegularly(20);
  await until(() => looks >= 3);
  expect(bridges.events).toEqual([{ type: 'engine.trouble', message: 'the engine does not answer' }]);
  await bridges[Symbol.asyncDispose]();
  const before = looks;
  await pause(60);
  expect(looks).toBe(before);
  look.mockRestore();
});

describe('folders', () => {
  it('have names that cannot be made of a principal’s, one for each, for their owner alone', () => {
    bridges = openBridges({});
    const ids = [
      'token:a',
      'token:A',
      'token:a/../b',
      'token:b',
      'oauth:https://x a',
      `token:${'x'.repeat(999)}`,
    ];
    const folders = ids.map((id) => principalStateDir(bridges.stateDir, { id }));
    expect(new Set(folders).size).toBe(ids.length);
    for (const folder of folders) {
      expect(folder).toMatch(/\/principals\/[0-9a-f]{64}$/);
      expect(statSync(folder).mode & 0o777).toBe(0o700);
    }
    expect(principalStateDir(bridges.stateDir, { id: 'token:a' })).toBe(folders[0]);
    // The same name elsewhere is another folder: there is a key.
    expect(principalStateDir(join(bridges.home, 'other'), { id: 'token:a' }).split('/').at(-1)).not.toBe(
      folders[0]?.split('/').at(-1),
    );
    expect(statSync(join(bridges.stateDir, 'principals', 'folder-key')).mode & 0o777).toBe(0o600);
    expect(principalStateDir(bridges.stateDir, LOCAL_USER)).toBe(bridges.stateDir);
  });

  it('are not made anew where the key is broken, which would lose what everybody has', () => {
    bridges = openBridges({});
    mkdirSync(join(bridges.stateDir, 'principals'), { recursive: true });
    writeFileSync(join(bridges.stateDir, 'principals', 'folder-key'), 'short');
    expect(() => bridges.of(ANN)).toThrow(/has 5 bytes instead of 32/);
  });
});

describe('servers', () => {
  it('that a principal was not given are not there: the same sentence as for a name that is nowhere', async () => {
    bridges = openBridges({ mine: hostileEntry(), hidden: hostileEntry({ X: '1' }) });
    const bridge = bridges.of(principalNamed('ann', ['mine']));
    const said = async (name: string) => {
      const answer = await callTool(bridge, name, 'pid');
      return 'message' in answer ? JSON.stringify(answer).replaceAll(name, 'NAME') : undefined;
    };
    expect(await said('hidden')).toBe(await said('nowher'));
    expect(await said('hidden')).toContain('Configured: mine');
    expect(bridge.servers.names).toEqual(['mine']);
    expect(await said('mine')).toBeUndefined();
    // The control: for the user who started the bridge it is there.
    expect(bridges.of(LOCAL_USER).servers.names).toEqual(['mine', 'hidden']);
  });

  it('that the policy denies are not there either, and neither is the rule', async () => {
    bridges = openBridges(
      { mine: hostileEntry(), denied: hostileEntry({ X: '1' }) },
      { env: { MCP_BRIDGE_DENY: 'denied' } },
    );
    const said = async (principal: Principal, name: string) =>
      JSON.stringify(await callTool(bridges.of(principal), name, 'pid')).replaceAll(name, 'NAME');
    expect(await said(ANN, 'denied')).toBe(await said(ANN, 'nowhere'));
    expect(await said(ANN, 'denied')).not.toContain('MCP_BRIDGE_DENY');
    expect(await said(LOCAL_USER, 'denied')).toContain('MCP_BRIDGE_DENY');
  });

  it('that are passed over, and files that cannot be read, are told to nobody else', async () => {
    bridges = openBridges({ mine: hostileEntry(), broken: { command: `$${'{NO_SUCH_VARIABLE}'}` } });
    const said = async (principal: Principal) =>
      JSON.stringify(await callTool(bridges.of(principal), 'broken', 'pid'));
    expect(await said(LOCAL_USER)).toContain('NO_SUCH_VARIABLE');
    expect(await said(ANN)).not.toContain('NO_SUCH_VARIABLE');
    expect(await said(ANN)).not.toContain(bridges.home);
  });

  it('that are hidden take no other time to be refused than names that are nowhere', async () => {
    bridges = openBridges({ mine: hostileEntry(), hidden: hostileEntry({ X: '1' }) });
    const bridge = bridges.of(principalNamed('ann', ['mine']));
    const times: Record<string, number[]> = { hidden: [], nowher: [] };
    for (let round = 0; round < 60; round++) {
      for (const name of round % 2 === 0 ? ['hidden', 'nowher'] : ['nowher', 'hidden']) {
        const startedAt = performance.now();
        await callTool(bridge, name, 'pid');
        times[name]?.push(performance.now() - startedAt);
      }
    }
    const least = (name: string) => Math.min(...(times[name] ?? []));
    // A look for one server more or less would be lost in the noise; starting it, or reading what is kept of it, would not.
    expect(least('hidden') / least('nowher')).toBeGreaterThan(0.5);
    expect(least('hidden') / least('nowher')).toBeLessThan(2);
    expect(bridges.events.filter(({ type }) => type === 'downstream.connecting')).toEqual([]);
  });

  it('are found in no documentation, and get no name in Python, for who has them not', async () => {
    bridges = openBridges({ mine: hostileEntry(), 'mine.x': hostileEntry({ X: '1' }) });
    const [all, one] = [bridges.of(ANN), bridges.of(principalNamed('ben', ['mine']))];
    for (const bridge of [all, one]) bridge.servers.rediscover();
    await pidOf(ANN, 'mine');
    await pidOf(ANN, 'mine.x');
    expect(all.servers.known.allDocs().map(({ name }) => name)).toEqual(['mine', 'mine.x']);
    expect(one.servers.known.allDocs()).toEqual([]);
    expect(one.servers.known.docOf('mine.x')).toBeUndefined();
    expect(one.servers.briefs([], new Map(), NO_AGENT).map(({ name }) => name)).toEqual(['mine']);
  });

  it('asked for with * are one’s own', () => {
    bridges = openBridges({ mine: hostileEntry(), hidden: hostileEntry({ X: '1' }) });
    expect(bridges.of(principalNamed('ann', ['mine'])).servers.splitNamed(['*'])).toEqual({
      servers: [],
      others: ['mine'],
    });
  });

  it('of a principal without any are none', async () => {
    bridges = openBridges({ mine: hostileEntry() });
    const answer = await callTool(bridges.of(principalNamed('new', [])), 'mine', 'pid');
    expect(answer).toMatchObject({ message: expect.stringContaining('Configured: none') });
  });

  it('by another credential of the same principal are those of that one', async () => {
    bridges = openBridges({ one: hostileEntry(), two: hostileEntry({ X: '2' }) });
    expect(bridges.of(principalNamed('ann', ['one'])).servers.names).toEqual(['one']);
    expect(bridges.of(principalNamed('ann', ['two'])).servers.names).toEqual(['two']);
    expect(bridges.of(principalNamed('ann', ['one'])).servers.names).toEqual(['one']);
  });
});

describe('processes', () => {
  it('of a server are one for each principal, which keeps what it was told', async () => {
    bridges = openBridges({ a: hostileEntry() });
    const [ann, ben, again] = [await pidOf(ANN), await pidOf(BEN), await pidOf(ANN)];
    expect(again).toBe(ann);
    expect(ben).not.toBe(ann);
  });

  it('of a server that is named as shared are one for all who have it, and for nobody else', async () => {
    bridges = openBridges({ a: hostileEntry(), b: hostileEntry({ X: '1' }) });
    bridges.shared.push('a');
    expect(await pidOf(ANN)).toBe(await pidOf(BEN));
    expect(await pidOf(ANN, 'b')).not.toBe(await pidOf(BEN, 'b'));
    const eve = bridges.of(principalNamed('eve', ['b']));
    const refused = await callTool(eve, 'a', 'pid');
    expect(refused).toMatchObject({ message: expect.stringContaining("there is no server 'a'") });
    expect(eve.servers.pool.states().map(({ name }) => name)).toEqual(['b']);
    using lease = eve.servers.pool.lease(['a']);
    await expect(lease.get('a', NEVER)).rejects.toMatchObject({ code: 'E_SERVER_UNKNOWN' });
  });

  it('of a shared server outlive the bridge of one', async () => {
    bridges = openBridges({ a: hostileEntry() });
    bridges.shared.push('a');
    const pid = await pidOf(ANN);
    await bridges.of(ANN)[Symbol.asyncDispose]();
    expect(await pidOf(BEN)).toBe(pid);
  });

  it('of a shared server end when it is configured no more, whoever sees that', async () => {
    bridges = openBridges({ a: hostileEntry(), b: hostileEntry({ X: '1' }) });
    bridges.shared.push('a');
    const pid = await pidOf(ANN);
    await bridges.of(ANN)[Symbol.asyncDispose]();
    bridges.configure({ b: hostileEntry({ X: '1' }) });
    await pidOf(BEN, 'b');
    await until(() => !isThere(Number(pid)));
    const ends = bridges.events.filter(({ type }) => type === 'downstream.closed');
    expect(ends.map((event) => 'principal' in event)).toEqual([false]);
  });

  it('of a shared server end when it is shared no more, and not within a run that has it', async () => {
    bridges = openBridges({ a: hostileEntry() });
    bridges.shared.push('a');
    const pid = await pidOf(ANN);
    using lease = bridges.of(ANN).servers.pool.lease(['a']);
    expect((await lease.get('a', NEVER)).spec.name).toBe('a');
    bridges.shared.pop();
    const own = await pidOf(BEN);
    expect(own).not.toBe(pid);
    expect(isThere(Number(pid))).toBe(true);
    lease[Symbol.dispose]();
    expect(await pidOf(ANN)).not.toBe(pid);
    await until(() => !isThere(Number(pid)));
    expect(await pidOf(BEN)).toBe(own);
  });

  it('of a shared server end when nobody has used it for as long as the operator says', async () => {
    bridges = openBridges({ a: hostileEntry() }, { env: { MCP_BRIDGE_SERVER_IDLE: '1' } });
    bridges.shared.push('a');
    const pid = await pidOf(ANN);
    await bridges.of(ANN)[Symbol.asyncDispose]();
    expect(isThere(Number(pid))).toBe(true);
    await until(() => !isThere(Number(pid)));
  });

  it('that crash for one go on for another', async () => {
    bridges = openBridges({ a: hostileEntry() });
    const ben = await pidOf(BEN);
    for (let times = 0; times < 3; times++) await callTool(bridges.of(ANN), 'a', 'crash');
    expect(await callTool(bridges.of(ANN), 'a', 'pid')).toMatchObject({ type: 'E_SERVER_UNAVAILABLE' });
    expect(await pidOf(BEN)).toBe(ben);
  });
});

describe('questions of a server', () => {
  const asking = (answers: string[], name: string): AgentCapabilities => ({
    ...NO_AGENT,
    elicits: () => ({ form: true, url: false }),
    hasRoots: () => true,
    listRoots: () => Promise.resolve({ roots: [{ uri: `file:///${name}` }] }),
    elicit: () => {
      answers.push(name);
      return Promise.resolve({ action: 'accept', content: { name } });
    },
  });

  it('go to the agent of the principal that called', async () => {
    bridges = openBridges({ a: hostileEntry() });
    const asked: string[] = [];
    const ask = (principal: Principal, name: string) =>
      dataOf(bridges.of(principal), 'a', 'ask', {}, { agent: asking(asked, name) });
    const answers = await Promise.all([ask(ANN, 'ann'), ask(BEN, 'ben')]);
    expect(answers).toEqual([
      { answers: [{ action: 'accept', content: { name: 'ann' } }] },
      { answers: [{ action: 'accept', content: { name: 'ben' } }] },
    ]);
    expect(asked.sort()).toEqual(['ann', 'ben']);
  });

  it('are put to nobody where principals share it, and it is told no folders', async () => {
    bridges = openBridges({ a: hostileEntry() });
    bridges.shared.push('a');
    const asked: string[] = [];
    const agent = asking(asked, 'ann');
    const answers = await dataOf(bridges.of(ANN), 'a', 'ask', {}, { agent });
    expect(answers).toEqual({ answers: [{ action: 'decline' }] });
    expect(await dataOf(bridges.of(ANN), 'a', 'roots', {}, { agent })).toEqual({
      answers: [{ error: { code: -32601, message: 'Method not found' } }],
    });
    expect(asked).toEqual([]);
  });
});

describe('what is learned', () => {
  it('of a server’s tools, and of its answers, is known to the one whose it is', async () => {
    bridges = openBridges({ a: hostileEntry() });
    await dataOf(bridges.of(ANN), 'a', 'echo_raw', { secret_key_of_ann: 1 });
    const shapeFor = (principal: Principal) => {
      const { servers } = bridges.of(principal);
      servers.rediscover();
      return JSON.stringify(servers.known.docOf('a') ?? null);
    };
    await until(() => shapeFor(ANN).includes('secret_key_of_ann'));
    expect(shapeFor(BEN)).toBe('null');
    await pidOf(BEN);
    expect(shapeFor(BEN)).toContain('echo_raw');
    expect(shapeFor(BEN)).not.toContain('secret_key_of_ann');
  });

  it('of the tools of a shared server is known to each who has used it, whoever has started it', async () => {
    bridges = openBridges({ a: hostileEntry() });
    bridges.shared.push('a');
    const load = async (principal: Principal) => {
      const { servers } = bridges.of(principal);
      servers.rediscover();
      using lease = servers.pool.lease(['a']);
      await servers.load('a', lease, NEVER);
    };
    const knownTo = (principal: Principal) =>
      bridges
        .of(principal)
        .servers.known.allDocs()
        .map(({ name }) => name);
    await load(ANN);
    expect([knownTo(ANN), knownTo(BEN)]).toEqual([['a'], []]);
    await load(BEN);
    expect([knownTo(ANN), knownTo(BEN)]).toEqual([['a'], ['a']]);
  });

  it('saved tools of one are no tools of another', () => {
    bridges = openBridges({});
    const tool = { name: 'add', signature: 'add(a, b)', description: 'Adds.', source: 'def add(a, b): ...' };
    bridges.of(ANN).saved.put(tool, { run: 'r', mayReplace: false });
    expect(
      bridges
        .of(ANN)
        .saved.list()
        .map(({ name }) => name),
    ).toEqual(['add']);
    expect(bridges.of(BEN).saved.list()).toEqual([]);
    expect(bridges.of(LOCAL_USER).saved.list()).toEqual([]);
    expect(() => bridges.of(BEN).saved.get('add')).toThrow(/no saved tool/);
  });

  it('snippets of one, and of the user who started the bridge, are none of another', async () => {
    bridges = openBridges({});
    const put = (folder: string, name: string) => {
      mkdirSync(join(folder, 'snippets'), { recursive: true });
      writeFileSync(join(folder, 'snippets', name), 'print(1)\n');
    };
    put(principalStateDir(bridges.stateDir, ANN), 'of_ann.py');
    put(bridges.stateDir, 'of_operator.py');
    const names = async (principal: Principal) =>
      (await bridges.of(principal).snippets.list()).map(({ name }) => name);
    expect(await names(ANN)).toEqual(['of_ann']);
    expect(bridges.of(BEN).snippets.folder).toBeUndefined();
    await expect(bridges.of(ANN).snippets.find('of_operator')).rejects.toThrow();
  });
});

describe('headers and logins', () => {
  const headersOf = async (principal: Principal) => await dataOf(bridges.of(principal), 'far', 'headers');

  it('are those of the principal, from texts and from variables by name', async () => {
    bridges = openBridges(
      { far: { type: 'http', url: await web(), headers: { 'X-Key': 'of-the-entry', 'X-Common': 'all' } } },
      { ownEnv: { KEY_OF_ANN: 'key-of-ann-1234' } },
    );
    bridges.rules.set(ANN.id, { headers: { far: { 'x-key': { from: 'variable', name: 'KEY_OF_ANN' } } } });
    bridges.rules.set(BEN.id, { headers: { far: { 'X-Key': { from: 'text', text: 'key-of-ben-5678' } } } });
    expect(await headersOf(ANN)).toMatchObject({ 'x-key': 'key-of-ann-1234', 'x-common': 'all' });
    expect(await headersOf(BEN)).toMatchObject({ 'x-key': 'key-of-ben-5678', 'x-common': 'all' });
    expect(await headersOf(LOCAL_USER)).toMatchObject({ 'x-key': 'of-the-entry' });
    // What is shown to one does not tell which texts are secrets of another; the log hides all.
    expect(bridges.of(ANN).redactor.redact('key-of-ann-1234')).not.toContain('1234');
    expect(bridges.of(BEN).redactor.redact('key-of-ann-1234')).toBe('key-of-ann-1234');
    expect(bridges.logRedactor.redact('key-of-ann-1234 key-of-ben-5678')).not.toMatch(/1234|5678/);
  });

  it.each<[string, HeaderSources]>([
    ['a text', { 'X-Key': { from: 'text', text: 'word-k4711k-secret' } }],
    ['a text after a scheme', { Authorization: { from: 'text', text: 'ApiKey word-k4711k-secret' } }],
    ['a variable', { 'X-Key': { from: 'variable', name: 'HARMLESS' } }],
    ['a variable that no header can be', { 'X-Key': { from: 'variable', name: 'TWO_LINES' } }],
    ['an exchange', { Authorization: { from: 'exchange' } }],
  ])('from %s are in no error, answer, event or log line, though the server quotes them', async (_, own) => {
    const quoting = createServer((request, response) => {
      const said = JSON.stringify(request.headers);
      response.writeHead(500, { 'content-type': 'text/plain' }).end(`no: ${said}`);
    });
    await new Promise<void>((resolve) => quoting.listen(0, '127.0.0.1', resolve));
    const { port } = quoting.address() as AddressInfo;
    bridges = openBridges(
      { far: { type: 'http', url: `http://127.0.0.1:${port}/mcp` } },
      {
        ownEnv: { HARMLESS: 'word-k4711k-secret', TWO_LINES: 'word-k4711k-secret\nmore' },
        exchange: () => Promise.resolve('word-k4711k-secret'),
      },
    );
    bridges.rules.set(ANN.id, { headers: { far: own } });
    const shown = JSON.stringify(await callTool(bridges.of(ANN), 'far', 'headers'));
    await new Promise((resolve) => quoting.close(resolve));
    expect(shown).toContain('E_SERVER_UNAVAILABLE');
    expect(shown).not.toContain('k4711k');
    expect(JSON.stringify(bridges.events)).not.toContain('k4711k');
    // What an agent sends as an argument is in the audit, which the log's redactor reads.
    expect(bridges.logRedactor.redact('word-k4711k-secret\nmore')).not.toContain('k4711k');
  });

  it('of a shared server are in nothing that a principal is told, and are none of its secrets', async () => {
    const quoting = createServer((request, response) => {
      response.writeHead(500, { 'content-type': 'text/plain' }).end(`no: ${JSON.stringify(request.headers)}`);
    });
    await new Promise<void>((resolve) => quoting.listen(0, '127.0.0.1', resolve));
    const { port } = quoting.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/mcp`;
    bridges = openBridges({ far: { type: 'http', url, headers: { 'X-Key': 'word-k4711k-secret' } } });
    bridges.shared.push('far');
    bridges.rules.set(ANN.id, { headers: { far: { 'X-Own': { from: 'text', text: 'own-k4712k-secret' } } } });
    expect(JSON.stringify(await callTool(bridges.of(BEN), 'far', 'headers'))).not.toContain('k4711k');
    const shown = JSON.stringify(await callTool(bridges.of(ANN), 'far', 'headers'));
    await new Promise((resolve) => quoting.close(resolve));
    expect(shown).toContain('E_SERVER_UNAVAILABLE');
    expect(shown).toContain('x-key');
    expect(shown).not.toMatch(/k4711k|k4712k|x-own/);
    expect(JSON.stringify(bridges.events)).not.toContain('k4711k');
    expect(bridges.of(BEN).redactor.redact('word-k4711k-secret')).toBe('word-k4711k-secret');
    expect(bridges.logRedactor.redact('word-k4711k-secret')).not.toContain('k4711k');
  });

  it('are known as secrets from the first look at the servers on', () => {
    bridges = openBridges({ far: { type: 'http', url: 'http://127.0.0.1:9/mcp' } });
    bridges.rules.set(ANN.id, {
      headers: { far: { 'X-Key': { from: 'text', text: 'word-k4711k-secret' } } },
    });
    bridges.of(ANN).servers.rediscover();
    expect(bridges.of(ANN).redactor.redact('word-k4711k-secret')).toBe('[X-Key of far]');
    expect(bridges.logRedactor.redact('word-k4711k-secret')).toContain('X-Key of far');
  });

  it('by a variable that is not set leave the server out, and say so in the log', async () => {
    bridges = openBridges({ far: { type: 'http', url: 'http://127.0.0.1:9/mcp' } });
    bridges.rules.set(ANN.id, { headers: { far: { 'X-Key': { from: 'variable', name: 'NOT_SET' } } } });
    expect(await callTool(bridges.of(ANN), 'far', 'headers')).toMatchObject({ type: 'E_SERVER_UNKNOWN' });
    const told = bridges.events.filter(({ type }) => type === 'config.problem');
    expect(told).toMatchObject([{ principal: ANN.id, message: expect.stringContaining('NOT_SET') }]);
  });

  it('exchanged: the token of each, had anew when it is refused', async () => {
    const asked = new Set<string>();
    const anew: unknown[] = [];
    bridges = openBridges(
      { far: { type: 'http', url: await web('needs=Bearer good') } },
      {
        // It keeps what it had; the connection asks with each request.
        exchange: ({ principal, server, refused }) => {
          asked.add(`${principal.id} ${server}`);
          if (refused !== undefined) anew.push(refused);
          return Promise.resolve(anew.length === 0 ? 'stale' : 'good');
        },
      },
    );
    bridges.rules.set(ANN.id, { headers: { far: { Authorization: { from: 'exchange' } } } });
    expect(await headersOf(ANN)).toMatchObject({ authorization: 'Bearer good' });
    expect([...asked]).toEqual(['token:ann far']);
    expect(anew).toEqual(['stale']);
    const refused = await callTool(bridges.of(BEN), 'far', 'headers');
    expect(refused).toMatchObject({ message: expect.stringContaining('it wants a login') });
  });

  it('exchanged where there is no way to: says so, and reaches nothing', async () => {
    bridges = openBridges({ far: { type: 'http', url: await web() } });
    bridges.rules.set(ANN.id, { headers: { far: { Authorization: { from: 'exchange' } } } });
    expect(await callTool(bridges.of(ANN), 'far', 'headers')).toMatchObject({
      message: expect.stringContaining('the bridge has no way to exchange tokens'),
    });
  });

  it('that are wanted are asked for with the command for this principal, whoever reads it', async () => {
    const url = await web('needs=Bearer good');
    bridges = openBridges({ far: { type: 'http', url }, common: { type: 'http', url: `${url}?x=1` } });
    bridges.shared.push('common');
    const remedyFor = async (principal: Principal, server = 'far') => {
      const answer = await callTool(bridges.of(principal), server, 'headers');
      return 'remedy' in answer ? answer.remedy : undefined;
    };
    const who = 'Whoever runs the bridge can log in: `mcp-sandbox-bridge login';
    expect(await remedyFor(ANN)).toBe(`${who} far --principal ann\`.`);
    const person = { ...ANN, id: 'oauth:https://issuer.test/a ann', name: 'ann' };
    expect(await remedyFor(person)).toBe(`${who} far --principal 'subject:https://issuer.test/a ann'\`.`);
    expect(await remedyFor(ANN, 'common')).toBe(`${who} common\`.`);
    expect(await remedyFor(LOCAL_USER)).toMatch(/^Run `.*login far` in a terminal\.$/);
  });

  it('a login of one is none of another, and not that of the user who started the bridge', async () => {
    const url = await web('needs=Bearer of-ann');
    bridges = openBridges({ far: { type: 'http', url } });
    const issuer = 'http://127.0.0.1:9';
    new TokenStore(principalStateDir(bridges.stateDir, ANN)).write({
      ...{ name: 'far', url, issuer, scopes: [], accessToken: 'of-ann', obtainedAtMs: Date.now() },
      client: { client_id: 'c' },
      metadata: {
        ...{ issuer, authorization_endpoint: `${issuer}/a`, token_endpoint: `${issuer}/t` },
        response_types_supported: ['code'],
      },
    });
    expect(await headersOf(ANN)).toMatchObject({ authorization: 'Bearer of-ann' });
    for (const other of [BEN, LOCAL_USER]) {
      const refused = await callTool(bridges.of(other), 'far', 'headers');
      expect(refused).toMatchObject({ message: expect.stringContaining('it wants a login') });
    }
  });
});

describe('rules', () => {
  it('of a principal take away from what the operator allows, and give nothing back', async () => {
    bridges = openBridges({ a: hostileEntry() }, { env: { MCP_BRIDGE_DENY: 'a.echo' } });
    bridges.rules.set(ANN.id, { deny: ['a.pid'], allow: ['a.*', 'a'] });
    const said = async (principal: Principal, tool: string) =>
      JSON.stringify(await callTool(bridges.of(principal), 'a', tool, { text: 'x' }));
    expect(await said(ANN, 'pid')).toContain("the principal's deny list");
    expect(await said(ANN, 'echo')).toContain('E_DENIED');
    expect(await said(BEN, 'pid')).not.toContain('E_DENIED');
  });

  it('of a policy file of its own hold, and a change of them counts for the next call', async () => {
    bridges = openBridges({ a: hostileEntry() });
    const policyFile = join(bridges.home, 'ann.yaml');
    writeFileSync(policyFile, 'version: 1\ndeny: [a.pid]\n', { mode: 0o600 });
    bridges.rules.set(ANN.id, { policyFile });
    const said = async () => JSON.stringify(await callTool(bridges.of(ANN), 'a', 'pid'));
    expect(await said()).toContain('E_DENIED');
    writeFileSync(policyFile, 'version: 1\ndeny: [a.echo]\n', { mode: 0o600 });
    expect(await said()).toContain('grandchildren');
    bridges.rules.set(ANN.id, { servers: [] });
    expect(await said()).toContain('there is no server');
    bridges.rules.delete(ANN.id);
    expect(await said()).toContain('grandchildren');
  });

  it('that cannot be read allow nothing, until they can be', async () => {
    bridges = openBridges({ a: hostileEntry() });
    bridges.rules.set(ANN.id, { policyFile: join(bridges.home, 'none.yaml') });
    expect(await callTool(bridges.of(ANN), 'a', 'pid')).toMatchObject({ type: 'E_SERVER_UNKNOWN' });
    expect(bridges.of(ANN).servers.policyTrouble).toContain('cannot be read');
    expect(await pidOf(BEN)).toBeGreaterThan(0);
    bridges.rules.delete(ANN.id);
    expect(await pidOf(ANN)).toBeGreaterThan(0);
  });

  it('that change leave what is under way as it is', async () => {
    bridges = openBridges({ a: hostileEntry() });
    await pidOf(ANN);
    let isUnderWay = false;
    const tell = ({ type }: CallEvent) => {
      isUnderWay ||= type === 'tool.progress';
    };
    const sleeping = callTool(bridges.of(ANN), 'a', 'sleep', { ms: 500, every: 100 }, { tell });
    await until(() => isUnderWay);
    bridges.rules.set(ANN.id, { servers: [] });
    expect(await callTool(bridges.of(ANN), 'a', 'pid')).toMatchObject({ type: 'E_SERVER_UNKNOWN' });
    expect(await sleeping).toMatchObject({ content: [{ text: 'slept 500 ms' }] });
  });

  it('of the operator’s configuration count for the next call of each', async () => {
    bridges = openBridges({ a: hostileEntry() });
    await pidOf(ANN);
    bridges.configure({ b: hostileEntry() });
    expect(await callTool(bridges.of(ANN), 'a', 'pid')).toMatchObject({ type: 'E_SERVER_UNKNOWN' });
    expect(await pidOf(ANN, 'b')).toBeGreaterThan(0);
  });
});

describe('log and audit', () => {
  it('say whose each event is, but for those of the user who started the bridge', async () => {
    bridges = openBridges({ a: hostileEntry() });
    await pidOf(ANN);
    const ofAnn = bridges.events.filter(({ type }) => /^(run|downstream)\./.test(type));
    expect(ofAnn.length).toBeGreaterThan(3);
    expect(ofAnn.every(({ principal }) => principal === ANN.id)).toBe(true);
    bridges.events.length = 0;
    await pidOf(LOCAL_USER);
    expect(bridges.events.length).toBeGreaterThan(3);
    expect(bridges.events.every((event) => !('principal' in event))).toBe(true);
  });

  it('ids of runs of two principals have nothing in common', async () => {
    bridges = openBridges({ a: hostileEntry() });
    await Promise.all([pidOf(ANN), pidOf(BEN)]);
    const ids = bridges.events.flatMap((event) => (event.type === 'run.started' ? [event.run] : []));
    const [one, other] = ids.map((id) => id.split('-')[0]);
    expect(one).toMatch(/^[0-9a-f]{8}$/);
    expect(one).not.toBe(other);
  });

  it('what one waits for names no server that another has started', async () => {
    bridges = openBridges({ a: { ...hostileEntry(), args: ['-e', 'setInterval(() => {}, 1e4)'] } });
    const waits: string[] = [];
    const opening = callTool(bridges.of(ANN), 'a', 'pid');
    await until(() => bridges.events.some(({ type }) => type === 'downstream.connecting'));
    const tell = (event: CallEvent) => {
      if (event.type === 'preparing') waits.push(event.waitsFor());
    };
    const own = callTool(bridges.of(BEN), 'a', 'pid', {}, { tell });
    await until(() => waits.length > 0);
    expect(waits).toEqual(['Setting up: starting a sandbox.']);
    await bridges.of(ANN)[Symbol.asyncDispose]();
    await bridges.of(BEN)[Symbol.asyncDispose]();
    await Promise.all([opening, own]);
  });
});
