// Events that say whether sandboxes can be started.

import { type EventWords, oneLine } from '../base/log/events.js';

declare module '../base/log/events.js' {
  interface EventTable {
    /** Sandboxes can be started no more, with the reason; or they can again. */
    readonly 'engine.health': { readonly isWell: boolean; readonly message: string };
  }
}

export const tenantEventWords = {
  'engine.health': ({ isWell, message }) =>
    isWell
      ? ['info', 'sandboxes can be started again']
      : ['error', `no sandbox can be started: ${oneLine(message)}`],
} satisfies Partial<EventWords>;
