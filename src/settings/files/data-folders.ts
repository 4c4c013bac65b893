// The user's own folders that code sees at /data: how they are written, where each is seen, and which folders are refused, since
// they hold more than data. Looked at when a bridge starts, and again for each sandbox that is made.

import { readFileSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { findExchangeable, whatIsOpen } from '../../base/files/only-ours.js';
import { shellWord } from '../../base/process/own-command.js';
import { clipHarmlessLine } from '../../base/text/text.js';
import { absolutePath, foldPath, type HostFacts, pathRules } from './host-facts.js';

/** Where code finds the only folder that has no name, and above all others. */
export const DATA = '/data';

/** A folder of this machine: `path` is absolute, and without links once it was opened; `target` is where code sees it. */
export type DataFolder = { readonly path: string; readonly target: string; readonly isWritable: boolean };

const MOST = 20;
const CHARS_SHOWN = 120;
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$/;
const NAMES =
  'letters of ASCII, digits and ._- with at most 63 characters, of which the first is a letter or a digit';

export const DATA_ONE = 'a folder as PATH, PATH:NAME, PATH:rw or PATH:NAME:rw';
export const DATA_ALLOWED = `${DATA_ONE}, several separated by commas, such as ~/sales,~/results:out:rw`;

// How folders are written.

/** Begins at a root, a drive or the home folder. */
export const IS_WHOLE = /^(?:~(?=$|[/\\])|[/\\]|[A-Za-z]:[\\/])/;
/** `C:\data` is a path on Windows, and no folder `C` under the name `\data`. */
const DRIVE = /^[A-Za-z]:(?=[\\/])/;

function readFolder(text: string) {
  const drive = DRIVE.exec(text)?.[0] ?? '';
  const [path = '', ...said] = text.slice(drive.length).split(':');
  const isWritable = said.at(-1) === 'rw';
  const [name, ...more] = isWritable ? said.slice(0, -1) : said;
  // A name with a colon is refused as a name.
  return { path: drive + path, name: name && [name, ...more].join(':'), isWritable };
}

function writtenTrouble(texts: readonly string[]): string | undefined {
  if (texts.length > MOST) return `There are ${texts.length} folders; the most is ${MOST}.`;
  const names = new Map<string, string>();
  for (const text of texts) {
    const { path, name } = readFolder(text);
    if (!IS_WHOLE.test(path)) return `${shown(text)} does not begin with an absolute path, or with ~/.`;
    if (/\0/.test(text)) return `${shown(text)} has a NUL character.`;
    if (name !== undefined && !NAME.test(name)) return `The name ${shown(name)} is not made of ${NAMES}.`;
    const called = name ?? ownName(path);
    if (texts.length > 1 && !NAME.test(called))
      return `${shown(text)} needs a name, since there are several folders: ${shown(`${path}:NAME`)}.`;
    const other = names.get(foldPath(called));
    if (other !== undefined)
      return `${shown(other)} and ${shown(text)} have the same name; give one of them another: ${shown(`${path}:NAME`)}.`;
    names.set(foldPath(called), text);
  }
  return undefined;
}

const ownName = (path: string): string => path.split(/[/\\]/).findLast((part) => part !== '') ?? '';

/** Folders as they are written, each once, in the order in which they are said. */
export const writtenFolders = z
  .array(z.string())
  .superRefine((texts, context) => {
    const message = writtenTrouble(texts);
    if (message !== undefined) context.addIssue({ code: 'custom', message, params: { explains: true } });
  })
  .transform((texts) => texts.map(readFolder));

/** Each with the place where code sees it: one folder that has no name at /data, all others below that, by their names. */
export function placedFolders(
  written: ReadonlyArray<ReturnType<typeof readFolder>>,
  host: HostFacts,
): readonly DataFolder[] {
  const isAlone = written.length === 1 && written[0]?.name === undefined;
  return written.map(({ path, name, isWritable }) => ({
    path: absolutePath(path, host.cwd, host),
    target: isAlone ? DATA : `${DATA}/${name ?? ownName(path)}`,
    isWritable,
  }));
}

// Which folders are refused.

/** Facts by which a folder is judged. */
export type DataPlace = Pick<HostFacts, 'home' | 'uid' | 'platform'> & {
  /** Nobody's data: what the bridge has there is run and believed. */
  readonly stateDir: string;
};

/** Folders of the system, refused with all that lies in them. */
const SYSTEM = [
  '/bin',
  '/boot',
  '/dev',
  '/etc',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/proc',
  '/run',
  '/sbin',
  '/sys',
  '/usr',
  '/var/cache',
  '/var/lib',
  '/var/lock',
  '/var/log',
  '/var/mail',
  '/var/run',
  '/var/spool',
  '/System',
  '/Library',
  '/Applications',
  '/private/etc',
  '/private/var/db',
  '/private/var/log',
  'C:\\Windows',
  'C:\\Program Files',
  'C:\\Program Files (x86)',
  'C:\\ProgramData',
];
/** Folders that hold those of many, refused by themselves. */
const SHARED = [
  '/',
  '/home',
  '/media',
  '/mnt',
  '/opt',
  '/root',
  '/srv',
  '/tmp',
  '/var',
  '/var/tmp',
  '/Users',
  '/Volumes',
  '/private',
  '/private/tmp',
  '/private/var',
  'C:\\Users',
];
/** Folders of other people's homes. */
const HOMES = ['/home', '/Users', 'C:\\Users'];
/** Names that are found in homes alone. */
const OF_A_HOME = ['.ssh', '.gnupg', '.bashrc', '.profile', '.zshrc'];
const OTHERS_MAY_READ = 0o005;
/** Code runs as no user below this. */
export const LEAST_ID = 2;

const shown = (text: string): string => `'${clipHarmlessLine(text, CHARS_SHOWN)}'`;

/**
 * The folder as it is on the disk, or what is wrong with it, in a sentence that says what to do. Once it was opened, its path
 * has no link in it: what has become one since is refused, and not followed.
 */
export function openFolder(
  folder: DataFolder,
  place: DataPlace,
  { isOpened }: { readonly isOpened: boolean },
):
  | (DataFolder & {
      readonly identity: string;
      readonly owner: number;
      readonly group: number;
    })
  | { readonly trouble: string } {
  const refuse = (why: string) => ({ trouble: `${shown(folder.path)} ${why}` });
  let path: string;
  let stats: Stats;
  try {
    path = realpathSync(folder.path);
    stats = statSync(path);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR')
      return refuse(`does not exist; make it first: mkdir ${shellWord(folder.path)}.`);
    return refuse(`cannot be looked at (${code}); name a folder that you can read.`);
  }
  if (!stats.isDirectory()) return refuse('is no folder; name the folder that it lies in.');
  if (isOpened && path !== folder.path)
    return refuse(
      `was exchanged for a link to ${shown(path)} after the bridge had started, and is not followed.`,
    );
  const why =
    whyNoData(path, place) ??
    whyExchangeable(path, place) ??
    whyClosed(path, stats, folder, place) ??
    whyMounted(path);
  if (why !== undefined) return refuse(path === folder.path ? why : `leads to ${shown(path)}, which ${why}`);
  const { uid: owner, gid: group } = stats;
  return { ...folder, path, identity: `${stats.dev}:${stats.ino}`, owner, group };
}

/** All of them; each that is refused has a sentence among `troubles`. */
export function openFolders(
  folders: readonly DataFolder[],
  place: DataPlace,
): { readonly folders: readonly DataFolder[]; readonly troubles: readonly string[] } {
  const seen = folders.map((folder) => openFolder(folder, place, { isOpened: false }));
  const troubles = seen.flatMap((one) => ('trouble' in one ? [one.trouble] : []));
  const opened = seen.flatMap((one) => ('trouble' in one ? [] : [one]));
  const { isIn } = within(place);
  for (const outer of opened.filter(({ isWritable }) => isWritable)) {
    const inner = opened.find((one) => one !== outer && isIn(one.path, outer.path));
    if (inner !== undefined)
      troubles.push(
        `${shown(inner.path)} lies in ${shown(outer.path)}, in which code may write and so exchange it; name one of the two.`,
      );
  }
  const [first, ...others] = opened.filter(({ isWritable }) => isWritable);
  const stranger = others.find(({ owner }) => owner !== first?.owner);
  if (first !== undefined && stranger !== undefined)
    troubles.push(
      `${shown(first.path)} and ${shown(stranger.path)} belong to two users, and code writes as one; leave out :rw of one of them.`,
    );
  return {
    folders: opened.map(({ path, target, isWritable }) => ({ path, target, isWritable })),
    troubles,
  };
}

function within({ platform }: Pick<DataPlace, 'platform'>) {
  const { sep } = pathRules({ platform } as HostFacts);
  const key = (path: string) => (platform === 'linux' ? path : foldPath(path));
  const isSame = (one: string, other: string) => key(one) === key(other);
  const isIn = (path: string, folder: string) =>
    isSame(path, folder) || key(path).startsWith(key(folder.endsWith(sep) ? folder : folder + sep));
  return { isSame, isIn, sep };
}

/** Why what lies there is no data. */
function whyNoData(path: string, place: DataPlace): string | undefined {
  const { isSame, isIn, sep } = within(place);
  const next = 'name a folder that holds data and nothing else.';
  const [home, stateDir] = [place.home, place.stateDir].map(realOf) as [string, string];
  if (isIn(home, path)) return `is your home folder, or holds it; ${next}`;
  if (isIn(path, stateDir) || isIn(stateDir, path))
    return `has to do with the bridge's own state directory, ${shown(stateDir)}; ${next}`;
  const inHome = isIn(path, home);
  const system = SYSTEM.find((folder) => isIn(path, folder));
  if (system !== undefined && !inHome) return `is a folder of the system (${system}); ${next}`;
  if (isIn(path, '/root') && !inHome) return `is in the home folder of root; ${next}`;
  if (SHARED.some((folder) => isSame(path, folder)) || /^[A-Za-z]:\\?$/.test(path))
    return `is a folder of the system; ${next}`;
  if (HOMES.some((folder) => isSame(dirname(path), folder))) return `is somebody's home folder; ${next}`;
  const parts = path.split(sep);
  const hidden = parts.find((part) => part.startsWith('.'));
  const library = inHome && /^(?:Library|AppData)$/.test(path.slice(home.length).split(sep)[1] ?? '');
  if (hidden !== undefined || library)
    return `is in a folder for settings (${hidden ?? 'Library or AppData'}), where programs keep keys and configuration; ${next}`;
  const ofHome = OF_A_HOME.find((name) => isThere(`${path}${sep}${name}`));
  return ofHome === undefined ? undefined : `looks like a home folder, since ${ofHome} lies in it; ${next}`;
}

const realOf = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
};

const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

/** Others may change what lies in it, which is data; they must not be able to put another folder in its place. */
function whyExchangeable(path: string, { uid }: DataPlace): string | undefined {
  const found = findExchangeable(path, uid);
  const isItself = found?.path === path;
  if (found === undefined || (isItself && found.is === 'mode')) return undefined;
  const above = isItself ? findExchangeable(dirname(path), uid) : found;
  if (above === undefined) return undefined;
  return `can be exchanged by others: ${whatIsOpen(above, shown)}; name a folder that nobody else can move, or run: chmod go-w ${shellWord(above.path)}.`;
}

/** Code that may write does so as the owner of the folder; any other code is nobody's user, and reads what all may read. */
function whyClosed(
  path: string,
  { mode, uid: owner }: Stats,
  { isWritable }: DataFolder,
  { uid }: DataPlace,
): string | undefined {
  if (uid === undefined) return undefined;
  if (isWritable && owner < LEAST_ID)
    return 'belongs to root, as whom no code runs; chown it, or leave out :rw.';
  if (isWritable && uid !== 0 && owner !== uid)
    return `belongs to user ${owner}, as whom this user starts no code; leave out :rw.`;
  if (isWritable || (mode & OTHERS_MAY_READ) === OTHERS_MAY_READ) return undefined;
  const octal = `0${(mode & 0o7777).toString(8)}`;
  return `is private (mode ${octal}), and code runs as another user than you; run: chmod o+rx ${shellWord(path)}.`;
}

/** Other file systems below it are not seen, which would look like folders that are empty. */
function whyMounted(path: string): string | undefined {
  const below = mountPoints().find((point) => point.startsWith(`${path}/`));
  return below === undefined
    ? undefined
    : `has another file system mounted below it, at ${shown(below)}; name that as a folder of its own, or unmount it.`;
}

function mountPoints(): readonly string[] {
  try {
    const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
    return lines.map((line) =>
      (line.split(' ')[4] ?? '').replace(/\\([0-7]{3})/g, (_, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      ),
    );
  } catch {
    return [];
  }
}
