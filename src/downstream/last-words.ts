// The last things a server said outside the protocol, kept for its errors: most servers explain their end on stderr.
// Bounded whatever the server floods; shown only after secrets and control characters are out.

import { harmless, linesOf } from '../base/text.js';

const MAX_CHARS = 4096;
const MAX_LINES = 40;
// Shorter values (`1`, `true`, `en`) are no secrets, and hiding them would make the text unreadable.
const MIN_SECRET_CHARS = 8;

export class LastWords {
  readonly #secrets: ReadonlyArray<readonly [name: string, value: string]>;
  #text = '';

  /** Values of `env` are shown by their variable's name: a server may print its own token. */
  constructor(env: Readonly<Record<string, string>>) {
    this.#secrets = Object.entries(env)
      .filter(([, value]) => value.length >= MIN_SECRET_CHARS)
      // The longest first, so that a value inside another leaves no rest behind.
      .sort(([, a], [, b]) => b.length - a.length);
  }

  add(text: string): void {
    this.#text = (this.#text + text).slice(-MAX_CHARS);
  }

  /** Adds a line of its own, whatever stood before. */
  addLine(line: string): void {
    const separator = this.#text === '' || this.#text.endsWith('\n') ? '' : '\n';
    this.add(`${separator}${line.slice(0, MAX_CHARS)}\n`);
  }

  /** At most 40 lines; an empty string when nothing was said. */
  toString(): string {
    let text = this.#text;
    for (const [name, value] of this.#secrets) text = text.replaceAll(value, `[${name}]`);
    return linesOf(harmless(text)).slice(-MAX_LINES).join('\n').trim();
  }
}
