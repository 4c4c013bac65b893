// The form of a named token: `msb_`, 43 characters of base 62 for 256 random bits, and 6 for a checksum of the rest. The prefix
// and the fixed length let secret scanners find one (`msb_[0-9A-Za-z]{49}`), and the checksum tells a mistyped or cut token
// from one that nobody has made, without a look at what is kept. The checksum is no secret and proves nothing.

import { createHash, randomBytes } from 'node:crypto';

export const TOKEN_PREFIX = 'msb_';
const SECRET_BYTES = 32;
/** 62^43 is just above 2^256. */
const SECRET_CHARS = 43;
const CHECKSUM_BYTES = 4;
/** 62^6 is above 2^32. */
const CHECKSUM_CHARS = 6;
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SHAPE = /^msb_[0-9A-Za-z]{49}$/;

/** A token that did not exist before. */
export function newTokenText(secret: Buffer = randomBytes(SECRET_BYTES)): string {
  const body = TOKEN_PREFIX + base62(secret, SECRET_CHARS);
  return body + checksumOf(body);
}

/** Whether it has the shape and the checksum of a token; says nothing about whether it is one. */
export function isTokenText(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  return text.slice(-CHECKSUM_CHARS) === checksumOf(text.slice(0, -CHECKSUM_CHARS));
}

/**
 * Digest of a token, which alone is kept. A plain SHA-256 is right here: slow hashes with salt protect passwords, which can be guessed
 * from a list; 256 random bits cannot, however fast one guess is, and this hash is computed for every request.
 */
export const hashOfToken = (text: string): Buffer => createHash('sha256').update(text).digest();

const checksumOf = (body: string): string =>
  base62(createHash('sha256').update(body).digest().subarray(0, CHECKSUM_BYTES), CHECKSUM_CHARS);

/** The bytes as one number, with leading zeros. */
function base62(bytes: Buffer, chars: number): string {
  let rest = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  for (let place = 0; place < chars; place++) {
    text = (DIGITS[Number(rest % 62n)] ?? '') + text;
    rest /= 62n;
  }
  return text;
}
