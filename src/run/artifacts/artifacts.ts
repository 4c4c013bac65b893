// Artifacts are what a run leaves besides its answer: files from its folder for results, output that the answer has no room
// for, a value that is too long. Artifacts are collected as they arrive and kept when the run has ended. Every size and name is
// a claim of hostile code: sizes and names are counted and capped again here. A disk that fails is reported, and costs nothing
// else.

import { messageOf } from '../../base/errors.js';
import { sliceAt, wellFormedJson } from '../../base/json/json-text.js';
import type { Observer } from '../../base/log/events.js';
import type { OutputStream } from '../../base/process/streams.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { wholeCharacters } from '../../base/text/text.js';
import type { FrameOf } from '../../sandbox/conversation/turn.js';
import {
  type GuestFrame,
  MAX_FILE_BYTES,
  MAX_FILES,
  MAX_FILES_BYTES,
  MAX_SKIPPED_NAMED,
  type SupervisorFrame,
} from '../../wire/frames.js';
import { RESULTS_FOLDER, shownName, uniqueName } from './file-names.js';
import { fileType } from './file-type.js';
import type { KeptFiles } from './kept-files.js';
import { type KeptRun, type KeptStream, type KeptThing, OverQuota } from './kept-run.js';
import { answerRoom, MAX_OUTPUT_CHARS, MAX_REPR_CHARS, SHOWN_RESULT_CHARS } from './shown-amounts.js';

/** A file from the folder for results. */
export type LeftFile = {
  /** Harmless, relative, unique among the files of its run. */
  readonly name: string;
  readonly mimeType: string;
  readonly content: Buffer;
  /** All of it, where it is small and safe to show. */
  readonly text: string | undefined;
  /** Where it can be read later; undefined where its text is shown, or it could not be kept. */
  readonly kept: KeptThing | undefined;
};

/** Files that the code left in its folder for results, and what became of them. */
export type Left = {
  readonly files: readonly LeftFile[];
  /** The value of the last expression, where it is too long for the answer. */
  readonly result: KeptThing | undefined;
  /** True where the answer has room for it, and only a host that cuts answers may leave something out of it. */
  readonly isResultSpare: boolean;
  /** Names of those that stayed behind, each with the reason as the end of a sentence about it. */
  readonly skipped: ReadonlyArray<{ readonly name: string; readonly reason: string }>;
  /** Further ones, without their names. */
  readonly skippedMore: number;
  /** How long what was kept can be read. */
  readonly keepSeconds: number;
  /** Why something could not be kept; undefined where nothing went wrong. */
  readonly trouble: string | undefined;
};

/** The longest text that a model reads at once, without asking for it. */
const MAX_INLINE_CHARS = 4_000;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

const REASONS = {
  link: 'is a link',
  special: 'is not a regular file',
  size: `is larger than ${MAX_FILE_BYTES / MB_BYTES} MiB`,
  total: `does not fit into ${MAX_FILES_BYTES / MB_BYTES} MiB with the others`,
  count: `comes after the first ${MAX_FILES} files`,
  depth: 'is below too many folders',
  unreadable: 'cannot be read',
};

/** Why something is not kept, as the model reads it; the log has the file system's own words. */
const OVER_QUOTA = 'it is larger than the space for kept files (MCP_BRIDGE_KEEP_MB sets the limit)';
const OVER_QUOTA_NOW =
  'other runs are using the space for kept files until they end (MCP_BRIDGE_KEEP_MB sets the limit)';
const BROKEN = 'the state directory of the bridge cannot be written';
const DISK: Readonly<Record<string, string>> = {
  ENOSPC: "the disk of the bridge's machine is full",
  EDQUOT: "the user's disk quota on the bridge's machine is used up",
  ENOENT: 'its folder was removed while the code ran',
};

/** Everything that was left, and where the whole of a stream is that the answer has no room for. */
export type Settled = {
  readonly left: Left | undefined;
  readonly stdout: KeptThing | undefined;
  readonly stderr: KeptThing | undefined;
};

export class Artifacts {
  readonly #store: KeptFiles;
  readonly #run: KeptRun;
  readonly #observer: Observer;
  readonly #output: Readonly<Record<OutputStream, WholeOutput>> | undefined;
  readonly #sharedBytes: number | undefined;
  readonly #room;
  readonly #files: { readonly name: string; readonly content: Buffer }[] = [];
  readonly #names = new Set<string>();
  readonly #skipped: Array<Left['skipped'][number]> = [];
  #skippedMore = 0;
  #bytes = 0;
  #result:
    | { readonly name: string; readonly mimeType: string; readonly text: string; readonly isSpare: boolean }
    | undefined;
  #trouble: string | undefined;

  /**
   * `sharedBytes`: what the answer shows of both streams together; undefined where each has MAX_OUTPUT_CHARS.
   * `roomBytes`: what the host shows of an answer; undefined where it shows all.
   */
  constructor(
    store: KeptFiles,
    run: string,
    observer: Observer,
    { sharedBytes, roomBytes }: { readonly sharedBytes?: number; readonly roomBytes?: number | undefined },
  ) {
    this.#store = store;
    this.#sharedBytes = sharedBytes;
    this.#room = answerRoom(roomBytes);
    this.#observer = observer;
    this.#run = store.open(run);
    const shownChars = sharedBytes === undefined ? MAX_OUTPUT_CHARS : Math.min(sharedBytes, MAX_FILE_BYTES);
    const whole = (name: string) => new WholeOutput(this.#run, name, shownChars, store.quotaBytes);
    if (store.isOn) this.#output = { stdout: whole('stdout.txt'), stderr: whole('stderr.txt') };
  }

  /** Whether files are on their way, so that it pays to wait for more. */
  get isArriving(): boolean {
    return this.#files.length > 0;
  }

  addOutput(stream: OutputStream, text: string): void {
    this.#output?.[stream].add(text);
  }

  /** Takes a value that the answer has no room for; the first result counts. `text` is the frame's own line. */
  addResult({ repr, exact }: Extract<GuestFrame, { type: 'result' }>, text: string): void {
    const { resultChars } = this.#room;
    if (!this.#store.isOn || this.#result !== undefined || text.length <= resultChars) return;
    const json = exact ? (sliceAt(text, ['value']) ?? '') : '';
    const isSpare = repr.length <= MAX_REPR_CHARS && json.length <= SHOWN_RESULT_CHARS;
    if (isSpare && repr.length <= resultChars && json.length <= resultChars) return;
    this.#result =
      json === '' || json === 'null'
        ? { name: 'result.txt', mimeType: 'text/plain', text: repr, isSpare }
        : { name: 'result.json', mimeType: 'application/json', text: wellFormedJson(json), isSpare };
  }

  addFile(frame: FrameOf<SupervisorFrame, 'file' | 'skipped'>): void {
    if (frame.type === 'skipped') {
      for (const { name, reason } of frame.files) this.#skip(name, reason);
      this.#skippedMore += frame.more;
      return;
    }
    const content = Buffer.from(BASE64.test(frame.data) ? frame.data : '', 'base64');
    const isTooMuch =
      content.length > MAX_FILE_BYTES ||
      this.#files.length >= MAX_FILES ||
      this.#bytes + content.length > MAX_FILES_BYTES;
    if (isTooMuch) return this.#skip(frame.name, 'total');
    this.#bytes += content.length;
    const name = uniqueName(shownName(`${RESULTS_FOLDER}/${frame.name}`), this.#names);
    this.#files.push({ name, content });
  }

  /** Puts everything where it can be read. Never rejects. */
  async settle(): Promise<Settled> {
    const files = await this.#settleFiles();
    const stdout = await this.#try(() => this.#output?.stdout.end(this.#isCut('stdout')));
    const stderr = await this.#try(() => this.#output?.stderr.end(this.#isCut('stderr')));
    const result = await this.#try(() => this.#putResult());
    const isSealed = await this.#try(() => this.#run.seal().then(() => true));
    if (isSealed === undefined) {
      const unkept = files.map((file) => ({ ...file, kept: undefined }));
      return { left: this.#describeLeft(unkept, undefined, false), stdout: undefined, stderr: undefined };
    }
    const hasOutput = stdout !== undefined || stderr !== undefined;
    return { left: this.#describeLeft(files, result, hasOutput), stdout, stderr };
  }

  /** Nobody will read it: nothing stays on the disk. Never rejects. */
  async discard(): Promise<void> {
    await this.#output?.stdout.close();
    await this.#output?.stderr.close();
    await this.#try(() => this.#run.discard());
  }

  /** Whether the answer, or the host that shows it, may leave something out of a stream that shares its room. */
  #isCut(stream: OutputStream): boolean {
    const { [stream]: own, stdout, stderr } = this.#output ?? {};
    if (own === undefined) return false;
    if (own.bytes > this.#room.streamBytes) return true;
    if (this.#sharedBytes === undefined) return false;
    const allBytes = (stdout?.bytes ?? 0) + (stderr?.bytes ?? 0);
    return allBytes > this.#sharedBytes && own.bytes > Math.floor(this.#sharedBytes / 2);
  }

  async #settleFiles(): Promise<readonly LeftFile[]> {
    const files: LeftFile[] = [];
    let inlineChars = this.#room.inlineChars;
    for (const { name, content } of this.#files) {
      const { mimeType, text } = fileType(name, content);
      if (text !== undefined && text.length <= Math.min(MAX_INLINE_CHARS, inlineChars)) {
        inlineChars -= text.length;
        files.push({ name, mimeType, content, text, kept: undefined });
        continue;
      }
      const kept = this.#store.isOn
        ? await this.#try(() => this.#run.put(name, mimeType, content))
        : undefined;
      files.push({ name, mimeType, content, text: undefined, kept });
    }
    return files;
  }

  async #putResult(): Promise<KeptThing | undefined> {
    if (this.#result === undefined) return undefined;
    const { name, mimeType, text } = this.#result;
    return await this.#run.put(name, mimeType, Buffer.from(text));
  }

  #describeLeft(
    files: readonly LeftFile[],
    result: KeptThing | undefined,
    hasOutput: boolean,
  ): Left | undefined {
    const isNothing = files.length + this.#skipped.length === 0 && result === undefined && !hasOutput;
    if (isNothing && this.#trouble === undefined) return undefined;
    return {
      files,
      result,
      isResultSpare: this.#result?.isSpare === true,
      skipped: this.#skipped,
      skippedMore: this.#skippedMore,
      keepSeconds: this.#store.isOn ? this.#store.keepSeconds : 0,
      trouble: this.#trouble,
    };
  }

  async #try<T>(keep: () => Promise<T> | undefined): Promise<T | undefined> {
    try {
      return await keep();
    } catch (thrown) {
      this.#trouble ??= troubleOf(thrown);
      this.#observer({ type: 'kept.trouble', message: messageOf(thrown) });
      return undefined;
    }
  }

  #skip(name: string, reason: keyof typeof REASONS): void {
    if (this.#skipped.length >= MAX_SKIPPED_NAMED) this.#skippedMore++;
    else this.#skipped.push({ name: shownName(`${RESULTS_FOLDER}/${name}`), reason: REASONS[reason] });
  }
}

function troubleOf(thrown: unknown): string {
  if (thrown instanceof OverQuota) return thrown.isForNow ? OVER_QUOTA_NOW : OVER_QUOTA;
  return DISK[(thrown as NodeJS.ErrnoException).code ?? ''] ?? BROKEN;
}

// One output stream as it was printed, for reading later: nothing is on the disk before the answer has to leave
// something out, and no more than a client takes in one message. What a flood has beyond that is counted.

/** The last line, where something is missing. */
const NOTE_BYTES = 200;

class WholeOutput {
  readonly #open: () => KeptStream;
  readonly #answerChars: number;
  #early: string[] | undefined = [];
  #earlyChars = 0;
  #bytes = 0;
  #stream: KeptStream | undefined;
  #roomBytes: number;
  #missingBytes = 0;

  /** `answerChars` is what the answer shows without leaving anything out. */
  constructor(run: KeptRun, name: string, answerChars: number, quotaBytes: number) {
    const maxBytes = Math.min(MAX_FILE_BYTES, quotaBytes);
    this.#open = () => run.stream(name, 'text/plain', maxBytes);
    this.#answerChars = answerChars;
    this.#roomBytes = Math.max(0, maxBytes - NOTE_BYTES);
  }

  add(text: string): void {
    this.#bytes += Buffer.byteLength(text);
    if (this.#early === undefined) return this.#write(text);
    this.#early.push(text);
    this.#earlyChars += text.length;
    if (this.#earlyChars > this.#answerChars) this.#keep(this.#early);
  }

  /** All that was added, kept or not. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Undefined where the answer holds all of it, unless `isCut` says that it does not. Throws what kept it from being kept. */
  async end(isCut: boolean): Promise<KeptThing | undefined> {
    if (isCut && this.#early !== undefined) this.#keep(this.#early);
    if (this.#missingBytes > 0)
      this.#stream?.write(Buffer.from(`\n[… ${this.#missingBytes} further bytes were not kept …]\n`));
    return await this.#stream?.end();
  }

  /** Never throws. */
  async close(): Promise<void> {
    await this.#stream?.close();
  }

  #keep(early: readonly string[]): void {
    this.#early = undefined;
    this.#stream = this.#open();
    this.#write(early.join(''));
  }

  #write(text: string): void {
    if (this.#roomBytes === 0) {
      this.#missingBytes += Buffer.byteLength(text);
      return;
    }
    const bytes = Buffer.from(text);
    const kept = wholeCharacters(bytes, this.#roomBytes);
    this.#stream?.write(kept);
    this.#missingBytes += bytes.length - kept.length;
    this.#roomBytes = kept.length === bytes.length ? this.#roomBytes - kept.length : 0;
  }
}
