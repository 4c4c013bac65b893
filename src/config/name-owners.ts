// Which entry a server's name belongs to. What an operator allows, trusts or gives is said of a name, and means the entry that
// had it then. A project's own file may use any name once the project is trusted: an entry of it that takes the name of another
// one gets nothing of what was decided of that name, until somebody accepts it. What the user's own files say is the user's word.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../base/replace-file.js';
import type { Discovery } from './discover.js';
import { catalogKey, type DownstreamSpec } from './downstream-spec.js';
import { stampOf } from './file-stamp.js';

const MAX_NAMES = 2_000;
/** The newest stay. */
const MAX_ENTRIES_OF_NAME = 32;

const file = z.object({ format: z.literal(1), names: z.record(z.string(), z.array(z.string())) });
type Owners = ReadonlyMap<string, readonly string[]>;

export class NameOwners {
  readonly #path: string;
  #read: { readonly stamp: string | undefined; readonly owners: Owners } | undefined;
  /** Where it cannot be written, for as long as this process lives. */
  #unwritten: Owners | undefined;

  constructor(stateDir: string) {
    this.#path = join(stateDir, 'name-owners.json');
  }

  /** The same, with a mark on each entry that takes a name; names that nobody had belong to the entry from now on. */
  judged(discovery: Discovery): Discovery {
    const { ready, skipped } = discovery;
    // One that is passed over for a project's entry is still the user's.
    const own = [...skipped.flatMap(({ spec }) => spec ?? []), ...ready].filter((spec) => !isOfProject(spec));
    const known = this.#owners();
    const owners = withOwners(known, own);
    const first = ready.filter((spec) => isOfProject(spec) && !owners.has(spec.name));
    this.#keep(known, withOwners(owners, first));
    if (ready.every((spec) => !takes(spec, owners))) return discovery;
    return {
      ...discovery,
      ready: ready.map((spec) => (takes(spec, owners) ? { ...spec, takesName: true } : spec)),
    };
  }

  /** What was decided of its name holds for this entry too from now on. Whether it did not before. */
  accept(spec: DownstreamSpec): boolean {
    const known = this.#owners();
    if (!takes(spec, known)) return false;
    this.#keep(known, withOwners(known, [spec]));
    return true;
  }

  #owners(): Owners {
    if (this.#unwritten !== undefined) return this.#unwritten;
    const stamp = stampIfAny(this.#path);
    if (this.#read === undefined || stamp === undefined || this.#read.stamp !== stamp)
      this.#read = { stamp, owners: readOwners(this.#path) };
    return this.#read.owners;
  }

  #keep(before: Owners, after: Owners): void {
    if (before === after) return;
    const names = Object.fromEntries([...after].slice(-MAX_NAMES));
    try {
      replaceFile(this.#path, `${JSON.stringify({ format: 1, names })}\n`);
      this.#read = undefined;
    } catch {
      this.#unwritten = after;
    }
  }
}

const isOfProject = ({ source }: DownstreamSpec): boolean => source.scope === 'project';

/** Whether its name belongs to other entries alone. */
function takes(spec: DownstreamSpec, owners: Owners): boolean {
  if (!isOfProject(spec)) return false;
  return owners.get(spec.name)?.includes(catalogKey(spec)) === false;
}

/** With these entries among the owners of their names; `owners` itself where they are already. */
function withOwners(owners: Owners, specs: readonly DownstreamSpec[]): Owners {
  const added = specs.filter((spec) => owners.get(spec.name)?.includes(catalogKey(spec)) !== true);
  if (added.length === 0) return owners;
  const all = new Map(owners);
  for (const spec of added) {
    const keys = [...(all.get(spec.name) ?? []), catalogKey(spec)];
    all.set(spec.name, [...new Set(keys)].slice(-MAX_ENTRIES_OF_NAME));
  }
  return all;
}

function stampIfAny(path: string): string | undefined {
  try {
    return stampOf(path);
  } catch {
    return undefined;
  }
}

/** Trouble with the file costs what was kept. */
function readOwners(path: string): Owners {
  try {
    return new Map(Object.entries(file.parse(JSON.parse(readFileSync(path, 'utf8'))).names));
  } catch {
    return new Map();
  }
}
