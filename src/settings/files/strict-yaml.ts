// Files of the operator's own rules as plain values: YAML, or JSON, which is YAML too. Stricter than what hosts write: a key
// that is there twice is an error, and so is whatever a parser would only warn of.

import { messageOf } from '../../base/errors.js';
import { yamlParser } from './parsers.js';

const STAR_HINT = 'a pattern that begins with * is written in quotes, and aliases are not read';

/** The value, or what is wrong with the text, in one line that does not quote more of it than its place. */
export function strictYaml(text: string): { readonly value: unknown } | { readonly mistake: string } {
  const document = yamlParser().parseDocument(text, { prettyErrors: true });
  const [trouble] = [...document.errors, ...document.warnings];
  if (trouble !== undefined) {
    const said = (trouble.message.split('\n', 1)[0] ?? trouble.code).replace(/:$/, '');
    return { mistake: trouble.code === 'BAD_ALIAS' ? `${said}: ${STAR_HINT}` : said };
  }
  try {
    // Aliases would let a small file become a large one, and a pattern that begins with a star is one to YAML.
    return { value: document.toJS({ maxAliasCount: 0 }) as unknown };
  } catch (thrown) {
    return { mistake: `${messageOf(thrown)}: ${STAR_HINT}` };
  }
}
