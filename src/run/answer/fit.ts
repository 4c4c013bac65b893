// The text of an answer, brought below what any client takes, and below what its host shows a model; its pictures have their own bound (run/outcome/pictures.ts). Single
// texts are capped where they arise; this bounds their sum, in whatever form they are shown: a control character of one
// byte is seven in JSON, and twice that in JSON in JSON.

import { stringify } from '../../base/json/json-text.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { clip, harmless } from '../../base/text/text.js';
import { sureChars } from '../artifacts/shown-amounts.js';
import { type Captured, capturedWithGap, type Outcome, type OutcomeError } from '../outcome/outcome.js';

/** Stdio clients are known to end servers over answers of 8 MiB; a model could not read a tenth of this either. */
export const MAX_ANSWER_BYTES = MB_BYTES;
/** The first step below what a transcript keeps; each further one is a quarter. With the last one nothing is too long. */
const STEPS_CHARS = [20_000, 5_000, 1_000] as const;

/** Parts of a host's room that a single text may take, one step after the other; the last one is `sureChars`. */
const STEPS_OF_ROOM = [1.25, 1.5, 2, 3, 4, 6, 8, 12] as const;

type Answer = { readonly content: readonly [{ readonly text: string }, ...unknown[]] };

/**
 * What `render` makes of `outcome`, or of as much of it as fits. `roomBytes` is what the host shows of the text, where it
 * cuts: our own cut says what is missing and where all of it is, a host's does not.
 */
export function fitted<T extends Answer>(
  outcome: Outcome,
  render: (outcome: Outcome) => T,
  roomBytes = Number.POSITIVE_INFINITY,
): T {
  const steps = Number.isFinite(roomBytes)
    ? [...STEPS_OF_ROOM.map((part) => Math.floor(roomBytes / part)), sureChars(roomBytes)]
    : STEPS_CHARS;
  const fits = (answer: T) =>
    Buffer.byteLength(answer.content[0].text) <= roomBytes &&
    Buffer.byteLength(stringify(answer)) <= MAX_ANSWER_BYTES;
  let answer = render(outcome);
  for (const maxChars of steps) {
    if (fits(answer)) break;
    answer = render(cut(outcome, maxChars));
  }
  return answer;
}

function cut(outcome: Outcome, maxChars: number): Outcome {
  const { stdout, stderr, result, error } = outcome;
  const json = result?.json;
  return {
    ...outcome,
    stdout: cutStream(stdout, maxChars),
    stderr: cutStream(stderr, maxChars),
    error: error === undefined ? undefined : cutError(error, maxChars),
    result: result && {
      repr: clip(result.repr, maxChars),
      json: json !== undefined && json.text.length > maxChars ? undefined : json,
      isCut: result.repr.length > maxChars || (json !== undefined && json.text.length > maxChars),
    },
  };
}

function cutStream(stream: Captured, maxChars: number): Captured {
  const { text, dropped, droppedBytes = 0, whole, gap } = stream;
  if (text.length <= maxChars) return stream;
  // Where something is missing already, more goes from both sides of that place, and one line tells of all.
  const [before, after] =
    gap === undefined ? [text, text] : [text.slice(0, gap.start - 1), text.slice(gap.end + 1)];
  const half = Math.floor(maxChars / 2);
  const [head, tail] = [before.slice(0, half), after.slice(-half)];
  const all = gap === undefined ? text : before + after;
  return capturedWithGap(harmless(head), harmless(tail), {
    dropped: dropped + all.length - head.length - tail.length,
    droppedBytes: droppedBytes + Buffer.byteLength(all) - Buffer.byteLength(head) - Buffer.byteLength(tail),
    whole,
  });
}

function cutError(error: OutcomeError, maxChars: number): OutcomeError {
  const lines = Math.ceil(maxChars / 100);
  return {
    ...error,
    message: clip(error.message, maxChars),
    traceback: error.traceback.slice(-lines).map((line) => clip(line, maxChars)),
    remedy: error.remedy === undefined ? undefined : clip(error.remedy, maxChars),
  };
}
