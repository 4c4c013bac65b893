// The text of one file that decides which programs run or what they are given. One that others may write is refused,
// and so is what is no plain file. Follows no fifo, changes nothing, never throws.

import { type BigIntStats, closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { messageOf } from '../../base/errors.js';
import { notePath } from '../../base/files/asked-paths.js';
import type { HostFacts } from './host-facts.js';

/** Byte order marks of UTF-16: `>` of Windows PowerShell writes UTF-16, and no host reads it. */
const UTF_16 = /^(\xff\xfe|\xfe\xff)$/;
const WRITABLE_BY_OTHERS = 0o022;

/** Returns the stats of the file that this path leads to; undefined when it is absent. Throws any other error. */
export function statsOf(file: string): BigIntStats | undefined {
  notePath(file);
  // Each run looks for all of them, most are absent, and an exception costs more than reading a file.
  return statSync(file, { throwIfNoEntry: false, bigint: true });
}

/** Reads at most `maxBytes`; takes off a byte order mark. */
export function readGuarded(
  file: string,
  maxBytes: number,
  host: HostFacts,
):
  | { readonly state: 'absent' }
  /** `isUnsafe`: somebody else may have written what stands in it. */
  | {
      readonly state: 'refused';
      readonly message: string;
      readonly isUnsafe: boolean;
      readonly stats?: BigIntStats;
    }
  | { readonly state: 'read'; readonly text: string; readonly bytes: Buffer; readonly stats: BigIntStats } {
  let fd: number;
  try {
    if (statsOf(file) === undefined) return { state: 'absent' };
    // O_NONBLOCK, so that a fifo answers at once; Windows has neither.
    fd = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { state: 'absent' };
    return { state: 'refused', message: `cannot be opened: ${messageOf(thrown)}`, isUnsafe: false };
  }
  try {
    // The checks are of the open file, so it cannot be exchanged between them and the reading.
    const stats = fstatSync(fd, { bigint: true });
    const message = unfitReason(stats, maxBytes);
    if (message !== undefined) return { state: 'refused', message, isUnsafe: false, stats };
    const danger = openToOthers(file, stats, host);
    if (danger !== undefined) return { state: 'refused', message: danger, isUnsafe: true, stats };
    const bytes = readFileSync(fd);
    if (UTF_16.test(bytes.toString('latin1', 0, 2))) {
      return { state: 'refused', message: 'is in UTF-16; save it in UTF-8', isUnsafe: false, stats };
    }
    return { state: 'read', text: bytes.toString('utf8').replace(/^\uFEFF/, ''), bytes, stats };
  } catch (thrown) {
    return { state: 'refused', message: `cannot be read: ${messageOf(thrown)}`, isUnsafe: false };
  } finally {
    closeSync(fd);
  }
}

function unfitReason(stats: BigIntStats, maxBytes: number): string | undefined {
  const kind = Number(stats.mode) & constants.S_IFMT;
  if (kind === constants.S_IFDIR) return 'is a folder; a file is expected';
  if (kind !== constants.S_IFREG) return 'is not a regular file';
  return stats.size > maxBytes ? `has ${stats.size} bytes; at most ${maxBytes} are read` : undefined;
}

function openToOthers(file: string, stats: BigIntStats, host: HostFacts): string | undefined {
  const [mode, uid] = [Number(stats.mode), Number(stats.uid)];
  if (host.uid === undefined) return undefined;
  if (uid !== host.uid && uid !== 0) {
    return `belongs to user ${uid}, who could make the bridge run anything; run: chown ${host.uid} '${file}'`;
  }
  if ((mode & WRITABLE_BY_OTHERS) !== 0) {
    return `can be written by other users, who could make the bridge run anything; run: chmod go-w '${file}'`;
  }
  return undefined;
}
