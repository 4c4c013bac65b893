import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { replaceFile } from '../../src/base/files/replace-file.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'replace-file-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A system that refuses the first renames with `code`. */
function refusing(platform: NodeJS.Platform, refusals: number, code: string) {
  let tries = 0;
  let restedMs = 0;
  return {
    platform,
    rename: (from: string, to: string) => {
      tries += 1;
      if (tries <= refusals) throw Object.assign(new Error(code), { code });
      renameSync(from, to);
    },
    rest: (ms: number) => {
      restedMs += ms;
    },
    told: () => ({ tries, restedMs }),
  };
}

it('on Windows a file that somebody else has open for a moment is replaced a moment later', () => {
  const file = join(folder, 'a');
  for (const code of ['EPERM', 'EACCES', 'EBUSY']) {
    const calls = refusing('win32', 3, code);
    replaceFile(file, code, { calls });
    expect(readFileSync(file, 'utf8')).toBe(code);
    expect(calls.told()).toEqual({ tries: 4, restedMs: 70 });
  }
});

it.each([
  ['win32', 'EPERM', 6],
  ['win32', 'ENOSPC', 1],
  ['linux', 'EPERM', 1],
  ['darwin', 'EBUSY', 1],
] as const)('%s: %s that lasts is thrown after %i tries, and nothing is left', (platform, code, tries) => {
  const calls = refusing(platform, Number.POSITIVE_INFINITY, code);
  expect(() => replaceFile(join(folder, 'a'), 'x', { calls })).toThrow(code);
  expect([calls.told().tries, readdirSync(folder)]).toEqual([tries, []]);
});
