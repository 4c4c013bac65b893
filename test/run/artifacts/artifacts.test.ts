// What a run leaves, as far as its frames can be believed: counted and capped again, small texts at once, the rest by
// address, output only where the answer leaves some out, and a disk that fails told in a sentence.

import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BridgeEvent } from '../../../src/base/log/events.js';
import { Artifacts } from '../../../src/run/artifacts/artifacts.js';
import { KeptFiles } from '../../../src/run/artifacts/kept-files.js';
import { MAX_FILE_BYTES, MAX_FILES, MAX_FILES_BYTES } from '../../../src/wire/frames.js';
import { pause } from '../../support/time.js';

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'artifacts-'));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

function start(keepSeconds = 3600, quotaBytes = 64 * 1024 ** 2) {
  const events: BridgeEvent[] = [];
  const kept = new KeptFiles({ stateDir, keepSeconds, quotaBytes });
  const artifacts = new Artifacts(kept, 'a-run', (event) => void events.push(event), {});
  const file = (name: string, content: Buffer | string) =>
    artifacts.addFile({ type: 'file', name, data: Buffer.from(content).toString('base64') });
  return { kept, artifacts, events, file };
}
const kept = () => existsSync(join(stateDir, 'kept'));

describe('files', () => {
  it('nothing left is nothing said and nothing on the disk', async () => {
    const { artifacts } = start();
    artifacts.addOutput('stdout', 'x'.repeat(40_000));
    expect(await artifacts.settle()).toEqual({ left: undefined, stdout: undefined, stderr: undefined });
    expect(kept()).toBe(false);
  });

  it('small text is shown at once and kept nowhere; the rest has an address', async () => {
    const { kept: store, artifacts, file } = start();
    file('a.csv', 'x,y\r\n1,2\r\n');
    file('b.bin', Buffer.from([0, 1, 255]));
    file('long.txt', 'l'.repeat(4_001));
    file('page.html', '<script>alert(1)</script>'.repeat(200));
    const { left } = await artifacts.settle();
    expect(left?.files.map(({ name, mimeType, text }) => [name, mimeType, text])).toEqual([
      ['out/a.csv', 'text/csv', 'x,y\r\n1,2\r\n'],
      ['out/b.bin', 'application/octet-stream', undefined],
      ['out/long.txt', 'text/plain', undefined],
      ['out/page.html', 'text/plain', undefined],
    ]);
    const [a, ...others] = left?.files ?? [];
    expect(a?.kept).toBeUndefined();
    for (const { content, kept: one } of others)
      expect((await store.read(one?.uri ?? ''))?.content).toEqual(content);
  });

  it('small texts are shown up to a sum', async () => {
    const { artifacts, file } = start();
    for (let n = 0; n < 3; n++) file(`${n}.txt`, 't'.repeat(3_500));
    const { left } = await artifacts.settle();
    expect(left?.files.map(({ text }) => text !== undefined)).toEqual([true, true, false]);
  });

  it.each([
    ['control characters', 'a\u001b[31mb'],
    ['no UTF-8', Buffer.from([0x61, 0xff])],
    ['a bidirectional override', 'a\u202eb'],
    ['zero width', 'a\u200bb'],
    ['tags', 'a\u{e0041}b'],
    ['a byte order mark in its middle', 'a\ufeffb'],
  ])('text with %s is not shown', async (_what, content) => {
    const { artifacts, file } = start();
    file('a.txt', content);
    expect((await artifacts.settle()).left?.files[0]).toMatchObject({
      text: undefined,
      mimeType: 'application/octet-stream',
    });
  });

  it('a byte order mark at the start is left out of what is shown, and of nothing else', async () => {
    const { artifacts, file } = start();
    file('a.csv', '\ufeffa,b\r\n1,2\r\n');
    expect((await artifacts.settle()).left?.files[0]).toMatchObject({
      text: 'a,b\r\n1,2\r\n',
      mimeType: 'text/csv',
      content: Buffer.from('\ufeffa,b\r\n1,2\r\n'),
    });
  });

  it('a picture is one when it begins like one', async () => {
    const { artifacts, file } = start();
    file('a.png', Buffer.from('89504e470d0a1a0a00', 'hex'));
    file('b.png', '<html>'.repeat(1_000));
    file('c.svg', Buffer.from('<svg/>\0'));
    expect((await artifacts.settle()).left?.files.map(({ mimeType }) => mimeType)).toEqual([
      'image/png',
      'text/plain',
      'application/octet-stream',
    ]);
  });

  it('a forged flood is counted again: too many, too large, too much, no base64', async () => {
    const { artifacts, file } = start();
    artifacts.addFile({ type: 'file', name: 'bad', data: '****' });
    file('large', Buffer.alloc(MAX_FILE_BYTES + 1));
    for (let n = 0; n < 8; n++) file(`m${n}`, Buffer.alloc(MAX_FILE_BYTES));
    for (let n = 0; n < 100; n++) file(`s${n}`, '');
    for (let n = 0; n < 100; n++)
      artifacts.addFile({ type: 'skipped', files: [{ name: `k${n}`, reason: 'link' }], more: 1 });
    const { left } = await artifacts.settle();
    expect(left?.files).toHaveLength(MAX_FILES);
    const bytes = left?.files.reduce((sum, { content }) => sum + content.length, 0);
    expect(bytes).toBeLessThanOrEqual(MAX_FILES_BYTES);
    expect(left?.skipped).toHaveLength(20);
    expect(left?.skippedMore).toBeGreaterThan(100);
  });

  it('names are made harmless and unique', async () => {
    const { artifacts, file } = start();
    for (const name of ['../../x', '/x', 'a\nb', 'a\nb']) file(name, 'x');
    expect((await artifacts.settle()).left?.files.map(({ name }) => name)).toEqual([
      'out/x',
      'out/x (2)',
      'out/a\\nb',
      'out/a\\nb (2)',
    ]);
  });
});

describe('output that the answer has no room for', () => {
  it('is kept whole, each stream by itself', async () => {
    const { kept: store, artifacts } = start();
    const lines = Array.from({ length: 20_000 }, (_, n) => `line ${n} é😀\n`);
    const text = lines.join('');
    for (let at = 0; at < lines.length; at += 700)
      artifacts.addOutput('stdout', lines.slice(at, at + 700).join(''));
    artifacts.addOutput('stderr', 'short');
    const { stdout, stderr } = await artifacts.settle();
    expect((await store.read(stdout?.uri ?? ''))?.content.toString()).toBe(text);
    expect(stderr).toBeUndefined();
  });

  it('a flood costs its cap, and the end says how much is missing', async () => {
    const { kept: store, artifacts } = start();
    const piece = 'é'.repeat(32_000);
    for (let n = 0; n < 1_000; n++) artifacts.addOutput('stdout', piece);
    const { stdout } = await artifacts.settle();
    expect(stdout?.sizeBytes).toBeLessThanOrEqual(MAX_FILE_BYTES);
    const content = (await store.read(stdout?.uri ?? ''))?.content.toString() ?? '';
    const [, missing = ''] = /\n\[… (\d+) further bytes were not kept …\]\n$/.exec(content) ?? [];
    const body = content.slice(0, content.lastIndexOf('\n[…'));
    expect(body).toBe('é'.repeat(body.length));
    expect(Buffer.byteLength(body) + Number(missing)).toBe(64_000_000);
  });

  it('a small quota is the cap', async () => {
    const { artifacts } = start(3600, 1024 ** 2);
    for (let n = 0; n < 50; n++) artifacts.addOutput('stdout', 'x'.repeat(60_000));
    expect((await artifacts.settle()).stdout?.sizeBytes).toBeLessThanOrEqual(1024 ** 2);
  });

  it('that comes after the end changes nothing', async () => {
    const { artifacts, events } = start();
    artifacts.addOutput('stdout', 'x'.repeat(50_000));
    const { stdout } = await artifacts.settle();
    artifacts.addOutput('stdout', 'late');
    await pause(20);
    expect(stdout?.sizeBytes).toBe(50_000);
    expect(events).toEqual([]);
  });
});

describe('a value that is too long', () => {
  const result = (value: string, repr: string, exact = true) =>
    [
      { type: 'result', value: null, repr, exact } as const,
      `{"type":"result","value":${value},"repr":"${repr}","exact":${exact}}`,
    ] as const;

  it('is kept as JSON, digits and all', async () => {
    const { kept: store, artifacts } = start();
    const json = `[${'12345678901234567890,'.repeat(6_000)}1]`;
    artifacts.addResult(...result(json, json));
    const { left } = await artifacts.settle();
    expect(left?.result).toMatchObject({ name: 'result.json', mimeType: 'application/json' });
    expect((await store.read(left?.result?.uri ?? ''))?.content.toString()).toBe(json);
  });

  it('is kept where the harness has cut what it shows of it', async () => {
    const { artifacts } = start();
    const json = `[${'1,'.repeat(10_000)}1]`;
    artifacts.addResult(...result(json, '[1, 1, … 9,999 more items]'));
    expect((await artifacts.settle()).left?.result).toMatchObject({ name: 'result.json', sizeBytes: 20_003 });
  });

  it('is kept as Python shows it where JSON cannot hold it', async () => {
    const { artifacts } = start();
    artifacts.addResult(...result('null', 'r'.repeat(50_000), false));
    expect((await artifacts.settle()).left?.result).toMatchObject({ name: 'result.txt', sizeBytes: 50_000 });
  });

  it('a short one is not kept', async () => {
    const { artifacts } = start();
    artifacts.addResult(...result('[1]', '[1]'));
    expect((await artifacts.settle()).left).toBeUndefined();
  });
});

describe('where nothing can be kept', () => {
  const fill = ({ artifacts, file }: ReturnType<typeof start>) => {
    file('small.txt', 'small');
    file('big.bin', Buffer.alloc(9_000));
    artifacts.addOutput('stdout', 'x'.repeat(50_000));
    return artifacts.settle();
  };

  it('a disk that fails costs the files, and is told to the model and to the log', async () => {
    writeFileSync(join(stateDir, 'kept'), 'no folder');
    const started = start();
    const { left, stdout } = await fill(started);
    expect(stdout).toBeUndefined();
    expect(left).toMatchObject({ trouble: 'the state directory of the bridge cannot be written' });
    expect(left?.files.map(({ text, kept: one }) => [text, one])).toEqual([
      ['small', undefined],
      [undefined, undefined],
    ]);
    expect(started.events[0]).toMatchObject({ type: 'kept.trouble' });
    // The host's paths are the log's.
    expect(JSON.stringify(left?.trouble)).not.toContain(stateDir);
  });

  it('a quota that is too small', async () => {
    const { left } = await fill(start(3600, 8_000));
    expect(left?.trouble).toContain('MCP_BRIDGE_KEEP_MB');
  });

  it('says so for an operator who wants nothing kept', async () => {
    const { left, stdout } = await fill(start(0));
    expect(left).toMatchObject({ keepSeconds: 0, trouble: undefined });
    expect(left?.files).toHaveLength(2);
    expect(stdout).toBeUndefined();
    expect(kept()).toBe(false);
  });

  it('a run that nobody waits for leaves nothing', async () => {
    const { artifacts, file } = start();
    file('big.bin', Buffer.alloc(9_000));
    artifacts.addOutput('stdout', 'x'.repeat(50_000));
    await artifacts.discard();
    await pause(20);
    expect(kept() ? readdirSync(join(stateDir, 'kept')) : []).toEqual([]);
  });
});
