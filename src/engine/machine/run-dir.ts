// The run directory of a bridge: a folder of its own in the state directory, with its owner, the files in which the engine says which
// container is which, and what is being made for the engine. One whose owner is dead is removed with what still runs by it.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BridgeError, messageOf } from '../../base/errors.js';
import { isAlive, type Owner } from '../../base/process/owner.js';
import { isBeingStarted, killFirstProcess } from './first-process.js';

/** Whose directory it is. */
type RunDirOf = {
  readonly stateDir: string;
  /** Unique to this bridge process. */
  readonly instance: string;
};

const OWNER_FILE = 'owner.json';
/** A directory without a readable owner is being made for a moment, or was when its bridge was killed. */
const OWNED_WITHIN_MS = 60_000;

const parentOf = (stateDir: string): string => join(stateDir, 'run');

export const runDirOf = ({ stateDir, instance }: RunDirOf): string => join(parentOf(stateDir), instance);

/** Throws E_STATE, as a full disk does. */
export function makeRunDir(runDir: string, owner: Owner): void {
  try {
    mkdirSync(runDir, { recursive: true, mode: 0o700 });
    writeFileSync(join(runDir, OWNER_FILE), JSON.stringify(owner));
  } catch (cause) {
    throw new BridgeError('E_STATE', `${runDir} cannot be written: ${messageOf(cause)}.`, {
      fault: 'operator',
      remedy: 'Make room, or set MCP_BRIDGE_STATE_DIR to a directory that you own.',
      cause,
    });
  }
}

/** Removes the run directory of a bridge that starts nothing any more, whether or not an engine was ever chosen. */
export function removeRunDir(of: RunDirOf): void {
  rmSync(runDirOf(of), { recursive: true, force: true });
}

/** Removes the directories of dead bridges. */
export function sweepRunDirs(stateDir: string): void {
  const parent = parentOf(stateDir);
  if (!existsSync(parent)) return;
  for (const instance of readdirSync(parent)) {
    const dir = join(parent, instance);
    try {
      const owner = ownerOf(dir);
      if (owner === undefined ? Date.now() - statSync(dir).mtimeMs < OWNED_WITHIN_MS : isAlive(owner))
        continue;
      // A container that was being made when its bridge died is known to nobody else. One that still is must not be
      // killed (see CliContainer.kill); it ends by itself, since its input has ended, and the next start looks again.
      const pidFiles = readdirSync(dir).filter((file) => file.endsWith('.pid'));
      if (pidFiles.some((file) => isBeingStarted(join(dir, file)))) continue;
      for (const file of pidFiles) killFirstProcess(join(dir, file));
      rmSync(dir, { recursive: true, force: true });
    } catch {
      // Gone in this moment, or not ours: leave it.
    }
  }
}

function ownerOf(runDir: string): Owner | undefined {
  try {
    const owner = JSON.parse(readFileSync(join(runDir, OWNER_FILE), 'utf8')) as Omit<Owner, 'machine'>;
    // Earlier versions did not say the machine.
    return { machine: '', ...owner };
  } catch {
    return undefined;
  }
}
