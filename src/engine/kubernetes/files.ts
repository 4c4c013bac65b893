// Files of the bridge in a cluster: ConfigMaps that are named for their content, made where they are not there, and removed when they
// are old. A pod mounts them read-only; no image has to be built, and no registry is needed.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BridgeError } from '../../base/errors.js';
import { INSTANCE_LABEL } from '../../base/process/owner.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import type { Derivation, DerivedImages } from '../engine.js';
import { type Api, ApiError } from './api.js';
import { MANAGED_LABEL, type PodFiles } from './pod-spec.js';

/** The API takes a mebibyte in one, names included. */
const PART_BYTES = 900_000;
const MOST_BYTES = 8 * PART_BYTES;
/** The label whose value is when it was made, in seconds. */
const MADE_LABEL = `${INSTANCE_LABEL}.derived`;
/** Another bridge, of another version perhaps, may use what is younger; what it lacks later, it makes again. */
const OLD_SECONDS = 7 * 24 * 60 * 60;

type Part = {
  readonly configMap: string;
  readonly data: Record<string, string>;
  readonly items: { key: string; path: string }[];
};

export class ClusterFiles implements DerivedImages {
  readonly #api: Api;
  readonly #made = new Map<string, Promise<string>>();
  /** Mounts of a pod, by the name that stands for an image and these files. */
  readonly #known = new Map<string, PodFiles>();

  constructor(api: Api) {
    this.#api = api;
  }

  make(derivation: Derivation, signal: AbortSignal): Promise<string> {
    const making = this.#made.get(derivation.key) ?? this.#make(derivation);
    this.#made.set(derivation.key, making);
    making.catch(() => this.#made.delete(derivation.key));
    return unlessAborted(making, signal);
  }

  forget(): void {
    this.#made.clear();
  }

  /** Other bridges may mount the same files at any time, so they stay until they are old. */
  remove(key: string): Promise<void> {
    this.#made.delete(key);
    return Promise.resolve();
  }

  /** The image and the files that `image`, as make() has named them, stands for. */
  of(image: string): PodFiles {
    return this.#known.get(image) ?? { image, folders: [] };
  }

  async #make({ base, key, folders }: Derivation): Promise<string> {
    const { signal } = new AbortController();
    const name = nameOf(key);
    const found = Object.entries(folders).map(([target, dir], at) => ({
      target,
      parts: partsOf(dir, `${INSTANCE_LABEL}-${key}-${at}`),
    }));
    for (const part of found.flatMap(({ parts }) => parts)) await this.#put(part, signal);
    this.#known.set(name, {
      image: base,
      folders: found.map(({ target, parts }) => ({
        target,
        parts: parts.map(({ configMap, items }) => ({ configMap, items })),
      })),
    });
    // Nobody waits for it.
    this.#prune(signal).catch(() => {});
    return name;
  }

  async #put({ configMap, data }: Part, signal: AbortSignal): Promise<void> {
    const made = String(Math.floor(Date.now() / 1000));
    try {
      await this.#api.ask('POST', this.#api.path('configmaps'), signal, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: configMap, labels: { [MANAGED_LABEL]: INSTANCE_LABEL, [MADE_LABEL]: made } },
        immutable: true,
        binaryData: data,
      });
    } catch (thrown) {
      // It is named for its content.
      if (thrown instanceof ApiError && thrown.status === 409) return;
      throw new BridgeError(
        'E_IMAGE_BUILD',
        `The cluster did not take the bridge's files: ${(thrown as Error).message}`,
        {
          fault: 'operator',
          remedy: `Allow the bridge's account to create ConfigMaps in the namespace ${this.#api.namespace}.`,
          cause: thrown,
        },
      );
    }
  }

  async #prune(signal: AbortSignal): Promise<void> {
    const before = Date.now() / 1000 - OLD_SECONDS;
    const path = this.#api.path('configmaps');
    const { items } = await this.#api.ask(
      'GET',
      `${path}?labelSelector=${encodeURIComponent(MADE_LABEL)}`,
      signal,
    );
    for (const { metadata } of items)
      if (Number(metadata.labels[MADE_LABEL]) < before)
        await this.#api.ask('DELETE', this.#api.path('configmaps', metadata.name), signal);
  }
}

const nameOf = (key: string): string => `${INSTANCE_LABEL}/files:${key}`;

/** The files of a folder, in as many ConfigMaps as they need. Throws E_IMAGE_BUILD for what no cluster would take. */
function partsOf(dir: string, name: string): Part[] {
  const parts: Part[] = [];
  let bytes = PART_BYTES;
  let all = 0;
  for (const path of pathsIn(dir)) {
    const content = readFileSync(join(dir, path));
    all += content.length;
    if (content.length > PART_BYTES || all > MOST_BYTES)
      throw new BridgeError(
        'E_IMAGE_BUILD',
        `${dir} is too large for ConfigMaps, which is how files get into a pod.`,
        {
          fault: 'operator',
          remedy: 'Use an image that has a Python of its own.',
        },
      );
    if (bytes + content.length > PART_BYTES) {
      parts.push({ configMap: `${name}-${parts.length}`, data: {}, items: [] });
      bytes = 0;
    }
    const part = parts.at(-1);
    if (part === undefined) continue;
    const key = `file-${part.items.length}`;
    part.data[key] = content.toString('base64');
    part.items.push({ key, path });
    bytes += content.length;
  }
  return parts;
}

function pathsIn(dir: string, prefix = ''): string[] {
  return readdirSync(join(dir, prefix), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) =>
      entry.isDirectory() ? pathsIn(dir, `${prefix}${entry.name}/`) : [`${prefix}${entry.name}`],
    );
}
