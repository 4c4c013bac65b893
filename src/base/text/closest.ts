// Did-you-mean: the known word that a mistyped one most likely stands for. One threshold for servers, tools and
// settings, so that suggestions feel the same everywhere. Never guesses when nothing is near.

import { distance } from 'fastest-levenshtein';
import { shownName } from './shown-name.js';

/** One edit in three characters (at least one) may be wrong; beyond that a suggestion misleads more than it helps. */
const CHARS_PER_EDIT = 3;
/** Edit distance costs length times length, and words may come from a model: longer ones are not compared. */
const MAX_CHARS = 200;

// Case and the separators -, _, . and space are what people confuse most, so they cost nothing.
function normalise(word: string): string {
  return word.toLowerCase().replace(/[-_.\s]/g, '');
}

/** The candidate nearest to `word`, or undefined when none is near; the first of equals wins. */
export function findClosest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > MAX_CHARS) return undefined;
  const wanted = normalise(word);
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(wanted.length / CHARS_PER_EDIT)) + 1;
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
