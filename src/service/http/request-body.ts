// The body of a request as JSON, bounded in bytes, in time, and in what it costs to parse. What a principal has under way
// is bounded too, so that one cannot take the memory of all: a body counts until its request is answered, and for as long as a
// call that goes on then has it. A large body whose call would be refused is not read.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import type { BridgeError } from '../../base/errors.js';
import { inMegabytes, KB_BYTES } from '../../base/text/sizes.js';
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
 * goes on, answer it, or end it; how many such bodies there are is bounded.
 */
const SMALL_BYTES = 64 * KB_BYTES;
/** Bytes of all bodies together that are thrown away in a millisecond: they cost everybody's time as well. */
const THROWN_BYTES_PER_MS = 8 * KB_BYTES;
/** A pause costs time as well, so that there is none after less than this. */
const THROWN_AT_ONCE_BYTES = 128 * KB_BYTES;
const RETRY_SECONDS = '1';

/** Whose body it is. */
type Sender = {
  readonly owner: string;
  /** Why a call of this sender would be refused that comes behind `coming` others; undefined where it may be taken. */
  readonly refusalAhead: (coming: number) => BridgeError | undefined;
};

export class RequestBodies {
  readonly #maxBytes: number;
  readonly #idleMs: number;
  readonly #onRead: (owner: string, bytes: number) => void;
  readonly #heldBytes = new Map<string, number>();
  #heldInAll = 0;
  /** Bodies that are thrown away now. */
  #thrown = 0;
  /** Large bodies of each owner that come in, or wait to be parsed. */
  readonly #coming = new Map<string, number>();

  /**
   * `maxBytes` is the most of one body; `idleMs` may pass between two pieces of it. `onRead` is told what was read of each
   * body, also of one that is then refused.
   */
  constructor(maxBytes: number, idleMs: number, onRead: (owner: string, bytes: number) => void = () => {}) {
    this.#maxBytes = maxBytes;
    this.#idleMs = idleMs;
    this.#onRead = onRead;
  }

  /** The whole body; it counts as held by its owner until `answered`. Throws BodyRefused. */
  async read(
    { request, response }: { request: IncomingMessage; response: ServerResponse },
    sender: Sender,
    answered: Promise<unknown>,
  ): Promise<{
    /** Looking at it takes longer than all else that a request costs. */
    readonly isLarge: boolean;
    /** As it came; to be called before `json`. */
    readonly text: () => string;
    /** The value that the body says; throws BodyRefused. To be called once. */
    readonly json: () => unknown;
    /** The id of the request that it is meant to be; found without looking at the rest, before `json`. */
    readonly id: () => RequestId;
    /** Has the body count until the returned function is called, also when its request was answered before. */
    readonly keep: () => () => void;
  }> {
    const { owner } = sender;
    // A body in chunks says nothing ahead.
    const { 'content-length': length } = request.headers;
    const declared = Number(length ?? 0);
    let leave: (() => void) | undefined;
    const check = (bytes: number, notHeld = 0) => {
      if (bytes > this.#maxBytes) throw this.#tooLarge();
      if (bytes <= SMALL_BYTES) return;
      this.#refuseTooMuch(owner, notHeld);
      leave ??= this.#comeIn(sender, length === undefined ? undefined : declared);
    };
    // A client that asks first has sent nothing of it, and need not send it after a refusal.
    const asksFirst = request.headers.expect !== undefined;
    if (asksFirst) response.setHeader('connection', 'close');
    check(declared, declared);
    if (asksFirst) {
      response.removeHeader('connection');
      response.writeContinue();
    }
    const text = new BodyText();
    let bytes = 0;
    const charge = this.#chargeTo(owner);
    void answered.then(charge.keep());
    void answered.then(() => leave?.());
    await eachPiece(request, this.#idleMs, (piece) => {
      bytes += piece.length;
      charge.add(piece.length);
      check(bytes);
      text.add(piece);
    }).finally(() => this.#onRead(owner, bytes));
    return {
      isLarge: bytes > SMALL_BYTES,
      json: () => {
        leave?.();
        return parseOrRefuse(text.take());
      },
      text: () => text.whole,
      id: () => idIn(text.whole),
      keep: charge.keep,
    };
  }

  /**
   * Reads what still comes of a body that nobody wants, for nothing and at a pace. Its sender may read no answer before it has
   * sent all, and would find a reset in place of the answer if the connection were closed. Of a body without an end only so
   * much is read as the largest body has.
   */
  throwAway(request: IncomingMessage, owner: string | undefined): void {
    if (request.destroyed) return;
    let [bytes, pausedAt] = [0, 0];
    this.#thrown++;
    request.on('data', ({ length }: Buffer) => {
      bytes += length;
      if (bytes > this.#maxBytes) request.destroy();
      if (bytes - pausedAt < THROWN_AT_ONCE_BYTES) return;
      pausedAt = bytes;
      request.pause();
      setTimeout(() => request.resume(), (THROWN_AT_ONCE_BYTES * this.#thrown) / THROWN_BYTES_PER_MS);
    });
    request.once('close', () => {
      this.#thrown--;
      if (owner !== undefined) this.#onRead(owner, bytes);
    });
  }

  /**
   * Counts a large body from now on until the returned function is called. Throws BodyRefused where its call would be refused:
   * to read and to parse it would cost the time of everybody.
   */
  #comeIn({ owner, refusalAhead }: Sender, bytes: number | undefined): () => void {
    const coming = this.#coming.get(owner) ?? 0;
    const refusal = refusalAhead(coming);
    if (refusal !== undefined) throw notRead(refusal, bytes);
    this.#coming.set(owner, coming + 1);
    let isComing = true;
    return () => {
      if (!isComing) return;
      isComing = false;
      const left = (this.#coming.get(owner) ?? 1) - 1;
      if (left === 0) this.#coming.delete(owner);
      else this.#coming.set(owner, left);
    };
  }

  /** Counts the bytes of one body. Apart from the body's pieces, which would be kept with the count. */
  #chargeTo(owner: string): { readonly add: (bytes: number) => void; readonly keep: () => () => void } {
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

  /** `more` are bytes of a body that is to come. */
  #refuseTooMuch(owner: string, more: number): void {
    const own = HELD_TIMES * this.#maxBytes;
    const ofOwner = (this.#heldBytes.get(owner) ?? 0) + more;
    const isOwn = ofOwner > own;
    if (!isOwn && this.#heldInAll + more <= HELD_TIMES_IN_ALL * this.#maxBytes) return;
    const headers = { 'retry-after': RETRY_SECONDS };
    const answer = isOwn
      ? rpcError(
          429,
          `With this request, your requests and calls under way would hold ${inMegabytes(ofOwner)} or more; at most ${inMegabytes(own)} are allowed. Send this one later, or end a running call.`,
          { headers },
        )
      : rpcError(503, 'The requests and calls of all clients are too large together. Send this one later.', {
          headers,
        });
    throw new BodyRefused(answer);
  }

  #tooLarge(): BodyRefused {
    const message = `A request may have at most ${this.#maxBytes} bytes. Send less, or ask the operator to raise MCP_BRIDGE_HTTP_BODY_MB.`;
    return new BodyRefused(rpcError(413, message));
  }
}

/** Rejects with what `take` throws, with BodyRefused after `idleMs` without a piece, and when the sender has gone. */
function eachPiece(request: IncomingMessage, idleMs: number, take: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const tooSlow = rpcError(
      408,
      'The rest of the body did not arrive in time. Send the request again.',
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

/** `bytes` is undefined of a body that comes in chunks. */
function notRead({ advice, retryAfterSeconds = 1 }: BridgeError, bytes: number | undefined): BodyRefused {
  const small = `${SMALL_BYTES / KB_BYTES} KB`;
  const size = bytes === undefined ? `more than ${small}` : inMegabytes(bytes);
  const message = `Your request of ${size} was not read. ${advice} Requests of at most ${small} are still read.`;
  return new BodyRefused(rpcError(429, message, { headers: { 'retry-after': String(retryAfterSeconds) } }));
}

/** Text of a body, decoded as its pieces come: everybody would wait for all of it at once. */
class BodyText {
  readonly #decoder = new StringDecoder('utf8');
  #text = '';
  #pieces: Buffer[] = [];
  #bytes = 0;

  /** Collects small pieces first, since each takes memory of its own. */
  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes >= SMALL_BYTES) this.#decode();
  }

  get whole(): string {
    this.#decode();
    return this.#text;
  }

  /** The whole text, which nothing here keeps from now on. */
  take(): string {
    const text = this.whole + this.#decoder.end();
    this.#text = '';
    return text;
  }

  #decode(): void {
    for (const piece of this.#pieces.length > 1 ? [Buffer.concat(this.#pieces)] : this.#pieces)
      this.#text += this.#decoder.write(piece);
    this.#pieces = [];
    this.#bytes = 0;
  }
}

function parseOrRefuse(text: string): unknown {
  if (text.trim() !== '') return parseBody(text);
  throw new BodyRefused(errorAnswer(400, PARSE_ERROR, 'The body is empty; expected a JSON-RPC message.'));
}
