// Node's cryptography, loaded at its first use: that takes a tenth of Node's own start, and until a tool is called nothing
// needs it. For files that are loaded before that, and for random bytes that each call needs; all others import it from Node.

import type * as NodeCrypto from 'node:crypto';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
let loaded: typeof NodeCrypto | undefined;
const crypto = (): typeof NodeCrypto => {
  loaded ??= require('node:crypto') as typeof NodeCrypto;
  return loaded;
};

export const createHash = (algorithm: string): NodeCrypto.Hash => crypto().createHash(algorithm);

export const createHmac = (algorithm: string, key: NodeCrypto.BinaryLike): NodeCrypto.Hmac =>
  crypto().createHmac(algorithm, key);

/** Asking Node for a few random bytes takes as long as asking for so many. */
const AHEAD_BYTES = 4_096;
let ahead = Buffer.alloc(0);

/** Random bytes, fit for secrets, out of those that were drawn ahead; each is given to one caller alone. */
export function randomBytes(size: number): Buffer {
  if (size > ahead.length) ahead = crypto().randomBytes(Math.max(size, AHEAD_BYTES));
  // A part of them and no copy, so that a secret is in memory once.
  const drawn = ahead.subarray(0, size);
  ahead = ahead.subarray(size);
  return drawn;
}

export const randomUUID = (): string => crypto().randomUUID();

export const timingSafeEqual = (one: Buffer, other: Buffer): boolean => crypto().timingSafeEqual(one, other);

/** Whether two texts are the same, in a time that does not tell how much of one is right. */
export function isSameSecret(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}

/** Letters and digits of short texts that people and models copy: none of them is taken for another one. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';

/** `count` random letters and digits; each has nearly five bits. */
export const drawnLetters = (count: number): string =>
  Array.from({ length: count }, () => LETTERS.charAt(crypto().randomInt(LETTERS.length))).join('');
