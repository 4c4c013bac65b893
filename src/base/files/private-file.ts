// The text of a file that only this user can have written: no link, of this user, closed to others, and small enough. What
// somebody else may have put there is refused, and never followed or waited for. Never throws.

import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs';
import { messageOf } from '../errors.js';

/** Mode bits that others must not have, by what they could do with them. */
const FOR_OTHERS = { written: 0o022, 'read or written': 0o077 };

type PrivateText =
  | { readonly is: 'absent' }
  | { readonly is: 'read'; readonly text: string }
  /** `why` is the end of a sentence about the file. */
  | { readonly is: 'refused'; readonly why: string };

/**
 * Reads at most `maxBytes` of a file that must not be `open` to others. The checks are of the open file, which nobody can
 * exchange before it is read. Windows has neither owners nor links to speak of: there the folder's rights count.
 */
export function readPrivate(
  path: string,
  maxBytes: number,
  open: keyof typeof FOR_OTHERS = 'read or written',
): PrivateText {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  const uid = process.getuid?.();
  const refused = (why: string): PrivateText => ({ is: 'refused', why });
  let fd: number;
  try {
    // A fifo answers at once.
    fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (thrown) {
    const { code } = Object(thrown);
    if (code === 'ENOENT' || code === 'ENOTDIR') return { is: 'absent' };
    return refused(code === 'ELOOP' ? 'is a symbolic link' : `cannot be opened: ${messageOf(thrown)}`);
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) return refused('is not a regular file');
    if (stats.size > maxBytes) return refused(`has ${stats.size} bytes; at most ${maxBytes} are read`);
    if (uid !== undefined && stats.uid !== uid) return refused(`belongs to user ${stats.uid}`);
    if (uid !== undefined && (stats.mode & FOR_OTHERS[open]) !== 0)
      return refused(`can be ${open} by other users`);
    return { is: 'read', text: readFileSync(fd, 'utf8') };
  } catch (thrown) {
    return refused(`cannot be read: ${messageOf(thrown)}`);
  } finally {
    closeSync(fd);
  }
}

/** When the file itself, and not what it leads to, was last changed, in ms since 1970; 0 where nobody can say. */
export function changedMs(path: string): number {
  try {
    return lstatSync(path).mtimeMs;
  } catch {
    return 0;
  }
}
