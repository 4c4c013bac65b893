// May this run call this tool? The one door: asked on the host for every call, whatever the guest's proxies let
// through, by exact name against the servers that the run was given.

import { didYouMean } from '../base/closest.js';
import type { ErrorCode } from '../base/errors.js';

export type Verdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly code: ErrorCode; readonly reason: string };

/** How to get a server that exists but was not asked for; the guest's own messages say the same. */
export const howToLoad = (server: string): string =>
  `Pass servers=[${JSON.stringify(server)}] to run_python to load it.`;

/** `loaded` are the run's servers, `discovered` all that could be loaded. */
export function mayReach(
  server: string,
  loaded: ReadonlySet<string>,
  discovered: readonly string[],
): Verdict {
  if (loaded.has(server)) return { allowed: true };
  const advice = discovered.includes(server) ? ` ${howToLoad(server)}` : didYouMean(server, [...discovered]);
  return {
    allowed: false,
    code: 'E_SERVER_NOT_LOADED',
    reason: `Server '${server}' is not available.${advice}`,
  };
}
