// Servers that say more, unasked, than anybody wants to hear. By the played clock, which stands unless a test moves it: how often a
// server's tools are listed, and how much is taken from it, are counts that no machine is too slow for.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { RawJson } from '../../src/base/json/json-text.js';
import type { DownstreamSpec } from '../../src/hosts/downstream-spec.js';
import { StdioTransport } from '../../src/servers/stdio/stdio-transport.js';
import { NEVER, until } from '../support/time.js';
import { call, poolOf, spec, type TestPool } from './hostile.js';
import { remote } from './remote-servers.js';

const FLOODING = fileURLToPath(new URL('../fixtures/flooding-server.mjs', import.meta.url));
const CLOCK: Parameters<typeof vi.useFakeTimers>[0] = {
  toFake: ['setTimeout', 'clearTimeout', 'performance'],
};
/** What a stream of a process holds, and one piece of it, in lines of 50 bytes; the buffers of Linux are smaller. */
const IN_THE_PIPE = 10_000;
/** What is read at once, and in each second after that. */
const READ = { burst: 20_000, perSecond: 5_000 };

let pool: TestPool | undefined;
afterEach(async () => {
  vi.useRealTimers();
  await pool?.[Symbol.asyncDispose]();
  pool = undefined;
});

async function open(entry: DownstreamSpec) {
  // The played clock may go on by minutes while the server waits for a processor, and that is no silence of the server's.
  pool = poolOf([entry], { silenceMs: 86_400_000 });
  return { pool, server: await pool.get(entry.name, NEVER) };
}

type Counts = { readonly lists: number; readonly sent: number; readonly answered: number };

/** The server, and its counts, which it keeps in a file also while nobody reads what it says. */
async function flooding(...words: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'flooding-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const report = join(folder, 'counts');
  const opened = await open(spec('flooding', process.execPath, [FLOODING, `report=${report}`, ...words]));
  const counts = () => JSON.parse(readFileSync(report, 'utf8')) as Counts;
  return { ...opened, counts };
}

/** A link to the server without a pool, which would take its time. */
async function openLink() {
  const env = { PATH: process.env['PATH'] ?? '' };
  const transport = new StdioTransport(
    { command: process.execPath, args: [FLOODING], env, cwd: undefined },
    (text) => text,
  );
  onTestFinished(() => transport.close());
  const link = { flooded: 0 };
  let answered = 0;
  transport.onmessage = () => void answered++;
  transport.onflood = () => void link.flooded++;
  await transport.start();
  let id = 0;
  const ask = (text: string) => {
    const params = { name: 'echo', arguments: { text } };
    void transport.send({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params });
  };
  return { link, ask, answered: () => answered };
}

/** The value once it has stayed the same for a while of real time. */
async function settled(value: () => number): Promise<number> {
  let last = Number.NaN;
  await until(async () => {
    last = value();
    await sleep(300);
    return last === value();
  });
  return last;
}

/**
 * How often the server has been listed, once it has been so `least` times and no more follow. What it has said after its last list has
 * been heard by then, so that the played clock may go on: the answer to a call comes behind it.
 */
async function listed(
  { server, counts }: Awaited<ReturnType<typeof flooding>>,
  least: number,
): Promise<number> {
  await until(() => counts().lists >= least);
  await call(server, 'echo', { text: 'a' });
  return settled(() => counts().lists);
}

/**
 * Lets the played clock go on by half a second whenever no more is taken from the server, until `isOver`; how many seconds that
 * took.
 */
async function secondsUntil(isOver: () => boolean, sent: () => number): Promise<number> {
  let seconds = 0;
  await until(async () => {
    const before = sent();
    await sleep(30);
    if (isOver()) return true;
    if (sent() !== before) return false;
    await vi.advanceTimersByTimeAsync(500);
    seconds += 0.5;
    return false;
  });
  return seconds;
}

const floodsToldIn = (pool: TestPool) => pool.events.filter(({ type }) => type === 'downstream.flooding');

describe('a server that says that its list has changed', () => {
  it.each(['lists=0', 'lists=1000'])('is listed no more than once while no time passes: %s', async (word) => {
    vi.useFakeTimers(CLOCK);
    const flood = await flooding(word);
    for (let n = 0; n < 200; n++) await call(flood.server, 'echo', { text: 'a' });
    expect(await listed(flood, 2)).toBe(2);
  });

  it('after each list is listed less and less', async () => {
    vi.useFakeTimers(CLOCK);
    const flood = await flooding('lists=0');
    expect(await listed(flood, 2)).toBe(2);
    // After so many ms more, so many lists in all.
    const steps = [
      [999, 2],
      [1, 3],
      [1_000, 3],
      [1_000, 4],
      [4_000, 5],
      [8_000, 6],
      [16_000, 7],
      [32_000, 8],
      [60_000, 9],
    ] as const;
    for (const [ms, lists] of steps) {
      await vi.advanceTimersByTimeAsync(ms);
      expect(await listed(flood, lists)).toBe(lists);
    }
  });

  it('and has other tools each time is listed once in a second, and the last time after its last word', async () => {
    vi.useFakeTimers(CLOCK);
    const flood = await flooding('changes=0');
    const before = await listed(flood, 2);
    for (let second = 1; second <= 5; second++) {
      await vi.advanceTimersByTimeAsync(1_000);
      expect(await listed(flood, before + second)).toBe(before + second);
      expect(flood.server.tools().map(({ name }) => name)).toContain(`changed_${before + second}`);
    }
  });

  it('is listed for whoever uses it, when a second has passed', async () => {
    vi.useFakeTimers(CLOCK);
    const flood = await flooding('lists=0');
    const { counts, pool } = flood;
    for (const [ms, lists] of [
      [0, 2],
      [1_000, 3],
      [2_000, 4],
    ] as const) {
      await vi.advanceTimersByTimeAsync(ms);
      expect(await listed(flood, lists)).toBe(lists);
    }
    const before = 4;
    await pool.get('flooding', NEVER);
    expect(await settled(() => counts().lists)).toBe(before);
    await vi.advanceTimersByTimeAsync(1_000);
    await pool.get('flooding', NEVER);
    expect(await listed(flood, before + 1)).toBe(before + 1);
  });
});

describe('a process that floods', () => {
  it.each(['logs', 'progress', 'updates', 'pings', 'questions', 'answers', 'noise'])(
    'with %s has to wait, is read at a rate from then on, and its answer comes',
    async (kind) => {
      vi.useFakeTimers(CLOCK);
      const { server, counts, pool } = await flooding();
      const times = 60_000;
      let isAnswered = false;
      const answer = call(server, 'burst', { kind, times }).finally(() => {
        isAnswered = true;
      });
      await until(() => counts().sent >= READ.burst);
      expect(await settled(() => counts().sent)).toBeLessThanOrEqual(READ.burst + IN_THE_PIPE);
      const seconds = await secondsUntil(
        () => isAnswered,
        () => counts().sent,
      );
      await answer;
      expect(seconds).toBeGreaterThanOrEqual((times - READ.burst - IN_THE_PIPE) / READ.perSecond);
      // The last piece may have overdrawn the budget, and nothing is read until the played clock has gone on by that.
      await vi.advanceTimersByTimeAsync(1_000);
      // What it was asked for it may say as before.
      expect(await call(server, 'echo', { text: 'a' })).toMatchObject({ content: [{ text: 'a' }] });
      await vi.advanceTimersByTimeAsync(60_000);
      expect(floodsToldIn(pool).length).toBeGreaterThan(0);
      expect(floodsToldIn(pool).length).toBeLessThanOrEqual(4);
    },
  );

  it('on stderr has to wait, and no answer does', async () => {
    vi.useFakeTimers(CLOCK);
    const { server, counts } = await flooding('size=100000');
    const answer = call(server, 'burst', { kind: 'stderr', times: 1_000 }).catch(() => 'ended');
    await until(() => counts().sent > 600);
    // 64 MB, and what the pipe holds.
    expect(await settled(() => counts().sent)).toBeLessThan(700);
    expect(await call(server, 'echo', { text: 'a' })).toMatchObject({ content: [{ text: 'a' }] });
    vi.useRealTimers();
    await pool?.[Symbol.asyncDispose]();
    expect(await answer).toBe('ended');
  });

  it('of answers that were asked for costs nothing', async () => {
    vi.useFakeTimers(CLOCK);
    const { link, ask, answered } = await openLink();
    for (let n = 0; n < 30_000; n += 1_000) {
      for (let one = 0; one < 1_000; one++) ask('a');
      await until(() => answered() === n + 1_000);
    }
    const long = 'x'.repeat(30_000_000);
    for (let n = 1; n <= 4; n++) {
      ask(long);
      await until(() => answered() === 30_000 + n);
    }
    await vi.advanceTimersByTimeAsync(60_000);
    expect(link.flooded).toBe(0);
  });

  it('of the last progress before an answer hears it told', async () => {
    vi.useFakeTimers(CLOCK);
    const { server } = await flooding();
    const heard: number[] = [];
    const args = new RawJson('{"kind":"progress","times":5000}');
    await server.callTool('burst', args, ({ progress }) => void heard.push(progress), NEVER);
    expect(heard).toHaveLength(2_001);
    expect(heard.at(-1)).toBe(5_000);
  });

  it('and exits is read to its end', async () => {
    vi.useFakeTimers(CLOCK);
    const { server, counts } = await flooding();
    let said = '';
    void call(server, 'burst', { kind: 'noise', times: 50_000, exits: true }).catch(({ message }) => {
      said = message;
    });
    await secondsUntil(
      () => said !== '',
      () => counts().sent,
    );
    expect(said).toContain('exited with code 3');
    expect(said).toContain('step 50000 of many');
  });
});

/** A remote server whose streams flood with 100,000 messages of 1 KB, as far as they are read; with what it has written. */
async function floodingWeb(kind: 'http' | 'sse') {
  const written = { events: 0 };
  const event = `event: message\ndata: ${JSON.stringify({
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: 'info', data: 'x'.repeat(1_000) },
  })}\n\n`;
  let stream: ServerResponse | undefined;
  const flood = () => {
    while (stream !== undefined && written.events < 100_000) {
      written.events += 50;
      if (!stream.write(event.repeat(50))) return void stream.once('drain', flood);
    }
  };
  const web = createServer(async (request, response) => {
    if (request.method === 'DELETE') return void response.end();
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      if (kind === 'sse') response.write('event: endpoint\ndata: /mcp\n\n');
      stream = response;
      return;
    }
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const { id, method, params } = JSON.parse(Buffer.concat(pieces).toString());
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'web', version: '1' },
      },
      'tools/list': { tools: [{ name: 'flood', inputSchema: {} }] },
      'tools/call': { content: [{ type: 'text', text: 'done' }] },
    };
    const result = results[method];
    const error = { code: -32_601, message: 'Method not found' };
    const said = JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) });
    if (id === undefined || kind === 'sse') response.writeHead(202).end();
    else response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' }).end(said);
    if (id !== undefined && kind === 'sse') stream?.write(`data: ${said}\n\n`);
    if (method === 'tools/call') flood();
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    web.closeAllConnections();
    web.close();
  });
  const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/mcp`;
  return { entry: remote('web', url, { transport: kind }), written, isHeard: () => stream !== undefined };
}

describe('a remote server that floods', () => {
  it.each(['http', 'sse'] as const)('has to wait, and other answers come: %s', async (kind) => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { entry, written, isHeard } = await floodingWeb(kind);
    const { server, pool } = await open(entry);
    await until(isHeard);
    await call(server, 'flood');
    await until(() => written.events > 4_000 && floodsToldIn(pool).length > 0);
    // A server that is read at once is soon done.
    await sleep(2_000);
    // Three lines each, and at most 10 MB in the sockets.
    expect(written.events).toBeLessThan(READ.burst / 3 + 11_000);
    // Over the older transport they stand behind the flood.
    if (kind === 'http') expect(await call(server, 'flood')).toMatchObject({ content: [{ text: 'done' }] });
  });
});
