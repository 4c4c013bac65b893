// `runs --follow`: new lines of the audit as they come, of all bridges of this user, one line for each run that has ended
// or was refused and for each login. Files come and go meanwhile: bridges end, and full files make room for new ones.

import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { countOf } from '../../base/text/text.js';
import { madeVisibleJson } from '../../base/text/unseen.js';
import type { AuditLine, CallLine } from '../../run/audit/audit-line.js';
import { interruptSignal, signalOfLostReader } from '../terminal/interrupt.js';
import { seconds, visibleText } from '../terminal/output.js';
import {
  auditLines,
  byTime,
  filesOf,
  type RunsOptions,
  reasonOf,
  shownPrincipal,
  time,
  type Wanted,
} from './read-audit.js';

const LOOK_EVERY_MS = 300;
/** Runs whose end is awaited, so that it is known whether a call of theirs has failed. */
const MAX_RUNS_KNOWN = 10_000;

/**
 * Prints new lines until an interrupt, or until nobody reads any more. Begins with those from `since` on, or with the last ones
 * where it is said how many.
 */
export async function followAudit(
  dir: string,
  wanted: Wanted,
  options: Pick<RunsOptions, 'last' | 'logins' | 'json'>,
  since: number | undefined,
): Promise<void> {
  const signal = AbortSignal.any([interruptSignal(), signalOfLostReader()]);
  const tail = new AuditTail(dir);
  const isWanted = followedBy(wanted, options.logins === true);
  const say = (line: AuditLine) =>
    process.stdout.write(`${options.json ? madeVisibleJson(JSON.stringify(line)) : lineText(line)}\n`);
  const { last = since === undefined ? 0 : Number.POSITIVE_INFINITY } = options;
  if (last === 0) tail.skip();
  else for (const line of tail.next().filter(isWanted).slice(-last)) say(line);
  while (!signal.aborted) {
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
    for (const line of tail.next().filter(isWanted)) say(line);
  }
}

/** Whether a line is one to print. Asked for every line, since a call tells something of its run. */
function followedBy({ run, login }: Wanted, onlyLogins: boolean): (line: AuditLine) => boolean {
  /** Calls that have failed, by run. */
  const failures = new Map<string, CallLine[]>();
  return (line) => {
    if (line.kind === 'login') return login(line);
    if (line.kind === 'lost') return true;
    if (onlyLogins) return false;
    const calls = failures.get(line.run) ?? [];
    if (line.kind === 'run') {
      failures.delete(line.run);
      return run({ run: line.run, line, calls });
    }
    if (line.kind !== 'call' || line.error === undefined) return false;
    failures.set(line.run, [...calls.slice(0, 1), line]);
    const [oldest = ''] = failures.keys();
    if (failures.size > MAX_RUNS_KNOWN) failures.delete(oldest);
    return false;
  };
}

/** One line for a person, without a newline. */
export function lineText(line: AuditLine): string {
  const at = time(line.at);
  if (line.kind === 'lost') return `${at}  ${countOf(line.lines, 'line')} lost since ${time(line.since)}`;
  const who = shownPrincipal(line.kind === 'login' ? (line.principal ?? 'unknown') : line.principal);
  if (line.kind === 'login') {
    const { outcome, remote, status, reason, notListed = 0 } = line;
    const why = reason === undefined ? '' : ` with ${status}: ${visibleText(reason)}`;
    const more = notListed === 0 ? '' : ` (${notListed} more before it)`;
    return `${at}  ${who}  login ${visibleText(outcome)} from ${visibleText(remote)}${why}${more}`;
  }
  if (line.kind !== 'run') return `${at}  ${who}  ${line.kind} of ${visibleText(line.run)}`;
  const { run, status, durationMs, calls, servers } = line;
  const reason = reasonOf(line);
  const names = servers.length === 0 ? '' : `, ${visibleText(servers.join(' '))}`;
  const took = status === 'refused' ? '' : ` after ${seconds(durationMs)}, ${countOf(calls, 'call')}${names}`;
  const why = reason === undefined ? '' : `: ${visibleText(reason)}`;
  return `${at}  ${who}  run ${visibleText(run)} ${visibleText(status)}${took}${why}`;
}

/** How far one file was read, and the bytes of a line that had no end yet. */
type Position = { readonly offset: number; readonly rest: Buffer };

/** Lines that were added to the audit's files since the last look. */
export class AuditTail {
  readonly #dir: string;
  #positions = new Map<string, Position>();

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Passes over all that is there now. */
  skip(): void {
    for (const name of filesOf(this.#dir)) {
      const size = statSync(join(this.#dir, name), { throwIfNoEntry: false })?.size ?? 0;
      this.#positions.set(name, { offset: size, rest: Buffer.alloc(0) });
    }
  }

  /** New lines, the oldest first; at first all. A file that goes while it is read is passed over. */
  next(): AuditLine[] {
    const before = this.#positions;
    this.#positions = new Map();
    const lines = filesOf(this.#dir).flatMap((file) => {
      const known = before.get(file) ?? { offset: 0, rest: Buffer.alloc(0) };
      const { position, added } = readOn(join(this.#dir, file), known);
      this.#positions.set(file, position);
      return auditLines(added);
    });
    return lines.sort(byTime);
  }
}

/** The text of whole lines behind a position, and the position behind it. */
function readOn(path: string, { offset, rest }: Position): { position: Position; added: string } {
  let fd: number | undefined;
  try {
    fd = openSync(path, 'r');
    const { size } = fstatSync(fd);
    const piece = Buffer.alloc(Math.max(0, size - offset));
    const read = readSync(fd, piece, 0, piece.length, offset);
    const bytes = Buffer.concat([rest, piece.subarray(0, read)]);
    const end = bytes.lastIndexOf('\n') + 1;
    return {
      position: { offset: offset + read, rest: bytes.subarray(end) },
      added: bytes.toString('utf8', 0, end),
    };
  } catch {
    return { position: { offset, rest }, added: '' };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
