// What `run`, `exec` and `repl` do with what a run has left.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { keptByUser, takeOut } from '../../src/cli/run/left.js';
import type { Prepared } from '../../src/cli/serving/prepare.js';
import { surveyKept } from '../../src/run/artifacts/kept-files.js';
import { type Outcome, outcomeWithoutRun } from '../../src/run/outcome/outcome.js';

const PICTURE = { number: 1, kind: 'png', width: 2, height: 3, bytes: 4 } as const;
const FAILED = outcomeWithoutRun('error', { type: 'E', message: 'no', remedy: undefined }, 30);
const file = (name: string, content: string, path?: string) => ({
  ...{ name, mimeType: 'text/plain', content: Buffer.from(content), text: content },
  kept: path === undefined ? undefined : { uri: 'x', name, mimeType: 'text/plain', sizeBytes: 1, path },
});
const OUTCOME: Outcome = {
  ...FAILED,
  pictures: { shown: [{ ...PICTURE, data: Buffer.from('drawn').toString('base64') }], leftOut: [] },
  left: {
    files: [
      file('out/short.txt', 'short'),
      file('out/picture-1.png', 'its own'),
      file('out/long', 'x', '/kept/1'),
    ],
    ...{ result: undefined, isResultSpare: false, skippedMore: 2, keepSeconds: 0, trouble: undefined },
    skipped: [{ name: 'out/link', reason: 'is a link' }],
  },
};

function desk(keepSeconds = 60) {
  const stateDir = mkdtempSync(join(tmpdir(), 'left-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const said: string[] = [];
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  onTestFinished(() => spy.mockRestore());
  const prepared = { settings: { stateDir, keepBytes: 1_000_000 }, keepSeconds } as unknown as Prepared;
  return { prepared, stateDir, said: () => said.join('') };
}

it('keeps pictures and files where nobody names a folder, and says where each is', async () => {
  const { prepared, stateDir, said } = desk();
  expect(await takeOut(OUTCOME, undefined, prepared)).toBe(true);
  const kept = await surveyKept({ stateDir, keepSeconds: 60 });
  expect(kept.map(({ name, path }) => [name, readFileSync(path, 'utf8')])).toEqual([
    ['picture-1.png (2)', 'drawn'],
    ['out/short.txt', 'short'],
    ['out/picture-1.png', 'its own'],
  ]);
  for (const { name, path, sizeBytes } of kept)
    expect(said()).toContain(`${name} (${sizeBytes} bytes): ${path}\n`);
  expect(said()).toContain('out/long (1 bytes): /kept/1\n');
  expect(said()).toContain('out/link was not saved: it is a link\n2 more were not saved\n');
  expect(said()).toMatch(/Kept for .*; --out FOLDER writes such files where you want them\.\n$/);
});

it('writes pictures and files into the folder that is named, and counts what is missing', async () => {
  const { prepared, stateDir, said } = desk();
  const folder = join(stateDir, 'results');
  expect(await takeOut(OUTCOME, folder, prepared)).toBe(false);
  expect(readdirSync(folder)).toEqual(['long', 'picture-1.png', 'picture-1.png (2)', 'short.txt']);
  expect(readFileSync(join(folder, 'picture-1.png (2)'), 'utf8')).toBe('drawn');
  expect(said()).not.toContain('Kept');
  expect(await takeOut({ ...OUTCOME, left: undefined }, join(stateDir, 'more'), prepared)).toBe(true);
  expect(await takeOut({ ...OUTCOME, left: undefined }, join(stateDir, 'more'), prepared)).toBe(false);
  expect(said()).toContain('picture-1.png was not written: EEXIST');
});

it('says what is lost where the user has nothing kept', async () => {
  const { prepared, said } = desk(0);
  expect(keptByUser(prepared).isOn).toBe(false);
  expect(await takeOut(OUTCOME, undefined, prepared)).toBe(true);
  expect(said()).toContain(
    'out/short.txt (5 bytes): not kept, since nothing is kept here (MCP_BRIDGE_KEEP_SECONDS',
  );
  expect(said()).toContain('--out FOLDER');
});

it('says nothing where nothing is left', async () => {
  const { prepared, said } = desk();
  expect(await takeOut(FAILED, undefined, prepared)).toBe(true);
  expect(said()).toBe('');
});
