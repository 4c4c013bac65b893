// The form that a person has sent, bounded in bytes.

import type { IncomingMessage } from 'node:http';
import type { Decision } from '../approvals/question.js';
import { DECISIONS } from '../inbox/question-file.js';

/** A decision, a token and a word of some hundred characters, each of which may be nine in a form. */
const MAX_FORM_BYTES = 16_384;

export type Form = { readonly token: string; readonly decision: Decision; readonly word: string };

/** `too large`, or `not a form` where a field is missing, stands twice or says something else. Rejects when the sender goes. */
export async function formOf(request: IncomingMessage): Promise<Form | 'too large' | 'not a form'> {
  if (Number(request.headers['content-length']) > MAX_FORM_BYTES) return 'too large';
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_FORM_BYTES) return 'too large';
    chunks.push(chunk);
  }
  const fields = new URLSearchParams(Buffer.concat(chunks).toString());
  const [token, said, word] = ['token', 'decision', 'word'].map((name) => only(fields.getAll(name)));
  const decision = DECISIONS.find((one) => one === said);
  if (token === undefined || decision === undefined) return 'not a form';
  return { token, decision, word: word ?? '' };
}

const only = (values: readonly string[]): string | undefined => (values.length === 1 ? values[0] : undefined);
