// Loads the bundle's files, and keeps what V8 has compiled of them: compiling them anew takes a third of a start. What is kept
// is run with the rights of this user, so it lies where nobody else can write. Any trouble with it is none: the file is
// compiled.

import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';
import { isOnlyOurs } from '../base/files/only-ours.js';
import { replaceFile } from '../base/files/replace-file.js';

type Module = { exports: Record<string, unknown> };
/** Builds whose code is kept: hosts that were set up at different times may start different ones. */
const MAX_BUILDS = 4;
/** Bytes that must be free in the file system, or nothing is kept: its room is there for the user's own things first. */
const MIN_ROOM_BYTES = 64 * 1024 * 1024;
/** The sum at the end of each file. V8 believes what it is given, and ends the process where that is not what it gave. */
const SUM_BYTES = 4;

export class CompiledCode {
  readonly #folder: string;
  readonly #build: string;
  /** Where code is kept, and below it that of this build. */
  readonly #kept: { readonly all: string; readonly own: string } | undefined;
  readonly #isTrusted: boolean;
  readonly #require: NodeJS.Require;
  readonly #modules = new Map<string, Module>();
  /** Scripts that had to be compiled, by the name of their file. */
  readonly #compiled = new Map<string, Script>();

  constructor({
    folder,
    build,
    cache,
  }: {
    /** Folder of the bundle's files. */
    readonly folder: string;
    /** The last line of every file of one build names it; one of another build fits no file of this one. */
    readonly build: string;
    /** Folder below which compiled code is kept, by build, version of Node and processor; undefined keeps nothing. */
    readonly cache: string | undefined;
  }) {
    this.#folder = folder;
    this.#build = build;
    // Older versions of Node have no sum; there each start compiles.
    if (cache !== undefined && crc32 !== undefined)
      this.#kept = { all: cache, own: join(cache, `${build}-${process.version}-${process.arch}`) };
    this.#isTrusted = this.#isOnlyOurs();
    this.#require = createRequire(join(folder, 'main.cjs'));
  }

  /** Exports of the file `name`. Throws with Node's code for a module that is gone where the file is of another build. */
  load<Exports>(name: string): Exports {
    const loaded = this.#modules.get(name);
    if (loaded !== undefined) return loaded.exports as Exports;
    const module: Module = { exports: {} };
    const path = join(this.#folder, name);
    const factory = this.#script(name, path).runInThisContext() as (
      this: unknown,
      exports: Module['exports'],
      require: (name: string) => unknown,
      module: Module,
      path: string,
      folder: string,
    ) => void;
    // Files may import each other in a circle, as modules do.
    this.#modules.set(name, module);
    try {
      const require = (wanted: string) =>
        wanted.startsWith('./') ? this.load(wanted.slice(2)) : this.#require(wanted);
      factory.call(module.exports, module.exports, require, module, path, this.#folder);
    } catch (thrown) {
      this.#modules.delete(name);
      throw thrown;
    }
    return module.exports as Exports;
  }

  /** Keeps what had to be compiled, with the functions that have been used since. */
  keep(): void {
    if (this.#compiled.size === 0 || this.#kept === undefined) return;
    const { all, own } = this.#kept;
    try {
      make(own);
      if (!this.#isOnlyOurs() || !hasRoom(own)) return;
      for (const [name, script] of this.#compiled) {
        replaceFile(join(own, name), withSum(script.createCachedData()));
      }
      this.#compiled.clear();
      removeOldest(all);
    } catch {
      // A folder that cannot be written: each start compiles.
    }
  }

  #script(name: string, path: string): Script {
    const source = readFileSync(path, 'utf8');
    if (!source.endsWith(`//# build ${this.#build}\n`))
      throw Object.assign(new Error(`${path} is of another build`), { code: 'MODULE_NOT_FOUND' });
    const cachedData = this.#keptCode(name);
    const wrapped = `(function (exports, require, module, __filename, __dirname) {${source}})`;
    const script = new Script(wrapped, { filename: path, ...(cachedData && { cachedData }) });
    if (cachedData === undefined || script.cachedDataRejected) this.#compiled.set(name, script);
    return script;
  }

  #keptCode(name: string): Buffer | undefined {
    if (this.#kept === undefined || !this.#isTrusted) return undefined;
    try {
      return withoutSum(readFileSync(join(this.#kept.own, name)));
    } catch {
      return undefined;
    }
  }

  #isOnlyOurs(): boolean {
    if (this.#kept === undefined) return false;
    // On Windows a home is its user's own.
    return process.getuid === undefined || (isOnlyOurs(this.#kept.all) && isOnlyOurs(this.#kept.own));
  }
}

function removeOldest(folder: string): void {
  const writtenMs = (name: string) => lstatSync(join(folder, name)).mtimeMs;
  const byAge = readdirSync(folder).sort((one, other) => writtenMs(other) - writtenMs(one));
  for (const name of byAge.slice(MAX_BUILDS)) rmSync(join(folder, name), { recursive: true });
}

function withSum(data: Buffer): Buffer {
  const sum = Buffer.alloc(SUM_BYTES);
  sum.writeUInt32LE(crc32(data));
  return Buffer.concat([data, sum]);
}

/** Undefined where the sum is not that of the rest. */
function withoutSum(kept: Buffer): Buffer | undefined {
  const data = kept.subarray(0, Math.max(0, kept.length - SUM_BYTES));
  const isWhole = kept.length > SUM_BYTES && kept.readUInt32LE(data.length) === crc32(data);
  return isWhole ? data : undefined;
}

/** Makes `folder` with the folders above it. Node's own way does not end where there can be none, as in /proc. */
function make(folder: string, isMadeAbove = false): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || isMadeAbove) throw thrown;
    make(dirname(folder));
    make(folder, true);
  }
}

function hasRoom(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize > MIN_ROOM_BYTES;
}
