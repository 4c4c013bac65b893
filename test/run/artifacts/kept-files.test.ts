// What runs leave on the host's disk: found by its address alone, private, gone after its time, within its quota, and
// never at the price of a run.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KeptFiles } from '../../../src/run/artifacts/kept-files.js';
import { OverQuota } from '../../../src/run/artifacts/kept-run.js';
import { parseKeptUri } from '../../../src/run/artifacts/kept-uri.js';

const MB = 1024 ** 2;
let stateDir: string;
let nowMs: number;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'kept-files-'));
  nowMs = Date.now();
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

const dir = () => join(stateDir, 'kept');
const store = (keepSeconds = 3600, quotaBytes = 10 * MB) =>
  new KeptFiles({ stateDir, keepSeconds, quotaBytes, now: () => nowMs });
const folders = () => (existsSync(dir()) ? readdirSync(dir()) : []);

async function keepOne(kept: KeptFiles, name: string, content: Buffer | string) {
  const run = kept.open('a-run');
  const one = await run.put(name, 'text/plain', Buffer.from(content));
  await run.seal();
  return one;
}
/** As if it had been kept that long ago. */
function age(uri: string, seconds: number): void {
  const at = nowMs / 1000 - seconds;
  utimesSync(join(dir(), parseKeptUri(uri)?.handle ?? ''), at, at);
}

describe('one run', () => {
  it('is read back exactly, by its address alone', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, n) => n));
    const one = await keepOne(store(), 'out/a b/é?#%2F.bin', bytes);
    expect(one.uri).toMatch(/^resource:\/\/mcp-sandbox-bridge\/kept\/[0-9a-f]{32}\/out\/a%20b\//);
    // Another bridge, as after a restart.
    expect(await store().read(one.uri)).toEqual({ ...one, content: bytes });
  });

  it('is private on the disk, and no name of the guest is there', async () => {
    await keepOne(store(), 'out/../../evil', 'x');
    const [handle = ''] = folders();
    expect(statSync(dir()).mode & 0o777).toBe(0o700);
    expect(statSync(join(dir(), handle)).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(dir(), handle)).sort()).toEqual(['0.txt', 'index.json']);
    for (const file of ['0.txt', 'index.json'])
      expect(statSync(join(dir(), handle, file)).mode & 0o777).toBe(0o600);
  });

  it('is not found before it is sealed, nor when it is discarded', async () => {
    const kept = store();
    const run = kept.open('a-run');
    const { uri } = await run.put('a', 'text/plain', Buffer.from('a'));
    expect(await kept.read(uri)).toBeUndefined();
    await run.discard();
    expect(folders()).toEqual([]);
    expect(kept.list()).toEqual([]);
  });

  it('leaves nothing on the disk when it keeps nothing', async () => {
    const run = store().open('a-run');
    await run.seal();
    await run.discard();
    expect(existsSync(dir())).toBe(false);
  });

  it('takes text piece by piece', async () => {
    const kept = store();
    const run = kept.open('a-run');
    const stream = run.stream('stdout.txt', 'text/plain', MB);
    const pieces = Array.from({ length: 500 }, (_, n) => Buffer.from(`line ${n}\n`));
    for (const piece of pieces) stream.write(piece);
    const one = await stream.end();
    await run.seal();
    expect((await kept.read(one.uri))?.content).toEqual(Buffer.concat(pieces));
    expect(one.sizeBytes).toBe(Buffer.concat(pieces).length);
  });
});

describe('an address', () => {
  it.each([
    'resource://mcp-sandbox-bridge/capabilities',
    'resource://mcp-sandbox-bridge/kept/',
    'resource://mcp-sandbox-bridge/kept/../../../etc/passwd',
    'resource://mcp-sandbox-bridge/kept/ABCDEF00000000000000000000000000/a',
    `resource://mcp-sandbox-bridge/kept/${'0'.repeat(32)}`,
    `resource://mcp-sandbox-bridge/kept/${'0'.repeat(32)}/%ff`,
    `resource://mcp-sandbox-bridge/kept/${'0'.repeat(32)}/a`,
    'file:///etc/passwd',
  ])('%s leads nowhere', async (uri) => {
    expect(await store().read(uri)).toBeUndefined();
  });

  it('does not lead through names to other files of the folder, nor through a link', async () => {
    const kept = store();
    const { uri } = await keepOne(kept, 'a', 'a');
    const { handle = '' } = parseKeptUri(uri) ?? {};
    for (const name of ['index.json', '0.txt', '../a', 'a/', '%2e%2e/a'])
      expect(await kept.read(uri.replace(/a$/, name))).toBeUndefined();
    rmSync(join(dir(), handle, '0.txt'));
    symlinkSync('/etc/passwd', join(dir(), handle, '0.txt'));
    expect(await kept.read(uri)).toBeUndefined();
  });

  it('of a broken index leads nowhere', async () => {
    const kept = store();
    const { uri } = await keepOne(kept, 'a', 'a');
    writeFileSync(
      join(dir(), parseKeptUri(uri)?.handle ?? '', 'index.json'),
      '[{"name":"a","number":"../../x"}]',
    );
    expect(await kept.read(uri)).toBeUndefined();
  });
});

describe('time', () => {
  it('ends it, for reading at once and on the disk at the next occasion', async () => {
    const kept = store(60);
    const old = await keepOne(kept, 'old', 'x');
    nowMs += 59_000;
    expect(await kept.read(old.uri)).toBeDefined();
    nowMs += 2_000;
    expect(await kept.read(old.uri)).toBeUndefined();
    expect(kept.list()).toEqual([]);
    expect(folders()).toHaveLength(1);
    await keepOne(kept, 'new', 'x');
    // The new folder's own time is the system's.
    expect(folders()).not.toContain(parseKeptUri(old.uri)?.handle);
    expect(kept.list().map(({ name }) => name)).toEqual(['new']);
  });

  it('ends what dead bridges have left, and only that', async () => {
    const old = await keepOne(store(), 'old', 'x');
    const fresh = await keepOne(store(), 'fresh', 'x');
    age(old.uri, 3_700);
    mkdirSync(join(dir(), 'not-ours'));
    await store().sweep();
    expect(folders().sort()).toEqual([parseKeptUri(fresh.uri)?.handle, 'not-ours'].sort());
  });

  it('does not end a run that still writes', async () => {
    const kept = store(60);
    const writing = kept.open('a-run');
    const { uri } = await writing.put('a', 'text/plain', Buffer.from('a'));
    nowMs += 61_000;
    await kept.sweep();
    await store(60).sweep();
    await writing.seal();
    expect(folders()).toEqual([parseKeptUri(uri)?.handle]);
  });

  it('does not end a folder of which one file cannot be looked at', async () => {
    const { uri } = await keepOne(store(), 'a', 'x');
    // As when another bridge removes the file between two looks at the folder.
    symlinkSync('/nonexistent', join(dir(), parseKeptUri(uri)?.handle ?? '', '7'));
    await store().sweep();
    expect(await store().read(uri)).toBeDefined();
  });

  it('of nought keeps nothing, and has no say in what others keep', async () => {
    const { uri } = await keepOne(store(), 'a', 'x');
    age(uri, 10);
    await store(0).sweep();
    expect(store(0).isOn).toBe(false);
    expect(folders()).toHaveLength(1);
  });
});

describe('the quota', () => {
  it('lets the oldest go first', async () => {
    const kept = store();
    const uris: string[] = [];
    for (let n = 0; n < 12; n++) {
      uris.push((await keepOne(kept, String(n), Buffer.alloc(MB))).uri);
      nowMs += 1_000;
    }
    const there = await Promise.all(uris.map(async (uri) => (await kept.read(uri)) !== undefined));
    expect(there).toEqual([false, false, ...Array.from({ length: 10 }, () => true)]);
    expect(kept.list()[0]?.name).toBe('11');
  });

  it('counts what other bridges keep', async () => {
    const { uri } = await keepOne(store(), 'theirs', Buffer.alloc(8 * MB));
    age(uri, 100);
    await keepOne(store(), 'ours', Buffer.alloc(4 * MB));
    expect(await store().read(uri)).toBeUndefined();
  });

  it('is not made room for by what is larger than all of it', async () => {
    const kept = store();
    const { uri } = await keepOne(kept, 'small', 'x');
    await expect(kept.open('a-run').put('large', 'text/plain', Buffer.alloc(11 * MB))).rejects.toThrow(
      OverQuota,
    );
    expect(await kept.read(uri)).toBeDefined();
  });

  it('gets back what a stream did not need', async () => {
    const kept = store();
    const first = kept.open('a-run');
    const stream = first.stream('stdout.txt', 'text/plain', 9 * MB);
    stream.write(Buffer.from('short'));
    const { uri } = await stream.end();
    await first.seal();
    nowMs += 1_000;
    await keepOne(kept, 'next', Buffer.alloc(9 * MB));
    expect(await kept.read(uri)).toBeDefined();
  });

  it('gets nothing back for a stream that had no room', async () => {
    const kept = store();
    const [one, other] = [kept.open('one'), kept.open('other')];
    for (const run of [one, other]) await run.put('a', 'text/plain', Buffer.alloc(4 * MB));
    await expect(one.stream('stdout.txt', 'text/plain', 5 * MB).end()).rejects.toThrow(OverQuota);
    await expect(other.put('b', 'text/plain', Buffer.alloc(4 * MB))).rejects.toThrow(/other runs/);
  });

  it('counts all that a stream has taken, however often it is looked at what is there', async () => {
    const kept = store();
    const writing = kept.open('a-run');
    const stream = writing.stream('stdout.txt', 'text/plain', 6 * MB);
    stream.write(Buffer.from('short'));
    await keepOne(kept, 'small', 'x');
    nowMs += 61_000;
    await expect(keepOne(kept, 'large', Buffer.alloc(6 * MB))).rejects.toThrow(/other runs/);
    await kept.sweep();
    await expect(keepOne(kept, 'large', Buffer.alloc(6 * MB))).rejects.toThrow(/other runs/);
    await stream.end();
    await writing.seal();
    const { uri } = await keepOne(kept, 'large', Buffer.alloc(6 * MB));
    nowMs += 1_000;
    await keepOne(kept, 'as large', Buffer.alloc(6 * MB));
    expect(await kept.read(uri)).toBeUndefined();
  });

  it('is no reason to remove what a run still writes', async () => {
    const kept = store();
    const writing = kept.open('a-run');
    const stream = writing.stream('stdout.txt', 'text/plain', 2 * MB);
    stream.write(Buffer.alloc(MB));
    nowMs += 1_000;
    for (let n = 0; n < 12; n++) await keepOne(kept, String(n), Buffer.alloc(MB));
    stream.write(Buffer.from('the end'));
    const one = await stream.end();
    await writing.seal();
    expect((await kept.read(one.uri))?.content).toHaveLength(MB + 7);
  });

  it('is told as taken by others, where runs that still write have all of it', async () => {
    const kept = store();
    const writing = kept.open('a-run');
    await writing.put('a', 'text/plain', Buffer.alloc(8 * MB));
    const { uri } = await keepOne(kept, 'small', 'x');
    await expect(kept.open('a-run').put('b', 'text/plain', Buffer.alloc(4 * MB))).rejects.toThrow(
      /other runs/,
    );
    // Nothing was removed for what has no room in any case.
    expect(await kept.read(uri)).toBeDefined();
  });

  it('leaves alone what a run of another bridge still writes, and not what a dead one has left', async () => {
    const theirs = store().open('a-run');
    const { uri } = await theirs.put('a', 'text/plain', Buffer.alloc(4 * MB));
    const kept = store();
    for (let n = 0; n < 8; n++) await keepOne(kept, String(n), Buffer.alloc(MB));
    expect(folders()).toContain(parseKeptUri(uri)?.handle);
    nowMs += 11 * 60_000;
    for (let n = 0; n < 8; n++) await keepOne(kept, String(n), Buffer.alloc(MB));
    expect(folders()).not.toContain(parseKeptUri(uri)?.handle);
  });

  it('holds under many runs at once', async () => {
    const kept = store();
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => keepOne(kept, String(n), Buffer.alloc(MB)).catch(() => {})),
    );
    await kept.sweep();
    const bytes = folders().flatMap((handle) =>
      readdirSync(join(dir(), handle)).map((file) => statSync(join(dir(), handle, file)).size),
    );
    expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(10 * MB);
  });
});

describe('a disk that fails', () => {
  it('fails the one that keeps, and no one else', async () => {
    writeFileSync(dir(), 'no folder');
    const kept = store();
    await expect(keepOne(kept, 'a', 'x')).rejects.toThrow();
    const stream = kept.open('a-run').stream('stdout.txt', 'text/plain', MB);
    stream.write(Buffer.from('x'));
    await expect(stream.end()).rejects.toThrow();
    await kept.sweep();
    rmSync(dir());
    expect(await keepOne(kept, 'b', 'x')).toBeDefined();
  });
});
