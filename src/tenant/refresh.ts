// Learning what servers list, without a run: each is started once, asked, and ended again. Several at a time, since
// most of a start is waiting; never all, since a start takes a processor too.

import PQueue from 'p-queue';
import { asBridgeError, BridgeError } from '../base/errors.js';
import type { NameOwners } from '../hosts/discovery/name-owners.js';
import type { DownstreamSpec } from '../hosts/downstream-spec.js';
import type { KeptCatalog, ToolChange } from '../servers/catalog/kept-catalog.js';
import type { LearnedPrompts } from '../servers/catalog/learned-prompts.js';
import type { DownstreamPool } from '../servers/pool/pool.js';

/** Servers that are started at once: as many as Claude Code starts. */
const AT_ONCE = 3;

/** Outcome of the refresh of one server. */
export type Refreshed =
  | {
      readonly server: string;
      readonly state: 'listed';
      /** How many tools it has. */
      readonly tools: number;
      /** Tools that it did not list when it was last asked, and those that it lists no more; none at the first time. */
      readonly added: readonly string[];
      readonly removed: readonly string[];
      /** Tools that are not as they were when they were first seen. */
      readonly changed: readonly ToolChange[];
      /**
       * True where the server's entry has a name that was another server's: what was decided of that name does not hold for it.
       */
      readonly takesName?: true;
      /** Whether those are what they are to be from now on, and its name is its own. */
      readonly accepted: boolean;
      /** Parts of the server's list that could not be used, as messages for the operator. */
      readonly problems: readonly string[];
    }
  | {
      readonly server: string;
      readonly state: 'failed';
      readonly reason: string;
      readonly remedy: string | undefined;
    };

type RefreshParts = {
  /** Opens a pool that has the catalog learn what its servers list. */
  readonly openPool: (specs: readonly DownstreamSpec[]) => DownstreamPool;
  readonly catalog: KeptCatalog;
  readonly prompts: Pick<LearnedPrompts, 'learn'>;
  readonly owners: Pick<NameOwners, 'accept'> | undefined;
  readonly accept: boolean;
};

/** Outcomes in the order of `specs`; a server that does not start is one too. Throws E_CANCELLED when `signal` ends it. */
export async function refreshServers(
  specs: readonly DownstreamSpec[],
  parts: RefreshParts,
  signal: AbortSignal,
): Promise<readonly Refreshed[]> {
  const queue = new PQueue({ concurrency: AT_ONCE });
  // None rejects, so that all have ended when this has.
  const outcomes = await Promise.all(specs.map((spec) => queue.add(() => refresh(spec, parts, signal))));
  if (signal.aborted)
    throw new BridgeError('E_CANCELLED', 'The refresh was cancelled.', { fault: 'operator' });
  return outcomes;
}

async function refresh(
  spec: DownstreamSpec,
  { openPool, catalog, prompts, owners, accept }: RefreshParts,
  signal: AbortSignal,
): Promise<Refreshed> {
  const server = spec.name;
  const before = catalog
    .of(spec)
    ?.tools()
    .map(({ name }) => name);
  // One for each server, so that it is ended when it has answered, and not when the last one has.
  const pool = openPool([spec]);
  try {
    signal.throwIfAborted();
    const live = await pool.get(server, signal);
    const now = live.tools().map(({ name }) => name);
    const changed = [...(catalog.of(spec)?.changes.values() ?? [])];
    await prompts.learn(live);
    const isNamed = accept && owners?.accept(spec) === true;
    const isListed = accept && changed.length > 0 && catalog.accept(spec).length > 0;
    const accepted = isNamed || isListed;
    return {
      server,
      state: 'listed',
      tools: now.length,
      added: before === undefined ? [] : now.filter((name) => !before.includes(name)),
      removed: before?.filter((name) => !now.includes(name)) ?? [],
      changed,
      ...(spec.takesName === true ? { takesName: true as const } : {}),
      accepted,
      problems: live.problems(),
    };
  } catch (thrown) {
    const { message, remedy } = asBridgeError(thrown);
    return { server, state: 'failed', reason: message, remedy };
  } finally {
    await pool[Symbol.asyncDispose]();
  }
}
