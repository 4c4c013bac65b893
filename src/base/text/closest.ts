// Did-you-mean: the known word that a mistyped one most likely stands for. One threshold for servers, tools and
// settings, so that suggestions feel the same everywhere. Never guesses when nothing is near.

import { distance } from 'fastest-levenshtein';
import { shownName } from './shown-name.js';

/** So many characters allow one edit more than the first. At one in three `send_email` would be near `read_mail`. */
const CHARS_PER_EDIT = 6;
/** Edit distance costs length times length, and words may come from a model: longer ones are not compared. */
const MAX_CHARS = 200;

// Case and the separators -, _, . and space are what people confuse most, so they cost nothing.
function normalise(word: string): string {
  return word.toLowerCase().replace(/[-_.\s]/g, '');
}

/** Two letters that changed places are two edits, which words of six letters have to allow. */
const usualEdits = (chars: number): number => 1 + Math.floor(chars / CHARS_PER_EDIT);

/**
 * The candidate nearest to `word`, or undefined when none is near; the first of equals wins. `mostEdits` says how many letters
 * of a word with so many may be wrong: among tens of thousands of names nearly every word has neighbours.
 */
export function findClosest(
  word: string,
  candidates: Iterable<string>,
  mostEdits: (chars: number) => number = usualEdits,
): string | undefined {
  if (word.length > MAX_CHARS) return undefined;
  const wanted = normalise(word);
  let best: string | undefined;
  let bestDistance = mostEdits(wanted.length) + 1;
  for (const candidate of candidates) {
    if (candidate.length > MAX_CHARS) continue;
    const edits = distance(wanted, normalise(candidate));
    // Replacing every character of a short word is not a typing error.
    if (edits < bestDistance && edits < wanted.length) {
      best = candidate;
      bestDistance = edits;
    }
  }
  return best;
}

/** ` Did you mean 'x'?`, with its leading space, or an empty string: made to be put at the end of a sentence. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const suggestion = findClosest(word, candidates);
  return suggestion === undefined ? '' : ` Did you mean '${shownName(suggestion)}'?`;
}
