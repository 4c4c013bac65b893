// Which HTTP request something is done for, so that the log of a run names the request that began it.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { BridgeEvent, Observer } from '../../base/log/events.js';

const requestIds = new AsyncLocalStorage<string>();

/** Runs `work`, and all that it begins, as part of the request `requestId`. */
export const asPartOf = <T>(requestId: string, work: () => T): T => requestIds.run(requestId, work);

/**
 * Tells `observer` with each event of a run which request began it. Events of servers and sandboxes are told as they are:
 * what one request has started may serve another.
 */
export function withRequests(observer: Observer): Observer {
  return (event: BridgeEvent) => {
    const request = event.type.startsWith('run.') ? requestIds.getStore() : undefined;
    observer(request === undefined ? event : { ...event, request });
  };
}
