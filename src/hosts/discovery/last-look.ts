// A look at many files, most of them absent, that is asked for again and again: the last one counts for as long as nothing that it
// went by has changed. Whether that is so is asked of far fewer paths than the look itself asks of: where a whole branch of folders
// is absent, the nearest folder above it changes when anything comes there (POSIX: making an entry marks the folder's times).

import { existsSync, lstatSync, realpathSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { type AskedPaths, askedBy } from '../../base/files/asked-paths.js';
import { stampOf } from '../../settings/files/config-file.js';

/**
 * File systems that keep the times of a folder by themselves, by statfs(2): ext, XFS, Btrfs, tmpfs, overlay, F2FS and ZFS. Those of
 * a network, a cloud's store or another system's disk may leave them as they were, and are looked at anew.
 */
const KEEPING_TIMES = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0xf2f52010, 0x2fc12fc1,
]);

type Places = { readonly paths: readonly string[]; readonly links: readonly string[] };

export class LastLook<Found> {
  /** Paths that the last look asked for. Where a change of them would show is found out by the next one: there may be none. */
  #asked: AskedPaths | undefined;
  /** Where a change of what the looks before went by would show; undefined where it might not. */
  #places: Places | undefined;
  #kept: { readonly stamp: string; readonly found: Found } | undefined;

  /** Found by `look`, now or the last time. `mayKeep`: whether the same files will always give the same. */
  of(look: () => Found, mayKeep: (found: Found) => boolean): Found {
    if (this.#asked !== undefined) this.#places = placesOf(this.#asked);
    this.#asked = undefined;
    // Taken before the look: a change beneath the look differs from it the next time. So does a look that went by other places.
    const stamp = this.#places && stampOfAll(this.#places);
    if (stamp !== undefined && stamp === this.#kept?.stamp) return this.#kept.found;
    const { value: found, asked } = askedBy(look);
    this.#kept = stamp !== undefined && mayKeep(found) ? { stamp, found } : undefined;
    this.#asked = asked;
    return found;
  }
}

/** Undefined where a place has just been changed, since it may change again and look the same. */
function stampOfAll({ paths, links }: Places): string | undefined {
  const stamps = paths.map((path) => [path, stampOf(path)]);
  if (stamps.some(([, stamp]) => stamp === undefined)) return undefined;
  return JSON.stringify([stamps, links.map((path) => [path, leadsTo(path)])]);
}

function leadsTo(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return '';
  }
}

function placesOf({ paths, links }: AskedPaths): Places | undefined {
  // Looks of other systems are not known to be so cheap, nor their folders to keep times.
  if (process.platform !== 'linux') return undefined;
  const known = new Map<string, string>();
  try {
    const places = new Set([...paths].map((path) => nearest(path, known)));
    if (![...places].every(isKeepingTimes)) return undefined;
    return { paths: [...places], links: [...links] };
  } catch {
    // A folder that is closed to us, a file in a folder's place, or a link that leads in a circle.
    return undefined;
  }
}

/** Whether a change in `place` shows in its times; a link to nothing has none, and shows when it leads to something. */
const isKeepingTimes = (place: string): boolean =>
  !existsSync(place) || KEEPING_TIMES.has(statfsSync(place).type);

/** The path itself where anything is there, be it a link to nothing; else the nearest folder above it. Throws where it cannot tell. */
function nearest(path: string, known: Map<string, string>): string {
  const before = known.get(path);
  if (before !== undefined) return before;
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  const place = isThere ? path : nearest(dirname(path), known);
  known.set(path, place);
  return place;
}
