// The space on the host's disk in which things are kept: one folder per run, each gone after a time, and the oldest gone
// before the quota is passed. Several bridges share it; what the others did is seen at the next look. Knows folders and
// sizes, not what is in them.

import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import PQueue from 'p-queue';
import { HANDLE } from './kept-uri.js';

export type RoomOptions = {
  readonly dir: string;
  readonly keepSeconds: number;
  readonly quotaBytes: number;
  /** Milliseconds since the epoch; tests have their own. */
  readonly now: () => number;
  readonly onRemoved: (handle: string) => void;
};

/** Each is looked at by name; a quota full of tiny ones would be a million. */
const MAX_FOLDERS = 500;
/** Other bridges keep and remove too; between two looks our own knowledge will do. */
const LOOK_AGAIN_AFTER_MS = 60_000;

type Folder = { readonly bytes: number; readonly atMs: number };

export class KeptRoom {
  readonly #options: RoomOptions;
  /** By handle; undefined until somebody has looked. */
  #folders: Map<string, Folder> | undefined;
  #lookedAtMs = 0;
  /** Room is made for one after the other. */
  readonly #turns = new PQueue({ concurrency: 1 });

  constructor(options: RoomOptions) {
    this.#options = options;
  }

  folderOf(handle: string): string {
    return join(this.#options.dir, handle);
  }

  /** Makes the folder, and room in it for `bytes` more; false where the quota is too small for that. */
  take(handle: string, bytes: number): Promise<boolean> {
    return this.#turns.add(async () => {
      const folders = await this.#look();
      const own = folders.get(handle)?.bytes ?? 0;
      if (own + bytes > this.#options.quotaBytes) return false;
      await this.#clear(folders, bytes, handle);
      await mkdir(this.folderOf(handle), { recursive: true, mode: 0o700 });
      folders.set(handle, { bytes: own + bytes, atMs: this.#options.now() });
      return true;
    });
  }

  /** Of what was taken, `bytes` were not needed after all. */
  giveBack(handle: string, bytes: number): void {
    const folder = this.#folders?.get(handle);
    if (folder !== undefined) this.#folders?.set(handle, { ...folder, bytes: folder.bytes - bytes });
  }

  async remove(handle: string): Promise<void> {
    await rm(this.folderOf(handle), { recursive: true, force: true });
    this.#folders?.delete(handle);
    this.#options.onRemoved(handle);
  }

  /** Removes what has expired, whoever kept it. */
  sweep(): Promise<void> {
    return this.#turns.add(async () => {
      this.#folders = undefined;
      await this.#clear(await this.#look(), 0, '');
    });
  }

  isExpired(atMs: number): boolean {
    return this.#options.now() - atMs > this.#options.keepSeconds * 1000;
  }

  /** What has expired, and then, oldest first, what is in the way of `bytes` more; never the folder of `except`. */
  async #clear(folders: ReadonlyMap<string, Folder>, bytes: number, except: string): Promise<void> {
    let total = [...folders.values()].reduce((sum, folder) => sum + folder.bytes, bytes);
    const oldestFirst = [...folders].sort(([, a], [, b]) => a.atMs - b.atMs);
    for (const [handle, folder] of oldestFirst) {
      const isInTheWay = total > this.#options.quotaBytes || folders.size > MAX_FOLDERS;
      if (handle === except || !(isInTheWay || this.isExpired(folder.atMs))) continue;
      await this.remove(handle);
      total -= folder.bytes;
    }
  }

  async #look(): Promise<Map<string, Folder>> {
    const now = this.#options.now();
    if (this.#folders !== undefined && now - this.#lookedAtMs < LOOK_AGAIN_AFTER_MS) return this.#folders;
    const names = await readdir(this.#options.dir).catch(() => []);
    const handles = names.filter((name) => HANDLE.test(name));
    const found = await Promise.all(handles.map(async (name) => [name, await this.#measure(name)] as const));
    this.#folders = new Map(found);
    this.#lookedAtMs = now;
    return this.#folders;
  }

  async #measure(handle: string): Promise<Folder> {
    const folder = this.folderOf(handle);
    try {
      const names = await readdir(folder);
      const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
      return { bytes: sizes.reduce((sum, size) => sum + size, 0), atMs: (await stat(folder)).mtimeMs };
    } catch {
      // Another bridge is removing it.
      return { bytes: 0, atMs: 0 };
    }
  }
}
