// Events of the files in which servers and rules are looked for.

import { type EventWords, oneLine } from '../base/log/events.js';
import { countOf } from '../base/text/text.js';
import type { FileProblem } from '../settings/files/config-file.js';

declare module '../base/log/events.js' {
  interface EventTable {
    /** A file that cannot be used as it is, of whichever room. */
    readonly 'config.problem': FileProblem;
    readonly 'config.discovered': { readonly ready: number; readonly skipped: number };
  }
}

export const hostEventWords = {
  'config.problem': ({ file, message }) => [
    'warn',
    `${oneLine(file)} cannot be used as it is: ${oneLine(message)}`,
  ],
  'config.discovered': ({ ready, skipped }) => [
    'debug',
    `${countOf(ready, 'MCP server')} found, ${skipped} skipped`,
  ],
} satisfies Partial<EventWords>;
