// Text to the words that search compares: identifiers split, endings taken off, words that mean the same made one. Pure.

import { SAME_WORDS, SHORT_FORMS } from './search-tables.js';

/** In `names` every part of an identifier is a word; in `prose` GitHub and JavaScript are names of their own. */
export type TextKind = 'names' | 'prose';

const WORD = /[\p{L}\p{N}]+/gu;
const MARKS = /\p{M}+/gu;

/** The words of a text in their order, as they are compared. */
export function searchWords(text: string, kind: TextKind): string[] {
  const plain = text.normalize('NFKD').replace(MARKS, '');
  return (plain.match(WORD) ?? []).flatMap((written) => partsOf(written, kind)).flatMap(canonical);
}

/** The words as written, in lower case: for looking a word up in a table of whole ones. */
export function plainWords(text: string): string[] {
  return (text.normalize('NFKD').replace(MARKS, '').match(WORD) ?? []).map((written) =>
    written.toLowerCase(),
  );
}

function partsOf(written: string, kind: TextKind): string[] {
  const whole = written.toLowerCase();
  if (whole === written || (kind === 'prose' && /^[A-Z]/.test(written))) return [whole];
  const parts = written
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(' ');
  return parts.length === 1 ? parts : [...parts, whole];
}

/** One word as it is compared; several for a short form of several. */
export function canonical(word: string): readonly string[] {
  const known = remembered.get(word);
  if (known !== undefined) return known;
  const stem = stemOf(word);
  const found = EXPANDED.get(stem) ?? [SAME.get(stem) ?? stem];
  if (remembered.size < MAX_REMEMBERED) remembered.set(word, found);
  return found;
}

/**
 * Most words that are remembered. All servers together have some thousand; the limit is for a server that makes words
 * up.
 */
const MAX_REMEMBERED = 20_000;
const remembered = new Map<string, readonly string[]>();

/**
 * The word without the endings of number, tense and person: steps 1 and 5a of Porter, "An algorithm for suffix
 * stripping" (1980). His further steps make one word of `relate` and `relation`, but also of `organise` and `organ`.
 */
export function stemOf(word: string): string {
  if (word.length < 3 || !/^[a-z]+$/.test(word)) return word;
  return withoutFinalE(withI(withoutTense(withoutPlural(word))));
}

function withoutPlural(word: string): string {
  if (word.endsWith('sses') || word.endsWith('ies')) return word.slice(0, -2);
  return word.endsWith('s') && !/(?:ss|us|is)$/.test(word) ? word.slice(0, -1) : word;
}

function withoutTense(word: string): string {
  if (word.endsWith('eed')) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  const stem = /^(.*)(?:ed|ing)$/.exec(word)?.[1];
  if (stem === undefined || !hasVowel(stem)) return word;
  if (/(?:at|bl|iz)$/.test(stem)) return `${stem}e`;
  if (/([^aeioulsz])\1$/.test(stem)) return stem.slice(0, -1);
  return measure(stem) === 1 && endsShort(stem) ? `${stem}e` : stem;
}

function withI(word: string): string {
  return word.endsWith('y') && hasVowel(word.slice(0, -1)) ? `${word.slice(0, -1)}i` : word;
}

function withoutFinalE(word: string): string {
  const stem = word.slice(0, -1);
  if (!word.endsWith('e')) return word;
  const vowels = measure(stem);
  return vowels > 1 || (vowels === 1 && !endsShort(stem)) ? stem : word;
}

/** `c` and `v` for each letter: y is a vowel after a consonant. */
function shape(word: string): string {
  let letters = '';
  for (const letter of word) {
    const isVowel = 'aeiou'.includes(letter) || (letter === 'y' && letters.endsWith('c'));
    letters += isVowel ? 'v' : 'c';
  }
  return letters;
}

/** Porter's m: how often a consonant follows a vowel. */
const measure = (word: string): number => shape(word).match(/vc/g)?.length ?? 0;
const hasVowel = (word: string): boolean => shape(word).includes('v');
/** Porter's *o: consonant, vowel, consonant that is not w, x or y. */
const endsShort = (word: string): boolean => /cvc$/.test(shape(word)) && !/[wxy]$/.test(word);

const SAME: ReadonlyMap<string, string> = new Map(
  SAME_WORDS.flatMap((line) => {
    const [first = '', ...others] = line.split(' ').map(stemOf);
    return others.map((other) => [other, first] as const);
  }),
);
const EXPANDED: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(SHORT_FORMS).map(([short, long]) => [
    stemOf(short),
    long.split(' ').map((word) => SAME.get(stemOf(word)) ?? stemOf(word)),
  ]),
);
