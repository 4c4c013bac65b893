// Where audit lines lie: files of one bridge each, so that bridges that share a state directory never write into or
// rotate away one another's; a quota for all of them. Written in the background. What a disk is too slow for, or refuses,
// is lost: that is told once to the log, and counted in the file when the disk takes lines again.

import { chmodSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { randomBytes } from '../../base/crypto.js';
import { messageOf } from '../../base/errors.js';

export const AUDIT_SUFFIX = '.jsonl';
/** How many full files a bridge keeps besides the one that it writes. */
const KEPT_SEGMENTS = 3;
/**
 * One file gets this fraction of the quota: 8 means an eighth. A bridge has at most four, so half of the quota is left
 * for earlier bridges.
 */
const SHARE_OF_QUOTA = 8;
/** Bridges are started often, and most leave a line or two. */
const MAX_FILES = 1_000;
/** Characters of lines that may wait for a slow disk. Further lines are lost, since runs do not wait. */
const MAX_WAITING_CHARS = 8 * 1024 * 1024;
/** Characters of one write, or few more: a file ends with a write, so that longer ones would lead far beyond its share. */
const MAX_WRITE_CHARS = 8 * 1024;
/** Nobody wants to be held up by a disk when closing: hosts kill within half a second. */
const CLOSE_WITHIN_MS = 300;
/** How long a disk that refused is left alone. */
const REST_MS = 60_000;

/** Time that a change of the machine's clock does not move. */
const steadyNow = (): number => performance.timeOrigin + performance.now();

/** One line; or the one that counts `lines` lost ones, with the time since when. */
type WaitingLines = { readonly text: string; readonly lines: number; readonly since?: string };

export class AuditFiles {
  readonly #options;
  readonly #now: () => number;
  readonly #since = new Date().toISOString().replace(/[:.]/g, '-');
  #name: string | undefined;
  #stream: Writable | undefined;
  #segments: Segments | undefined;
  #waiting: WaitingLines[] = [];
  /** Characters of those. */
  #gatheredChars = 0;
  /** Characters of the waiting lines and of those that are being written. */
  #waitingChars = 0;
  #restsUntil = 0;
  #isTold = false;
  #lost = 0;
  #lostSince = '';
  /** The last write may have left half a line. */
  #isTorn = false;

  constructor(options: {
    readonly dir: string;
    readonly quotaBytes: number;
    /** Called with what went wrong: once, and again only after the disk has taken lines in between. */
    readonly onTrouble: (message: string) => void;
    /** The line, with its newline, that says that so many were lost since a time (ISO 8601). */
    readonly lostLine: (lines: number, since: string) => string;
    /** Milliseconds since the epoch; tests have their own. */
    readonly now?: () => number;
    /** Opens a file for writing; tests pass a stream to a disk that stalls or is full. */
    readonly createStream?: (path: string) => Writable;
  }) {
    this.#options = options;
    this.#now = options.now ?? steadyNow;
  }

  /** Takes a line and returns at once; the file is made with the first. Lines of one moment are written together. */
  append(line: string): void {
    if (this.#stream === undefined && this.#now() < this.#restsUntil) return this.#lose(1);
    if (this.#waitingChars + line.length > MAX_WAITING_CHARS) {
      this.#lose(1);
      return this.#tell('the disk is too slow, and lines are lost');
    }
    this.#put({ text: line, lines: 1 });
  }

  async close(): Promise<void> {
    if (this.#stream !== undefined || this.#now() >= this.#restsUntil) this.#putLost();
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

  #put(waiting: WaitingLines): void {
    if (this.#waiting.length === 0) setImmediate(() => this.#write());
    this.#waitingChars += waiting.text.length;
    this.#waiting.push(waiting);
    this.#gatheredChars += waiting.text.length;
    if (this.#gatheredChars >= MAX_WRITE_CHARS) this.#write();
  }

  #putLost(): void {
    if (this.#lost === 0) return;
    const [lines, since] = [this.#lost, this.#lostSince];
    this.#put({ text: this.#options.lostLine(lines, since), lines, since });
    this.#lost = 0;
  }

  #write(): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    const text = waiting.map((line) => line.text).join('');
    this.#waiting = [];
    this.#gatheredChars = 0;
    const ended = (isWritten: boolean) => {
      this.#waitingChars -= text.length;
      if (isWritten) return this.#onRecovered();
      this.#isTorn = true;
      const lines = waiting.reduce((sum, line) => sum + line.lines, 0);
      this.#lose(lines, waiting.find(({ since }) => since !== undefined)?.since);
    };
    try {
      this.#stream ??= this.#open();
      const begin = this.#isTorn ? '\n' : '';
      this.#isTorn = false;
      this.#stream.write(begin + text, (error) => ended(error === null || error === undefined));
    } catch (thrown) {
      ended(false);
      this.#fail(messageOf(thrown));
    }
  }

  #open(): Writable {
    const { dir, quotaBytes, createStream = (path) => this.#openSegmented(path) } = this.#options;
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    chmodSync(dir, 0o700);
    removeOldest(dir, quotaBytes);
    this.#name ??= `${this.#since}-${randomBytes(3).toString('hex')}`;
    const stream = createStream(join(dir, `${this.#name}${AUDIT_SUFFIX}`));
    stream.on('error', (error) => {
      if (this.#stream === stream) this.#stream = undefined;
      this.#fail(error.message);
    });
    return stream;
  }

  #openSegmented(path: string): Writable {
    const start = path.slice(0, -AUDIT_SUFFIX.length);
    this.#segments ??= {
      pathOf: (index) => `${start}${index === 0 ? '' : `.${index}`}${AUDIT_SUFFIX}`,
      bytesEach: this.#options.quotaBytes / SHARE_OF_QUOTA,
      kept: KEPT_SEGMENTS,
      index: 0,
    };
    return new SegmentedFile(this.#segments);
  }

  #lose(lines: number, since = new Date(this.#now()).toISOString()): void {
    if (this.#lost === 0) this.#lostSince = since;
    this.#lost += lines;
  }

  /** The disk takes lines: what was lost before is counted behind them, as soon as there is room. */
  #onRecovered(): void {
    if (this.#waitingChars > MAX_WAITING_CHARS / 2) return;
    this.#isTold = false;
    this.#putLost();
  }

  #fail(message: string): void {
    this.#restsUntil = Math.max(this.#restsUntil, this.#now() + REST_MS);
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

export type Segments = {
  /** Path of a segment, counted from 0. */
  readonly pathOf: (index: number) => string;
  /** One that has so many bytes is full. */
  readonly bytesEach: number;
  /** How many full ones stay besides the one that is written; older ones are removed. */
  readonly kept: number;
  /** The one that is written, or would be next; whoever opens the same segments again goes on there. */
  index: number;
};

/**
 * A file that grows in segments: one that is full stays as it is, and the next one gets a name of its own. Nothing is renamed,
 * since other bridges remove old files at any time: a rename in that moment would fail, and take lines with it. Each write goes
 * into one segment as a whole. Files are for their owner alone.
 */
export class SegmentedFile extends Writable {
  readonly #segments: Segments;
  #file: FileHandle | undefined;
  #bytes = 0;

  constructor(segments: Segments) {
    super();
    this.#segments = segments;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#append(chunk).then(() => callback(), callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#leave().then(() => callback(), callback);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#leave().then(
      () => callback(error),
      () => callback(error),
    );
  }

  async #append(chunk: Buffer): Promise<void> {
    if (this.#file !== undefined && (await this.#mustLeave(this.#file))) {
      await this.#leave();
      this.#segments.index++;
    }
    this.#file ??= await this.#open();
    await this.#file.appendFile(chunk);
    this.#bytes += chunk.length;
  }

  /** Full, or removed by another bridge: what is written there now would be read by nobody. */
  async #mustLeave(file: FileHandle): Promise<boolean> {
    return this.#bytes >= this.#segments.bytesEach || (await file.stat()).nlink === 0;
  }

  async #open(): Promise<FileHandle> {
    const { pathOf, index, kept } = this.#segments;
    const file = await open(pathOf(index), 'a', 0o600);
    this.#bytes = (await file.stat()).size;
    if (index > kept) await rm(pathOf(index - kept - 1), { force: true });
    return file;
  }

  async #leave(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }
}
