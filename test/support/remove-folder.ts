// Removes a folder into which somebody may still write: the engine of a user without privileges tidies up for a moment after a
// bridge has ended. Node's own retries remove nothing of what was made meanwhile.

import { rmSync } from 'node:fs';
import { HANGS_MS } from './time.js';

const AGAIN_MS = 200;

export function removeFolder(folder: string): void {
  const end = performance.now() + HANGS_MS;
  for (;;)
    try {
      return rmSync(folder, { recursive: true, force: true });
    } catch (thrown) {
      if (Object(thrown).code !== 'ENOTEMPTY' || performance.now() > end) throw thrown;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, AGAIN_MS);
    }
}
