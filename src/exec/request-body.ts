// The bodies of requests, bounded one by one and in sum: what a caller sends is held in memory until it is answered.

import type { IncomingMessage } from 'node:http';

/** Of one request: the 40 MB that the bridge carries, with their escapes. */
const MAX_BYTES = 64 * 1024 ** 2;
/** Of all requests under way. A body costs several times its size while it is parsed. */
const MAX_HELD_BYTES = 4 * MAX_BYTES;

/** `status` is HTTP's. */
export class BodyRefused extends Error {
  constructor(
    readonly status: 400 | 413 | 503,
    message: string,
  ) {
    super(message);
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
    try {
      return JSON.parse(Buffer.concat(chunks).toString()) as unknown;
    } catch (thrown) {
      throw new BodyRefused(400, `The body is no JSON: ${(thrown as Error).message}`);
    }
  }
}
