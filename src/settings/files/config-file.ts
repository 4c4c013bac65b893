// One configuration file as a plain value. What was parsed is remembered for as long as the file stays the same, since
// every run looks at all of them again. Never changes a file, never throws.

import type { BigIntStats } from 'node:fs';
import { messageOf } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { clipHarmless } from '../../base/text/text.js';
import { formatOf, MAX_BYTES, parseText } from './file-formats.js';
import { readGuarded, statsOf } from './guarded-file.js';
import type { HostFacts } from './host-facts.js';

export type ConfigFile =
  | { readonly state: 'absent' }
  /** `isUnsafe`: others may write it. */
  | ({ readonly state: 'refused'; readonly isUnsafe: boolean } & FileTrouble)
  | {
      readonly state: 'parsed';
      readonly value: unknown;
      readonly bytes: number;
      /** There is no text in it. */
      readonly isBlank: boolean;
      /** Why the value is an earlier one; see hosts/discovery/discover.ts. */
      readonly warning?: FileTrouble;
    };

/**
 * Bytes of all remembered files together, measured as they are on disk. Parsed, they take several times as much memory.
 */
export const REMEMBERED_BYTES = 16 * MB_BYTES;
/**
 * File systems count time in ticks of up to 10 ms: a file may change twice within one, and look the same. What was
 * changed this shortly before it was read is therefore read again.
 */
export const SETTLED_AFTER_MS = 100;

const remembered = new Map<
  string,
  { readonly identity: string; readonly bytes: number; readonly content: ConfigFile }
>();

/** `maxBytes` where the format's own limit is too generous. */
export function readConfigFile(
  file: string,
  host: HostFacts,
  maxBytes = MAX_BYTES[formatOf(file)],
): ConfigFile {
  const known = remembered.get(file);
  if (known !== undefined) {
    if (known.identity === currentIdentity(file, host)) return known.content;
    remembered.delete(file);
  }
  const found = readGuarded(file, maxBytes, host);
  if (found.state === 'absent') return found;
  const content: ConfigFile =
    found.state === 'read' ? parseFile(file, found.text, Number(found.stats.size)) : found;
  if (found.stats !== undefined) remember(file, found.stats, content, host);
  return content;
}

function parseFile(file: string, text: string, bytes: number): ConfigFile {
  try {
    const result = parseText(text, formatOf(file));
    if ('value' in result)
      return { state: 'parsed', value: result.value, bytes, isBlank: text.trim() === '' };
    const { line, column, mistake } = result;
    const message = `${file}:${line}:${column}: ${mistake}`;
    return { state: 'refused', message, place: { line, column }, isUnsafe: false };
  } catch (thrown) {
    return { state: 'refused', message: `cannot be read: ${messageOf(thrown)}`, isUnsafe: false };
  }
}

function remember(file: string, stats: BigIntStats, content: ConfigFile, host: HostFacts): void {
  if (!isSettled(stats)) return;
  const bytes = Number(stats.size);
  if (bytes > REMEMBERED_BYTES) return;
  const held = [...remembered.values()].reduce((sum, one) => sum + one.bytes, 0);
  if (held + bytes > REMEMBERED_BYTES) remembered.clear();
  remembered.set(file, { identity: identityOf(stats, host), bytes, content });
}

/** Whether a later change must show in the times of the file; see SETTLED_AFTER_MS. */
export function isSettled({ mtimeMs, ctimeMs }: BigIntStats): boolean {
  const changedMs = Math.max(Number(mtimeMs), Number(ctimeMs));
  return Math.abs(Date.now() - changedMs) >= SETTLED_AFTER_MS;
}

function currentIdentity(file: string, host: HostFacts): string | undefined {
  try {
    const stats = statsOf(file);
    return stats === undefined ? undefined : identityOf(stats, host);
  } catch {
    return undefined;
  }
}

// A change of owner or mode shows in ctime.
const identityOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats, host: HostFacts): string =>
  [dev, ino, size, mtimeNs, ctimeNs, host.uid].join();

// Problems of a configuration file as a whole, and the words in which they are told. Reads nothing.

export type FileTrouble = {
  /** Message for a person. Begins with `FILE:LINE:COLUMN: ` where there is a place, and does not name the file otherwise. */
  readonly message: string;
  /** Where the mistake stands; absent where it is in no single place. */
  readonly place?: { readonly line: number; readonly column: number } | undefined;
};

export type FileProblem = FileTrouble & { readonly file: string };

/** A path and a sentence. */
const MAX_TROUBLE_CHARS = 500;

/** The problem with the name of its file ahead, once. */
export function problemInWords({ file, message, place }: FileProblem): string {
  return place === undefined ? `${file}: ${message}` : message;
}

/** Remedy for a server that no file names; undefined where no file has a problem. */
export function remedyOfMissing([first, ...others]: readonly FileProblem[]): string | undefined {
  if (first === undefined) return undefined;
  const more =
    others.length === 0 ? '' : ` There are ${others.length} more; see \`${ownCommand('servers')}\`.`;
  return `It may be in a file that has a problem: ${clipHarmless(problemInWords(first), MAX_TROUBLE_CHARS)}.${more}`;
}

// Whether a file is still the one that was read, by what the file system says of it. Cheap enough for every request.

/**
 * Differs when the file was written, exchanged, or given other rights. Undefined where that was just now, since it may change
 * again within one tick of the file system's clock and look the same, and where nobody can look at it. Never throws.
 */
export function stampOf(path: string): string | undefined {
  try {
    const stat = statsOf(path);
    if (stat === undefined) return 'absent';
    return isSettled(stat) ? [stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ') : undefined;
  } catch {
    // A folder that was closed, or a link that leads in a circle: whoever reads the file says so.
    return undefined;
  }
}
