// Files of ours that the engine or a container reads or runs: one directory per content hash under the state directory,
// where a podman machine sees them too. Made once, checked whenever asked for; a file that was changed on disk is written
// anew, so what is used is what was installed.

import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createHash } from '../../base/crypto.js';
import { BridgeError } from '../../base/errors.js';
import { stateDirRemedy } from '../../settings/files/state-dir.js';

/** A directory that is being written; it gets its name when it is whole. */
const FRESH_PREFIX = 'new-';
/** Some forty small files take milliseconds; what is older was left by a bridge that was killed meanwhile. */
const WRITTEN_WITHIN_MS = 60_000;

const YOUNG_MS = 24 * 60 * 60_000;

/** Content by relative name. */
export type Files = ReadonlyMap<string, string | Buffer>;

/** Modes of files by the content of a directory: the harness, a seccomp profile, or the Python fallback, which containers run. */
const MODES = {
  ipc: 0o644,
  seccomp: 0o644,
  'python-fallback': 0o755,
};

/** Digest of names and contents: equal for the same files. */
export function hashOf(files: Files): string {
  const hash = createHash('sha256');
  for (const [name, content] of files) hash.update(`${name}\0${content.length}\0`).update(content);
  return hash.digest('hex').slice(0, 16);
}

/** Names of all files that are there; undefined where something is neither a file nor a folder. */
function namesIn(dir: string, prefix = ''): readonly string[] | undefined {
  const names: string[] = [];
  for (const entry of readdirSync(join(dir, prefix), { withFileTypes: true })) {
    const name = `${prefix}${entry.name}`;
    const found = entry.isDirectory() ? namesIn(dir, `${name}/`) : entry.isFile() ? [name] : undefined;
    // A link could lead to the right text now and to another one later.
    if (found === undefined) return undefined;
    names.push(...found);
  }
  return names;
}

/** Digest that is another one when a file of the directory was written, added or removed; undefined where it holds more than files. */
export function stampOf(dir: string): string | undefined {
  try {
    const stamps = namesIn(dir)?.map((name) => {
      const { ino, size, mode, mtimeMs, ctimeMs } = lstatSync(join(dir, name));
      return [name, ino, size, mode, mtimeMs, ctimeMs].join(' ');
    });
    return stamps && createHash('sha256').update(stamps.sort().join('\n')).digest('hex');
  } catch {
    return undefined;
  }
}

function isIntact(dir: string, files: Files): boolean {
  try {
    return (
      namesIn(dir)?.length === files.size &&
      [...files].every(([name, content]) => readFileSync(join(dir, name)).equals(Buffer.from(content)))
    );
  } catch {
    return false;
  }
}

/** In the order in which a directory that is only known by its hash is read. */
export const inOrder = (files: Files): Files => new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));

/** The directory of files that were installed in order; undefined where it is not there as it was. */
export function installedDir(stateDir: string, kind: keyof typeof MODES, hash: string): string | undefined {
  const dir = join(stateDir, kind, hash);
  try {
    const names = namesIn(dir) ?? [];
    const files = inOrder(new Map(names.map((name) => [name, readFileSync(join(dir, name))])));
    return hashOf(files) === hash ? dir : undefined;
  } catch {
    return undefined;
  }
}

/** Removes the directories of `kind` that are none of these, but for young ones, which another bridge may have just made. */
export function removeOthers(stateDir: string, kind: keyof typeof MODES, hashes: readonly string[]): void {
  const parent = join(stateDir, kind);
  for (const name of readdirSync(parent).filter((each) => !hashes.includes(each))) {
    if (ageOf(join(parent, name)) > YOUNG_MS) rmSync(join(parent, name), { recursive: true, force: true });
  }
}

function write(dir: string, files: Files, mode: number): void {
  // The container's user is nobody to the host: it reads these as `other`, whatever the caller's umask is.
  const folders = new Set([dir]);
  for (const [name, content] of files) {
    const path = join(dir, name);
    mkdirSync(dirname(path), { recursive: true });
    for (let folder = dirname(path); !folders.has(folder); folder = dirname(folder)) folders.add(folder);
    writeFileSync(path, content);
    chmodSync(path, mode);
  }
  for (const folder of folders) chmodSync(folder, 0o755);
}

/** Milliseconds since something was added to it or removed; 0 where it is gone. */
const ageOf = (dir: string): number =>
  Date.now() - (statSync(dir, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());

/** Removes what bridges left that were killed while they wrote. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent).filter((each) => each.startsWith(FRESH_PREFIX))) {
    const dir = join(parent, name);
    if (ageOf(dir) > WRITTEN_WITHIN_MS) rmSync(dir, { recursive: true, force: true });
  }
}

/** Root's own, cleared at boot, and open to be passed through: for what other ids have to reach. */
export const OPEN_DIR = '/run/mcp-sandbox-bridge';

/**
 * Path of a directory `<stateDir>/<kind>/<hash>` with exactly these files, made or mended as needed. Throws E_STATE
 * where the state directory cannot be written.
 */
export function installFiles(stateDir: string, kind: keyof typeof MODES, files: Files): string {
  const parent = join(stateDir, kind);
  const mode = stateDir === OPEN_DIR ? 0o711 : 0o700;
  const dir = join(parent, hashOf(files));
  if (isIntact(dir, files)) return dir;
  let fresh: string | undefined;
  try {
    mkdirSync(parent, { recursive: true, mode });
    removeAbandoned(parent);
    fresh = mkdtempSync(join(parent, FRESH_PREFIX));
    write(fresh, files, MODES[kind]);
    rmSync(dir, { recursive: true, force: true });
    renameSync(fresh, dir);
  } catch (cause) {
    if (fresh !== undefined) rmSync(fresh, { recursive: true, force: true });
    // Another bridge may have made it in the same moment.
    if (isIntact(dir, files)) return dir;
    throw new BridgeError(
      'E_STATE',
      `The state directory ${stateDir} cannot be written: ${(cause as Error).message}.`,
      {
        fault: 'operator',
        remedy: stateDirRemedy(cause),
        cause,
      },
    );
  }
  return dir;
}
