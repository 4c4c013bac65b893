// Whether something that can be started may lie at a path. Follows no link: on Windows the entries of the app store's
// programs are links that only the system itself can follow.

import { lstatSync } from 'node:fs';

/** True for a file and for a link of any kind; never throws. */
export function isFile(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
  } catch {
    return false;
  }
}
