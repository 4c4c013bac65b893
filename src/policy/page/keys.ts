// Secrets that open the page and that make its forms ours. All of them are drawn when the page starts and gone when it ends.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Posted } from '../inbox/posted.js';

/** 32 letters of base64url. */
const SECRET_BYTES = 24;

/** Whose page a secret opens. */
type PageOwner = { readonly principal: string | undefined };

export class PageKeys {
  readonly #secrets = new Map<string | undefined, string>();
  readonly #key = randomBytes(32);

  /** Part of the address: a cookie would be sent to every port of this machine, whoever listens there. */
  secretOf(principal: string | undefined): string {
    const secret = this.#secrets.get(principal) ?? randomBytes(SECRET_BYTES).toString('base64url');
    this.#secrets.set(principal, secret);
    return secret;
  }

  /** A secret opens the questions of one principal, and of no other. */
  openedBy(secret: string): PageOwner | undefined {
    for (const [principal, own] of this.#secrets) if (isSame(secret, own)) return { principal };
    return undefined;
  }

  /** Token in the form of a question: bound to the question and to the text that was shown. */
  tokenOf({ question, digest }: Posted): string {
    return createHmac('sha256', this.#key).update(`${question.id}\n${digest}`).digest('base64url');
  }

  isTokenOf(posted: Posted, token: string): boolean {
    return isSame(token, this.tokenOf(posted));
  }
}

/** In a time that does not tell how much of it is right. */
function isSame(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}
