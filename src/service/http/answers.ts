// Answers that the front gives itself: JSON-RPC errors at /mcp, problem documents (RFC 9457) elsewhere, each with one
// sentence that says what to do.

import { type ServerResponse, STATUS_CODES } from 'node:http';
import { errorAnswer, type HttpErrorAnswer, type RequestId } from '../../wire/request-body.js';
import type { HttpAnswer } from './parts.js';

// JSON-RPC 2.0, section 5.1; -32000 to -32099 are for servers to define.
const INVALID_REQUEST = -32_600;
const REFUSED = -32_000;
const SESSION_NOT_FOUND = -32_001;

/** An error of JSON-RPC under an HTTP status; `id` is that of the request, null where it is not known. */
export const rpcError = (
  status: number,
  message: string,
  { id = null, headers = {} }: { id?: RequestId; headers?: Readonly<Record<string, string>> } = {},
): HttpErrorAnswer => errorAnswer(status, codeFor(status), message, { id, headers });

function codeFor(status: number): number {
  if (status === 404) return SESSION_NOT_FOUND;
  return status === 400 ? INVALID_REQUEST : REFUSED;
}

/** A problem document. */
export const problem = (
  status: number,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): HttpAnswer => ({
  status,
  headers: { 'content-type': 'application/problem+json', ...headers },
  body: { title: STATUS_CODES[status], status, detail },
});

/** Sends `answer`, unless the response has begun or its reader has gone. */
export function sendAnswer(response: ServerResponse, { status, headers = {}, body }: HttpAnswer): void {
  if (response.headersSent || response.destroyed) return;
  const text = body === undefined ? '' : `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    ...(text === '' ? {} : { 'content-type': 'application/json' }),
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  // An answer to a HEAD has the headers alone; Node leaves the text out.
  response.end(text);
}
