// What a command came to, as the text that a model reads and as data for code. The text is made harmless; the data is what
// the command wrote, as far as it is kept.

import { type Piece, toldApart } from '../base/own-lines.js';
import { clip, harmless } from '../base/text.js';
import type { Capped } from './capped-bytes.js';
import type { CommandEnd } from './run-command.js';

export type ExecuteResult = {
  readonly content: readonly [{ readonly type: 'text'; readonly text: string }];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
};

const MAX_SHOWN_CHARS = 160;
/** What a caller can do about the kernel's word. */
const NOT_STARTED: Readonly<Record<string, string>> = {
  EAGAIN: 'no more processes may be started here; wait until other commands have ended',
  ENOMEM: 'there is no memory for it; wait until other commands have ended',
  E2BIG: 'its arguments and variables are too long for the kernel; use stdin or a file',
  EMFILE: 'the server has too many files open; run fewer commands at once',
};

/** Of a stranger's text as much as an error needs. */
export const shown = (text: string): string => clip(harmless(text), MAX_SHOWN_CHARS);

/** For a call whose command was not even tried. */
export const refused = (message: string): ExecuteResult => ({
  content: [{ type: 'text', text: message }],
  isError: true,
});

/** One line on how it ended. */
export function outcomeOf(
  { exitCode, signal, killedFor, notStarted }: CommandEnd,
  timeoutMs: number,
): string {
  if (notStarted !== undefined) {
    const advice = NOT_STARTED[notStarted];
    return `not started: ${notStarted}${advice === undefined ? '' : ` (${advice})`}`;
  }
  if (killedFor === 'timeout') return `killed after its timeout of ${timeoutMs} ms`;
  if (killedFor === 'cancelled') return 'killed, since the call was cancelled';
  return signal === undefined ? `exit status ${exitCode}` : `ended by ${signal}`;
}

/** A command that failed is an answer like any other; one that was killed by us, or did not start, is an error. */
export function resultOf(end: CommandEnd, timeoutMs: number): ExecuteResult {
  const { exitCode, signal, killedFor, notStarted, stdout, stderr, durationMs } = end;
  const isFine = exitCode === 0 && killedFor === undefined;
  const pieces = [
    ...(isFine ? [] : [{ own: `[${outcomeOf(end, timeoutMs)}]` }]),
    ...piecesOf('stdout', stdout),
    ...(stderr.text === '' ? [] : [{ own: '--- stderr ---' }, ...piecesOf('stderr', stderr)]),
  ];
  return {
    content: [{ type: 'text', text: toldApart(pieces) || '(no output)' }],
    structuredContent: {
      exitCode: exitCode ?? null,
      signal: signal ?? null,
      timedOut: killedFor === 'timeout',
      ...(notStarted === undefined ? {} : { notStarted }),
      ...fieldsOf('stdout', stdout),
      ...fieldsOf('stderr', stderr),
      durationMs: Math.round(durationMs),
    },
    isError: notStarted !== undefined || killedFor !== undefined,
  };
}

type Stream = 'stdout' | 'stderr';

function piecesOf(stream: Stream, { text, bytes, gap, base64 }: Capped): readonly Piece[] {
  if (text === '') return [];
  if (gap !== undefined) {
    // One by one: what the head leaves open must not swallow the line between.
    const [head, tail] = [text.slice(0, gap.start - 1), text.slice(gap.end + 1)].map(harmless);
    return [{ code: head ?? '' }, { own: text.slice(gap.start, gap.end) }, { code: tail?.trimEnd() ?? '' }];
  }
  const output = { code: harmless(text).trimEnd() };
  const exactly = `[${bytes} bytes, not all of them UTF-8: exactly in ${stream}Base64 of the structured result]`;
  return base64 === undefined ? [output] : [{ own: exactly }, output];
}

function fieldsOf(
  stream: Stream,
  { text, bytes, dropped, base64 }: Capped,
): Readonly<Record<string, unknown>> {
  return {
    [stream]: text.toWellFormed(),
    ...(base64 === undefined ? {} : { [`${stream}Base64`]: base64 }),
    ...(dropped === 0 ? {} : { [`${stream}Truncated`]: true, [`${stream}Bytes`]: bytes }),
  };
}
