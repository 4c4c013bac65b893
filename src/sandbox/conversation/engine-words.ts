// What the engine's client says on the harness's stream, kept for the error of a sandbox that was lost.

import { clip, clipHarmless } from '../../base/text/text.js';
import { isExpectedWarning, saysNotAnswering } from '../../engine/machine/client-words.js';

const MAX_LINES = 20;
const MAX_DETAIL_CHARS = 600;

export class EngineWords {
  /** The last ones, oldest first. */
  readonly #lines: string[] = [];

  add(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
  }

  /** Why a sandbox was lost whose container ended with `exit`, in the client's words as far as it said any. */
  whyLost(exit: string, { wasGreeted }: { readonly wasGreeted: boolean }): string {
    const words = this.#lines
      .filter((line) => !isExpectedWarning(line))
      .join(' ')
      .trim();
    if (words === '') return `the container ended with ${exit}`;
    return wasGreeted && saysNotAnswering(words) ? connectionLost(words) : clip(words, MAX_DETAIL_CHARS);
  }
}

/** `words` are the engine's client's. */
export const connectionLost = (words: string): string =>
  clip(`the connection to the engine was lost: ${words}`, MAX_DETAIL_CHARS);

/** A line that broke the rules of the stream before the harness had greeted, so the engine's own. */
export const asEngineWords = (line: string): string => clipHarmless(line, MAX_DETAIL_CHARS);
