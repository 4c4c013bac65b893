// How much memory processes hold, by what the kernel says of them. Linux only: elsewhere nobody is asked.

import { readText } from '../files/read-text.js';
import { KB_BYTES } from '../text/sizes.js';
import { processIds } from './process-ids.js';
import { processStat } from './process-stat.js';

/**
 * Bytes that all descendants of the process `pid` hold together, pages that they share counted for each; undefined where the
 * kernel does not say.
 */
export function descendantsBytes(pid: number): number | undefined {
  const children = new Map<number, number[]>();
  for (const each of processIds()) {
    const stat = processStat(each);
    // The process may have ended meanwhile.
    if (stat !== undefined) children.set(stat.parent, [...(children.get(stat.parent) ?? []), each]);
  }
  if (children.size === 0) return undefined;
  let bytes = 0;
  const left = [...(children.get(pid) ?? [])];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    bytes += residentBytes(next);
    left.push(...(children.get(next) ?? []));
  }
  return bytes;
}

const residentBytes = (pid: number): number =>
  Number(readText(`/proc/${pid}/status`)?.match(/^VmRSS:\s*(\d+) kB$/m)?.[1] ?? 0) * KB_BYTES;
