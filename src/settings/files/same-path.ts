// Whether two spellings are one file or folder. Linux minds case; Windows does not, and takes both slashes; on macOS it
// depends on the volume, so the file system is asked there. Hosts note a project as it was spelled when they were started.

import { alike, type HostFacts, pathRules } from './host-facts.js';

/** A text that is the same for all spellings of one path on this machine. On Linux it is the path. */
export function pathKey(path: string, host: HostFacts): string {
  if (host.platform === 'win32') return foldedCase(pathRules(host).normalize(path));
  return host.spelling === undefined ? path : host.spelling(path);
}

export function isSamePath(one: string, other: string, host: HostFacts): boolean {
  if (one === other) return true;
  if (host.platform === 'win32') return pathKey(one, host) === pathKey(other, host);
  // Asking the disk about each of a host's hundred projects is not for nothing, so what differs in more is not asked about.
  if (host.spelling === undefined || alike(one) !== alike(other)) return false;
  return host.spelling(one) === host.spelling(other);
}

/** The key of `record` that spells `path`: as it is, else in another way. */
export function keyOfPath(
  record: Readonly<Record<string, unknown>>,
  path: string,
  host: HostFacts,
): string | undefined {
  if (Object.hasOwn(record, path)) return path;
  if (host.platform !== 'win32' && host.spelling === undefined) return undefined;
  return Object.keys(record).find((key) => isSamePath(key, path, host));
}

/**
 * Letters that are each other's upper and lower case become one, as NTFS compares names. The Kelvin sign or a long s is
 * no k and no s there, whatever Unicode says, and a folder that is approved must not approve another one.
 */
function foldedCase(path: string): string {
  let folded = '';
  for (const char of path) {
    const upper = char.toUpperCase();
    folded += upper.length === char.length && upper.toLowerCase() === char ? upper : char;
  }
  return folded;
}
