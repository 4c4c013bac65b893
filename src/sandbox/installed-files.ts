// Files of ours that the engine or a container reads: one directory per content hash under the state directory, where
// a podman machine sees them too. Made once, checked whenever asked for; a file that was changed on disk is written
// anew, so what is used is what was installed.

import { createHash } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { BridgeError } from '../base/errors.js';

/** A directory that is being written; it gets its name when it is whole. */
const FRESH_PREFIX = 'new-';
/** Some forty small files take milliseconds; what is older was left by a bridge that was killed meanwhile. */
const WRITTEN_WITHIN_MS = 60_000;

/** Text by relative name. */
export type Files = ReadonlyMap<string, string>;

function hashOf(files: Files): string {
  const hash = createHash('sha256');
  for (const [name, text] of files) hash.update(`${name}\0${text.length}\0${text}`);
  return hash.digest('hex').slice(0, 16);
}

function isIntact(dir: string, files: Files): boolean {
  try {
    const found = readdirSync(dir, { recursive: true, withFileTypes: true }).filter(
      (entry) => !entry.isDirectory(),
    );
    return (
      found.length === files.size &&
      // A link could lead to the right text now and to another one later.
      found.every((entry) => entry.isFile()) &&
      [...files].every(([name, text]) => readFileSync(join(dir, name), 'utf8') === text)
    );
  } catch {
    return false;
  }
}

function write(dir: string, files: Files): void {
  // The container's user is nobody to the host: it reads these as `other`, whatever the caller's umask is.
  for (const [name, text] of files) {
    const path = join(dir, name);
    const parent = join(path, '..');
    mkdirSync(parent, { recursive: true });
    chmodSync(parent, 0o755);
    writeFileSync(path, text);
    chmodSync(path, 0o644);
  }
  chmodSync(dir, 0o755);
}

/** Of bridges that were killed while they wrote. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent).filter((each) => each.startsWith(FRESH_PREFIX))) {
    const dir = join(parent, name);
    const since = statSync(dir, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - since > WRITTEN_WITHIN_MS) rmSync(dir, { recursive: true, force: true });
  }
}

/** Root's own, cleared at boot, and open to be passed through: for what other ids have to reach. */
export const OPEN_DIR = '/run/mcp-sandbox-bridge';

/**
 * Path of a directory `<stateDir>/<kind>/<hash>` with exactly these files, made or mended as needed. Throws E_STATE
 * where the state directory cannot be written.
 */
export function installFiles(stateDir: string, kind: 'ipc' | 'seccomp', files: Files): string {
  const parent = join(stateDir, kind);
  const mode = stateDir === OPEN_DIR ? 0o711 : 0o700;
  const dir = join(parent, hashOf(files));
  if (isIntact(dir, files)) return dir;
  let fresh: string | undefined;
  try {
    mkdirSync(parent, { recursive: true, mode });
    removeAbandoned(parent);
    fresh = mkdtempSync(join(parent, FRESH_PREFIX));
    write(fresh, files);
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
        remedy: 'Set MCP_BRIDGE_STATE_DIR to a directory that you own.',
        cause,
      },
    );
  }
  return dir;
}
