// Messages about wrong arguments of a call, as the agent reads them: the field, what was got, what is allowed. All tools share
// these messages.

import { clipHarmless } from '../../base/text/text.js';
import type { CallProblem } from '../../run/outcome/outcome.js';

/** Longest part of a wrong word that is repeated to the caller. */
const MAX_ECHO_CHARS = 80;

export const complaint = (message: string, remedy?: string): CallProblem => ({
  type: 'E_ARGUMENTS',
  message,
  remedy,
});

/** A value of the agent's, as it is repeated to it; of a long one is said how long it is. */
export function described(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  const shown = echo(text);
  if (text.length <= MAX_ECHO_CHARS) return shown;
  if (typeof value === 'string') return `${shown} of ${value.length} characters`;
  return Array.isArray(value) ? `${shown} of ${value.length} items` : shown;
}

/** A word of the agent's, likewise. */
export const echo = (word: string): string => clipHarmless(word, MAX_ECHO_CHARS);
