// Signs of progress of a pull while its client says nothing: the blobs that it writes, and what its processes read and write.
// podman prints a line when it begins a layer and none until it has all of it. Only a client that does the work itself has
// such traces: docker's daemon and an engine elsewhere have none that can be seen from here.

import { lstatSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readText } from '../../base/files/read-text.js';
import { onExit } from '../../base/process/process-group.js';
import { processIds, processStat } from '../../base/process/process-stat.js';

import { PACKAGE_NAME } from '../../base/version.js';

/**
 * A process of Go reads and writes some bytes a second only to wake its own threads: 5 were measured with podman 4.3, which
 * waited for a registry. Less than this between two looks is no sign of life.
 */
const NOISE_BYTES = 4_096;
const PREFIX = `${PACKAGE_NAME}-pull-`;

export class PullTraces implements Disposable {
  /** Where podman is told to put blobs while they arrive, as TMPDIR; undefined where it cannot be made. */
  readonly folder: string | undefined = blobFolder();
  readonly #unhook = onExit(() => this.#remove());
  #pid: number | undefined;
  #folderBytes = 0;
  #ioBytes = 0;
  #received = 0;

  /** The client has been started and does the work itself. */
  onStarted(pid: number): void {
    this.#pid = pid;
  }

  /** Whether a pull that stands still can be told from one that goes on. */
  get isSeen(): boolean {
    return this.#pid !== undefined && this.folder !== undefined;
  }

  /** Bytes of layers that have arrived, compressed as they are. */
  get receivedBytes(): number {
    return this.#received;
  }

  /** Whether anything has moved since this was last asked. */
  hasMoved(): boolean {
    if (this.#pid === undefined) return false;
    const folderBytes = this.folder === undefined ? 0 : bytesBelow(this.folder);
    const ioBytes = groupBytes(this.#pid);
    const grown = folderBytes - this.#folderBytes;
    const isMoving = grown !== 0 || Math.abs(ioBytes - this.#ioBytes) >= NOISE_BYTES;
    this.#received += Math.max(0, grown);
    this.#folderBytes = folderBytes;
    this.#ioBytes = ioBytes;
    return isMoving;
  }

  [Symbol.dispose](): void {
    this.#unhook();
    this.#remove();
  }

  #remove(): void {
    if (this.folder === undefined) return;
    try {
      rmSync(this.folder, { recursive: true, force: true });
    } catch {
      // A client that is still ending may write into it.
    }
  }
}

/** Beside where podman puts blobs otherwise: /tmp may be memory, and layers are large. */
function blobFolder(): string | undefined {
  const parent = tmpdir() === '/tmp' ? '/var/tmp' : tmpdir();
  try {
    for (const stale of staleScratch(parent, PREFIX)) rmSync(stale, { recursive: true, force: true });
    return mkdtempSync(join(parent, PREFIX));
  } catch {
    return undefined;
  }
}

/** Bytes of all files below, as far as they are there by the time they are looked at. */
function bytesBelow(folder: string): number {
  let sum = 0;
  try {
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      const stat = statSync(join(folder, name), { throwIfNoEntry: false });
      if (stat?.isFile()) sum += stat.size;
    }
  } catch {
    // A folder in it has just been removed.
  }
  return sum;
}

/** Bytes that the processes of a group have read and written since they began; 0 where the kernel does not say. */
function groupBytes(group: number): number {
  let sum = 0;
  for (const pid of processIds()) {
    if (processStat(pid)?.group !== group) continue;
    const io = readText(`/proc/${pid}/io`) ?? '';
    for (const [, bytes] of io.matchAll(/^[rw]char: (\d+)$/gm)) sum += Number(bytes);
  }
  return sum;
}

/** Age of a stale folder. Nothing takes longer: a build has twenty minutes, a pull ten. */
const STALE_MS = 3_600_000;

/**
 * Scratch folders that a bridge has left which was killed while it pulled or built: hosts kill us without waiting for a package
 * manager to tidy up. Some hundred megabytes each, so whoever makes the next one removes them. They are this user's, below
 * `parent`, with names that begin with `prefix`, and nobody has changed them for an hour. A folder with a file system mounted
 * below it is left alone: what is removed there would be something else's.
 */
export function staleScratch(parent: string, prefix: string): readonly string[] {
  // Linux only; elsewhere nothing of ours mounts anything.
  const mounts = readText('/proc/self/mountinfo') ?? '';
  try {
    return readdirSync(parent)
      .filter((name) => name.startsWith(prefix))
      .map((name) => join(parent, name))
      .filter((path) => {
        if (mounts.includes(path)) return false;
        const stat = lstatSync(path, { throwIfNoEntry: false });
        return stat?.isDirectory() && stat.uid === process.getuid?.() && Date.now() - stat.mtimeMs > STALE_MS;
      });
  } catch {
    return [];
  }
}
