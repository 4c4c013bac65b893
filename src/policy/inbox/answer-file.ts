// An answer of the command line as a file beside its question. Whoever makes it first has answered.

import { z } from 'zod';
import type { Decision } from '../approvals/question.js';
import { DECISIONS, json } from './question-file.js';

const FORMAT = 1;
/** An answer has a word and a name. */
export const MAX_ANSWER_BYTES = 16_384;
/** Longest word that goes with an answer. It is read by code and written into the policy file. */
export const MAX_WORD_CHARS = 500;
export const MAX_WHO_CHARS = 200;

const answer = z.strictObject({
  format: z.literal(FORMAT),
  /** The question's id. */
  id: z.string(),
  /** Digest of the question's file, as the file was shown. */
  digest: z.string(),
  decision: z.enum(DECISIONS),
  word: z.string().max(MAX_WORD_CHARS).optional(),
  who: z.string().max(MAX_WHO_CHARS),
  /** Drawn by lot, so that its writer can tell it from another one. */
  mark: z.string().max(64),
});

export type FiledAnswer = {
  readonly id: string;
  readonly digest: string;
  readonly decision: Decision;
  readonly word: string | undefined;
  readonly who: string;
  readonly mark: string;
};

export const answerText = (given: FiledAnswer): string => `${JSON.stringify({ format: FORMAT, ...given })}\n`;

/** Undefined for a text that is no answer. */
export function filedAnswer(text: string): FiledAnswer | undefined {
  const read = answer.safeParse(json(text));
  return read.success ? { ...read.data, word: read.data.word } : undefined;
}
