// A temporary folder for each call, named after the process that made it, so that the next start finds what a killed server
// left behind.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
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

/** Removes folders of servers that are gone. One with our own pid is of an earlier start of this very machine. */
export function sweepOwnFolders(parent: string): void {
  for (const name of entriesOf(parent)) {
    const pid = Number(OWNED.exec(name)?.groups?.['pid'] ?? Number.NaN);
    if (pid === process.pid || (!Number.isNaN(pid) && !isAlive(pid))) removeOwnFolder(join(parent, name));
  }
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
