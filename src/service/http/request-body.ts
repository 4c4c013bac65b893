// The body of a request as JSON, bounded in bytes, in time, and in what it costs to parse. What a principal has under way
// is bounded too, so that one cannot take the memory of all: a body counts until its request is answered, and for as long as a
// call that goes on then has it.

import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  BodyRefused,
  errorAnswer,
  idIn,
  PARSE_ERROR,
  parseBody,
  type RequestId,
} from '../../wire/request-body.js';
import { rpcError } from './parts.js';

/** Bodies that one principal may have under way, as a multiple of the largest one. */
const HELD_TIMES = 4;
/** Bodies that all principals together may have under way, as such a multiple. */
const HELD_TIMES_IN_ALL = 16;
/**
 * A body of at most so many bytes is taken and looked at however much is under way, since with less nobody can ask for what
 * goes on, or end it; how many such bodies there are is bounded.
 */
const SMALL_BYTES = 16_384;
const RETRY_SECONDS = '1';

type RequestBody = {
  /** Looking at it takes longer than all else that a request costs. */
  readonly isLarge: boolean;
  /** The value that the body says; throws BodyRefused. */
  readonly json: () => unknown;
  /** The id of the request that it is meant to be; found without looking at the rest. */
  readonly id: () => RequestId;
  /** Has the body count until the returned function is called, also when its request was answered before. */
  readonly keep: () => () => void;
};

export class RequestBodies {
  readonly #maxBytes: number;
  readonly #idleMs: number;
  readonly #onRead: (owner: string, bytes: number) => void;
  readonly #heldBytes = new Map<string, number>();
  #heldInAll = 0;

  /**
   * `maxBytes` is the most of one body; `idleMs` may pass between two pieces of it. `onRead` is told what was read of each
   * body, also of one that is then refused.
   */
  constructor(maxBytes: number, idleMs: number, onRead: (owner: string, bytes: number) => void = () => {}) {
    this.#maxBytes = maxBytes;
    this.#idleMs = idleMs;
    this.#onRead = onRead;
  }

  /** The whole body; it counts as held by `owner` until `answered`. Throws BodyRefused. */
  async read(
    { request, response }: { request: IncomingMessage; response: ServerResponse },
    owner: string,
    answered: Promise<unknown>,
  ): Promise<RequestBody> {
    if (Number(request.headers['content-length']) > this.#maxBytes) throw this.#tooLarge();
    if (request.headers.expect !== undefined) response.writeContinue();
    const chunks: Buffer[] = [];
    let bytes = 0;
    const charge = this.#chargeTo(owner);
    void answered.then(charge.keep());
    await eachPiece(request, this.#idleMs, (chunk) => {
      bytes += chunk.length;
      charge.add(chunk.length);
      if (bytes > this.#maxBytes) throw this.#tooLarge();
      if (bytes > SMALL_BYTES) this.#refuseTooMuch(owner);
      chunks.push(chunk);
    }).finally(() => this.#onRead(owner, bytes));
    const text = Buffer.concat(chunks).toString();
    return {
      isLarge: bytes > SMALL_BYTES,
      json: () => parseOrRefuse(text),
      id: () => idIn(text),
      keep: charge.keep,
    };
  }

  /** Counts the bytes of one body. Apart from the body's pieces, which would be kept with the count. */
  #chargeTo(owner: string): { readonly add: (bytes: number) => void; readonly keep: RequestBody['keep'] } {
    let [bytes, keepers] = [0, 0];
    return {
      add: (more) => {
        // Pieces of a body that nobody keeps any more are thrown away.
        if (keepers === 0) return;
        bytes += more;
        this.#hold(owner, more);
      },
      keep: () => {
        keepers++;
        let isKept = true;
        return () => {
          if (isKept && --keepers === 0) this.#hold(owner, -bytes);
          isKept = false;
        };
      },
    };
  }

  #hold(owner: string, bytes: number): void {
    const held = (this.#heldBytes.get(owner) ?? 0) + bytes;
    this.#heldInAll += bytes;
    if (held === 0) this.#heldBytes.delete(owner);
    else this.#heldBytes.set(owner, held);
  }

  #refuseTooMuch(owner: string): void {
    const own = HELD_TIMES * this.#maxBytes;
    const isOwn = (this.#heldBytes.get(owner) ?? 0) > own;
    if (!isOwn && this.#heldInAll <= HELD_TIMES_IN_ALL * this.#maxBytes) return;
    const headers = { ...CLOSE.headers, 'retry-after': RETRY_SECONDS };
    const answer = isOwn
      ? rpcError(
          429,
          `Your requests and calls under way have more than ${own} bytes together. Send this one later, or end a call that goes on.`,
          {
            headers,
          },
        )
      : rpcError(503, 'The requests and calls of all clients are too large together. Send this one later.', {
          headers,
        });
    throw new BodyRefused(answer);
  }

  #tooLarge(): BodyRefused {
    const message = `A request has at most ${this.#maxBytes} bytes. Send less, or have the operator raise MCP_BRIDGE_HTTP_BODY_MB.`;
    return new BodyRefused(rpcError(413, message, CLOSE));
  }
}

/** Rejects with what `take` throws, with BodyRefused after `idleMs` without a piece, and when the sender has gone. */
function eachPiece(request: IncomingMessage, idleMs: number, take: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const tooSlow = rpcError(
      408,
      'The rest of the body has not come in time. Send the request again.',
      CLOSE,
    );
    const timer = setTimeout(() => done(() => reject(new BodyRefused(tooSlow))), idleMs);
    const done = (settle: () => void) => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      settle();
    };
    const onData = (chunk: Buffer) => {
      timer.refresh();
      try {
        take(chunk);
      } catch (thrown) {
        request.pause();
        done(() => reject(thrown as Error));
      }
    };
    const onEnd = () => done(resolve);
    const onClose = () => done(() => reject(new Error('The sender of a request has gone.')));
    request.on('data', onData).on('end', onEnd).on('close', onClose);
    // A body that ends too early is an error of the stream; its close says enough.
    request.on('error', () => {});
  });
}

/** The rest of such a body is not read. */
const CLOSE = { headers: { connection: 'close' } } as const;

function parseOrRefuse(text: string): unknown {
  if (text.trim() !== '') return parseBody(text);
  throw new BodyRefused(errorAnswer(400, PARSE_ERROR, 'The body is empty; a JSON-RPC message is wanted.'));
}
