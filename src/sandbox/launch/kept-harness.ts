// The folder of the harness for an image. It is compared with what was installed file by file, once for each start of the machine.
// Later bridges only ask the file system whether any of its files was written since, because a first call waits for this.

import { basename, join } from 'node:path';
import { z } from 'zod';
import { readText } from '../../base/files/read-text.js';
import { replaceFile } from '../../base/files/replace-file.js';
import { bootId } from '../../base/process/owner.js';
import { readCompiled } from '../python/python-name.js';
import { harnessVersion, prepareHarness } from '../spec/harness-files.js';
import { stampOf } from '../spec/installed-files.js';

const KEPT_FILE = join('cache', 'ipc.json');
const keptFile = z.object({
  key: z.string(),
  hash: z.string().regex(/^[0-9a-f]+$/),
  stamp: z.string(),
});

/** Key of a compiled harness: equal where this harness meets this Python. */
export const harnessKey = ({ id }: { readonly id: string }): string => `${harnessVersion()} ${id}`;

/**
 * Path of the folder to mount, below `filesDir`, and whether the image's Python has compiled what is in it. Made or mended as
 * needed. Throws E_STATE.
 */
export function harnessOf(
  image: { readonly id: string },
  { stateDir, filesDir }: { readonly stateDir: string; readonly filesDir: string },
): { readonly dir: string; readonly isCompiled: boolean } {
  const key = JSON.stringify([harnessKey(image), filesDir, bootId()]);
  const known = readKept(stateDir);
  if (known?.key === key) {
    const dir = join(filesDir, 'ipc', known.hash);
    if (stampOf(dir) === known.stamp) return { dir, isCompiled: true };
  }
  const compiled = readCompiled(stateDir, harnessKey(image));
  const dir = prepareHarness(filesDir, compiled);
  // One that is yet to be compiled will be another one then.
  if (compiled === undefined) return { dir, isCompiled: false };
  try {
    const kept = { key, hash: basename(dir), stamp: stampOf(dir) };
    replaceFile(join(stateDir, KEPT_FILE), JSON.stringify(kept));
  } catch {
    // The next start compares them again.
  }
  return { dir, isCompiled: true };
}

function readKept(stateDir: string): z.infer<typeof keptFile> | undefined {
  try {
    return keptFile.parse(JSON.parse(readText(join(stateDir, KEPT_FILE)) ?? ''), { jitless: true });
  } catch {
    // Absent, or of another version.
    return undefined;
  }
}
