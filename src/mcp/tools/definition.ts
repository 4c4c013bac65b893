// Facts that hosts are told of every tool alike: how far the tool reaches, how long its answers are, how much code it takes.

/** More would not fit any model's turn; 1 MB of code is data in the wrong place. */
export const MAX_CODE_CHARS = 1_000_000;

/** Code may do anything that the servers of its run allow. */
export const ANNOTATIONS = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
} as const;

/**
 * Output, errors and value of 40,000 characters each, the longest traceback of 34,000 with its message, files of 8,000
 * shown inline, and the addresses of what is kept. Of a result above 50,000 characters or 25,000 tokens Claude Code shows
 * the model the first 2,000, the rest lies in a file, unless the definition allows more; it takes at most 500,000.
 */
const MAX_RESULT_CHARS = 170_000;

/** For Claude Code, which otherwise shows the model a tool's name alone, and of long results the beginning. */
export const metaFor = (searchHint: string) => ({
  'anthropic/alwaysLoad': true,
  'anthropic/searchHint': searchHint,
  'anthropic/maxResultSizeChars': MAX_RESULT_CHARS,
});
