// A disk that stalls, refuses, or takes half of a line: what is lost is said where it is missing, and the lines after it
// are whole. The stream is a stand-in that writes to a real file; no disk can be made to do this on demand.

import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AuditFiles } from '../../../src/run/audit/audit-files.js';

const LINE = `${JSON.stringify({ text: 'x'.repeat(100_000) })}\n`;
const MINUTE_MS = 60_000;

let dir: string;
let told: string[];
let nowMs: number;
let disk: 'well' | 'stalled' | 'full';
let released: Array<() => void>;
let files: AuditFiles;
beforeEach(() => {
  dir = join(mkdtempSync(join(tmpdir(), 'audit-files-test-')), 'audit');
  told = [];
  nowMs = 1_000_000;
  disk = 'well';
  released = [];
  files = open();
});
afterEach(() => rmSync(join(dir, '..'), { recursive: true, force: true }));

const open = () =>
  new AuditFiles({
    dir,
    quotaBytes: 64 * 1024 ** 2,
    onTrouble: (message) => told.push(message),
    lostLine: (lines, since) => `${JSON.stringify({ lines, since })}\n`,
    now: () => nowMs,
    createStream: (path) =>
      new Writable({
        decodeStrings: false,
        write: (chunk: string, _encoding, done) => {
          const write = () => {
            if (disk !== 'full') return appendFileSync(path, chunk);
            appendFileSync(path, chunk.slice(0, 50));
            throw new Error('ENOSPC: no space left on device');
          };
          const attempt = () => {
            try {
              write();
              done();
            } catch (thrown) {
              done(thrown as Error);
            }
          };
          if (disk === 'stalled') released.push(attempt);
          else attempt();
        },
      }),
  });

/** Writing takes turns of the event loop and no time: of a timer it is not known before which of them it fires. */
const turn = async () => {
  for (let at = 0; at < 10; at++) await setImmediate();
};
const lines = () => {
  const [name = ''] = readdirSync(dir);
  return readFileSync(join(dir, name), 'utf8').split('\n');
};
const parsed = () =>
  lines().flatMap((line) => {
    try {
      return [JSON.parse(line) as { text?: string; lines?: number; since?: string }];
    } catch {
      return [];
    }
  });
const short = () => parsed().map(({ text, lines }) => (lines === undefined ? text?.slice(0, 8) : lines));

it('a disk that stalls and goes on costs what had no room, and nothing after it', async () => {
  files.append(LINE);
  await turn();
  disk = 'stalled';
  for (let at = 0; at < 300; at++) files.append(LINE);
  await turn();
  expect(told).toEqual([expect.stringMatching(/too slow/)]);
  disk = 'well';
  for (const attempt of released) attempt();
  await turn();
  files.append(`${JSON.stringify({ text: 'later' })}\n`);
  await turn();
  const lost = parsed().find((line) => line.lines !== undefined)?.lines ?? 0;
  expect(lost).toBeGreaterThan(200);
  expect(short().filter((one) => one === 'xxxxxxxx')).toHaveLength(301 - lost);
  expect(short().at(-1)).toBe('later');
  await files.close();
});

it('lines after a torn one are whole, and those that were lost are counted', async () => {
  files.append(`${JSON.stringify({ text: 'before' })}\n`);
  await turn();
  disk = 'full';
  files.append(LINE);
  files.append(LINE);
  await turn();
  // The disk is left alone for a while.
  files.append(LINE);
  disk = 'well';
  nowMs += 2 * MINUTE_MS;
  files.append(`${JSON.stringify({ text: 'later' })}\n`);
  await turn();
  expect(short()).toEqual(['before', 'later', 3]);
  expect(lines()[1]).toHaveLength(50);
  expect(parsed()[2]?.since).toBe(new Date(1_000_000).toISOString());
  await files.close();
});

it('what was lost is said at the end, if not before', async () => {
  disk = 'full';
  files.append(LINE);
  await turn();
  disk = 'well';
  nowMs += 2 * MINUTE_MS;
  await files.close();
  expect(short()).toEqual([1]);
});

it('trouble is told again when there was none for a while', async () => {
  for (let time = 0; time < 2; time++) {
    disk = 'full';
    files.append(LINE);
    files.append(LINE);
    await turn();
    disk = 'well';
    nowMs += 2 * MINUTE_MS;
    files.append(LINE);
    await turn();
  }
  expect(told).toHaveLength(2);
  await files.close();
});
