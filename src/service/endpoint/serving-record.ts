// A file in the state directory for each bridge that serves over HTTP, so that `status` and `stop` find its process. Whether the
// process still runs is asked of the system each time: a record of one that was killed is removed by whoever reads it.

import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { randomUUID } from '../../base/crypto.js';
import { readText } from '../../base/files/read-text.js';
import { replaceFile } from '../../base/files/replace-file.js';
import { isAlive, isHere, isOwner, type Owner, thisOwner } from '../../base/process/owner.js';
import { processStat } from '../../base/process/process-stat.js';
import { VERSION } from '../../base/version.js';

const FOLDER = join('http', 'serving');

const record = z.object({
  owner: z.custom<Owner>(isOwner),
  address: z.string(),
  since: z.iso.datetime(),
  version: z.string(),
});

/** A bridge that serves over HTTP. */
export type ServingBridge = Readonly<z.output<typeof record>> & {
  /** Whether its process is one of this machine, and not of another one or a container that has the same state directory. */
  readonly isHere: boolean;
};

/** Says that this process serves at `address` until the result is disposed of. Where it cannot be written, nobody finds it. */
export function recordServing(stateDir: string, address: string): Disposable {
  const path = join(stateDir, FOLDER, `${randomUUID()}.json`);
  const serving = { owner: thisOwner(), address, since: new Date().toISOString(), version: VERSION };
  try {
    replaceFile(path, JSON.stringify(serving));
  } catch {
    // The bridge serves all the same.
  }
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
}

/** Bridges that serve over HTTP with one of these state directories, the oldest first. */
export function httpServing(stateDirs: readonly string[]): readonly ServingBridge[] {
  return stateDirs
    .flatMap((stateDir) => namesIn(join(stateDir, FOLDER)))
    .flatMap((path) => {
      const found = read(path);
      if (found === undefined) return [];
      if (stillServes(found)) return [{ ...found, isHere: isHere(found.owner) }];
      rmSync(path, { force: true });
      return [];
    })
    .sort((one, other) => (one.since < other.since ? -1 : 1));
}

/** False only where the process has certainly ended, which it has too while its parent has not heard of that. */
export const stillServes = ({ owner }: { readonly owner: Owner }): boolean =>
  isAlive(owner) && !(isHere(owner) && processStat(owner.pid)?.state === 'Z');

/**
 * Whether a signal reaches this very bridge: its process is here, and is known by more than a number, which the system may have
 * given to another program.
 */
export const canBeSignalled = ({ isHere, owner }: ServingBridge): boolean => isHere && owner.startTime !== '';

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).flatMap((name) => (name.endsWith('.json') ? [join(folder, name)] : []));
  } catch {
    // None has served yet.
    return [];
  }
}

function read(path: string): z.output<typeof record> | undefined {
  try {
    return record.parse(JSON.parse(readText(path) ?? ''));
  } catch {
    // Half a file, or another version's.
    return undefined;
  }
}
