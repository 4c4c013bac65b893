// Kept files are what runs leave for later reading, on the host's disk under the state directory: found by an address that
// cannot be guessed, for a limited time. A full disk costs a file, never a run. No name of a guest's is ever a path here, and
// nothing that is kept is ever executed.

import { constants } from 'node:fs';
import { lstat, open, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_FILE_BYTES } from '../../wire/frames.js';
import { INDEX_FILE, KEPT_FOLDER, KeptRoom } from './kept-room.js';
import { fileNameOf, KeptRun, type KeptThing, keptIndex } from './kept-run.js';
import { HANDLE, type KeptAddress, keptUri, parseKeptUri } from './kept-uri.js';

export type KeptContent = KeptThing & { readonly content: Buffer };

/** Most files of this bridge in a list that a model may read. */
const MAX_LISTED = 100;
/** The longest delay that a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export class KeptFiles implements Disposable {
  readonly keepSeconds: number;
  readonly quotaBytes: number;
  readonly #room: KeptRoom;
  /** Files that this bridge's runs have kept, oldest first. */
  readonly #own = new Map<string, { readonly kept: readonly KeptThing[]; readonly atMs: number }>();
  readonly #now: () => number;
  #expiry: NodeJS.Timeout | undefined;

  constructor({
    stateDir,
    keepSeconds,
    quotaBytes,
    now = Date.now,
    tellsPaths = true,
  }: {
    readonly stateDir: string;
    /** Nought keeps nothing, as does a quota of nought. */
    readonly keepSeconds: number;
    readonly quotaBytes: number;
    /** Milliseconds since the epoch; tests have their own. */
    readonly now?: () => number;
    /** False for a principal that is not the user of this machine: answers say addresses only. */
    readonly tellsPaths?: boolean;
  }) {
    this.keepSeconds = keepSeconds;
    this.quotaBytes = quotaBytes;
    this.#now = now;
    const onRemoved = (handle: string) => void this.#own.delete(handle);
    this.#room = new KeptRoom({
      dir: join(stateDir, KEPT_FOLDER),
      keepSeconds,
      quotaBytes,
      now,
      onRemoved,
      tellsPaths,
    });
  }

  /** False where the operator wants nothing kept. */
  get isOn(): boolean {
    return this.keepSeconds > 0 && this.quotaBytes > 0;
  }

  /** A place for what one run leaves; `run` is its id. */
  open(run: string): KeptRun {
    return new KeptRun(this.#room, run, (handle, kept) => {
      this.#own.set(handle, { kept, atMs: this.#now() });
      this.#sweepLater();
    });
  }

  /** Files that this bridge's runs have kept, newest first. Files of other bridges are read by whoever knows their address. */
  list(): readonly KeptThing[] {
    const live = [...this.#own.values()].filter(({ atMs }) => !this.#room.isExpired(atMs));
    return live
      .reverse()
      .flatMap(({ kept }) => kept)
      .slice(0, MAX_LISTED);
  }

  /** The file that a URI leads to; undefined when the URI is none of ours, or the file has expired or is gone. */
  async read(uri: string): Promise<KeptContent | undefined> {
    const address = parseKeptUri(uri);
    if (address === undefined) return undefined;
    try {
      return await this.#read(address);
    } catch {
      // Removed, by us or by another bridge, or never there.
      return undefined;
    }
  }

  /** Removes what has expired, whoever kept it. Never rejects: what cannot be removed now is removed another time. */
  async sweep(): Promise<void> {
    // A bridge that keeps nothing has no say in how long others keep theirs.
    if (this.isOn) await this.#room.sweep().catch(() => {});
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#expiry);
  }

  async #read(address: KeptAddress): Promise<KeptContent | undefined> {
    const folder = this.#room.folderOf(address.handle);
    if (this.#room.isExpired((await stat(folder)).mtimeMs)) return undefined;
    const entries = keptIndex.parse(JSON.parse(await readFile(join(folder, INDEX_FILE), 'utf8')));
    const entry = entries.find(({ name }) => name === address.name);
    if (entry === undefined) return undefined;
    const { name, mimeType } = entry;
    const place = join(folder, fileNameOf(entry));
    const path = this.#room.tellsPaths ? place : undefined;
    await using file = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW);
    if ((await file.stat()).size > MAX_FILE_BYTES) return undefined;
    const content = await file.readFile();
    return { uri: keptUri(address), name, mimeType, sizeBytes: content.length, path, content };
  }

  #sweepLater(): void {
    clearTimeout(this.#expiry);
    const inMs = Math.min(this.keepSeconds * 1000 + 1_000, MAX_TIMER_MS);
    this.#expiry = setTimeout(() => void this.sweep(), inMs).unref();
  }
}

// The survey of what all bridges of this user have kept, as their shared folder has it: for people, who know no addresses.
// Reads only; a file that is being written, removed or torn meanwhile is passed over.

export type SurveyedFile = Omit<KeptThing, 'path'> & {
  /** The file on this machine. */
  readonly path: string;
  /** Id of the run that left it; undefined where an earlier version has kept it. */
  readonly run: string | undefined;
  /** When its run ended, in milliseconds since the epoch. */
  readonly atMs: number;
};

/** Newest first; files of one run in the order in which they were kept. Throws where the folder cannot be read. */
export async function surveyKept({
  stateDir,
  keepSeconds,
  nowMs = Date.now(),
}: {
  readonly stateDir: string;
  /** Files kept longer ago are not listed, as they cannot be read any more. */
  readonly keepSeconds: number;
  readonly nowMs?: number;
}): Promise<readonly SurveyedFile[]> {
  const dir = join(stateDir, KEPT_FOLDER);
  const handles = (await namesIn(dir)).filter((name) => HANDLE.test(name));
  const runs = await Promise.all(handles.map((handle) => runIn(dir, handle)));
  return runs
    .filter(({ atMs, files }) => files.length > 0 && nowMs - atMs <= keepSeconds * 1000)
    .sort((one, other) => other.atMs - one.atMs)
    .flatMap(({ files }) => files);
}

async function namesIn(dir: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw thrown;
  }
}

async function runIn(
  dir: string,
  handle: string,
): Promise<{ readonly atMs: number; readonly files: readonly SurveyedFile[] }> {
  const folder = join(dir, handle);
  try {
    const { mtimeMs: atMs } = await stat(folder);
    const entries = keptIndex.parse(JSON.parse(await readFile(join(folder, INDEX_FILE), 'utf8')));
    const files = await Promise.all(
      entries.map(async ({ name, mimeType, run, ...file }) => {
        const path = join(folder, fileNameOf(file));
        const found = await lstat(path);
        if (!found.isFile()) return [];
        return [{ uri: keptUri({ handle, name }), name, mimeType, sizeBytes: found.size, path, run, atMs }];
      }),
    );
    return { atMs, files: files.flat() };
  } catch {
    return { atMs: 0, files: [] };
  }
}
