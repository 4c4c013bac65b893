// The body behind an answer's headers: taken whole up to a limit, or not wanted.

import type { IncomingMessage } from 'node:http';
import { KB_BYTES } from '../../base/text/sizes.js';

type ReadBody = { readonly text: string } | { readonly oversized: number };

/** The media type alone, in lower case; empty when the answer names none. */
export const mediaTypeOf = ({ headers }: IncomingMessage): string =>
  (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** The body as text. One above `maxBytes` is given up there. Rejects when the connection breaks. */
export async function readBody(answer: IncomingMessage, maxBytes: number): Promise<ReadBody> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Leaving the loop ends the connection.
    if (bytes > maxBytes) return { oversized: bytes };
    chunks.push(chunk);
  }
  return { text: Buffer.concat(chunks).toString() };
}

/** Reads a short body to its end, so that its connection can be used again, and ends that of a long one. */
export function discard(answer: IncomingMessage): void {
  const length = Number(answer.headers['content-length'] ?? 0);
  if (length > 64 * KB_BYTES || mediaTypeOf(answer) === 'text/event-stream') answer.destroy();
  else answer.resume();
}
