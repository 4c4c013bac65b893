// The text of an answer, brought below what any client takes; its pictures have their own bound (run/album.ts). Single texts are capped where they arise; this bounds their sum,
// in whatever form they are shown: a control character of one byte is seven in JSON, and twice that in JSON in JSON.

import { clip, HeadTail } from '../base/text.js';
import { stringify } from '../protocol/json-text.js';
import type { Captured, Outcome, OutcomeError } from '../run/outcome.js';

/** Stdio clients are known to end servers over answers of 8 MiB; a model could not read a tenth of this either. */
export const MAX_ANSWER_BYTES = 1024 * 1024;
/** The first step below what a transcript keeps; each further one is a quarter. With the last one nothing is too long. */
const STEPS_CHARS = [20_000, 5_000, 1_000] as const;

/** What `render` makes of `outcome`, or of as much of it as fits. */
export function fitted<T>(outcome: Outcome, render: (outcome: Outcome) => T): T {
  let answer = render(outcome);
  for (const maxChars of STEPS_CHARS) {
    if (Buffer.byteLength(stringify(answer)) <= MAX_ANSWER_BYTES) break;
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
    },
  };
}

function cutStream(stream: Captured, maxChars: number): Captured {
  const kept = new HeadTail(maxChars);
  kept.add(stream.text);
  if (kept.dropped === 0) return stream;
  const { dropped, droppedBytes = 0, whole } = stream;
  return {
    text: kept.toString().toWellFormed(),
    dropped: dropped + kept.dropped,
    droppedBytes: droppedBytes + kept.droppedBytes,
    whole,
  };
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
