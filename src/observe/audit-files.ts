// Where audit lines lie: files of one bridge each, so that bridges that share a state directory never write into or
// rotate away one another's; a quota for all of them. Written in the background. A disk that refuses is told once.

import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createStream, type RotatingFileStream } from 'rotating-file-stream';
import { messageOf } from '../base/errors.js';

export type AuditFilesOptions = {
  readonly dir: string;
  readonly quotaBytes: number;
  /** Called once, with the first thing that went wrong. */
  readonly onTrouble: (message: string) => void;
};

export const AUDIT_SUFFIX = '.jsonl';
/** Of one bridge: the file that is written, and this many before it. */
const ROTATED = 3;
/** Of the quota for one file; a bridge alone may thus have half of it, and the rest is for those before it. */
const SHARE_OF_QUOTA = 8;
/** Bridges are started often, and most leave a line or two. */
const MAX_FILES = 1_000;
/** Of lines that wait for a slow disk; more are lost, since runs do not wait. */
const MAX_WAITING_CHARS = 8 * 1024 * 1024;
/** Nobody wants to be held up by a disk when closing: hosts kill within half a second. */
const CLOSE_WITHIN_MS = 300;
/** How long a disk that refused is left alone. */
const REST_MS = 60_000;

export class AuditFiles {
  readonly #options: AuditFilesOptions;
  readonly #name = `${new Date().toISOString().replace(/[:.]/g, '-')}-${randomBytes(3).toString('hex')}`;
  #stream: RotatingFileStream | undefined;
  #waiting: string[] = [];
  /** Of those and of what is being written. */
  #waitingChars = 0;
  #restsUntil = 0;
  #isTold = false;

  constructor(options: AuditFilesOptions) {
    this.#options = options;
  }

  /** Takes a line and returns at once; the file is made with the first. Lines of one moment are written together. */
  append(line: string): void {
    if (this.#stream === undefined && performance.now() < this.#restsUntil) return;
    if (this.#waiting.length === 0) setImmediate(() => this.#write());
    this.#waitingChars += line.length;
    if (this.#waitingChars > MAX_WAITING_CHARS) this.#tell('the disk is too slow, and lines are lost');
    else this.#waiting.push(line);
  }

  async close(): Promise<void> {
    this.#write();
    const stream = this.#stream;
    this.#stream = undefined;
    this.#restsUntil = Number.POSITIVE_INFINITY;
    if (stream === undefined) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, CLOSE_WITHIN_MS);
      stream.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
      stream.end();
    });
  }

  #write(): void {
    if (this.#waiting.length === 0) return;
    const text = this.#waiting.join('');
    this.#waiting = [];
    try {
      this.#stream ??= this.#open();
      this.#stream.write(text, () => {
        this.#waitingChars -= text.length;
      });
    } catch (thrown) {
      this.#waitingChars -= text.length;
      this.#fail(messageOf(thrown));
    }
  }

  #open(): RotatingFileStream {
    const { dir, quotaBytes } = this.#options;
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    chmodSync(dir, 0o700);
    removeOldest(dir, quotaBytes);
    const name = (index: number | Date | null) =>
      `${this.#name}${typeof index === 'number' ? `.${index}` : ''}${AUDIT_SUFFIX}`;
    const size = Math.max(1, Math.floor(quotaBytes / SHARE_OF_QUOTA / 1024));
    const stream = createStream(name, { path: dir, size: `${size}K`, rotate: ROTATED, mode: 0o600 });
    stream.on('error', (error) => {
      if (this.#stream === stream) this.#stream = undefined;
      this.#fail(error.message);
    });
    stream.on('warning', (error) => this.#tell(error.message));
    return stream;
  }

  #fail(message: string): void {
    this.#restsUntil = Math.max(this.#restsUntil, performance.now() + REST_MS);
    this.#tell(message);
  }

  #tell(message: string): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#options.onTrouble(message);
  }
}

/** Makes room for a new bridge's files: the newest stay. */
function removeOldest(dir: string, quotaBytes: number): void {
  const files = readdirSync(dir)
    .filter((name) => name.endsWith(AUDIT_SUFFIX))
    .flatMap((name) => {
      const stat = statSync(join(dir, name), { throwIfNoEntry: false });
      return stat === undefined ? [] : [{ path: join(dir, name), bytes: stat.size, time: stat.mtimeMs }];
    })
    .sort((one, other) => other.time - one.time);
  let room = quotaBytes / 2;
  for (const [index, { path, bytes }] of files.entries()) {
    room -= bytes;
    if (room < 0 || index >= MAX_FILES) rmSync(path, { force: true });
  }
}
