// Names as a person or a model reads them: of a server, a tool, whatever is called or decided by name. Nothing of a name is
// taken away, and no two names look alike: what does not show, or looks like something else, is an escape, and so a backslash
// has another one ahead of it. For text that a program prints there is `harmless` (text.ts), which loses some.

import { createHash } from '../crypto.js';
import { escapeOf, isUnseen } from './unseen.js';

/** Longer than any that is usual; a server may choose a longer one. */
const MAX_SHOWN_CHARS = 300;
const DIGEST_DIGITS = 16;
/** Normalizing takes quadratic time where a name is made for it. */
const MAX_NORMALIZED_CHARS = 1_000;

/** Printable ASCII without a backslash, with single spaces inside. */
const PLAIN = /^(?:[!-[\]-~]+(?: [!-[\]-~]+)*)?$/;
const FORMS: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\t': '\\t' };
/** White space that is no plain space, the braille cell without a dot, and half a character. */
const ODD = /[^\S ]|[\u2800\p{Cs}]/u;
/** Alphabets with letters that cannot be told from Latin ones: Greek, Cyrillic, Armenian, Coptic, Cherokee and Lisu. */
const OTHER_ALPHABET = /[\p{sc=Grek}\p{sc=Cyrl}\p{sc=Armn}\p{sc=Copt}\p{sc=Cher}\p{sc=Lisu}]/u;
const LATIN = /\p{sc=Latn}/u;
/** A word of nothing but letters of Cyrillic and Greek that look Latin. */
const ONLY_LOOK_ALIKES =
  /^[^\p{L}]*(?:[асԁеһіјӏорԛѕԝхуьгАВЕЅІЈКМНОРСТХУαικνρυωηογΑΒΕΖΗΙΚΜΝΟΡΤΥΧ][^\p{L}]*)+$/u;

/** All of `name`; of more than `maxChars` the beginning, with its length and its digest. */
export function shownName(name: string, maxChars = MAX_SHOWN_CHARS): string {
  // Nothing becomes shorter.
  const shown = escapeName(name.length <= maxChars ? name : name.slice(0, maxChars));
  if (shown.length <= maxChars && name.length <= maxChars) return shown;
  const digest = createHash('sha256').update(name, 'utf16le').digest('hex').slice(0, DIGEST_DIGITS);
  const rest = `…[${name.length} characters, sha256 ${digest}]`;
  return `${shown.slice(0, Math.max(0, maxChars - rest.length)).toWellFormed()}${rest}`;
}

/** A tool with its server, as patterns name it: a dot of the server's own name has a backslash ahead of it. */
export const shownTool = (server: string, tool: string): string =>
  joinedNames(shownName(server), shownName(tool));

/** Joins names that were made to be shown before. */
export const joinedNames = (server: string, tool: string): string =>
  `${server.replaceAll('.', '\\.')}.${tool}`;

function escapeName(name: string): string {
  if (PLAIN.test(name)) return name;
  const isAlike = looksLikeAnother(name);
  const characters = [...name];
  return characters
    .map((character, at) => {
      const form = FORMS[character];
      if (form !== undefined) return form;
      const point = character.codePointAt(0) ?? 0;
      if (character === ' ') {
        const isInside = at > 0 && characters[at - 1] !== ' ' && at < characters.length - 1;
        return isInside ? character : escapeOf(point);
      }
      const isOdd = isUnseen(point) || ODD.test(character);
      return isOdd || (isAlike && point > 0x7f) ? escapeOf(point) : character;
    })
    .join('');
}

/** Whether another name may look like it, of letters that all show. */
const looksLikeAnother = (name: string): boolean =>
  name.length > MAX_NORMALIZED_CHARS ||
  name.normalize('NFKC') !== name ||
  (LATIN.test(name) && OTHER_ALPHABET.test(name)) ||
  ONLY_LOOK_ALIKES.test(name);
