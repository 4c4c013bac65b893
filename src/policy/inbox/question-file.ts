// A question as a file, which the bridge that asks writes and the command line reads, and the answer as a file beside it. An
// answer is bound to the digest of the whole question, so that what was shown is what is answered.

import { createHash } from 'node:crypto';
import { userInfo } from 'node:os';
import { z } from 'zod';
import { jsonIn } from '../../base/json/records.js';
import { isOwner, type Owner, thisOwner } from '../../base/process/owner.js';
import { MAX_FRAME_BYTES } from '../../wire/frames.js';
import { DECISIONS, MAX_WORD_CHARS, type Question } from '../approvals/question.js';

/** Version of the format of both files. */
const FORMAT = 1;
/** The arguments of one call fit a frame; those of gathered calls that are longer together are left to the page. */
export const MAX_QUESTION_BYTES = MAX_FRAME_BYTES;

export const QUESTION_ID = /^q-[a-z0-9]{16}$/;

const owner = z.custom<Owner>(isOwner);
const question = z.object({
  id: z.string().regex(QUESTION_ID),
  object: z.object({
    kind: z.literal('tool'),
    server: z.string(),
    tool: z.string(),
    calls: z.array(z.object({ arguments: z.string() })),
  }),
  rule: z.string(),
  run: z.string(),
  client: z.string(),
  principal: z.string().optional(),
  session: z.string().optional(),
  offers: z.array(z.enum(DECISIONS)),
  askedAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
});
const closure = z.object({
  why: z.string(),
  /** ISO 8601. */
  at: z.iso.datetime(),
  /** The mark of the answer file that decided it. */
  answer: z.string().optional(),
});
const file = z.union([
  z.object({ format: z.literal(FORMAT), owner, question }),
  z.object({ format: z.literal(FORMAT), owner, id: z.string().regex(QUESTION_ID), closed: closure }),
]);

/** A question as it stands in a folder. */
export type FiledQuestion =
  | { readonly is: 'open'; readonly owner: Owner; readonly question: Question; readonly digest: string }
  | {
      readonly is: 'closed';
      readonly owner: Owner;
      readonly id: string;
      readonly closed: z.infer<typeof closure>;
    };

/** Who asks, as all its files say it: found out once. */
let self: Owner | undefined;
const ownOwner = (): Owner => {
  self ??= thisOwner();
  return self;
};

/** The text of the file of an open question. */
export const questionText = (asked: Question): string =>
  `${JSON.stringify({ format: FORMAT, owner: ownOwner(), question: asked }, undefined, 1)}\n`;

/** The text that takes its place once it is answered or withdrawn: nothing of the calls is left in it. */
export const closedText = (id: string, closed: z.infer<typeof closure>): string =>
  `${JSON.stringify({ format: FORMAT, owner: ownOwner(), id, closed }, undefined, 1)}\n`;

/** 64 hex digits; another one for every other text. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Undefined for a text that no bridge of this version writes. */
export function filedQuestion(text: string): FiledQuestion | undefined {
  const read = file.safeParse(jsonIn(text));
  if (!read.success) return undefined;
  const { data } = read;
  if ('closed' in data) return { is: 'closed', owner: data.owner, id: data.id, closed: data.closed };
  const { principal, session, ...rest } = data.question;
  return {
    is: 'open',
    owner: data.owner,
    question: { ...rest, principal, session },
    digest: digestOf(text),
  };
}

// An answer of the command line, or of the page, as a file beside its question. Whoever makes it first has answered.

/** An answer has a word and a name. */
export const MAX_ANSWER_BYTES = 16_384;
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
  /** Where it was given. */
  by: z.enum(['page', 'command line']),
  /** Drawn by lot, so that its writer can tell it from another one. */
  mark: z.string().max(64),
});

export type FiledAnswer = Omit<z.infer<typeof answer>, 'format'>;

export const answerText = (given: FiledAnswer): string => `${JSON.stringify({ format: FORMAT, ...given })}\n`;

/** Undefined for a text that is no answer. */
export const filedAnswer = (text: string): FiledAnswer | undefined => answer.safeParse(jsonIn(text)).data;

// The name of the user whose process this is, for whoever asks later who has answered.

/** A user without an entry, as in some containers, is named by its number. */
export function thisUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
