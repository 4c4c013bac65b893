// How much a text is and which one it was, without the text: for records that tell calls apart and keep no data.

import { createHash } from 'node:crypto';

/** `sha256` is cut to 16 hex digits: enough to recognise a text, too little to be one. Undefined where it was not reckoned. */
export type TextDigest = { readonly bytes: number; readonly sha256: string | undefined };

const DIGEST_DIGITS = 16;
/** A digest of this much takes 10 ms, in which nothing else is done. */
const MAX_DIGESTED_CHARS = 4 * 1024 * 1024;

export function digestOf(text: string): TextDigest {
  const sha256 =
    text.length > MAX_DIGESTED_CHARS
      ? undefined
      : createHash('sha256').update(text).digest('hex').slice(0, DIGEST_DIGITS);
  return { bytes: Buffer.byteLength(text), sha256 };
}
