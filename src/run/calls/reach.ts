// Which servers a run can reach, and what is said of one that it cannot.

import { BridgeError } from '../../base/errors.js';
import { didYouMean } from '../../base/text/closest.js';
import { shownName } from '../../base/text/shown-name.js';
import type { ServerBrief } from '../../wire/frames.js';

/**
 * How to get a server that exists but was not asked for; the guest's own messages say the same. `onDemand`: code may ask
 * for it itself.
 */
export function howToLoad(server: string, onDemand = false): string {
  const name = JSON.stringify(server);
  return `Pass servers=[${name}] in the call to load it${onDemand ? `, or await runtime.load_server(${name})` : ''}.`;
}

/** The refusal of a server that this run has not loaded. */
export function notLoaded(server: string, discovered: readonly ServerBrief[]): BridgeError {
  const brief = discovered.find(({ name }) => name === server);
  if (brief?.problem !== undefined) {
    return new BridgeError(
      'E_SERVER_UNAVAILABLE',
      `Server '${shownName(server)}' is not available: ${brief.problem}`,
      {
        fault: 'operator',
      },
    );
  }
  const names = discovered.map(({ name }) => name);
  const advice = brief === undefined ? didYouMean(server, names) : ` ${howToLoad(server, brief.onDemand)}`;
  return new BridgeError('E_SERVER_NOT_LOADED', `Server '${shownName(server)}' is not available.${advice}`, {
    fault: 'guest',
  });
}
