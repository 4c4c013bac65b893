// Words and values that somebody has sent, as an error repeats them: harmless, and no longer than it takes to know them again.

import { clipHarmless } from './text.js';

const MAX_CHARS = 80;

/** A word of the sender's. */
export const echo = (word: string): string => clipHarmless(word, MAX_CHARS);

/** A value of the sender's, as JSON; of a long one is said how long it is. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  const shown = echo(text);
  if (text.length <= MAX_CHARS) return shown;
  if (typeof value === 'string') return `${shown} of ${value.length} characters`;
  return Array.isArray(value) ? `${shown} of ${value.length} items` : shown;
}
