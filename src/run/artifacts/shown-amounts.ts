// How much of what code has printed or returned an answer shows. What is longer is kept for reading later.

/** Claude Code moves answers above 50,000 characters to a file; this leaves room for the rest of the answer. */
export const MAX_OUTPUT_CHARS = 40_000;
export const MAX_REPR_CHARS = 40_000;
/** Where the harness itself cuts a value between its items (`mcp/_brief.py`); what is longer is not seen whole. */
export const SHOWN_RESULT_CHARS = 20_000;

/** The least that is shown of each part of an answer where a host cuts answers: what is longer may be cut, and is kept. */
const SURE_SHARE = 16;
/** Small texts that stand in an answer, all of them together. */
const MAX_INLINE_SUM_CHARS = 8_000;

/** `roomBytes`: what the host shows its model of an answer; undefined where it shows all. */
export function answerRoom(roomBytes: number | undefined): {
  readonly resultChars: number;
  readonly streamBytes: number;
  readonly inlineChars: number;
} {
  if (roomBytes === undefined)
    return {
      resultChars: SHOWN_RESULT_CHARS,
      streamBytes: Number.POSITIVE_INFINITY,
      inlineChars: MAX_INLINE_SUM_CHARS,
    };
  const sure = sureChars(roomBytes);
  return {
    resultChars: Math.min(SHOWN_RESULT_CHARS, sure),
    streamBytes: sure,
    inlineChars: Math.min(MAX_INLINE_SUM_CHARS, Math.floor(roomBytes / 4)),
  };
}

/** In characters; three bytes each still fit. */
export const sureChars = (roomBytes: number): number => Math.floor(roomBytes / SURE_SHARE);
