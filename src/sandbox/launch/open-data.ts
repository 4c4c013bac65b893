// The folders of the user's that a sandbox is to see, looked at when it is made and once more when it runs: a folder that was
// exchanged since is refused, and a sandbox that waits is used only as long as its folders are the same.

import { createHash } from 'node:crypto';
import { constants, lstatSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BridgeError } from '../../base/errors.js';
import { shellWord } from '../../base/process/own-command.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
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
  instance: string,
) {
  if (folders.length === 0) return undefined;
  const isCopied = derived !== undefined;
  const place: DataPlace = { ...hostFacts(), stateDir };
  const opened = folders.map((folder) => {
    const seen = openFolder(folder, place, { isOpened: true });
    if ('trouble' in seen) throw dataError(`The data folder ${seen.trouble}`, FIX);
    const closed = isCopied || traits.opensPrivateFolders ? undefined : closedAbove(seen.path);
    if (closed !== undefined)
      throw dataError(
        `The data folder '${seen.path}' lies in '${closed}', into which ${traits.ownKernel ?? 'the sandbox'} cannot look here.`,
        `Run: chmod o+x ${shellWord(closed)}; or name a folder that lies elsewhere.`,
      );
    return seen;
  });
  const data = opened.map(({ path: source, target, isWritable, identity }) => {
    const mount = { source, target, isWritable };
    return isCopied ? copyOf(mount, name, instance) : { ...mount, identity, volume: undefined };
  });
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

/** More would take long to look at before each call. */
const MOST_COPIED = 10_000;

/** The mount of a copy for an engine elsewhere, which is made anew when the folder has changed. */
function copyOf(mount: Omit<DataMount, 'identity' | 'volume'>, engine: string, instance: string): DataMount {
  const where = `The data folder '${mount.source}' is copied to where ${engine} runs containers`;
  if (mount.isWritable)
    throw dataError(
      `${where}, so what code writes there would not come back.`,
      'Leave out :rw in MCP_BRIDGE_DATA, and let code leave its files in /output.',
    );
  const identity = contentOf(mount.source);
  if (identity === undefined)
    throw dataError(
      `${where}, and it cannot be read as a whole, or has more than ${MOST_COPIED} files.`,
      'Name a folder with fewer files, all of which you can read.',
    );
  const key = createHash('sha256').update(`${mount.source}\0${identity}`).digest('hex').slice(0, 16);
  return { ...mount, identity, volume: `mcp-sandbox-bridge-${instance}-data-${key}` };
}

/** Equal as long as nothing in a folder changes: names, sizes and times. Undefined where it cannot be read, or has too many files. */
function contentOf(folder: string): string | undefined {
  const hash = createHash('sha256');
  let count = 0;
  const look = (path: string): void => {
    for (const name of readdirSync(path).sort()) {
      if (++count > MOST_COPIED) return;
      const below = join(path, name);
      const { ino, size, mode, mtimeNs, ctimeNs } = lstatSync(below, { bigint: true });
      hash.update(`${below}\0${ino} ${size} ${mode} ${mtimeNs} ${ctimeNs}\0`);
      if ((Number(mode) & constants.S_IFMT) === constants.S_IFDIR) look(below);
    }
  };
  try {
    look(folder);
  } catch {
    return undefined;
  }
  return count > MOST_COPIED ? undefined : hash.digest('hex');
}

/** Whether the folders are those that a sandbox was made with. */
export const isSameData = (data: readonly DataMount[]): boolean =>
  data.every(
    ({ source, identity, volume }) =>
      (volume === undefined ? identityOf(source) : contentOf(source)) === identity,
  );

/** Copies of data folders in volumes of one bridge, each of which is made once and goes with the bridge, or when it is replaced. */
export class DataCopies {
  /** How many sandboxes use a copy, which is the newest of its folder or not. */
  readonly #copies = new Map<string, { readonly mount: DataMount; readonly engine: Engine; uses: number }>();
  /** Copies that are being made, so that each is made once, whoever of those that wait for it gives up. */
  readonly #making = new Map<string, Promise<void>>();
  readonly #closing: AbortSignal;

  constructor(closing: AbortSignal) {
    this.#closing = closing;
  }

  /** Makes those of `data` that are not there, and keeps them until they are released. Throws E_DATA. */
  async use(data: readonly DataMount[], engine: Engine, image: string, signal: AbortSignal): Promise<void> {
    for (const mount of copiesIn(data)) {
      const { volume } = mount;
      const copy = this.#copies.get(volume) ?? { mount, engine, uses: 0 };
      copy.uses++;
      this.#copies.set(volume, copy);
    }
    try {
      await Promise.all(
        copiesIn(data).map((mount) => unlessAborted(this.#make(mount, engine, image), signal)),
      );
    } catch (thrown) {
      this.release(data);
      throw thrown;
    }
  }

  /** A sandbox uses them no more; those that nothing uses and that a newer copy of their folder replaces are removed. */
  release(data: readonly DataMount[]): void {
    for (const { volume } of copiesIn(data)) {
      const copy = this.#copies.get(volume);
      if (copy !== undefined) copy.uses--;
    }
    const newest = new Map([...this.#copies.values()].map(({ mount }) => [mount.source, mount.volume]));
    for (const [volume, { mount, engine, uses }] of this.#copies) {
      if (uses > 0 || newest.get(mount.source) === volume) continue;
      this.#copies.delete(volume);
      void engine.volumes.remove([volume]);
    }
  }

  /** Removes all of them. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#making.values());
    await Promise.all([...this.#copies].map(([volume, { engine }]) => engine.volumes.remove([volume])));
  }

  #make(mount: DataMount & { readonly volume: string }, engine: Engine, image: string): Promise<void> {
    const under = this.#making.get(mount.volume);
    if (under !== undefined) return under;
    const making = engine.volumes
      .copy(mount, image, this.#closing)
      .finally(() => this.#making.delete(mount.volume));
    this.#making.set(mount.volume, making);
    return making;
  }
}

const copiesIn = (data: readonly DataMount[]) =>
  data.flatMap((mount) => (mount.volume === undefined ? [] : [{ ...mount, volume: mount.volume }]));

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
