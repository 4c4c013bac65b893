// The last things a server said outside the protocol, kept for its errors: most servers explain their end on stderr.
// Bounded whatever the server floods; shown only after secrets and control characters are out.

import type { Redact } from '../../base/secrets/redact.js';
import { harmless, linesOf } from '../../base/text/text.js';

const MAX_CHARS = 4096;
const MAX_LINES = 40;

export class LastWords {
  readonly #redact: Redact;
  #text = '';
  #isCut = false;

  /** A server may print its own token: what is shown goes through `redact`. */
  constructor(redact: Redact) {
    this.#redact = redact;
  }

  add(text: string): void {
    this.#isCut ||= this.#text.length + text.length > MAX_CHARS;
    this.#text = (this.#text + text).slice(-MAX_CHARS);
  }

  /** Adds a line of its own, whatever stood before. */
  addLine(line: string): void {
    const separator = this.#text === '' || this.#text.endsWith('\n') ? '' : '\n';
    this.add(`${separator}${line.slice(0, MAX_CHARS)}\n`);
  }

  /** At most 40 lines; an empty string when nothing was said. */
  toString(): string {
    // The cut may have split a word, and its rest could be part of a secret.
    const text = this.#redact(this.#isCut ? this.#text.replace(/^\S*/, '…') : this.#text);
    return linesOf(harmless(text)).slice(-MAX_LINES).join('\n').trim();
  }
}
