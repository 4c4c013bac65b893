// The look of a name, so that a rule which forbids one forbids its look-alikes too: servers choose the names of their tools,
// and `Delete_Item` or one with an invisible character in it would pass a rule for `delete_item`. Letters of another alphabet
// stay themselves.

import { withoutSequences } from './text.js';

/** No listed tool has a longer name; normalizing takes quadratic time where a name is made for it. */
const MAX_NAME_CHARS = 1_000;
const PLAIN = /^[\x21-\x7e]*$/;
/** Format and control characters, what fonts show nothing of, and the Braille cell without a dot. */
const INVISIBLE = /[\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Whether only its case can be folded, which takes no time. */
export const isPlain = (name: string): boolean => PLAIN.test(name);

const CONTROL = /\p{Cc}/u;
const CONTROLS = /\p{Cc}+/u;

/** `name` without its case, its compatibility forms (fullwidth, ligatures…) and its invisible characters. */
export function foldName(name: string): string {
  if (name.length > MAX_NAME_CHARS) return name;
  if (isPlain(name)) return name.toLowerCase();
  // A sharp s has a capital that is not its upper case, which is SS.
  const seen = name.normalize('NFKD').replace(INVISIBLE, '').replaceAll('ẞ', 'ß');
  // Upper case first: some letters meet only there (ſ and s, ß and ss). NFKD leaves the İ of Turkish as I and a dot.
  return seen.toUpperCase().toLowerCase().replaceAll('ς', 'σ').replaceAll('i\u0307', 'i').normalize('NFKD');
}

/**
 * All that `name` may be read as, folded and without white space at its ends. One with controls may be shown without what a
 * terminal obeys, as what stands in one line of it, or as what was written over the rest.
 */
export function readingsOf(name: string): readonly string[] {
  const whole = foldName(name).trim();
  if (!CONTROL.test(name) || name.length > MAX_NAME_CHARS) return [whole];
  const shown = rubbedOut(withoutSequences(name));
  const readings = [shown, ...shown.split(CONTROLS)].map((reading) => foldName(reading).trim());
  return [...new Set([whole, ...readings.filter((reading) => reading !== '')])];
}

/** Whether two names may be read as the same. */
export function looksLike(one: string, other: string): boolean {
  if (one === other) return true;
  const others = readingsOf(other);
  return readingsOf(one).some((reading) => others.includes(reading));
}

/** A backspace takes back what stands before it. */
function rubbedOut(text: string): string {
  const shown: string[] = [];
  for (const character of text) {
    if (character === '\b') shown.pop();
    else shown.push(character);
  }
  return shown.join('');
}
