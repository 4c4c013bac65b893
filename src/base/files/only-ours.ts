// Whether files and folders are safe from other users of the machine, by owners and modes: of themselves, and of all that
// leads to them, since whoever may write a folder can put another thing in the place of what lies in it.

import { lstatSync, readlinkSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ReadText, readText } from './read-text.js';

/** Mode bits of everything that others could do with a file or folder. */
const OTHERS = 0o077;
const WRITABLE_BY_GROUP = 0o020;
const WRITABLE_BY_ALL = 0o002;
/** Mode bit of a folder, such as /tmp, where each user may rename and remove only their own files. */
const STICKY = 0o1000;
/** Most links that are followed: as many as the kernel follows. */
const MOST_LINKS = 40;

/** Something that another user could exchange. */
export type Exchangeable = {
  readonly path: string;
  /**
   * `owner`: it belongs to somebody else. `mode`: others may write it. `absent`: it is not there, and others may write the
   * folder in which it is to be, so that they may be first to make it.
   */
  readonly is: 'owner' | 'mode' | 'absent';
  /** Owner and mode of what is there, or of the folder above where `is` is `absent`. */
  readonly owner: number;
  readonly mode: number;
};

/** Says what another user could exchange, in a sentence without its end; `show` is how a path is written. */
export function whatIsOpen(
  { path, is, owner, mode }: Exchangeable,
  show: (path: string) => string = (text) => text,
): string {
  const octal = `0${mode.toString(8)}`;
  if (is === 'owner') return `${show(path)} belongs to user ${owner}`;
  if (is === 'mode') return `${show(path)} can be written by other users (mode ${octal})`;
  return `${show(path)} does not exist, and other users can write to its folder (mode ${octal})`;
}

/** Whether `path` belongs to this user, lets nobody else in, and nobody could exchange it; a link never does. */
export function isOnlyOurs(path: string, uid: number | undefined = process.getuid?.()): boolean {
  try {
    const stats = lstatSync(path);
    const isPrivate = !stats.isSymbolicLink() && stats.uid === uid && (stats.mode & OTHERS) === 0;
    return isPrivate && findExchangeable(path, uid) === undefined;
  } catch {
    return false;
  }
}

/**
 * The first thing that another user could exchange on the absolute way to `path`, itself and whatever links lead to
 * included; the user's own and root's are safe. What may not be looked at may not be used either, and is passed over.
 * Undefined also where there are no user ids (Windows).
 */
export function findExchangeable(
  path: string,
  uid: number | undefined = process.getuid?.(),
  read: ReadText = readText,
): Exchangeable | undefined {
  if (uid === undefined) return undefined;
  const user = { uid, read };
  const names = namesIn(path);
  let at = '/';
  let above: Stats | undefined;
  for (let links = 0; ; ) {
    const stats = statsOf(at);
    if (stats === undefined) return undefined;
    if (stats === 'absent')
      return above !== undefined && isWritableByOthers(above, user) ? found(at, 'absent', above) : undefined;
    const isLast = names.length === 0;
    if (!isTrusted(stats.uid, isLast, user)) return found(at, 'owner', stats);
    if (stats.isSymbolicLink()) {
      if (++links > MOST_LINKS) return undefined;
      const target = readlinkSync(at);
      names.unshift(...namesIn(target));
      at = target.startsWith('/') ? '/' : dirname(at);
      // The link may lead to a folder that has been passed before, which is the last one now.
      continue;
    }
    const isShared = !isLast && (stats.mode & STICKY) !== 0;
    if (!isShared && isWritableByOthers(stats, user)) return found(at, 'mode', stats);
    above = stats;
    const name = names.shift();
    if (name === undefined) return undefined;
    // Links have been replaced by where they lead, so that `..` is the folder above.
    at = name === '..' ? dirname(at) : join(at, name);
  }
}

const namesIn = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.');

const found = (path: string, is: Exchangeable['is'], { uid, mode }: Stats): Exchangeable => ({
  path,
  is,
  owner: uid,
  mode: mode & 0o7777,
});

function statsOf(path: string): Stats | 'absent' | undefined {
  try {
    return lstatSync(path);
  } catch (thrown) {
    return Object(thrown).code === 'ENOENT' ? 'absent' : undefined;
  }
}

/** The user for whom safety is asked about, and the reader of what the machine says of users. */
type User = { readonly uid: number; readonly read: ReadText };

/** An owner whom a user namespace does not know is root outside, as a rule: what leads to a folder is believed to be. */
const isTrusted = (owner: number, isLast: boolean, { uid, read }: User): boolean =>
  owner === uid || owner === 0 || (!isLast && isUnknownHere(owner, read));

/** All whom a user namespace does not know are shown as one; the first namespace knows every id. */
const isUnknownHere = (owner: number, read: ReadText): boolean =>
  String(owner) === read('/proc/sys/kernel/overflowuid')?.trim() &&
  !/^\s*0\s+0\s+4294967295\s*$/.test(read('/proc/self/uid_map') ?? '');

const isWritableByOthers = ({ mode, gid }: Stats, user: User): boolean =>
  (mode & WRITABLE_BY_ALL) !== 0 || ((mode & WRITABLE_BY_GROUP) !== 0 && !isOwnGroup(gid, user));

/**
 * Whether only this user is in the group, as where each user gets a group of the same name: folders are made writable for it
 * there (umask 002). Debian's OpenSSH asks the same. Users and groups that no file of this machine lists are not known.
 */
function isOwnGroup(gid: number, { uid, read }: User): boolean {
  const rows = (file: string) => (read(file) ?? '').split('\n').map((line) => line.split(':'));
  const users = rows('/etc/passwd').map(([name = '', , id, group]) => ({ name, id, group }));
  const group = rows('/etc/group').find(([, , id]) => id === String(gid));
  const first = users.filter((user) => user.group === String(gid)).map(({ name }) => name);
  if (group === undefined || first.length === 0) return false;
  const own = new Set(users.filter(({ id }) => id === String(uid)).map(({ name }) => name));
  const members = (group[3] ?? '').split(',').filter((name) => name !== '');
  return [...first, ...members].every((name) => own.has(name));
}
