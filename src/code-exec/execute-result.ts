// Result of a command, as the text that a model reads and as data for code. The text is made harmless; the data is what the
// command wrote, as far as the output is kept.

import type { OutputStream } from '../base/process/streams.js';
import { type Piece, toldApart } from '../base/text/own-lines.js';
import { clipHarmless, makeHarmless, shownExactly } from '../base/text/text.js';
import type { Capped, Whole } from './capped-output.js';
import type { CommandEnd } from './run-command.js';

export type ExecuteResult = {
  readonly content: readonly [{ readonly type: 'text'; readonly text: string }];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
};

const MAX_SHOWN_CHARS = 160;
/**
 * Longest answer as JSON, which holds the output twice. Clients end servers that send over 8 MiB, and the bridge sends
 * at most 7.
 */
export const MAX_ANSWER_CHARS = 6 * 1024 ** 2;
/** So many bytes of output fit into an answer whatever they are: one is 11 characters at most, in both its forms. */
export const SURE_OUTPUT_BYTES = Math.floor(MAX_ANSWER_CHARS / 12);
/** A character that is 3 bytes is one of JSON's: more than this never fits. */
const MOST_OUTPUT_BYTES = (3 * MAX_ANSWER_CHARS) / 2;
/** Advice to the caller, by the kernel's error code. */
const NOT_STARTED: Readonly<Record<string, string>> = {
  EAGAIN: 'no more processes may be started here; wait until other commands have ended',
  ENOMEM: 'there is no memory for it; wait until other commands have ended',
  E2BIG: 'its arguments and variables are too long for the kernel; use stdin or a file',
  EMFILE: 'the server has too many files open; run fewer commands at once',
};

/** Shortens a stranger's text to what an error needs, and makes it harmless to show. */
export const clipText = (text: string): string => clipHarmless(text, MAX_SHOWN_CHARS);

/** The result of a call whose command was not even tried. */
export const refusalResult = (message: string, remedy = ''): ExecuteResult => ({
  content: [{ type: 'text', text: `${message} ${remedy}`.trimEnd() }],
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

/**
 * A command that failed is an answer like any other; one that was killed by us, or did not start, is an error. Output that
 * no answer has room for is left out like output above the cap: the command has run, so its answer must arrive.
 */
export function resultOf(end: CommandEnd, timeoutMs: number, whole: Whole = {}): ExecuteResult {
  let maxBytes = Math.min(end.output.heldBytes, MOST_OUTPUT_BYTES);
  for (;;) {
    const result = withOutput(end, end.output.result(maxBytes, whole), timeoutMs, whole);
    const chars = answerChars(result);
    if (chars <= MAX_ANSWER_CHARS || maxBytes === 0) return result;
    maxBytes = Math.floor(maxBytes * Math.min(0.9, MAX_ANSWER_CHARS / chars));
  }
}

/**
 * Length of an answer as JSON, in characters. The bridge may send invisible characters as escapes, so the longer of
 * both forms counts.
 */
export function answerChars(result: Readonly<Record<string, unknown>>): number {
  const visible = (_name: string, value: unknown) =>
    typeof value === 'string' ? shownExactly(value) : value;
  return Math.max(JSON.stringify(result).length, JSON.stringify(result, visible).length);
}

function withOutput(
  end: CommandEnd,
  { stdout, stderr }: Readonly<Record<OutputStream, Capped>>,
  timeoutMs: number,
  whole: Whole,
): ExecuteResult {
  const { exitCode, signal, killedFor, notStarted, durationMs } = end;
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
      ...fieldsOf('stdout', stdout, whole),
      ...fieldsOf('stderr', stderr, whole),
      durationMs: Math.round(durationMs),
    },
    isError: notStarted !== undefined || killedFor !== undefined,
  };
}

function piecesOf(stream: OutputStream, { text, bytes, gap, base64 }: Capped): readonly Piece[] {
  if (text === '') return [];
  if (gap !== undefined) {
    // One by one: what the head leaves open must not swallow the line between.
    const [head, tail] = [text.slice(0, gap.start - 1), text.slice(gap.end + 1)].map(makeHarmless);
    return [{ code: head ?? '' }, { own: text.slice(gap.start, gap.end) }, { code: tail?.trimEnd() ?? '' }];
  }
  const output = { code: makeHarmless(text).trimEnd() };
  const exactly = `[${bytes} bytes, not all of them UTF-8: exactly in ${stream}Base64 of the structured result]`;
  return base64 === undefined ? [output] : [{ own: exactly }, output];
}

function fieldsOf(
  stream: OutputStream,
  { text, bytes, dropped, base64 }: Capped,
  { [stream]: uri }: Whole,
): Readonly<Record<string, unknown>> {
  const whole = uri === undefined ? {} : { [`${stream}Uri`]: uri };
  return {
    [stream]: text.toWellFormed(),
    ...(base64 === undefined ? {} : { [`${stream}Base64`]: base64 }),
    ...(dropped === 0 ? {} : { [`${stream}Truncated`]: true, [`${stream}Bytes`]: bytes, ...whole }),
  };
}
