// How long an agent may take an answer of ours for current, which 2026-07-28 wants said with every list and every read.
// Always `private`: names of servers, files and descriptions are those of one user. Whoever needs to know at once listens
// for changes (subscriptions/listen).

type CachedFor = { readonly ttlMs: number; readonly cacheScope: 'private' };

const forMs = (ttlMs: number): CachedFor => ({ ttlMs, cacheScope: 'private' });

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export const CACHED_FOR = {
  /** Its instructions name the configured servers, and a configuration may be changed at any time. */
  discover: forMs(MINUTE_MS),
  /** Nothing changes as long as this bridge lives, but what is said of the image, once, when it becomes known. */
  tools: forMs(5 * MINUTE_MS),
  templates: forMs(HOUR_MS),
  /** Every run may leave something. */
  resources: forMs(0),
  /** The bridge's description of itself, which names servers as well. */
  capabilities: forMs(MINUTE_MS),
  /** Somebody may be writing one. */
  snippets: forMs(0),
} as const;

/** Cache time of what a run has left: it never changes under its address; `keepSeconds` is how long it can be read at most. */
export const keptFor = (keepSeconds: number): CachedFor => forMs(Math.min(keepSeconds * 1_000, HOUR_MS));
