// The space on the host's disk in which things are kept: one folder per run, each gone after a time, and the oldest gone
// before the quota is passed, but none that a run still writes. Several bridges share it; what the others did is seen at
// the next look. Knows folders and sizes, not what is in them but for the file that is written last.

import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import PQueue from 'p-queue';
import { HANDLE } from './kept-uri.js';

/** Each is looked at by name; a quota full of tiny ones would be a million. */
const MAX_FOLDERS = 500;
/** Other bridges keep and remove too; between two looks our own knowledge will do. */
const LOOK_AGAIN_AFTER_MS = 60_000;
/** A folder of another bridge that has no index and has not changed for so long is what a dead one has left. */
const WRITING_WITHIN_MS = 10 * 60_000;

/** The file that a run writes last: with it the folder is whole. */
export const INDEX_FILE = 'index.json';
/** In the state directory. */
export const KEPT_FOLDER = 'kept';

type Folder = {
  readonly bytes: number;
  readonly atMs: number;
  /** When anything in it last changed, of a folder that another bridge may still be writing. */
  readonly writtenAtMs?: number;
};

export class KeptRoom {
  readonly #options;
  /** Folders by handle; undefined until somebody has looked. */
  #folders: Map<string, Folder> | undefined;
  #lookedAtMs = 0;
  /** Handles of runs of this bridge that still write. */
  readonly #writing = new Set<string>();
  /** Room is made for one after the other. */
  readonly #turns = new PQueue({ concurrency: 1 });

  constructor(options: {
    readonly dir: string;
    readonly keepSeconds: number;
    readonly quotaBytes: number;
    /** Milliseconds since the epoch; tests have their own. */
    readonly now: () => number;
    readonly onRemoved: (handle: string) => void;
    /** Whether those who are told of what is kept may know where it lies. */
    readonly tellsPaths: boolean;
  }) {
    this.#options = options;
  }

  get tellsPaths(): boolean {
    return this.#options.tellsPaths;
  }

  folderOf(handle: string): string {
    return join(this.#options.dir, handle);
  }

  /**
   * Makes the folder, and room in it for `bytes` more. The folder stays until it is sealed or removed. `no-room` where runs
   * that still write have taken too much of the quota, `too-large` where all of it were too small.
   */
  take(handle: string, bytes: number): Promise<'taken' | 'too-large' | 'no-room'> {
    return this.#turns.add(async () => {
      const folders = await this.#look();
      const own = folders.get(handle)?.bytes ?? 0;
      if (own + bytes > this.#options.quotaBytes) return 'too-large';
      this.#writing.add(handle);
      if (!(await this.#clear(folders, bytes))) return 'no-room';
      await mkdir(this.folderOf(handle), { recursive: true, mode: 0o700 });
      folders.set(handle, { bytes: own + bytes, atMs: this.#options.now() });
      return 'taken';
    });
  }

  /** Nothing more is written into the folder: from now on it may make room for others. */
  seal(handle: string): void {
    this.#writing.delete(handle);
  }

  /** Returns `bytes` that were taken for this folder and not needed. */
  giveBack(handle: string, bytes: number): void {
    const folder = this.#folders?.get(handle);
    if (folder !== undefined) this.#folders?.set(handle, { ...folder, bytes: folder.bytes - bytes });
  }

  async remove(handle: string): Promise<void> {
    this.#writing.delete(handle);
    await rm(this.folderOf(handle), { recursive: true, force: true });
    this.#folders?.delete(handle);
    this.#options.onRemoved(handle);
  }

  /** Removes what has expired, whoever kept it. */
  sweep(): Promise<void> {
    return this.#turns.add(async () => {
      this.#lookedAtMs = Number.NEGATIVE_INFINITY;
      await this.#clear(await this.#look(), 0);
    });
  }

  isExpired(atMs: number): boolean {
    return this.#options.now() - atMs > this.#options.keepSeconds * 1000;
  }

  /**
   * Removes what has expired, and then, oldest first, what is in the way of `bytes` more. False, with nothing removed,
   * where what may not be removed leaves no room for them.
   */
  async #clear(folders: ReadonlyMap<string, Folder>, bytes: number): Promise<boolean> {
    const { quotaBytes } = this.#options;
    const removable = [...folders].filter(([handle, folder]) => !this.#isWritten(handle, folder));
    let total = bytesOf(folders.values()) + bytes;
    if (total - bytesOf(removable.map(([, folder]) => folder)) > quotaBytes) return false;
    for (const [handle, folder] of removable.sort(([, a], [, b]) => a.atMs - b.atMs)) {
      const isInTheWay = total > quotaBytes || folders.size > MAX_FOLDERS;
      if (!(isInTheWay || this.isExpired(folder.atMs))) continue;
      await this.remove(handle);
      total -= folder.bytes;
    }
    return true;
  }

  #isWritten(handle: string, { writtenAtMs }: Folder): boolean {
    if (this.#writing.has(handle)) return true;
    return writtenAtMs !== undefined && this.#options.now() - writtenAtMs < WRITING_WITHIN_MS;
  }

  async #look(): Promise<Map<string, Folder>> {
    const now = this.#options.now();
    if (this.#folders !== undefined && now - this.#lookedAtMs < LOOK_AGAIN_AFTER_MS) return this.#folders;
    const names = await readdir(this.#options.dir).catch(() => []);
    const handles = names.filter((name) => HANDLE.test(name));
    const found = await Promise.all(
      handles.map(async (name) => {
        // A run of this bridge that still writes has taken more than it has written.
        const taken = this.#writing.has(name) ? this.#folders?.get(name) : undefined;
        return [name, taken ?? (await this.#measure(name))] as const;
      }),
    );
    this.#folders = new Map(
      found.flatMap(([name, folder]) => (folder === undefined ? [] : [[name, folder] as const])),
    );
    this.#lookedAtMs = now;
    return this.#folders;
  }

  /** Undefined where it cannot be looked at: it is being removed, or the disk fails, and then it is left alone. */
  async #measure(handle: string): Promise<Folder | undefined> {
    const path = this.folderOf(handle);
    try {
      const names = await readdir(path);
      const files = await Promise.all(names.map((name) => stat(join(path, name)).catch(() => undefined)));
      const { mtimeMs } = await stat(path);
      const found = files.filter((file) => file !== undefined);
      const bytes = found.reduce((sum, { size }) => sum + size, 0);
      if (names.includes(INDEX_FILE)) return { bytes, atMs: mtimeMs };
      return { bytes, atMs: mtimeMs, writtenAtMs: Math.max(mtimeMs, ...found.map((file) => file.mtimeMs)) };
    } catch {
      return undefined;
    }
  }
}

const bytesOf = (folders: Iterable<Folder>): number =>
  [...folders].reduce((sum, { bytes }) => sum + bytes, 0);
