// The limits of the HTTP front that nobody sets: how long it waits, and how much it holds. Tests shorten them.

import { MB_BYTES } from '../../base/text/sizes.js';

export const HTTP_LIMITS = {
  /** Milliseconds for all headers of a request, from the connection's or the last answer's end on. */
  headersMs: 10_000,
  /** For a whole request, its body included. */
  requestMs: 300_000,
  /** Between two pieces of a body. */
  bodyIdleMs: 20_000,
  /** For the handshake of TLS. */
  handshakeMs: 10_000,
  /** Longer than what proxies keep connections for, or they would send a request into one that is being closed. */
  keepAliveMs: 75_000,
  /** How long a reader may take nothing of what waits for it. */
  unreadMs: 30_000,
  /** Most that waits for one reader. An answer has 40 MB, and escapes make it longer. */
  unreadBytes: 96 * MB_BYTES,
  /** Most that waits for all readers together; the one with the most goes first. */
  unreadBytesInAll: 384 * MB_BYTES,
  /** Bytes of the headers of one request together. */
  headerBytes: 16_384,
  headers: 100,
  /** Requests that one connection may have under way: no client sends more before it has read an answer. */
  pipelined: 16,
  /** How often what stays open is looked at: credentials of streams, and certificates. */
  lookMs: 15_000,
  /** `subscriptions/listen` streams of one principal. */
  subscriptions: 256,
  /** A comment in a stream, so that proxies do not take it for dead, and that we notice who has gone. */
  streamKeepAliveMs: 15_000,
} as const;

export type HttpLimits = { readonly [Name in keyof typeof HTTP_LIMITS]: number };
