// Token-Oriented Object Notation, where it is the shorter form; the only file that knows it. TOON wins on uniform
// rows (about 0.45 of compact JSON) and loses on mixed or deep data, so both are made and the shorter one is sent.

import { encode } from '@toon-format/toon';
import { RawJson, stringify } from '../../base/json/json-text.js';
import { makeHarmless } from '../../base/text/text.js';

/** Above this the encoder, 25 times slower than JSON, would be felt by every other run. */
const MAX_TOON_CHARS = 200_000;

/** Sixteen digits, an exponent of three, minus nought: JavaScript may read another number than is written there. */
const NUMBER_OF_ITS_OWN = /\d{16}|\d[eE][+-]?\d{3}|-0(?![.\d])/;

/** A block with a fence longer than any in the text, so that nothing in the text can close the block. */
function block(language: string, text: string): string {
  const ticks = (text.match(/`{3,}/g) ?? []).reduce((most, run) => Math.max(most, run.length + 1), 3);
  const fence = '`'.repeat(ticks);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** A fenced block, labelled `toon` or `json`. */
export function toonOrJson(value: object): string {
  const json = stringify(value);
  if (json.length > MAX_TOON_CHARS) return block('json', json);
  try {
    const toon = encode(
      Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plainMember(member)])),
    );
    if (toon.length < json.length) return block('toon', toon);
  } catch {
    // Lone surrogates, cycles and deep nesting: TOON has no form for them, JSON has.
  }
  return block('json', json);
}

/**
 * A list of at least two rows, all with the same keys and nothing nested, as TOON without a fence: its head says what it
 * is. Undefined for any other value, and where JavaScript's numbers would change one.
 */
export function toonRows({ text }: RawJson): string | undefined {
  if (!text.startsWith('[{') || text.length > MAX_TOON_CHARS || NUMBER_OF_ITS_OWN.test(text))
    return undefined;
  const rows = JSON.parse(text) as readonly object[];
  const keys = JSON.stringify(Object.keys(rows[0] ?? {}));
  const isTable = rows.every((row) => isFlat(row) && JSON.stringify(Object.keys(row)) === keys);
  return rows.length > 1 && keys !== '[]' && isTable ? makeHarmless(encode(rows)) : undefined;
}

const isFlat = (row: unknown): boolean =>
  typeof row === 'object' &&
  row !== null &&
  !Array.isArray(row) &&
  !Object.values(row).some((value) => typeof value === 'object' && value !== null);

/** A relayed value as data; one that JavaScript's numbers would change stays text. */
function plainMember(member: unknown): unknown {
  if (!(member instanceof RawJson)) return member;
  return NUMBER_OF_ITS_OWN.test(member.text) ? member.text : (JSON.parse(member.text) as unknown);
}
