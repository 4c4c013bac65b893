// A file that only this user can have written: no link, of this user, closed to the others, and small enough. What may have
// been put there by somebody else is refused, and never followed or waited for.

import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs';
import { messageOf } from '../../base/errors.js';

/** What others could do with it. */
const WRITABLE_BY_OTHERS = 0o022;

export type PrivateText =
  | { readonly is: 'absent' }
  | { readonly is: 'read'; readonly text: string }
  /** `why` is the end of a sentence about the file. */
  | { readonly is: 'refused'; readonly why: string; readonly changedMs: number };

/** At most `maxBytes` are read. Windows has neither owners nor links to speak of: there the folder's rights count. */
export function readPrivate(
  path: string,
  maxBytes: number,
  uid: number | undefined = process.getuid?.(),
): PrivateText {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  let fd: number;
  try {
    fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (thrown) {
    if (Object(thrown).code === 'ENOENT') return { is: 'absent' };
    const isLink = Object(thrown).code === 'ELOOP';
    const why = isLink ? 'is a symbolic link' : `cannot be opened: ${messageOf(thrown)}`;
    return { is: 'refused', why, changedMs: changedMsOf(path) };
  }
  try {
    const stats = fstatSync(fd);
    const refused = (why: string): PrivateText => ({ is: 'refused', why, changedMs: stats.mtimeMs });
    if (!stats.isFile()) return refused('is not a regular file');
    if (uid !== undefined && stats.uid !== uid) return refused(`belongs to user ${stats.uid}`);
    if (uid !== undefined && (stats.mode & WRITABLE_BY_OTHERS) !== 0)
      return refused('can be written by other users');
    if (stats.size > maxBytes) return refused(`has ${stats.size} bytes; at most ${maxBytes} are read`);
    return { is: 'read', text: readFileSync(fd, 'utf8') };
  } catch (thrown) {
    return { is: 'refused', why: `cannot be read: ${messageOf(thrown)}`, changedMs: changedMsOf(path) };
  } finally {
    closeSync(fd);
  }
}

/** 0 where nobody can say. */
function changedMsOf(path: string): number {
  try {
    return lstatSync(path).mtimeMs;
  } catch {
    return 0;
  }
}
