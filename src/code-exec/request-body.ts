// The bodies of requests, bounded one by one and in sum: what a caller sends is held in memory until it is answered. What
// would be too expensive to parse is refused before it is parsed.

import type { IncomingMessage } from 'node:http';
import { parseJson, sliceAt } from '../base/json/json-text.js';
import { MB_BYTES } from '../base/text/sizes.js';
import { MAX_DEPTH, MAX_VALUES } from '../wire/frames.js';

/** Largest request. The bridge carries 40 MB, and escapes make that longer. */
const MAX_BYTES = 64 * MB_BYTES;
/** Limit for the bodies of all requests under way. A body costs several times its size while it is parsed. */
const MAX_HELD_BYTES = 4 * MAX_BYTES;

/** As in a frame: 63 MB of `{},` are 14 s and 1.9 GB to JSON.parse. */
const LIMITS = { maxDepth: MAX_DEPTH, maxValues: MAX_VALUES };
/** An id that is longer is not repeated. */
const MAX_ID_CHARS = 200;
// JSON-RPC 2.0, section 5.1: one that cannot be read, and one that another time may be.
const PARSE_ERROR = -32_700;
const BUSY = -32_000;

export type RequestId = string | number | null;

export class BodyRefused extends Error {
  /** `status` is HTTP's; `id` is the refused request's own, null where it cannot be read. */
  constructor(
    readonly status: 400 | 413 | 503,
    message: string,
    readonly id: RequestId = null,
  ) {
    super(message);
  }

  /** What JSON-RPC answers to such a request. */
  get answer(): Readonly<Record<string, unknown>> {
    const code = this.status === 503 ? BUSY : PARSE_ERROR;
    return { jsonrpc: '2.0', id: this.id, error: { code, message: this.message } };
  }
}

const tooLarge = (): BodyRefused => new BodyRefused(413, `A request has at most ${MAX_BYTES} bytes.`);

export class RequestBodies {
  #heldBytes = 0;

  /** The body as JSON. Holds its size against the others until `answered`. Throws BodyRefused. */
  async read(request: IncomingMessage, answered: Promise<void>): Promise<unknown> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    void answered.then(() => {
      this.#heldBytes -= bytes;
    });
    // Said at once, while the caller still listens.
    if (Number(request.headers['content-length']) > MAX_BYTES) throw tooLarge();
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      this.#heldBytes += chunk.length;
      if (bytes > MAX_BYTES) throw tooLarge();
      if (this.#heldBytes > MAX_HELD_BYTES)
        throw new BodyRefused(503, `Requests under way have ${MAX_HELD_BYTES} bytes together: try again.`);
      chunks.push(chunk);
    }
    const text = Buffer.concat(chunks).toString();
    try {
      return parseJson(text, LIMITS);
    } catch (thrown) {
      throw new BodyRefused(400, `The body cannot be taken: ${(thrown as Error).message}.`, idIn(text));
    }
  }
}

/** The id of the request that `text` is meant to be, whatever else is wrong with it. */
function idIn(text: string): RequestId {
  const written = sliceAt(text, ['id']);
  if (written === undefined || written.length > MAX_ID_CHARS) return null;
  try {
    const id: unknown = JSON.parse(written);
    return typeof id === 'string' || typeof id === 'number' ? id : null;
  } catch {
    return null;
  }
}
