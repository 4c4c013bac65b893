// A file of the user's that belongs to a host: read as bytes, and replaced whole, through links to the file that they lead
// to, with its mode and owner. Nothing is written where somebody else has written since it was read.

import { createHash } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { BridgeError, messageOf } from '../../base/errors.js';
import { ifThere } from '../../base/files/read-text.js';
import { replaceBy } from '../../base/files/replace-file.js';
import { formatOf, MAX_BYTES } from '../../settings/files/file-formats.js';
import { readGuarded } from '../../settings/files/guarded-file.js';
import type { HostFacts } from '../../settings/files/host-facts.js';

export type UserFile = {
  /** Path as the host names it. */
  readonly path: string;
  /** Where links lead; the same where there is none. */
  readonly target: string;
  /** Undefined where there is no such file. */
  readonly bytes: Buffer | undefined;
  /** Text without the byte order mark. */
  readonly text: string;
  /** Owner and permissions of the file. */
  readonly stats: { readonly mode: number; readonly uid: number; readonly gid: number } | undefined;
};

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;
const OWNER_MAY_WRITE = 0o200;

export const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

export const fileError = (path: string, trouble: string, remedy: string): BridgeError =>
  new BridgeError('E_CONFIG', `${path} ${trouble}.`, { fault: 'operator', remedy });

const NOTHING_CHANGED = 'Nothing was changed.';
export const TRY_AGAIN = `Try again. ${NOTHING_CHANGED}`;

/** Throws E_CONFIG for what is no readable file of the user's own in UTF-8. */
export function readUserFile(path: string, host: HostFacts): UserFile {
  const target = whereItLeads(path);
  const guarded = readGuarded(target, MAX_BYTES[formatOf(path)], host);
  if (guarded.state === 'refused') throw fileError(path, guarded.message, NOTHING_CHANGED);
  if (guarded.state === 'absent') return { path, target, bytes: undefined, text: '', stats: undefined };
  // Not read a second time: another file may be there by then, which nobody has looked at.
  const { bytes } = guarded;
  const { mode, uid, gid } = guarded.stats;
  const stats = { mode: Number(mode), uid: Number(uid), gid: Number(gid) };
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { path, target, bytes, text, stats };
  } catch {
    throw fileError(path, 'is not text in UTF-8', `Save it in UTF-8. ${NOTHING_CHANGED}`);
  }
}

/** Also where the last file of a chain of links is not there. */
function whereItLeads(path: string): string {
  let at = path;
  for (let links = 0; links < 40; links++) {
    try {
      return realpathSync(at);
    } catch {
      const next = linkAt(at);
      if (next === undefined) return at;
      at = resolve(dirname(at), next);
    }
  }
  return at;
}

function linkAt(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    // Nothing is there, or a file where a folder should be.
    return undefined;
  }
}

/** The bytes that a text has in the place of this file: with the mark that the file began with. */
export function bytesFor({ bytes }: UserFile, text: string): Buffer {
  const hasMark = bytes?.subarray(0, BOM.length).equals(BOM) === true;
  return hasMark ? Buffer.concat([BOM, Buffer.from(text)]) : Buffer.from(text);
}

/** Folders that were made for the file, the outermost first. Throws E_CONFIG and leaves the file as it is. */
export function replaceUserFile(file: UserFile, bytes: Buffer): readonly string[] {
  const { path, target, stats } = file;
  if (stats !== undefined && (stats.mode & OWNER_MAY_WRITE) === 0)
    throw fileError(path, 'is read-only', `To allow changes, run: chmod u+w '${target}'. ${NOTHING_CHANGED}`);
  let made: readonly string[] = [];
  try {
    made = missingFolders(dirname(target));
    mkdirSync(dirname(target), { recursive: true, mode: PRIVATE_FOLDER });
    if (stats !== undefined) accessSync(target, constants.W_OK);
    replaceBy(target, (fresh) => {
      writeDurably(fresh, bytes, stats);
      refuseIfChanged(file);
    });
    return made;
  } catch (thrown) {
    removeFolders(made);
    if (thrown instanceof BridgeError) throw thrown;
    throw fileError(
      path,
      `cannot be written: ${messageOf(thrown)}`,
      `Check who may write to ${dirname(target)}. ${NOTHING_CHANGED}`,
    );
  }
}

/** Removes a file that was made, and the folders that were made for it where they are empty. */
export function removeUserFile(file: UserFile, folders: readonly string[]): void {
  refuseIfChanged(file);
  rmSync(file.target, { force: true });
  removeFolders(folders);
}

function refuseIfChanged({ path, target, bytes }: UserFile): void {
  const now = ifThere(() => readFileSync(target));
  const isSame = now === undefined || bytes === undefined ? now === bytes : now.equals(bytes);
  if (!isSame || whereItLeads(path) !== target)
    throw fileError(path, 'was changed by another program just now', TRY_AGAIN);
}

/** Writes with owner and mode of `stats`, else private; set by the open file, since its name may lead elsewhere by then. */
function writeDurably(path: string, bytes: Buffer, stats: UserFile['stats']): void {
  const fd = openSync(path, 'wx', PRIVATE_FILE);
  try {
    writeFileSync(fd, bytes);
    if (stats !== undefined && process.getuid !== undefined) keepOwner(fd, stats);
    // The umask takes bits from the mode of a new file; chmod gives them back.
    fchmodSync(fd, stats === undefined ? PRIVATE_FILE : stats.mode & 0o7777);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function keepOwner(fd: number, { uid, gid }: NonNullable<UserFile['stats']>): void {
  const own = fstatSync(fd);
  if (own.uid !== uid || own.gid !== gid) fchownSync(fd, uid, gid);
}

/** Folders up to `folder` that are not there yet, the outermost first. */
function missingFolders(folder: string): string[] {
  const missing: string[] = [];
  for (let at = folder; !existsSync(at) && dirname(at) !== at; at = dirname(at)) missing.unshift(at);
  return missing;
}

function removeFolders(folders: readonly string[]): void {
  for (const folder of [...folders].reverse()) {
    try {
      rmdirSync(folder);
    } catch {
      // Somebody has put something into it.
      return;
    }
  }
}
