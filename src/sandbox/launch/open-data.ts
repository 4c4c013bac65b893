// The folders of the user's that a sandbox is to see, looked at when it is made and once more when it runs: a folder that was
// exchanged since is refused, and a sandbox that waits is used only as long as its folders are the same.

import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { BridgeError } from '../../base/errors.js';
import { shellWord } from '../../base/process/own-command.js';
import type { DataMount, Engine } from '../../engine/engine.js';
import type { Settings } from '../../settings/environment/settings.js';
import { type DataPlace, LEAST_ID, openFolder } from '../../settings/files/data-folders.js';
import { hostFacts } from '../../settings/files/host-facts.js';
import type { SandboxProfile } from '../spec/profile.js';

const PASSED_BY_OTHERS = 0o001;
const FIX = 'Correct MCP_BRIDGE_DATA, or whatever else names the folder, then restart the host.';

/**
 * Parts of a spec that follow from data folders; undefined for a kind that sees none. `user` is the container's, undefined where
 * any will do. Throws E_DATA.
 */
export function openData(
  { data: folders }: SandboxProfile,
  { traits, derived, name }: Pick<Engine, 'traits' | 'derived' | 'name'>,
  { stateDir, containerUser }: Pick<Settings, 'stateDir' | 'containerUser'>,
) {
  if (folders.length === 0) return undefined;
  if (derived !== undefined)
    throw dataError(
      `${name} runs containers elsewhere, where the folders of this machine cannot be seen.`,
      'Unset MCP_BRIDGE_DATA, and give the files to each call (`files`); or use an engine of this machine.',
    );
  const place: DataPlace = { ...hostFacts(), stateDir };
  const opened = folders.map((folder) => {
    const seen = openFolder(folder, place, { isOpened: true });
    if ('trouble' in seen) throw dataError(`The data folder ${seen.trouble}`, FIX);
    const closed = traits.opensPrivateFolders ? undefined : closedAbove(seen.path);
    if (closed !== undefined)
      throw dataError(
        `The data folder '${seen.path}' lies in '${closed}', into which ${traits.ownKernel ?? 'the sandbox'} cannot look here.`,
        `Run: chmod o+x ${shellWord(closed)}; or name a folder that lies elsewhere.`,
      );
    return seen;
  });
  const data = opened.map(({ path: source, target, isWritable, identity }) => ({
    source,
    target,
    isWritable,
    identity,
  }));
  const written = opened.find(({ isWritable }) => isWritable);
  if (written === undefined) return { data, owner: undefined, user: undefined };
  // In a map that is shifted by one, what is 1 or less would make root of the container's own.
  const owner = { uid: written.owner, gid: written.group < LEAST_ID ? undefined : written.group };
  if (traits.ownerBy === 'map') return { data, owner, user: containerUser };
  if (traits.ownerBy === 'shift') return { data, owner, user: '1:1' };
  if (traits.ownerBy === 'id')
    return { data, owner: undefined, user: `${owner.uid}:${owner.gid ?? owner.uid}` };
  throw dataError(
    `${name} gives code ids of its own here${traits.ownKernel === undefined ? '' : ` under ${traits.ownKernel}`}, so what it writes would not be yours.`,
    'Leave out :rw in MCP_BRIDGE_DATA, or use podman without gVisor.',
  );
}

const dataError = (message: string, remedy: string): BridgeError =>
  new BridgeError('E_DATA', message, { fault: 'operator', remedy });

/** The nearest folder above that others may not pass through. */
function closedAbove(path: string): string | undefined {
  const above = dirname(path);
  if ((statSync(above).mode & PASSED_BY_OTHERS) === 0) return above;
  return above === path ? undefined : closedAbove(above);
}

/** Whether the folders are those that a sandbox was made with. */
export const isSameData = (data: readonly DataMount[]): boolean =>
  data.every(({ source, identity }) => identityOf(source) === identity);

/**
 * Throws E_DATA where the first process `pid` of a sandbox has another folder than the one that was looked at: somebody has
 * exchanged it in the moment before the engine mounted it. Where the process may not be looked into, nothing is known.
 */
export function demandSameData(data: readonly DataMount[], pid: number | undefined): void {
  if (pid === undefined) return;
  for (const { source, target, identity } of data) {
    const mounted = identityOf(`/proc/${pid}/root${target}`);
    if (mounted !== undefined && mounted !== identity)
      throw dataError(`The data folder '${source}' was exchanged while a sandbox was made for it.`, FIX);
  }
}

function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
