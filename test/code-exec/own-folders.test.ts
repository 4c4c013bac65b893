// Temporary folders of calls: gone with the call, and those of a killed server at the next start.

import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeOwnFolder, removeOwnFolder, sweepOwnFolders } from '../../src/code-exec/execute.js';

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'own-folders-'));
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

it('removes what a call has left in its folder', () => {
  const folder = makeOwnFolder(parent);
  mkdirSync(join(folder, 'deep'));
  writeFileSync(join(folder, 'deep/file'), 'x');
  removeOwnFolder(folder);
  expect(existsSync(folder)).toBe(false);
  removeOwnFolder(folder);
});

it('sweeps folders of servers that are gone, and nothing else', () => {
  const gone = 4_194_304 + 7;
  for (const name of [`execute-${gone}-a`, `execute-${process.pid}-b`, 'execute-1-c', 'execute-d', 'other'])
    mkdirSync(join(parent, name));
  sweepOwnFolders(parent);
  expect(readdirSync(parent).sort()).toEqual(['execute-1-c', 'execute-d', 'other']);
  sweepOwnFolders(join(parent, 'nowhere'));
});

it.runIf(process.getuid?.() === 0)(
  "sweeps nothing of another user's, who could make it lead elsewhere meanwhile",
  () => {
    const names = ['execute-4194311-a', 'execute-4194311-b'];
    for (const name of names) mkdirSync(join(parent, name));
    chownSync(join(parent, names[0] ?? ''), 65_533, 65_533);
    sweepOwnFolders(parent);
    expect(readdirSync(parent)).toEqual(names.slice(0, 1));
  },
);
