// Data folders, as their setting is written and as they lie on a real disk: which are taken, under which names code sees them,
// and what is said of those that are refused.

import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { readSettings } from '../../src/settings/environment/settings.js';
import { openFolder, openFolders } from '../../src/settings/files/data-folders.js';
import type { HostFacts } from '../../src/settings/files/host-facts.js';

const linux: HostFacts = {
  home: '/home/ann',
  platform: 'linux',
  cores: 2,
  cwd: '/home/ann/work',
  uid: 1000,
  exists: () => false,
};
const windows: HostFacts = {
  ...linux,
  platform: 'win32',
  home: 'C:\\Users\\ann',
  cwd: 'C:\\Users\\ann',
  uid: undefined,
};

const readData = (text: string, host = linux) => readSettings({ MCP_BRIDGE_DATA: text }, host);

describe('as it is written', () => {
  it.each([
    ['~/data', [['/home/ann/data', '/data', false]]],
    ['/srv/data:rw', [['/srv/data', '/data', true]]],
    ['~/data:sales', [['/home/ann/data', '/data/sales', false]]],
    ['~/data:out:rw', [['/home/ann/data', '/data/out', true]]],
    ['/a/rw:rw:rw', [['/a/rw', '/data/rw', true]]],
    [
      '~/sales, /mnt/disk/My Files:mine:rw',
      [
        ['/home/ann/sales', '/data/sales', false],
        ['/mnt/disk/My Files', '/data/mine', true],
      ],
    ],
  ])('%s is understood', (text, expected) => {
    const { settings, problems } = readData(text);
    expect(problems).toEqual([]);
    expect(settings.data.map(({ path, target, isWritable }) => [path, target, isWritable])).toEqual(expected);
  });

  it('the letter of a drive is no name', () => {
    const { settings, problems } = readData('D:\\sales,C:\\data:out:rw', windows);
    expect(problems).toEqual([]);
    expect(settings.data).toEqual([
      { path: 'D:\\sales', target: '/data/sales', isWritable: false },
      { path: 'C:\\data', target: '/data/out', isWritable: true },
    ]);
  });

  it.each([
    ['data', "'data' does not begin with an absolute path"],
    ['~/a:../etc', "The name '../etc' is not made of"],
    ['~/a:..', "The name '..' is not made of"],
    ['~/a:x/y', "The name 'x/y' is not made of"],
    ['~/a:.ssh', "The name '.ssh' is not made of"],
    ['~/a:x\0', 'NUL'],
    ['~/a:ro:x', "The name 'ro:x' is not made of"],
    ['~/a/b,~/c/b', "'~/a/b' and '~/c/b' have the same name"],
    ['~/a:Out,~/b:out', 'have the same name'],
    ['~/a,~/My Files', "'~/My Files' needs a name"],
  ])('%j is refused, with what is wrong', (text, words) => {
    const { settings, problems } = readData(text);
    expect(settings.data).toEqual([]);
    expect(problems.map(({ message }) => message).join()).toContain(words);
    expect(problems.map(({ message }) => message).join()).toContain('PATH:NAME:rw');
  });
});

describe('on the disk', () => {
  let root: string;
  let home: string;
  let place: { home: string; stateDir: string; uid: number | undefined; platform: NodeJS.Platform };
  const make = (...parts: string[]): string => {
    const path = join(root, ...parts);
    mkdirSync(path, { recursive: true, mode: 0o755 });
    return path;
  };
  const seen = (path: string, isWritable = false, isOpened = false) =>
    openFolder({ path, target: '/data', isWritable }, place, { isOpened });
  const trouble = (path: string, isWritable = false) => {
    const found = seen(path, isWritable);
    return 'trouble' in found ? found.trouble : 'nothing';
  };

  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'data-')));
    home = make('home');
    place = { home, stateDir: make('home', 'state'), uid: process.getuid?.(), platform: process.platform };
  });

  it('takes a folder of the user, also by a link, as what it really is', () => {
    const data = make('home', 'data');
    symlinkSync(data, join(home, 'now'));
    expect(seen(data)).toMatchObject({ path: data, target: '/data' });
    expect(seen(join(home, 'now'))).toMatchObject({ path: data });
    expect(openFolders([{ path: join(home, 'now'), target: '/data', isWritable: false }], place)).toEqual({
      folders: [{ path: data, target: '/data', isWritable: false }],
      troubles: [],
    });
  });

  it.each([
    '/',
    '/etc',
    '/usr/share',
    '/var',
    '/var/lib/x',
    '/proc',
    '/sys',
    '/dev',
    '/run',
    '/boot',
    '/home',
    '/tmp',
  ])('refuses the folder %s of the system, also by a link', (path) => {
    symlinkSync(path, join(home, 'link'));
    const isAbsent = /does not exist/;
    if (!isAbsent.test(trouble(path))) {
      expect(trouble(path)).toMatch(/folder of the system|home folder/);
      expect(trouble(join(home, 'link'))).toContain('leads to');
    }
  });

  it('refuses a home, what holds it, and what looks like one', () => {
    expect(trouble(home)).toContain('your home folder');
    expect(trouble(root)).toContain('your home folder');
    make('other', '.ssh');
    expect(trouble(join(root, 'other'))).toContain('looks like a home folder');
  });

  it.each(['.claude', '.codex', '.ssh', '.config/deep'])('refuses %s of a home', (name) => {
    expect(trouble(make('home', ...name.split('/')))).toContain('folder for settings');
  });

  it("refuses the bridge's own state, what lies in it, and what holds it", () => {
    place = { ...place, stateDir: make('home', 'all', 'state') };
    for (const path of [place.stateDir, make('home', 'all', 'state', 'kept'), join(home, 'all')])
      expect(trouble(path)).toContain('state directory');
  });

  it('refuses what is no folder, and what is not there, with the command to run', () => {
    writeFileSync(join(home, 'file'), '');
    expect(trouble(join(home, 'file'))).toContain('is no folder');
    expect(trouble(join(home, 'none'))).toContain(`mkdir ${join(home, 'none')}`);
  });

  it('refuses a folder that others could exchange, and takes one in which others write', () => {
    const open = make('home', 'shared');
    const data = make('home', 'shared', 'data');
    chmodSync(data, 0o777);
    expect(trouble(data)).toBe('nothing');
    chmodSync(open, 0o777);
    expect(trouble(data)).toContain(`chmod go-w ${open}`);
  });

  it('refuses a private folder that code could not read, and says how to open it', () => {
    const data = make('home', 'private');
    chmodSync(data, 0o700);
    expect(trouble(data)).toContain(`chmod o+rx ${data}`);
  });

  it.runIf(process.getuid?.() === 0)('refuses to write into a folder of root', () => {
    expect(trouble(make('home', 'out'), true)).toContain('belongs to root');
  });

  it('refuses a folder in one that code may write', () => {
    const outer = make('home', 'outer');
    const inner = make('home', 'outer', 'inner');
    const folder = (path: string, isWritable: boolean) => ({ path, target: path, isWritable });
    if (process.getuid?.() === 0) {
      for (const path of [root, home, outer, inner]) chownSync(path, 1000, 1000);
      place = { ...place, uid: 1000 };
    }
    expect(openFolders([folder(outer, false), folder(inner, false)], place).troubles).toEqual([]);
    expect(openFolders([folder(outer, true), folder(inner, false)], place).troubles).toEqual([
      expect.stringContaining('so exchange it'),
    ]);
  });

  it('does not follow a link that has taken the place of an opened folder', () => {
    const data = make('home', 'data');
    const elsewhere = make('home', 'elsewhere');
    const before = seen(data, false, true);
    renameSync(data, join(home, 'moved'));
    symlinkSync(elsewhere, data);
    expect(seen(data, false, true)).toEqual({ trouble: expect.stringContaining('exchanged for a link') });
    expect(before).toMatchObject({ path: data });
    const another = seen(elsewhere);
    expect('identity' in before && 'identity' in another && before.identity !== another.identity).toBe(true);
  });
});
