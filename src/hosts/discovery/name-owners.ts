// The entry that a server's name belongs to. An operator allows, trusts or gives by name, and means the entry that had the name
// then. A project's own file may use any name once the project is trusted: an entry of that file that takes another entry's
// name gets nothing of what was decided of the name, until somebody accepts it. The user's own files are the user's word.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../base/files/replace-file.js';
import { stampOf } from '../../settings/files/config-file.js';
import { catalogKey, type DownstreamSpec, type SkippedSpec } from '../downstream-spec.js';

const MAX_NAMES = 2_000;

type Owners = ReadonlyMap<string, readonly string[]>;

export class NameOwners {
  readonly #path: string;
  /** Entries that were seen here and are not written down. */
  #seen: readonly DownstreamSpec[] = [];
  /** The file as it was last read. */
  #read: { readonly stamp: string; readonly owners: Owners } | undefined;
  /** Find that was judged last, by which owners, and as what: nearly every call finds the same. */
  #judged: { readonly found: object; readonly by: Owners; readonly as: object } | undefined;

  constructor(stateDir: string) {
    this.#path = join(stateDir, 'name-owners.json');
  }

  /** Marks each entry that takes a name. A name that nobody had belongs to its entry from now on. */
  judge<
    F extends {
      readonly ready: readonly DownstreamSpec[];
      readonly skipped: readonly Pick<SkippedSpec, 'spec'>[];
    },
  >(found: F): F {
    const before = withOwners(this.#readOwners(), this.#seen);
    if (this.#judged?.found !== found || this.#judged.by !== before)
      this.#judged = { found, by: before, as: this.#judge(found, before) };
    return this.#judged.as as F;
  }

  #judge<F extends Parameters<NameOwners['judge']>[0]>(found: F, before: Owners): F {
    const { ready, skipped } = found;
    // One that is passed over for a project's entry is still the user's.
    const own = [...skipped.flatMap(({ spec }) => spec ?? []), ...ready].filter((spec) => !isOfProject(spec));
    const owners = withOwners(before, own);
    const fresh = [...own, ...ready.filter(({ name }) => !owners.has(name))];
    this.#seen = [...this.#seen, ...fresh.filter((spec) => !owns(spec, before))];
    if (!ready.some((spec) => takes(spec, owners))) return found;
    return {
      ...found,
      ready: ready.map((spec) => (takes(spec, owners) ? { ...spec, takesName: true } : spec)),
    };
  }

  /** Writes down what was seen; what cannot be written holds for this process. */
  keep(): void {
    if (this.#seen.length === 0) return;
    const kept = this.#readOwners();
    const owners = withOwners(kept, this.#seen);
    if (owners === kept) return;
    try {
      replaceFile(this.#path, `${JSON.stringify(Object.fromEntries([...owners].slice(-MAX_NAMES)))}\n`);
      this.#seen = [];
    } catch {
      // The next call tries again.
    }
  }

  /** Accepts the entry: decisions about its name hold for it too from now on. True where they did not before. */
  accept(spec: DownstreamSpec): boolean {
    if (!takes(spec, withOwners(this.#readOwners(), this.#seen))) return false;
    this.#seen = [...this.#seen, spec];
    this.keep();
    return true;
  }

  /** Read anew where it may have changed, since another process may have accepted an entry. */
  #readOwners(): Owners {
    const stamp = stampOf(this.#path);
    if (stamp !== undefined && stamp === this.#read?.stamp) return this.#read.owners;
    const owners = ownersIn(this.#path);
    this.#read = stamp === undefined ? undefined : { stamp, owners };
    return owners;
  }
}

/** Trouble with the file costs what was kept. */
function ownersIn(path: string): Owners {
  try {
    const lists = Object.entries(JSON.parse(readFileSync(path, 'utf8')) as object);
    return new Map(lists.filter(([, keys]) => Array.isArray(keys)));
  } catch {
    return new Map();
  }
}

const isOfProject = ({ source }: DownstreamSpec): boolean => source.scope === 'project';

/** Whether its name belongs to other entries alone. */
function takes(spec: DownstreamSpec, owners: Owners): boolean {
  return isOfProject(spec) && owners.has(spec.name) && !owns(spec, owners);
}

const owns = (spec: DownstreamSpec, owners: Owners): boolean =>
  owners.get(spec.name)?.includes(catalogKey(spec)) === true;

/** Owners with these entries among them; `owners` itself where the entries own their names already. */
function withOwners(owners: Owners, specs: readonly DownstreamSpec[]): Owners {
  const added = specs.filter((spec) => !owns(spec, owners));
  if (added.length === 0) return owners;
  const all = new Map(owners);
  for (const spec of added) all.set(spec.name, [...(all.get(spec.name) ?? []), catalogKey(spec)]);
  return all;
}
