// Which servers a run can reach, and what is said of one that it cannot.

import { didYouMean } from '../base/closest.js';
import { BridgeError } from '../base/errors.js';
import type { ServerBrief } from '../protocol/frames.js';

/** How to get a server that exists but was not asked for; the guest's own messages say the same. */
export function howToLoad({ name, onDemand }: ServerBrief): string {
  const inside = onDemand ? `, or await runtime.load_server(${JSON.stringify(name)})` : '';
  return `Pass servers=[${JSON.stringify(name)}] to run_python to load it${inside}.`;
}

/** The refusal of a server that this run has not loaded. */
export function notLoaded(server: string, discovered: readonly ServerBrief[]): BridgeError {
  const brief = discovered.find(({ name }) => name === server);
  const names = discovered.map(({ name }) => name);
  const advice = brief === undefined ? didYouMean(server, names) : ` ${howToLoad(brief)}`;
  return new BridgeError('E_SERVER_NOT_LOADED', `Server '${server}' is not available.${advice}`, {
    fault: 'guest',
  });
}
