// `kept`: what runs have left is listed, and saved under names that hostile code has chosen, without a bridge that runs.

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isHarmless } from '../../src/base/text/text.js';
import { KeptFiles } from '../../src/run/artifacts/kept-files.js';
import type { KeptThing } from '../../src/run/artifacts/kept-run.js';
import { tempHome } from '../support/start-bridge.js';
import { commandHere } from './command.js';

let home: string;
beforeEach(() => {
  home = tempHome();
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const stateDir = () => join(home, 'state');

/** As a bridge that has ended has left it. */
async function left(
  name: string,
  content: string,
  { run = 'a-1', agoSeconds = 0, type = 'text/csv' } = {},
): Promise<KeptThing & { readonly path: string }> {
  using store = new KeptFiles({ stateDir: stateDir(), keepSeconds: 3600, quotaBytes: 1e8 });
  const own = store.open(run);
  const kept = await own.put(name, type, Buffer.from(content));
  await own.seal();
  const at = Date.now() / 1000 - agoSeconds;
  const { path = '' } = kept;
  utimesSync(join(path, '..'), at, at);
  return { ...kept, path };
}

const ask = (...args: string[]) => commandHere(['kept', ...args], { home });
const saved = (name: string) => readFileSync(join(home, name), 'utf8');

describe('the list', () => {
  it('says that there is nothing, also where there is no folder', async () => {
    expect(await ask()).toMatchObject({
      exitCode: 0,
      stdout: 'No kept files. Files of runs are kept for 60 min (MCP_BRIDGE_KEEP_SECONDS).\n',
    });
    expect(JSON.parse((await ask('--json')).stdout)).toEqual({ kept: [], keepSeconds: 3600 });
  });

  it('has the newest first, with address, size, type, age and run', async () => {
    const old = await left('out/old.csv', 'abc', { run: 'a-1', agoSeconds: 600 });
    const young = await left('out/young.csv', 'abcdef', { run: 'b-2', agoSeconds: 30 });
    const { stdout } = await ask();
    const [, first = '', second = ''] = stdout.split('\n');
    expect(first).toMatch(new RegExp(`^${young.uri} +6 B +text/csv +\\d+ s ago +b-2$`));
    expect(second).toMatch(new RegExp(`^${old.uri} +3 B +text/csv +10 min ago +a-1$`));
    const { kept } = JSON.parse((await ask('--json')).stdout) as { kept: object[] };
    expect(kept).toEqual([
      {
        address: young.uri,
        name: 'out/young.csv',
        bytes: 6,
        mimeType: 'text/csv',
        run: 'b-2',
        at: expect.any(String),
        path: young.path,
      },
      expect.objectContaining({ address: old.uri }),
    ]);
  });

  it('leaves out what has expired, what is torn and what is no file of ours', async () => {
    await left('out/gone.csv', 'x', { agoSeconds: 4000 });
    const torn = await left('out/torn.csv', 'x');
    writeFileSync(join(torn.path, '../index.json'), '[{');
    const link = await left('out/link.csv', 'x');
    rmSync(link.path);
    symlinkSync('/etc/passwd', link.path);
    mkdirSync(join(stateDir(), 'kept/not-a-handle'));
    expect((await ask()).stdout).toContain('No kept files');
  });

  it('prints no character that does not show', async () => {
    await left('out/a\u001b[2Jb\u202ec.csv', 'x');
    const { stdout } = await ask();
    expect(isHarmless(stdout)).toBe(true);
    expect(isHarmless((await ask('--json')).stdout)).toBe(true);
  });

  it.skipIf(process.getuid?.() === 0)('says what is wrong where the folder cannot be read', async () => {
    await left('out/a.csv', 'x');
    chmodSync(join(stateDir(), 'kept'), 0);
    const { exitCode, stderr } = await ask();
    chmodSync(join(stateDir(), 'kept'), 0o700);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('cannot be read')]);
  });
});

describe('save', () => {
  it.each(['out/rows.csv', 'rows.csv', 'the address', 'the short address'])(
    'finds a file by %s',
    async (by) => {
      const { uri } = await left('out/rows.csv', 'a,b\n');
      const handle = uri.split('/')[4] ?? '';
      const name =
        by === 'the address' ? uri : by === 'the short address' ? `${handle.slice(0, 8)}/out/rows.csv` : by;
      const { exitCode, stdout } = await ask('save', name);
      expect([exitCode, stdout]).toEqual([0, `${join(home, 'rows.csv')}\n`]);
      expect(saved('rows.csv')).toBe('a,b\n');
    },
  );

  it('takes the newest of several, and says so', async () => {
    await left('out/rows.csv', 'old', { agoSeconds: 60 });
    await left('out/rows.csv', 'new');
    const { stderr } = await ask('save', 'rows.csv');
    expect(saved('rows.csv')).toBe('new');
    expect(stderr).toMatch(/^2 files match; this is the newest, [0-9a-f]{8}\/out\/rows\.csv\./);
  });

  it('makes the folder, and takes another name', async () => {
    await left('out/rows.csv', 'x');
    expect((await ask('save', 'rows.csv', '--to', 'here/there', '--as', 'mine.csv')).exitCode).toBe(0);
    expect(saved('here/there/mine.csv')).toBe('x');
  });

  it('refuses to replace a file unless it is told to, and never follows a link', async () => {
    await left('out/rows.csv', 'new');
    writeFileSync(join(home, 'victim'), 'mine');
    symlinkSync(join(home, 'victim'), join(home, 'rows.csv'));
    const { exitCode, stderr } = await ask('save', 'rows.csv');
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('already exists.\nnext:  Add --force')]);
    expect((await ask('save', 'rows.csv', '--force')).exitCode).toBe(0);
    expect(saved('victim')).toBe('mine');
    expect(lstatSync(join(home, 'rows.csv')).isFile()).toBe(true);
    expect(saved('rows.csv')).toBe('new');
    expect(readdirSync(home).filter((name) => name.startsWith('rows.csv.'))).toEqual([]);
  });

  it('does not replace a folder, --force or not', async () => {
    await left('out/rows.csv', 'new');
    mkdirSync(join(home, 'rows.csv'));
    expect((await ask('save', 'rows.csv', '--force')).exitCode).toBe(2);
    expect(lstatSync(join(home, 'rows.csv')).isDirectory()).toBe(true);
  });

  it.each([
    'out/../../evil',
    'out/.bashrc',
    'out/..\\..\\evil',
    'out/c:evil',
    'out/-rf',
    'out/a\u001b[31m',
    '/etc/evil',
  ])('writes a file named %j nowhere else, or not at all', async (name) => {
    const { uri } = await left(name, 'x');
    const { exitCode, stderr } = await ask('save', uri, '--to', 'here');
    expect(stderr).not.toContain('\u001b');
    if (exitCode === 0) expect(readdirSync(join(home, 'here'))).toEqual(['evil']);
    else expect(stderr).toMatch(/was not written: its name .*\nnext: {2}Give another name \(--as NAME\)/);
    expect(existsSync(join(home, 'evil'))).toBe(false);
    expect((await ask('save', uri, '--as', 'plain', '--to', 'here')).exitCode).toBe(0);
  });

  it('knows no other file, and says what is near', async () => {
    await left('out/rows.csv', 'x');
    for (const name of ['../../etc/passwd', '/etc/passwd', 'index.json', ''])
      expect((await ask('save', name)).exitCode).toBe(2);
    expect((await ask('save', 'row.csv')).stderr).toContain("Did you mean 'rows.csv'?");
  });
});

describe('open', () => {
  it('opens nothing of an unknown type, and says how to look at it', async () => {
    const { uri } = await left('out/run.sh', '#!/bin/sh', { type: 'application/octet-stream' });
    const { exitCode, stderr } = await ask('open', 'run.sh');
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`kept save ${uri.split('/')[4]?.slice(0, 8)}/out/run.sh`);
  });

  it.runIf(process.platform === 'linux')('says where a file lies where there is no desktop', async () => {
    const { path } = await left('out/rows.csv', 'x');
    const { exitCode, stderr } = await ask('open', 'rows.csv');
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`It is in ${path}`);
  });
});
