// Events of the agent's calls.

import { type EventWords, milliseconds, oneLine } from '../base/log/events.js';
import type { TraceSpan } from '../base/trace.js';

declare module '../base/log/events.js' {
  interface EventTable {
    /** A call of a tool of ours whose work has ended, also where its answer was given in parts. */
    readonly 'call.ended': {
      /** Name of the tool. */
      readonly tool: string;
      readonly client: string;
      /** The version of MCP that the agent speaks, where it has said it. */
      readonly protocol: string | undefined;
      readonly transport: 'pipe' | 'tcp';
      /** Id of the request that began it, in JSON-RPC. */
      readonly id: string | number;
      readonly durationMs: number;
      readonly failed: boolean;
      /** Its step in the trace, where that is recorded. */
      readonly span: TraceSpan | undefined;
    };
  }
}

export const callEventWords = {
  'call.ended': ({ tool, client, failed, durationMs }) => [
    'trace',
    `${oneLine(client)} called ${tool}: ${failed ? 'failed' : 'answered'} after ${milliseconds(durationMs)}`,
  ],
} satisfies Partial<EventWords>;
