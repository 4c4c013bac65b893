// Patterns over the names of servers and tools. `*` stands for any characters, none included; a backslash takes the next
// character for itself; nothing else is special. What allows is matched exactly, what denies by look-alikes too. No shell's
// glob: names are no paths, so dots, slashes, brackets and quotes mean themselves. Matching takes time in proportion to the
// name, since servers choose their names.

import { withoutSequences } from './text.js';

/**
 * `wide` also matches names that differ by case, invisible characters, Unicode's compatibility forms, and space at the ends,
 * and those that a terminal would show so.
 */
export type Reach = 'exact' | 'wide';

/** A longer one is a mistake: no name that it could match is as long. */
const MAX_PATTERN_CHARS = 300;

type Token = { readonly kind: 'text' | 'star' | 'dot'; readonly text: string };

/** The trouble with a pattern, as the end of a sentence; undefined where there is none. */
export function patternTrouble(text: string): string | undefined {
  if (text === '') return 'is empty';
  if (text.length > MAX_PATTERN_CHARS)
    return `has ${text.length} characters; at most ${MAX_PATTERN_CHARS} are allowed`;
  if (/^(?:[^\\]|\\.)*\\$/s.test(text)) return 'ends with a backslash that escapes nothing';
  return undefined;
}

/** A pattern over names of one kind. */
export const namePattern = (text: string, reach: Reach) => matcher(tokensOf(text), reach);

/** A pattern over tools, asked for an MCP method such as `resources/read`. */
export const requestPattern = (text: string, reach: Reach) => requestMatcher(tokensOf(text), reach);

/** A pattern `server` or `server.tool`. */
export interface ServerPattern {
  readonly text: string;
  /** The pattern means the whole server. */
  coversServer(server: string): boolean;
  /** The pattern means the server or tools of it. */
  concernsServer(server: string): boolean;
  coversTool(server: string, tool: string): boolean;
  /** The pattern means this MCP method of the server, such as `resources/read`. */
  coversRequest(server: string, method: string): boolean;
}

/**
 * Names may have dots of their own (`io.github.someone/server`), so a pattern is tried at each of its dots that is not
 * escaped. One with dots means a whole server only where it has no star and is that server's name.
 */
export function serverPattern(text: string, reach: Reach): ServerPattern {
  const tokens = tokensOf(text);
  const dots = tokens.flatMap(({ kind }, index) => (kind === 'dot' ? [index] : []));
  const isExact = tokens.every(({ kind }) => kind !== 'star');
  const coversServer = dots.length === 0 || isExact ? matcher(tokens, reach) : () => false;
  const splits = dots.map((at) => ({
    server: matcher(tokens.slice(0, at), reach),
    tool: matcher(tokens.slice(at + 1), reach),
    request: requestMatcher(tokens.slice(at + 1), reach),
  }));
  return {
    text,
    coversServer,
    concernsServer: (name) => coversServer(name) || splits.some(({ server }) => server(name)),
    coversTool: (name, tool) =>
      coversServer(name) || splits.some((split) => split.server(name) && split.tool(tool)),
    coversRequest: (name, method) =>
      coversServer(name) || splits.some((split) => split.server(name) && split.request(method)),
  };
}

/**
 * A pattern was written with tools in mind, and `*read` is not to let resources be read. So it means a method only where
 * it is `*` alone, or where it begins with the method's family in so many words, as `resources/*` does.
 */
function requestMatcher(tokens: readonly Token[], reach: Reach) {
  const matches = matcher(tokens, reach);
  const texts = textsOf(tokens);
  const seen = reach === 'wide' ? foldedTexts(texts) : texts;
  const [spelledOut = ''] = seen;
  const isEverything = seen.length > 1 && seen.every((text) => text === '');
  return (method: string) => {
    const family = method.slice(0, method.indexOf('/') + 1);
    return isEverything || (spelledOut.startsWith(family) && matches(method));
  };
}

function tokensOf(text: string): readonly Token[] {
  return [...text.matchAll(/\\(.)|(.)/gs)].map(([, escaped, plain = '']) => {
    if (escaped !== undefined) return { kind: 'text', text: escaped };
    return { kind: plain === '*' ? 'star' : plain === '.' ? 'dot' : 'text', text: plain };
  });
}

/** Wide is more than exact, never less: folding may take from a pattern what an exact match rests on. */
function matcher(tokens: readonly Token[], reach: Reach) {
  const texts = textsOf(tokens);
  const exact = textMatcher(texts);
  if (reach === 'exact') return exact;
  const wide = textMatcher(foldedTexts(texts));
  return (name: string) => exact(name) || readingsOf(name).some(wide);
}

/** Texts before, between and behind a pattern's stars. */
function textsOf(tokens: readonly Token[]): readonly string[] {
  const texts = [''];
  for (const { kind, text } of tokens) {
    if (kind === 'star') texts.push('');
    else texts.push(`${texts.pop() ?? ''}${text}`);
  }
  return texts;
}

/** Texts folded as names are seen, without white space at the ends of the whole. */
function foldedTexts(texts: readonly string[]): readonly string[] {
  const seen = texts.map(foldName);
  seen[0] = (seen[0] ?? '').trimStart();
  seen.push((seen.pop() ?? '').trimEnd());
  return seen;
}

/** The texts between stars are looked for one after the other, each as early as it comes. */
function textMatcher(texts: readonly string[]) {
  const first = texts[0] ?? '';
  if (texts.length === 1) return (name: string) => name === first;
  const last = texts.at(-1) ?? '';
  const between = texts.slice(1, -1);
  return (name: string) => {
    if (!name.startsWith(first)) return false;
    let at = first.length;
    for (const text of between) {
      const found = name.indexOf(text, at);
      if (found < 0) return false;
      at = found + text.length;
    }
    return name.length - last.length >= at && name.endsWith(last);
  };
}

// The look of a name, so that a rule which forbids one forbids its look-alikes too: servers choose the names of their tools,
// and `Delete_Item` or one with an invisible character in it would pass a rule for `delete_item`. Letters of another alphabet
// stay themselves.

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
