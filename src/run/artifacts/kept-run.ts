// A kept run is what one run keeps on the disk: numbered files in its own folder, and an index of their names that is written
// last, so that nothing is found before it is whole. Text may come piece by piece while the run goes on. A file that fails is
// not in the index.

import { type FileHandle, open, rm, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { z } from 'zod';
import { randomBytes } from '../../base/crypto.js';
import { INDEX_FILE, type KeptRoom } from './kept-room.js';
import { keptUri } from './kept-uri.js';

export const keptIndex = z.array(
  z.object({
    name: z.string(),
    mimeType: z.string(),
    sizeBytes: z.int().nonnegative(),
    number: z.int().nonnegative(),
    /** Absent in indexes of earlier versions. */
    ending: z
      .string()
      .regex(/^(?:\.[a-z0-9]{1,5})?$/)
      .default(''),
    /** Id of the run that left it, as the audit has it; absent in indexes of earlier versions. */
    run: z.string().optional(),
  }),
);
type KeptIndexEntry = z.infer<typeof keptIndex>[number];

/** The name of an entry's file in the folder of its run. */
export const fileNameOf = ({ number, ending }: Pick<KeptIndexEntry, 'number' | 'ending'>): string =>
  `${number}${ending}`;

/**
 * Ending of the file's name on the disk, so that programs of the host know the file's type: the ending of a type that we have
 * recognised, and none for anything else. Of a guest's name nothing more becomes part of a path.
 */
function endingFor(name: string, mimeType: string): string {
  if (mimeType === 'text/plain') return '.txt';
  const ending = extname(name).toLowerCase();
  return mimeType !== 'application/octet-stream' && /^\.[a-z0-9]{1,5}$/.test(ending) ? ending : '';
}

/** One thing that is kept. */
export type KeptThing = {
  readonly uri: string;
  readonly name: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  /** The file on this machine, which only its user may read; undefined for whoever is not this user. */
  readonly path: string | undefined;
};

/** Thrown where keeping something would exceed MCP_BRIDGE_KEEP_MB. */
export class OverQuota extends Error {
  /** True where it would fit if other runs did not write just now. */
  readonly isForNow: boolean;

  constructor(isForNow: boolean) {
    super(isForNow ? 'other runs are using the quota' : 'the quota is too small');
    this.isForNow = isForNow;
  }
}

export class KeptRun {
  readonly #handle = randomBytes(16).toString('hex');
  readonly #room: KeptRoom;
  readonly #run: string;
  readonly #onSealed: (handle: string, kept: readonly KeptThing[]) => void;
  readonly #entries: KeptIndexEntry[] = [];
  #numbers = 0;

  /** Nothing is on the disk before something is put there. */
  constructor(room: KeptRoom, run: string, onSealed: (handle: string, kept: readonly KeptThing[]) => void) {
    this.#room = room;
    this.#run = run;
    this.#onSealed = onSealed;
  }

  /** Throws OverQuota, or what the file system says. */
  async put(name: string, mimeType: string, content: Buffer): Promise<KeptThing> {
    const file = { number: this.#numbers++, ending: endingFor(name, mimeType) };
    await this.#take(content.length);
    try {
      await writeFile(this.#path(file), content, { flag: 'wx', mode: 0o600 });
    } catch (thrown) {
      await this.#lose(file, content.length);
      throw thrown;
    }
    return this.#add({ name, mimeType, sizeBytes: content.length, ...file });
  }

  /** Stream of at most `maxBytes`, which are taken from the quota until the stream ends. */
  stream(name: string, mimeType: string, maxBytes: number): KeptStream {
    const kept = { number: this.#numbers++, ending: endingFor(name, mimeType) };
    let takenBytes = 0;
    const file = this.#take(maxBytes).then(() => {
      takenBytes = maxBytes;
      return open(this.#path(kept), 'wx', 0o600);
    });
    return new KeptStream(file, {
      onEnd: (sizeBytes) => {
        this.#room.giveBack(this.#handle, maxBytes - sizeBytes);
        return this.#add({ name, mimeType, sizeBytes, ...kept });
      },
      onFailure: () => this.#lose(kept, takenBytes),
    });
  }

  /** From now on what was kept is found. Throws what the file system says. */
  async seal(): Promise<void> {
    if (this.#entries.length === 0) return await this.discard();
    const path = join(this.#room.folderOf(this.#handle), INDEX_FILE);
    try {
      await writeFile(path, JSON.stringify(this.#entries), { flag: 'wx', mode: 0o600 });
    } catch (thrown) {
      // Nobody could find it, and it would take its room for as long as what is whole.
      await this.discard().catch(() => {});
      throw thrown;
    }
    this.#room.seal(this.#handle);
    this.#onSealed(
      this.#handle,
      this.#entries.map((entry) => this.#keptOf(entry)),
    );
  }

  /** Nothing of this run is kept after all. */
  async discard(): Promise<void> {
    if (this.#numbers > 0) await this.#room.remove(this.#handle);
  }

  async #take(bytes: number): Promise<void> {
    const taken = await this.#room.take(this.#handle, bytes);
    if (taken !== 'taken') throw new OverQuota(taken === 'no-room');
  }

  /** Half of it would stand there for as long as a whole one, where the disk is full already. */
  async #lose(file: Pick<KeptIndexEntry, 'number' | 'ending'>, bytes: number): Promise<void> {
    await rm(this.#path(file), { force: true }).catch(() => {});
    this.#room.giveBack(this.#handle, bytes);
  }

  #add(entry: KeptIndexEntry): KeptThing {
    this.#entries.push({ ...entry, run: this.#run });
    return this.#keptOf(entry);
  }

  #keptOf({ name, mimeType, sizeBytes, ...file }: KeptIndexEntry): KeptThing {
    const uri = keptUri({ handle: this.#handle, name });
    const path = this.#room.tellsPaths ? this.#path(file) : undefined;
    return { uri, name, mimeType, sizeBytes, path };
  }

  #path(file: Pick<KeptIndexEntry, 'number' | 'ending'>): string {
    return join(this.#room.folderOf(this.#handle), fileNameOf(file));
  }
}

/** Bytes on their way to a file. Whoever writes does not wait, so it has to be bounded by whoever writes. */
export class KeptStream {
  readonly #file: Promise<FileHandle>;
  readonly #then;
  #waiting: Buffer[] = [];
  #sizeBytes = 0;
  #writing: Promise<void> | undefined;
  #failure: unknown;

  constructor(
    file: Promise<FileHandle>,
    then: {
      readonly onEnd: (sizeBytes: number) => KeptThing;
      readonly onFailure: () => Promise<void>;
    },
  ) {
    this.#file = file;
    this.#then = then;
    // Told by `end`; until then nobody asks.
    file.catch(() => {});
  }

  write(bytes: Buffer): void {
    if (this.#failure !== undefined) return;
    this.#waiting.push(bytes);
    this.#sizeBytes += bytes.length;
    this.#writing ??= this.#writeAll();
  }

  /** Throws the first thing that went wrong. */
  async end(): Promise<KeptThing> {
    await this.close();
    if (this.#failure === undefined) return this.#then.onEnd(this.#sizeBytes);
    await this.#then.onFailure();
    throw this.#failure;
  }

  /** Never throws. */
  async close(): Promise<void> {
    await this.#writing;
    await this.#file.then(
      (file) => file.close(),
      (thrown: unknown) => {
        this.#failure ??= thrown;
      },
    );
  }

  async #writeAll(): Promise<void> {
    try {
      const file = await this.#file;
      while (this.#waiting.length > 0) {
        const all = Buffer.concat(this.#waiting);
        this.#waiting = [];
        await file.appendFile(all);
      }
    } catch (thrown) {
      this.#failure = thrown;
      this.#waiting = [];
    }
    this.#writing = undefined;
  }
}
