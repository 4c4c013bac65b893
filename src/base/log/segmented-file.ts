// A file that grows in segments: one that is full stays as it is, and the next one gets a name of its own. Nothing is renamed,
// since other bridges remove old files at any time: a rename in that moment would fail, and take lines with it.

import { type FileHandle, open, rm } from 'node:fs/promises';
import { Writable } from 'node:stream';

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

/** Each write goes into one segment as a whole. Files are for their owner alone. */
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
