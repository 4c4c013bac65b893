// Servers of both eras of MCP, over stdio and HTTP: each is greeted in the way that it knows, and a server of 2025 is none
// the worse for having been asked.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { Redactor } from '../../src/base/secrets/redact.js';
import type { DownstreamSpec } from '../../src/hosts/downstream-spec.js';
import { type EraMemory, ErasInMemory, KeptEras } from '../../src/servers/connection/greet.js';
import { DownstreamPool } from '../../src/servers/pool/pool.js';
import { NEVER, until } from '../support/time.js';
import { call, hostile, spec } from './hostile.js';
import { modernFar, modernProgram } from './modern-servers.js';
import { hostileWeb, remote } from './remote-servers.js';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each[Symbol.asyncDispose]()));
});

async function get(entry: DownstreamSpec, eras: EraMemory = new ErasInMemory(), times = {}) {
  const said: string[] = [];
  const pool = new DownstreamPool({
    specs: [entry],
    hostEnv: process.env,
    extraEnvNames: [],
    depth: 0,
    observer: (event) => {
      if (event.type === 'downstream.said') said.push(event.text);
    },
    redactor: new Redactor(),
    eras,
    times,
  });
  open.push(pool);
  return { pool, said, server: await pool.get(entry.name, NEVER) };
}

describe.each([
  ['stdio', async (...modes: string[]) => modernProgram(...modes)],
  ['http', modernFar],
] as const)('a server of 2026-07-28 over %s', (_name, entryOf) => {
  it.each([[[]], [['modern-only']]])('is greeted without initialize %j', async (modes) => {
    const entry = await entryOf(...modes);
    const eras = new ErasInMemory();
    const { server } = await get(entry, eras);
    expect(server).toMatchObject({ serverVersion: '9.9', instructions: 'Be modern.' });
    expect(await call(server, 'echo', { text: 'naïve ☃' })).toMatchObject({ content: [{ text: 'naïve ☃' }] });
    const { envelope } = Object((await call(server, 'about')).structuredContent);
    expect(envelope).toMatchObject({
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'mcp-sandbox-bridge' },
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/logLevel': 'info',
    });
    expect(eras.of(entry)).toEqual({ era: 'modern' });
  });

  it('that is known to be modern but is not any more is greeted with initialize', async () => {
    const eras = new ErasInMemory();
    const entry = hostile();
    eras.learn(entry, { era: 'modern' });
    const { server } = await get(entry, eras);
    expect(await call(server, 'echo', { text: 'a' })).toMatchObject({ content: [{ text: 'a' }] });
    expect(eras.of(entry)).toEqual({ era: 'legacy', version: '6.6.6' });
  });

  it('that was known for one of 2025 is found out', async () => {
    const entry = await entryOf('modern-only');
    const eras = new ErasInMemory();
    eras.learn(entry, { era: 'legacy', version: '1' });
    const { server } = await get(entry, eras);
    expect(server.serverVersion).toBe('9.9');
    expect(eras.of(entry)).toEqual({ era: 'modern' });
  });

  it('tells of changed tools by a subscription', async () => {
    const { server } = await get(await entryOf());
    await until(async () => {
      await call(server, 'grow');
      return server.tools().some(({ name }) => name.startsWith('grown_'));
    });
  });

  it('can be pinned, or greeted in the old way', async () => {
    const entry = await entryOf();
    const { server } = await get({ ...entry, versionNegotiation: 'legacy' });
    expect(Object((await call(server, 'about')).structuredContent)).toEqual({ envelope: null });
    const pinned = await get({ ...entry, versionNegotiation: '2026-07-28' });
    expect(await call(pinned.server, 'echo', { text: 'a' })).toMatchObject({ content: [{ text: 'a' }] });
  });
});

it('over HTTP each request says what it is in its headers, and none has a session', async () => {
  const { server } = await get(await modernFar());
  await call(server, 'echo', { text: 'a' });
  const { headers } = Object((await call(server, 'headers')).structuredContent);
  expect(headers.filter(({ session }: { session?: string }) => session !== undefined)).toEqual([]);
  expect(new Set(headers.map(({ http, version }: Record<string, string>) => `${http} ${version}`))).toEqual(
    new Set(['POST 2026-07-28']),
  );
  expect(headers).toContainEqual(expect.objectContaining({ method: 'server/discover' }));
  expect(headers).toContainEqual(expect.objectContaining({ method: 'tools/call', name: 'echo' }));
});

it('a server that does not speak what its entry demands says so', async () => {
  await expect(get({ ...hostile(), versionNegotiation: '2026-07-28' })).rejects.toThrow(
    /does not speak MCP 2026-07-28, which the `versionNegotiation` of 'hostile' demands/,
  );
});

/** A server of 2025 in a few lines, which does `onUnknown` with whatever it does not know. */
const strange = (onUnknown: string) =>
  spec('strange', process.execPath, [
    '-e',
    `let greeted = false;
    const note = (what) => require('node:fs').appendFileSync(process.env.STARTS, what);
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      const answer = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
      if (method === 'initialize') {
        greeted = true;
        answer({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } });
      } else if (method === 'tools/list') answer({ tools: [{ name: 'starts', inputSchema: {} }] });
      else if (method === 'tools/call') answer({ content: [{ type: 'text', text: 'ok' }] });
      else if (id !== undefined) { note('?'); ${onUnknown} }
    });
    note('s');`,
  ]);

describe.each([
  ['hangs', '', 1],
  ['exits', 'process.exit(3)', 2],
  ['crashes', 'throw new Error("unknown " + method)', 2],
  ['answers and exits', 'answer({}); process.exit(1)', 2],
  ['answers with anything', 'answer({ tools: [] })', 1],
  ['prints noise', 'console.log("Unknown method"); console.error("what?")', 1],
  ['answers with an odd error', 'console.log(JSON.stringify({ jsonrpc: "2.0", id, error: "no" }))', 1],
  ['closes its output', 'process.stdout.end()', 2],
])('a server of 2025 that %s when it is asked for something new', (_what, onUnknown, firstStarts) => {
  it('works, and is asked only once', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'eras-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const starts = join(folder, 'starts');
    const entry = { ...strange(onUnknown), env: { STARTS: starts } };
    const first = await get(entry, new KeptEras(folder), { probeMs: 1_000 });
    expect(await call(first.server, 'starts')).toMatchObject({ content: [{ text: 'ok' }] });
    const before = readFileSync(starts, 'utf8');
    expect(before.match(/s/g)).toHaveLength(firstStarts);
    // Another bridge, later.
    const eras = new KeptEras(folder);
    expect(eras.of(entry)?.era).toBe('legacy');
    const second = await get(entry, eras);
    expect(await call(second.server, 'starts')).toMatchObject({ content: [{ text: 'ok' }] });
    // Started, and asked nothing that it does not know.
    expect(readFileSync(starts, 'utf8')).toBe(`${before}s`);
  });
});

it('a server of 2025 over HTTP is greeted in its own way, with its session', async () => {
  const server = await hostileWeb('http').start();
  onTestFinished(() => server.kill());
  const eras = new ErasInMemory();
  const entry = remote('far', server.url());
  const { server: far } = await get(entry, eras);
  expect(await call(far, 'echo', { text: 'a' })).toMatchObject({ content: [{ text: 'a' }] });
  expect(eras.of(entry)).toEqual({ era: 'legacy', version: '6.6.6' });
});

it('an update of a server is asked anew', async () => {
  const eras = new ErasInMemory();
  const entry = hostile();
  eras.learn(entry, { era: 'legacy', version: '1.0.0' });
  await get(entry, eras);
  expect(eras.of(entry)).toBeUndefined();
});

it('what it logs in the modern era is in the log of the operator', async () => {
  const { server, said } = await get(modernProgram());
  await call(server, 'log');
  await until(() => said.includes('the disk is full'));
});

it('lies where discovery does not look, were the state directory ~/MCPs', () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'eras-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const spec = { transport: 'stdio', name: 'a', command: 'a', args: [], env: {}, cwd: undefined } as never;
  const known = new KeptEras(stateDir);
  known.learn(spec, { era: 'modern', version: '1' });
  expect(new KeptEras(stateDir).of(spec)).toMatchObject({ era: 'modern' });
  expect(readdirSync(stateDir).filter((name) => name.endsWith('.json'))).toEqual([]);
});
