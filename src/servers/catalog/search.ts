// Search over the documentation of servers, loaded or not: MiniSearch ranks each word of a question (BM25+ over weighted
// fields), this file says which words those are and what several of them come to. Pure; knows nothing of who may see what.

import MiniSearch from 'minisearch';
import { isObject } from '../../base/json/records.js';
import type { ServerDoc, ToolDoc } from '../../wire/frames.js';
import {
  ACTIONS,
  BM25,
  FIELD_BOOSTS,
  FUZZY_SHARE,
  FUZZY_WEIGHT,
  MAX_FIELD_CHARS,
  MAX_SERVER_CHARS,
  MAX_WORDS,
  MIN_FUZZY_CHARS,
  MIN_PREFIX_CHARS,
  NEAR_WEIGHT,
  NEAR_WORDS,
  OTHER_ACTION,
  PREFIX_WEIGHT,
  SAME_WORDS,
  SHARE_POWER,
  SHORT_FORMS,
  STOP_WORDS,
  UNASKED_CHANGE,
  UNASKED_DELETION,
} from './search-tables.js';

// Text to the words that search compares: identifiers split, endings taken off, words that mean the same made one. Pure.

const WORD = /[\p{L}\p{N}]+/gu;
const MARKS = /\p{M}+/gu;

/**
 * The words of a text in their order, as they are compared. In `names` every part of an identifier is a word; in `prose`
 * GitHub and JavaScript are names of their own.
 */
export function searchWords(text: string, kind: 'names' | 'prose'): string[] {
  const plain = text.normalize('NFKD').replace(MARKS, '');
  return (plain.match(WORD) ?? []).flatMap((written) => partsOf(written, kind)).flatMap(canonicalWords);
}

/** The words as written, in lower case: for looking a word up in a table of whole ones. */
function plainWords(text: string): string[] {
  return (text.normalize('NFKD').replace(MARKS, '').match(WORD) ?? []).map((written) =>
    written.toLowerCase(),
  );
}

function partsOf(written: string, kind: 'names' | 'prose'): string[] {
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
function canonicalWords(word: string): readonly string[] {
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

type SearchIndex = {
  readonly entries: ReadonlyArray<{
    readonly server: ServerDoc;
    readonly tool: ToolDoc;
    readonly actions: ReadonlySet<string>;
  }>;
  readonly words: MiniSearch;
  /** Every word of every tool. */
  readonly vocabulary: ReadonlySet<string>;
};

/** One for each array of documentation: making one takes as long as many searches. */
const indexes = new WeakMap<readonly ServerDoc[], SearchIndex>();

/**
 * At most `limit` tools, the best first, none that shares no word with `query`; scores compare within one search only. The
 * same array of `docs` is indexed once, so it is not to be changed afterwards.
 */
export function searchTools(docs: readonly ServerDoc[], query: string, limit: number) {
  const index = indexes.get(docs) ?? indexOf(docs);
  indexes.set(docs, index);
  const words = wordsOf(query);
  const scores = new Map<number, number>();
  const matches = new Map<number, number>();
  for (const readings of words.map((word, at) => [word, ...compoundsAt(words, at, index)])) {
    for (const [id, score] of scoresOf(readings, index)) {
      scores.set(id, (scores.get(id) ?? 0) + score);
      matches.set(id, (matches.get(id) ?? 0) + 1);
    }
  }
  const wanted = actionsOf(plainWords(query).flatMap(canonicalWords));
  return [...scores]
    .flatMap(([id, sum]) => {
      const entry = index.entries[id];
      if (entry === undefined) return [];
      const share = ((matches.get(id) ?? 0) / words.length) ** SHARE_POWER;
      const score = sum * share * fitOf(entry.actions, wanted);
      return [{ id, server: entry.server, tool: entry.tool, score }];
    })
    .sort((one, other) => other.score - one.score || one.id - other.id)
    .slice(0, limit)
    .map(({ server, tool, score }) => ({ server, tool, score }));
}

function indexOf(docs: readonly ServerDoc[]): SearchIndex {
  const vocabulary = new Set<string>();
  const words = new MiniSearch<{ id: number }>({
    fields: Object.keys(FIELD_BOOSTS),
    // Fields arrive as words already.
    extractField: (entry, field) => (entry as unknown as Record<string, string>)[field] as string,
    tokenize: (field) => (field === '' ? [] : field.split(' ')),
    processTerm: (term) => term,
    searchOptions: {
      boost: FIELD_BOOSTS,
      bm25: BM25,
      weights: { prefix: PREFIX_WEIGHT, fuzzy: FUZZY_WEIGHT },
    },
  });
  const entries: SearchIndex['entries'][number][] = [];
  for (const server of docs) {
    for (const tool of server.tools) {
      const fields = searchFields(server, tool);
      for (const list of Object.values(fields)) for (const word of list) vocabulary.add(word);
      const texts = Object.fromEntries(Object.entries(fields).map(([name, list]) => [name, list.join(' ')]));
      words.add({ id: entries.length, ...texts });
      entries.push({ server, tool, actions: actionsOf(fields.name) });
    }
  }
  return { entries, words, vocabulary };
}

/** Each word once, without those that mean nothing unless there are no others. */
function wordsOf(query: string): readonly string[] {
  const telling = searchWords(query, 'prose').filter((word) => !STOPPED.has(word));
  const all = telling.length === 0 ? searchWords(query, 'prose') : telling;
  return [...new Set(all)].slice(0, MAX_WORDS);
}

/** `screen shot` is `screenshot` where a tool has that. */
function compoundsAt(words: readonly string[], at: number, { vocabulary }: SearchIndex): readonly string[] {
  const [before = '', word = '', after = ''] = [words[at - 1], words[at], words[at + 1]];
  return [before + word, word + after].filter((compound) => compound !== word && vocabulary.has(compound));
}

/** Scores of one word of a question for each tool: the best of the word itself, its compounds, and the words near it. */
function scoresOf(
  [word = '', ...compounds]: readonly string[],
  { words, vocabulary }: SearchIndex,
): ReadonlyMap<number, number> {
  const best = new Map<number, number>();
  const keep = (id: number, score: number) => best.set(id, Math.max(best.get(id) ?? 0, score));
  const options = {
    prefix: word.length >= MIN_PREFIX_CHARS,
    // A word that some tool has is no typing error.
    fuzzy: !vocabulary.has(word) && word.length >= MIN_FUZZY_CHARS ? FUZZY_SHARE : false,
  };
  for (const { id, score } of words.search(word, options)) keep(id, score);
  for (const compound of compounds) for (const { id, score } of words.search(compound)) keep(id, score);
  for (const near of NEAR.get(word) ?? [])
    for (const { id, score } of words.search(near)) keep(id, score * NEAR_WEIGHT);
  return best;
}

function actionsOf(words: readonly string[]): ReadonlySet<string> {
  return new Set(
    ACTION_WORDS.flatMap(([action, verbs]) => (words.some((word) => verbs.has(word)) ? [action] : [])),
  );
}

/** 1 where a tool does what is wanted, or nobody can tell. */
function fitOf(does: ReadonlySet<string>, wanted: ReadonlySet<string>): number {
  if (does.size === 0 || [...does].some((action) => wanted.has(action))) return 1;
  if (wanted.size === 0) return does.has('finding') ? 1 : UNASKED_CHANGE;
  return does.has('deleting') ? UNASKED_DELETION : OTHER_ACTION;
}

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(' ').flatMap(canonicalWords));
const STOPPED = setOf(STOP_WORDS);
const ACTION_WORDS = Object.entries(ACTIONS).map(([action, verbs]) => [action, setOf(verbs)] as const);
const NEAR = nearWords();

function nearWords(): ReadonlyMap<string, ReadonlySet<string>> {
  const near = new Map<string, Set<string>>();
  for (const line of NEAR_WORDS) {
    const words = [...setOf(line)];
    for (const word of words) {
      const others = near.get(word) ?? new Set();
      for (const other of words) if (other !== word) others.add(other);
      near.set(word, others);
    }
  }
  return near;
}

/** Objects within objects that are looked into: nobody asks for what is deeper. */
const MAX_LEVEL = 4;

/** The words of one of a server's tools, by field. What a server wrote is data, and only the beginning of it is read. */
function searchFields(
  server: ServerDoc,
  tool: ToolDoc,
): Readonly<Record<keyof typeof FIELD_BOOSTS, readonly string[]>> {
  const room = Math.min(MAX_FIELD_CHARS, Math.floor(MAX_SERVER_CHARS / server.tools.length));
  const words = (text: string, kind: 'names' | 'prose') => searchWords(text.slice(0, room), kind);
  const details: string[] = [];
  collect(tool.inputSchema, details, 0);
  return {
    name: [...words(tool.name, 'names'), ...joinedName(tool.name)],
    description: words(tool.description, 'prose'),
    parameters: words(topNames(tool.inputSchema).join(' '), 'names'),
    details: words(details.join(' '), 'prose'),
    server: [
      ...words(server.name, 'names'),
      ...joinedName(server.name),
      ...words(server.description, 'prose'),
    ],
  };
}

/** `create_issue` may be asked for as `createissue`. */
function joinedName(name: string): string[] {
  const letters = name.replace(/[^\p{L}\p{N}]+/gu, '');
  return letters === name ? [] : [letters.toLowerCase()];
}

function topNames(schema: unknown): string[] {
  const properties = isObject(schema) ? schema['properties'] : undefined;
  return isObject(properties) ? Object.keys(properties) : [];
}

/** Collects the texts of a schema about its parameters: descriptions, values, and the names within them. */
function collect(schema: unknown, found: string[], level: number): void {
  if (!isObject(schema) || level > MAX_LEVEL) return;
  if (level > 0 && typeof schema['description'] === 'string') found.push(schema['description']);
  if (Array.isArray(schema['enum']))
    found.push(...schema['enum'].filter((value) => typeof value === 'string'));
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  if (level > 0) found.push(...Object.keys(properties));
  for (const member of [...Object.values(properties), schema['items']]) collect(member, found, level + 1);
}
