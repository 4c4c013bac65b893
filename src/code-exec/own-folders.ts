// A temporary folder for each call, named after the process that made it, so that the next start finds what a killed server
// left behind.

import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const PREFIX = 'execute-';
const OWNED = /^execute-(?<pid>\d+)-/;

/** A folder below `parent` that only its user may enter. */
export const makeOwnFolder = (parent: string): string =>
  mkdtempSync(join(parent, `${PREFIX}${process.pid}-`));

/** Never throws: what cannot be removed, such as a folder that something still writes to, is swept at the next start. */
export function removeOwnFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 2 });
  } catch {
    // Left for the sweep.
  }
}

/**
 * Removes folders of servers that are gone. One with our own pid is of an earlier start of this very machine. One of another
 * user stays: what is removed of it could be made to lead elsewhere meanwhile.
 */
export function sweepOwnFolders(parent: string): void {
  for (const name of entriesOf(parent)) {
    const pid = Number(OWNED.exec(name)?.groups?.['pid'] ?? Number.NaN);
    if (Number.isNaN(pid) || (pid !== process.pid && isAlive(pid))) continue;
    if (isOwnFolder(join(parent, name))) removeOwnFolder(join(parent, name));
  }
}

function isOwnFolder(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === process.getuid?.();
}

function entriesOf(parent: string): readonly string[] {
  try {
    return readdirSync(parent);
  } catch {
    return [];
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    // EPERM: it lives and is somebody else's.
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}
