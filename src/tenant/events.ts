// Events that say whether sandboxes can be started.

import { type EventWords, oneLine } from '../base/log/events.js';

type TenantEvents = {
  /** Sandboxes can be started no more, with the reason; or they can again. */
  readonly 'engine.health': { readonly isWell: boolean; readonly message: string };
};

declare module '../base/log/events.js' {
  interface EventTable extends TenantEvents {}
}

export const tenantEventWords: EventWords<TenantEvents> = {
  'engine.health': ({ isWell, message }) =>
    isWell
      ? ['info', 'sandboxes can be started again']
      : ['error', `no sandbox can be started: ${oneLine(message)}`],
};
