// What a bridge remembers for the page and tells over its socket, and what the page makes of it.

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { Feed } from '../../src/watch/feed/feed.js';
import { SeenBridges } from '../../src/watch/gather/bridges.js';
import { History } from '../../src/watch/gather/history.js';
import type { BridgeFacts } from '../../src/watch/told/told.js';
import { newStateDir } from '../policy/inbox/questions.js';
import { HANGS_MS } from '../support/time.js';

const FACTS: BridgeFacts = {
  pid: 7,
  version: '1.2.3',
  kind: 'stdio',
  since: '2026-01-01T00:00:00.000Z',
  folder: '/home/ann',
  memoryBytes: 1,
  servers: [],
};
const digest = { bytes: 10, sha256: undefined };
const redact = (text: string) => text.replaceAll('s3cret-value', '[SECRET]');
const seen = { timeout: HANGS_MS };

function feedAt(
  stateDir: string,
  record: { seconds: number; bytes: number } | undefined,
  facts = () => FACTS,
) {
  const events: BridgeEvent[] = [];
  const feed = new Feed({
    settings: { stateDir, record },
    facts,
    factsEveryMs: 10,
    observer: (event) => events.push(event),
  });
  onTestFinished(() => feed[Symbol.dispose]());
  const tell = (...told: readonly object[]) => {
    for (const event of told) feed.observe(event as BridgeEvent, redact);
  };
  return { feed, events, tell };
}

function pageAt(stateDir: string) {
  const bridges = new SeenBridges(stateDir, 10);
  onTestFinished(() => bridges[Symbol.dispose]());
  return bridges;
}

const started = (run: string) => ({
  ...{ type: 'run.started', run, client: 'agent s3cret-value', servers: ['box'], language: 'python' },
  ...{ code: digest, timeoutSeconds: 30 },
});
const called = (run: string, error?: string) => ({
  ...{ type: 'run.call', run, call: 1, server: 'box', tool: 'look', allowed: true, rule: 'allow box', error },
  ...{
    durationMs: 5,
    failed: error !== undefined,
    arguments: digest,
    result: digest,
    argumentsText: undefined,
  },
});
const ended = (run: string) => ({
  ...{ type: 'run.ended', run, servers: ['box'], status: 'error', durationMs: 12.4, calls: 1 },
  error: { kind: 'ValueError', message: 'no s3cret-value\nof the second line' },
});
const code = (run: string, text = 'print("s3cret-value")') => ({ type: 'run.code', run, code: text });
const output = (run: string, stdout = 'out s3cret-value') => ({
  ...{ type: 'run.output', run, stdout, stderr: '', result: undefined, error: undefined },
  ...{ files: ['a.txt'], texts: [{ name: 'a.txt', text: 'in it s3cret-value' }] },
  ...{ pictures: [{ kind: 'png', data: 'cGljdHVyZQ==' }] },
});

describe('a bridge and its page', () => {
  it('tells runs that were and runs that come, without secrets', async () => {
    const stateDir = newStateDir();
    const { tell } = feedAt(stateDir, { seconds: 60, bytes: 100_000 });
    tell(code('a'), started('a'), called('a', 'E_TOOL_FAILED'), ended('a'), output('a'));
    const bridges = pageAt(stateDir);
    await vi.waitFor(() => expect(bridges.facts).toEqual([FACTS]), seen);
    await vi.waitFor(() => expect(bridges.run('a')?.calls).toHaveLength(1), seen);
    expect(bridges.run('a')).toMatchObject({
      seen: {
        status: 'error',
        client: 'agent [SECRET]',
        error: { kind: 'ValueError', message: 'no [SECRET]' },
        durationMs: 12,
        failedCalls: 1,
        isRecorded: true,
      },
      calls: [{ server: 'box', tool: 'look', error: 'E_TOOL_FAILED' }],
    });
    tell(started('b'));
    await vi.waitFor(() => expect(bridges.run('b')?.seen.status).toBe('running'), seen);
    expect(bridges.run('b')?.seen.isRecorded).toBe(false);
    tell(called('b'));
    await vi.waitFor(() => expect(bridges.run('b')?.seen.callCount).toBe(1), seen);
    expect(await bridges.recorded('a')).toEqual({
      code: 'print("[SECRET]")',
      stdout: 'out [SECRET]',
      stderr: '',
      files: ['a.txt'],
      texts: [{ name: 'a.txt', text: 'in it [SECRET]' }],
      pictures: [{ kind: 'png', data: 'cGljdHVyZQ==' }],
    });
    expect(await bridges.recorded('b')).toBeNull();
  });

  it('tells calls that are under way, and each once it has ended as ended alone', async () => {
    const stateDir = newStateDir();
    const { tell } = feedAt(stateDir, undefined);
    const calling = {
      ...{ type: 'run.calling', run: 'a', call: 1, server: 'box', tool: 'look s3cret-value' },
      ...{ allowed: true, rule: 'allow box', argumentBytes: 3 },
    };
    tell(started('a'), calling, { ...calling, call: 2 });
    const bridges = pageAt(stateDir);
    await vi.waitFor(() => expect(bridges.run('a')?.underWay?.size).toBe(2), seen);
    expect(bridges.run('a')?.underWay?.get(1)).toMatchObject({ tool: 'look [SECRET]', isUnderWay: true });
    expect(bridges.run('a')?.calls).toEqual([]);
    tell(called('a'));
    await vi.waitFor(() => expect(bridges.run('a')?.calls).toHaveLength(1), seen);
    expect([...(bridges.run('a')?.underWay?.keys() ?? [])]).toEqual([2]);
    tell(ended('a'));
    await vi.waitFor(() => expect(bridges.run('a')?.underWay?.size).toBe(0), seen);
  });

  it('tells facts again when they have changed, and of figures that move nothing but those', async () => {
    const stateDir = newStateDir();
    const box = { name: 'box', state: 'ready', tools: [{ name: 'look', description: 'd', arguments: '' }] };
    let facts: BridgeFacts = { ...FACTS, servers: [box] };
    let asked = 0;
    feedAt(stateDir, undefined, () => {
      asked++;
      return facts;
    });
    const bridges = pageAt(stateDir);
    const lookedAgain = async () => {
      const before = asked;
      await vi.waitFor(() => expect(asked).toBeGreaterThan(before + 2), seen);
    };
    await vi.waitFor(() => expect(bridges.facts).toEqual([facts]), seen);
    // A page that has come is told twice at most: what it has missed while it came is told to all.
    await lookedAgain();
    const known = bridges.factsVersionOf();
    const [shown] = bridges.facts;
    await lookedAgain();
    expect(bridges.factsVersionOf()).toBe(known);
    facts = { ...facts, memoryBytes: 50_000_000 };
    await vi.waitFor(() => expect(bridges.facts).toEqual([facts]), seen);
    expect(bridges.factsVersionOf()).toBe(known + 1);
    // It is the text of before, and was not sent again.
    expect(bridges.facts[0]?.servers).toBe(shown?.servers);
    facts = { ...facts, servers: [{ ...box, state: 'idle' }] };
    await vi.waitFor(() => expect(bridges.facts).toEqual([facts]), seen);
    expect(bridges.versionOf()).toBe(0);
  });

  it('counts changes of the servers and runs of a principal for that principal alone', async () => {
    const stateDir = newStateDir();
    const of = (principal: string, state: string) => ({
      principal,
      servers: [{ name: 'box', state, tools: [] }],
    });
    let facts: BridgeFacts = { ...FACTS, kind: 'http', principals: [of('ann', 'idle'), of('ben', 'idle')] };
    const { tell } = feedAt(stateDir, undefined, () => facts);
    const bridges = pageAt(stateDir);
    await vi.waitFor(() => expect(bridges.facts).toEqual([facts]), seen);
    const before = ['ann', 'ben'].map((principal) => bridges.factsVersionOf(principal));
    facts = { ...facts, principals: [of('ann', 'idle'), of('ben', 'ready')] };
    await vi.waitFor(() => expect(bridges.facts).toEqual([facts]), seen);
    expect(bridges.factsVersionOf('ann')).toBe(before[0]);
    expect(bridges.factsVersionOf('ben')).not.toBe(before[1]);
    tell({ ...started('b'), principal: 'ben' });
    await vi.waitFor(() => expect(bridges.versionOf('ben')).toBe(1), seen);
    expect([bridges.versionOf('ann'), bridges.versionOf()]).toEqual([0, 1]);
  });

  it('remembers no code where MCP_BRIDGE_RECORD is off', async () => {
    const stateDir = newStateDir();
    const { tell } = feedAt(stateDir, undefined);
    tell(code('a'), started('a'), ended('a'), output('a'));
    const bridges = pageAt(stateDir);
    await vi.waitFor(() => expect(bridges.run('a')?.seen.status).toBe('error'), seen);
    expect(bridges.run('a')?.seen.isRecorded).toBe(false);
    expect(await bridges.recorded('a')).toBeNull();
  });

  it('forgets the oldest code beyond the size, and says so', async () => {
    const stateDir = newStateDir();
    const { tell } = feedAt(stateDir, { seconds: 60, bytes: 1_000 });
    const bridges = pageAt(stateDir);
    for (const run of ['a', 'b']) tell(code(run, 'x'.repeat(300)), started(run), ended(run), output(run, ''));
    await vi.waitFor(() => expect(bridges.run('b')?.seen.status).toBe('error'), seen);
    await vi.waitFor(() => expect(bridges.run('a')?.seen.isRecorded).toBe(false), seen);
    expect(bridges.run('b')?.seen.isRecorded).toBe(true);
  });

  it('has its socket in a folder of its own, for its user alone, and takes it along', async () => {
    const stateDir = newStateDir();
    const { feed } = feedAt(stateDir, undefined);
    const folder = join(stateDir, 'watch');
    await vi.waitFor(() => expect(readdirSync(folder)).toHaveLength(1), seen);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    feed[Symbol.dispose]();
    await vi.waitFor(() => expect(readdirSync(folder)).toHaveLength(0), seen);
  });

  it('takes away the socket of a bridge that was killed, and no other', async () => {
    const stateDir = newStateDir();
    const folder = join(stateDir, 'watch');
    feedAt(stateDir, undefined);
    await vi.waitFor(() => expect(readdirSync(folder)).toHaveLength(1), seen);
    const [own = ''] = readdirSync(folder);
    const { pid } = spawnSync(process.execPath, ['-e', '0']);
    const left = own.replace(/^\d+/, String(pid));
    const elsewhere = left.replace(/-[0-9a-f]+-/, '-ffffff-');
    for (const name of [left, elsewhere]) writeFileSync(join(folder, name), '');
    feedAt(stateDir, undefined);
    await vi.waitFor(() => expect(readdirSync(folder)).toHaveLength(3), seen);
    expect(readdirSync(folder)).toEqual(expect.arrayContaining([own, elsewhere]));
    expect(readdirSync(folder)).not.toContain(left);
  });

  it('opens no socket where others could exchange it, or where its path is too long, and says so', async () => {
    const stateDir = newStateDir();
    mkdirSync(join(stateDir, 'watch'));
    chmodSync(join(stateDir, 'watch'), 0o777);
    const long = join(newStateDir(), 'x'.repeat(100));
    mkdirSync(long);
    for (const dir of [stateDir, long]) {
      const { events } = feedAt(dir, undefined);
      expect(events).toMatchObject([{ type: 'watch.trouble' }]);
    }
    expect(pageAt(stateDir).facts).toEqual([]);
  });
});

describe('history', () => {
  const run = (name: string, at: string) => ({
    ...{ kind: 'run', at, run: name, client: 'agent', servers: ['box'], code: digest, timeoutSeconds: 30 },
    ...{ status: 'success', durationMs: 10, calls: 1, notListed: 0 },
  });
  const call = (name: string, changed: object = {}) => ({
    ...{ kind: 'call', at: '2026-01-01T00:00:01.000Z', run: name, call: 1, server: 'box', tool: 'look' },
    ...{ verdict: 'allowed', rule: 'r', durationMs: 4, arguments: digest, result: digest, ...changed },
  });

  it('lists runs, the newest first, with the tools that they called, and sums of each tool', () => {
    const history = new History();
    history.add([
      run('old', '2026-01-01T00:00:00.000Z'),
      call('old'),
      call('new', { error: 'E_TOOL_FAILED', durationMs: 40 }),
      call('new', { verdict: 'denied', error: 'E_DENIED' }),
      run('new', '2026-01-02T00:00:00.000Z'),
    ] as never);
    expect(history.list([]).map(({ run: name, tools }) => [name, tools])).toEqual([
      ['new', ['box.look']],
      ['old', ['box.look']],
    ]);
    expect(history.tools([])).toEqual([
      { server: 'box', tool: 'look', calls: 3, failed: 1, denied: 1, bytes: 40, medianMs: 40, p95Ms: 40 },
    ]);
    expect(history.run('new', undefined)).toMatchObject({ seen: { failedCalls: 2 }, calls: [{}, {}] });
    expect(history.run('other', undefined)).toBeUndefined();
  });

  it('forgets the oldest of too many runs', () => {
    const history = new History();
    history.add(
      Array.from({ length: 20_010 }, (_, at) => run(`r${at}`, new Date(at * 1_000).toISOString())) as never,
    );
    const listed = history.list([]);
    expect(listed).toHaveLength(20_000);
    expect(listed.at(-1)?.run).toBe('r10');
  });
});
