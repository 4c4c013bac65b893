// Scratch folders that a bridge has left which was killed while it pulled or built: hosts kill us without waiting for a
// package manager to tidy up. Some hundred megabytes each, so whoever makes the next one removes them. One with a file
// system mounted below it is left alone: what is removed there would be something else's.

import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readText } from '../../base/files/read-text.js';

/** Nothing takes longer: a build has twenty minutes, a pull ten. */
const STALE_MS = 3_600_000;

/** Folders of this user's below `parent` whose names begin with `prefix` and which nobody has changed for an hour. */
export function staleScratch(parent: string, prefix: string, now: number = Date.now()): readonly string[] {
  // Linux only; elsewhere nothing of ours mounts anything.
  const mounts = readText('/proc/self/mountinfo') ?? '';
  try {
    return readdirSync(parent)
      .filter((name) => name.startsWith(prefix))
      .map((name) => join(parent, name))
      .filter((path) => {
        if (mounts.includes(path)) return false;
        const stat = lstatSync(path, { throwIfNoEntry: false });
        return stat?.isDirectory() && stat.uid === process.getuid?.() && now - stat.mtimeMs > STALE_MS;
      });
  } catch {
    return [];
  }
}
