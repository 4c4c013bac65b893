// Events of questions to a person, and of the inbox in which they wait.

import { type EventWords, milliseconds, oneLine } from '../base/log/events.js';
import { shownTool } from '../base/text/shown-name.js';
import { countOf } from '../base/text/text.js';

declare module '../base/log/events.js' {
  interface EventTable {
    /** A question to a person about calls of a tool, which has ended. */
    readonly 'run.asked': {
      readonly run: string;
      /** Id of the question. */
      readonly question: string;
      readonly server: string;
      readonly tool: string;
      /** The arguments of each call, as they would be sent. */
      readonly calls: readonly string[];
      /** Which rule asked. */
      readonly rule: string;
      /** The decision; else why there was none. */
      readonly answer:
        | 'once'
        | 'run'
        | 'session'
        | 'always'
        | 'no'
        | 'expired'
        | 'cancelled'
        | 'closed'
        | 'nobody';
      readonly word: string | undefined;
      /** Way by which the answer came, and the person who gave it, as far as known. */
      readonly by: string | undefined;
      readonly who: string | undefined;
      readonly durationMs: number;
    };
    /** A question to a person cannot be put where it is looked for. */
    readonly 'inbox.trouble': { readonly message: string };
    /** An answer file that changes nothing; `message` is the end of a sentence about it. */
    readonly 'inbox.refused': { readonly question: string; readonly message: string };
  }
}

export const policyEventWords = {
  'run.asked': ({ run, server, tool, calls, answer, by, who, durationMs }) => {
    const byWhom = by === undefined ? '' : `, by ${oneLine(by)} (${oneLine(who ?? '')})`;
    const what = `${countOf(calls.length, 'call')} of ${shownTool(server, tool)}`;
    return [
      'info',
      `run ${run} asked for ${what}: ${answer}${byWhom} after ${milliseconds(durationMs)}`,
      { run, server, tool, status: answer, durationMs: Math.round(durationMs) },
    ];
  },
  'inbox.trouble': ({ message }) => ['warn', `approvals: ${oneLine(message)}`],
  'inbox.refused': ({ question, message }) => [
    'warn',
    `the answer file of question ${question} ${oneLine(message)}`,
  ],
} satisfies Partial<EventWords>;
