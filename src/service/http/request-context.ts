// Which HTTP request something is done for, so that the log of a run names the request that began it.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { BridgeEvent, Observer } from '../../base/log/events.js';

type RequestScope = {
  /** Id of the request. */
  readonly id: string;
  /** Id of the first run that the request has begun, or that it was refused. */
  run?: string;
};

const scopes = new AsyncLocalStorage<RequestScope>();

/** Runs `work`, and all that it begins, as part of the request, in whose scope the id of its run is then. */
export const asPartOf = <T>(scope: RequestScope, work: () => T): T => scopes.run(scope, work);

/**
 * Tells `observer` with each event of a run, and of who asks, which request began it. Events of servers and sandboxes are
 * told as they are: what one request has started may serve another.
 */
export function withRequests(observer: Observer): Observer {
  return (event: BridgeEvent) => {
    const scope = /^(?:run|auth)\./.test(event.type) ? scopes.getStore() : undefined;
    if (scope === undefined) return observer(event);
    if ('run' in event && typeof event.run === 'string') scope.run ??= event.run;
    observer({ ...event, request: scope.id });
  };
}
