// How much of what code has printed or returned an answer shows. What is longer is kept for reading later.

/** Claude Code moves answers above 50,000 characters to a file; this leaves room for the rest of the answer. */
export const MAX_OUTPUT_CHARS = 40_000;
export const MAX_REPR_CHARS = 40_000;
/** Where the harness itself cuts a value between its items (`mcp/_brief.py`); what is longer is not seen whole. */
export const SHOWN_RESULT_CHARS = 20_000;
