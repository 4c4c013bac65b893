// Events that say whether sandboxes can be started.

import { type EventTable, type EventWords, oneLine } from '../base/log/events.js';

declare module '../base/log/events.js' {
  interface EventTable {
    /** Sandboxes can be started no more, with the reason; or they can again. */
    readonly 'engine.health': { readonly isWell: boolean; readonly message: string };
  }
}

export const tenantEventWords: EventWords<Pick<EventTable, 'engine.health'>> = {
  'engine.health': ({ isWell, message }) =>
    isWell
      ? ['info', 'sandboxes can be started again']
      : ['error', `no sandbox can be started: ${oneLine(message)}`],
};
