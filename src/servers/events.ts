// Events of the user's MCP servers. The type of each begins with `downstream`, as people's tools know it from the log.

import { type EventWords, milliseconds, oneLine } from '../base/log/events.js';
import { shownName } from '../base/text/shown-name.js';
import { countOf } from '../base/text/text.js';

declare module '../base/log/events.js' {
  interface EventTable {
    readonly 'downstream.connecting': { readonly server: string };
    readonly 'downstream.ready': {
      readonly server: string;
      readonly tools: number;
      readonly durationMs: number;
    };
    readonly 'downstream.failed': { readonly server: string; readonly message: string };
    readonly 'downstream.changed': {
      readonly server: string;
      /** Tools that are not as they were when they were first seen, each with what of it is different. */
      readonly tools: readonly string[];
    };
    readonly 'downstream.unusable': {
      readonly server: string;
      /** Tools of the server's list that cannot be used, and why; each is the end of a sentence about the server. */
      readonly problems: readonly string[];
    };
    /** A server says more unasked than is heard. */
    readonly 'downstream.flooding': {
      readonly server: string;
      /** How many of its messages were left out since this was last told; 0 where it only had to wait until more was read. */
      readonly leftOut: number;
    };
    readonly 'downstream.closed': { readonly server: string; readonly reason: string };
    readonly 'downstream.asked': {
      readonly server: string;
      /** The outcome of the server's question to the person; never what was asked or answered. */
      readonly answer: string;
      readonly durationMs: number;
    };
    readonly 'downstream.said': {
      readonly server: string;
      /** The server's own word for it. */
      readonly level: string;
      readonly text: string;
    };
  }
}

export const serverEventWords = {
  'downstream.connecting': ({ server }) => ['debug', `${shownName(server)}: connecting`],
  'downstream.ready': ({ server, tools, durationMs }) => [
    'info',
    `${shownName(server)}: ready with ${countOf(tools, 'tool')} after ${milliseconds(durationMs)}`,
  ],
  'downstream.failed': ({ server, message }) => ['warn', `${shownName(server)}: ${oneLine(message)}`],
  'downstream.changed': ({ server, tools }) => [
    'warn',
    `${shownName(server)}: ${countOf(tools.length, 'tool')} not as first seen: ${oneLine(tools.join(', '))}`,
  ],
  'downstream.unusable': ({ server, problems }) => [
    'warn',
    `${shownName(server)}: ${oneLine(problems.join('; '))}`,
  ],
  'downstream.flooding': ({ server, leftOut }) => [
    'warn',
    leftOut === 0
      ? `${shownName(server)}: writes more than was asked for, and faster than it is read, so it has to wait`
      : `${shownName(server)}: sends too many messages unasked: ${countOf(leftOut, 'message')} left out`,
  ],
  'downstream.closed': ({ server, reason }) => ['info', `${shownName(server)}: closed, ${oneLine(reason)}`],
  'downstream.asked': ({ server, answer, durationMs }) => [
    'debug',
    `${shownName(server)}: asked the user: ${oneLine(answer)} after ${milliseconds(durationMs)}`,
  ],
  'downstream.said': ({ server, level, text }) => [
    'debug',
    `${shownName(server)} said (${oneLine(level)}): ${oneLine(text)}`,
  ],
} satisfies Partial<EventWords>;
