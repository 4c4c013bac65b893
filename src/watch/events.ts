// Events of the page and of the sockets over which bridges tell it.

import { type EventWords, oneLine } from '../base/log/events.js';

declare module '../base/log/events.js' {
  interface EventTable {
    /** The page of `ui` cannot see this bridge; `message` is the reason, as the end of a sentence. */
    readonly 'watch.trouble': { readonly message: string };
  }
}

export const watchEventWords = {
  'watch.trouble': ({ message }) => [
    'info',
    `the page of \`ui\` does not see this bridge: ${oneLine(message)}`,
  ],
} satisfies Partial<EventWords>;
