// Characters that do not show, or that turn what does: controls, marks of direction, joiners, selectors, tags. Makes them
// visible, as `\u200b`, but for the few that emoji and some scripts cannot be read without. The rule is the same for
// everything that a person or a model reads.

/**
 * All of them. Tab and newline are no trouble; a carriage return is for the caller. `\p{Cf}` has marks of direction,
 * joiners, tags and the byte order mark; default-ignorable are also fillers, variation selectors and unassigned ones.
 */
// biome-ignore lint/complexity/useRegexLiterals: the compiler's target is older than this flag, which Node 20 has
const UNSEEN = new RegExp('[[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]--[\\t\\n]]', 'v');

/** Scripts whose letters change their form by a joiner, or by the lack of one (UAX 31, section 2.3). */
const JOINING_SCRIPTS = [
  ...['Arabic', 'Syriac', 'Mandaic', 'Nko', 'Mongolian', 'Adlam', 'Hanifi_Rohingya'],
  ...['Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya', 'Tamil', 'Telugu', 'Kannada', 'Malayalam'],
  ...['Sinhala', 'Myanmar', 'Khmer', 'Balinese', 'Javanese', 'Sundanese', 'Chakma', 'Newa', 'Tirhuta'],
].map((script) => `\\p{Script_Extensions=${script}}`);
const LETTER = `[[\\p{L}\\p{M}]&&[${JOINING_SCRIPTS.join('')}]]`;
/** Signs that take a consonant's vowel: an old spelling of Malayalam and Sinhala has a joiner behind one at a word's end. */
const VIRAMA = '[\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d4d\\u0dca]';
const EMOJI = '\\p{Extended_Pictographic}';
/** The flags of England, Scotland and Wales: the only emoji that have tags. */
const TAGGED_FLAG =
  /\u{1f3f4}\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073})\u{e007f}/uy;
const FLAG = 0x1f3f4;

/**
 * An unseen character that stays, by its neighbours. Each looks at two characters before and one behind it, so that the
 * whole stays linear; and none may follow another of its kind, so that no run of them passes.
 */
const NEEDED = [
  // A joiner between two letters of a script that needs it, or behind a sign that takes the vowel.
  `[\\u200c\\u200d](?<=${LETTER}.)(?=${LETTER})`,
  `\\u200d(?<=${VIRAMA}.)`,
  // A joiner between two emoji; one that chooses colour or black and white; a key.
  `\\u200d(?<=${EMOJI}[\\ufe0f\\u{1f3fb}-\\u{1f3ff}]?.)(?=${EMOJI})`,
  `[\\ufe0e\\ufe0f](?<=${EMOJI}.)`,
  '\\ufe0f(?<=[0-9#*].)(?=\\u20e3)',
  // Variants of signs of mathematics, of ideographs, and of letters of Myanmar, Phags-pa and Mongolian.
  '[\\ufe00-\\ufe02](?<=[[\\p{Sm}--\\p{ASCII}]\\p{Script=Han}\\p{Script=Myanmar}\\p{Script=Phags_Pa}].)',
  '[\\u{e0100}-\\u{e011f}](?<=\\p{Script=Han}.)',
  '[\\u180b-\\u180d\\u180f](?<=[\\p{Script=Mongolian}&&\\p{L}].)',
  '\\u180e(?<=\\p{Script=Mongolian}.)(?=\\p{Script=Mongolian})',
].join('|');

const CARRIAGE_RETURN = 13;
const BIGGEST = 0x10ffff;
const [SEEN, NOT_SEEN] = [1, 2];
/** Answers by code point, as far as they were asked for. Made when the first text needs it, since hardly any does. */
let kinds: Uint8Array | undefined;
/** NEEDED, compiled when the first text needs it: compiling takes milliseconds, and hosts start the bridge often. */
let needed: RegExp | undefined;
const forms = new Map<number, string>();

/**
 * `text` with every unseen character as a visible escape: `\x1b`, `\u200b`, `\u{e0041}`. Left as they are: joiners,
 * selectors and tags where NEEDED says that an emoji or a script cannot be read without, at most one in a place. Linear.
 */
export const makeVisible = (text: string): string => withForms(text, escapeOf);

/** JSON text whose strings say the same, with those characters as escapes of JSON: `\u200b`, `\udb40\udc41`. */
export const madeVisibleJson = (json: string): string => withForms(json, jsonFormOf);

function withForms(text: string, form: (point: number) => string): string {
  const first = text.search(UNSEEN);
  if (first === -1) return text;
  needed ??= new RegExp(NEEDED, 'vy');
  let visible = '';
  let from = 0;
  // A flag stands before its tags.
  let at = Math.max(0, first - 2);
  while (at < text.length) {
    const point = text.codePointAt(at) ?? 0;
    const flagChars = point === FLAG ? lengthAt(TAGGED_FLAG, text, at) : 0;
    const chars = flagChars || (point > 0xffff ? 2 : 1);
    // Behind one that was made visible none is needed, which spares most of the work on a run of them.
    if (flagChars === 0 && isUnseen(point) && (at === from || lengthAt(needed, text, at) === 0)) {
      visible += text.slice(from, at);
      from = at + chars;
      while (text.codePointAt(from) === point) from += chars;
      visible += form(point).repeat((from - at) / chars);
      at = from;
    } else at += chars;
  }
  return visible + text.slice(from);
}

/** Whether all of `text` shows, without those that emoji and scripts need either: fit for a name that is compared. */
export const isAllSeen = (text: string): boolean => !UNSEEN.test(text);

/** `text`, that was cut, without what is parted now from the emoji or the letter behind it. */
export function withoutUnseenEnd(text: string): string {
  let end = text.length;
  while (end > 0) {
    const last = text.charCodeAt(end - 1);
    const isHalf = last >= 0xd800 && last < 0xdc00;
    const start = end - (last >= 0xdc00 && last < 0xe000 ? 2 : 1);
    if (!isHalf && !isUnseen(text.codePointAt(start) ?? 0)) break;
    end = start;
  }
  return text.slice(0, Math.max(0, end));
}

function lengthAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}

/** Whether the character `point` does not show; a tab and a newline are left to the caller. */
export function isUnseen(point: number): boolean {
  kinds ??= new Uint8Array(BIGGEST + 1);
  const known = kinds[point];
  if (known !== 0) return known === NOT_SEEN;
  const unseen = UNSEEN.test(String.fromCodePoint(point));
  kinds[point] = unseen ? NOT_SEEN : SEEN;
  return unseen;
}

/** The visible form of a character: `\x1b`, `\u200b`, `\u{e0041}`. */
export function escapeOf(point: number): string {
  let form = forms.get(point);
  if (form === undefined) {
    const hex = point.toString(16);
    if (point <= 0xff) form = `\\x${hex.padStart(2, '0')}`;
    else form = point <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
    forms.set(point, form);
  }
  return form;
}

// A carriage return in JSON text stands between its tokens only, as at the end of a line.
const jsonFormOf = (point: number): string =>
  point === CARRIAGE_RETURN
    ? '\r'
    : String.fromCodePoint(point)
        .split('')
        .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
        .join('');
