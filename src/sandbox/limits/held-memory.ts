// How much memory a sandbox holds while nobody watches it: what its control group says, else what its processes and files say.

import { join } from 'node:path';
import { readText } from '../../base/files/read-text.js';
import type { SandboxSpec } from '../../engine/engine.js';
import { groupLimit } from '../../engine/machine/enforcement.js';
import { writableIn } from '../spec/spec.js';
import { scalesFor } from './measure.js';

/** Files that say what a control group holds now, in version 2 and in version 1. */
const GROUP_FILES = ['memory.current', 'memory.usage_in_bytes'];

/** In bytes; undefined where another machine runs it, or it has ended. `pid` is that of its first process. */
export function heldBytes(
  pid: number | undefined,
  spec: Pick<SandboxSpec, 'tmpfs'> | undefined,
): number | undefined {
  if (pid === undefined) return undefined;
  const dir = groupLimit(pid, 'memory')?.dir;
  for (const file of dir === undefined ? [] : GROUP_FILES) {
    const held = Number.parseInt(readText(join(dir ?? '', file)) ?? '', 10);
    if (!Number.isNaN(held)) return held;
  }
  return scalesFor(pid, spec === undefined ? [] : writableIn(spec)).weigh();
}
