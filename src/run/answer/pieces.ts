// The pieces of an answer that all its text forms have: a stream of output, and how the run failed. Says of each line
// whether it is the bridge's or the code's.

import type { Piece } from '../../base/text/own-lines.js';
import { shownName, shownTool } from '../../base/text/shown-name.js';
import { readableJson } from '../../policy/approvals/question.js';
import type { Captured, Outcome, OutcomeError, SessionTold } from '../outcome/outcome.js';
import type { Picture, Pictures } from '../outcome/pictures.js';

/** A stream with the line that says what is missing from its middle as ours; none for an empty one. */
export function streamPieces({ text, gap }: Captured, isTrimmed: boolean): readonly Piece[] {
  if (text === '') return [];
  const shown = isTrimmed ? text.replace(NEWLINES_AT_END, '') : text.replace(/\n$/, '');
  if (gap === undefined) return shown === '' && isTrimmed ? [] : [{ code: shown }];
  const { start, end } = gap;
  const tail = shown.slice(end + 1);
  return [
    ...(start === 0 ? [] : [{ code: text.slice(0, start - 1) }]),
    { own: text.slice(start, end) },
    ...(tail === '' ? [] : [{ code: tail }]),
  ];
}

/** Which session it was, and what of it is not as the reader may think: the first line of all. */
export function sessionPieces({ session }: Outcome): readonly Piece[] {
  return session === undefined ? [] : [{ own: `[session ${sessionLine(session)}]` }];
}

/** `data (s-7hq2m5xw3v8kd4np): call 3`. */
export const sessionLine = ({ name, handle, call, says }: SessionTold): string =>
  `${shownName(name)} (${handle}): ${[...(call > 1 ? [`call ${call}`] : []), ...says].join('; ')}`;

/** Pieces that say that a call goes on, and how to have the rest of it; first, since some hosts cut the end. */
export function runningPieces({ goesOn, durationMs, stdout, stderr }: Outcome): readonly Piece[] {
  if (goesOn === undefined) return [];
  const { handle, tool, says } = goesOn;
  const now = says === '' ? `It has run for ${Math.round(durationMs / 1000)} s.` : says;
  const printed = stdout.text + stderr.text === '' ? 'No new output.' : 'New output:';
  return [
    {
      own: `[running ${handle}] ${now} The rest: ${tool}(wait="${handle}"). To end it: ${tool}(stop="${handle}"). ${printed}`,
    },
  ];
}

/** Pieces that tell what a plan would do; each call is the code's own. */
export function planPieces({ planned }: Outcome): readonly Piece[] {
  if (planned === undefined) return [];
  const { calls, notListed, isStopped } = planned;
  if (!isStopped) return [{ own: '[plan] The code made no call that writes: it would change nothing.' }];
  const further = notListed === 0 ? [] : [{ own: `[plan] … and ${notListed} further calls` }];
  return [
    { own: '[plan] The code was stopped at its first call that writes. Nothing was changed. It would call:' },
    ...calls.map(({ server, tool, text }) => ({
      own: `[plan] ${shownTool(server, tool)} `,
      code: readableJson(text),
    })),
    ...further,
  ];
}

const NEWLINES_AT_END = /(?<!\n)\n+$/;

/** Lines of a traceback and between two of them. What stands in between is an exception and its message. */
const TRACEBACK_LINE = /^(?:\s|$|Traceback \(most|During handling of the above|The above exception was)/;
const EXCEPTION_LINE = /^[\p{L}\p{N}_.<>]+(?:: |:?$)/u;

/**
 * Whether what the code says of its failure has a line at the margin that is no part of a traceback: it could be taken
 * for the next step, which we write there.
 */
function hasLooseLine(failure: string): boolean {
  let isBehindException = false;
  for (const line of failure.split('\n')) {
    if (TRACEBACK_LINE.test(line)) {
      if (line.startsWith('T') || line.startsWith('D')) isBehindException = false;
    } else {
      if (isBehindException || !EXCEPTION_LINE.test(line)) return true;
      isBehindException = true;
    }
  }
  return false;
}

/** `main.py:3: time.sleep(60)`, or the command of a program's step. */
const WHERE_LINE = /^(?:\S.{0,200}:\d+: |`)/;

/**
 * Pieces about a failure, with `head` before them. A message of ours has others' words in its first line only, quoted; below it
 * may stand what a server has said, and where the code was.
 */
export function failurePieces(
  head: string,
  status: Outcome['status'],
  error: OutcomeError,
): readonly Piece[] {
  const { message, traceback, remedy, isByCode = false } = error;
  const below = remedy === undefined ? [] : [{ own: remedy }];
  if (isByCode || (traceback.length > 0 && status !== 'timeout')) {
    // A traceback ends with the message already.
    const code = traceback.length === 0 ? message : traceback.join('\n');
    const isDoubtful = hasLooseLine(code);
    return [{ own: `${head} `, code, isDoubtful, marked: [{ own: head }, { code }] }, ...below];
  }
  const [first = '', ...more] = message.split('\n');
  const where = status === 'timeout' ? traceback : [];
  const others = [...more, ...where].join('\n');
  const isDoubtful =
    more.some((line) => /^[^\s>]/.test(line)) || where.some((line) => !WHERE_LINE.test(line));
  return [{ own: `${head} ${first}` }, ...(others === '' ? [] : [{ code: others, isDoubtful }]), ...below];
}

// Pictures as blocks of an MCP result, and as the lines that stand for them in its text: a client that shows none, and
// the person who reads along, see at least that there were some.

/** The shape of the protocol's ImageContent that we make. */
export type ImageBlock = { readonly type: 'image'; readonly data: string; readonly mimeType: string };

export const imageBlocks = ({ shown }: Pictures): ImageBlock[] =>
  shown.map(({ kind, data }) => ({ type: 'image', data, mimeType: `image/${kind}` }));

export const pictureSizes = ({ shown }: Pictures): Pick<Picture, 'kind' | 'width' | 'height' | 'bytes'>[] =>
  shown.map(({ kind, width, height, bytes }) => ({ kind, width, height, bytes }));

/** One line per picture, less those that stand in the output already, where the code has shown them. */
export function pictureLines({ shown, leftOut }: Pictures, output: string): string[] {
  const lines = shown.map(pictureLine).filter((line) => !output.includes(line));
  return [...lines, ...leftOut.map((sentence) => `[${sentence}]`)];
}

/** `mcp/_shown_pictures.py` in the sandbox prints the same. */
const pictureLine = ({ number, kind, width, height, bytes }: Picture): string =>
  `[picture ${number}: ${width}x${height} ${kind}, ${Math.ceil(bytes / 1000)} KB]`;
