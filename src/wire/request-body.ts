// The body of an HTTP request as a message of JSON-RPC, for the servers over HTTP: what would be too expensive to parse is
// refused before it is parsed, and a refusal carries the id of the request that it answers.

import { parseJson, sliceAt } from '../base/json/json-text.js';
import { MAX_DEPTH, MAX_VALUES } from './frames.js';

/** Limits of a frame: 63 MB of `{},` are 14 s and 1.9 GB to JSON.parse. */
const LIMITS = { maxDepth: MAX_DEPTH, maxValues: MAX_VALUES };
/** An id that is longer is not repeated. */
const MAX_ID_CHARS = 200;

/** JSON-RPC 2.0, section 5.1. */
export const PARSE_ERROR = -32_700;

/** Null where the id of a request is not known. */
export type RequestId = string | number | null;

/** An error of JSON-RPC as an answer over HTTP. */
export type HttpErrorAnswer = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
};

/** A body that is not taken, and what is answered to it. */
export class BodyRefused extends Error {
  constructor(readonly answer: HttpErrorAnswer) {
    super('The body is refused.');
  }
}

/** `status` is HTTP's, `code` that of JSON-RPC, and `id` that of the request. */
export const errorAnswer = (
  status: number,
  code: number,
  message: string,
  { id = null, headers }: { id?: RequestId; headers?: HttpErrorAnswer['headers'] } = {},
): HttpErrorAnswer => ({
  status,
  ...(headers === undefined ? {} : { headers }),
  body: { jsonrpc: '2.0', error: { code, message }, id },
});

/** The body as a value. Throws BodyRefused where it is no JSON, or too much of it. */
export function parseBody(text: string): unknown {
  try {
    return parseJson(text, LIMITS);
  } catch (thrown) {
    const message = `The body cannot be taken: ${(thrown as Error).message}.`;
    throw new BodyRefused(errorAnswer(400, PARSE_ERROR, message, { id: idIn(text) }));
  }
}

/** The id of the request that `text` is meant to be, whatever else is wrong with it. */
export function idIn(text: string): RequestId {
  const written = sliceAt(text, ['id']);
  if (written === undefined || written.length > MAX_ID_CHARS) return null;
  try {
    const id: unknown = JSON.parse(written);
    return typeof id === 'string' || typeof id === 'number' ? id : null;
  } catch {
    return null;
  }
}
