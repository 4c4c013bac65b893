// Whether a file is still the one that was read, by what the file system says of it. Cheap enough for every request.

import { statSync } from 'node:fs';
import { isSettled } from './config-file.js';

/**
 * Differs when the file was written, exchanged, or given other rights. Undefined where that was just now: it may change
 * again within one tick of the file system's clock, and look the same.
 */
export function stampOf(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  if (stat === undefined) return 'absent';
  return isSettled(stat) ? [stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ') : undefined;
}
