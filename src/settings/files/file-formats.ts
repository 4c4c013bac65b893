// The formats in which hosts write their configuration: JSON with comments, TOML, YAML. Which one a file has, its name
// says. From text to plain values or to the first mistake with its place; says nothing else of what stands in the text.

import type { Node, ParseError } from 'jsonc-parser';
import { messageOf } from '../../base/errors.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { jsoncParser, tomlParser, yamlParser } from './parsers.js';

export type Format = 'JSON' | 'TOML' | 'YAML';

/**
 * Larger files are no configuration. Hosts keep their whole history beside their servers in JSON; the other two are
 * written by hand, and their parsers need a second for a few megabytes.
 */
export const MAX_BYTES: Readonly<Record<Format, number>> = {
  JSON: 64 * MB_BYTES,
  TOML: 4 * MB_BYTES,
  YAML: 4 * MB_BYTES,
};

export function formatOf(file: string): Format {
  if (/\.toml$/i.test(file)) return 'TOML';
  return /\.ya?ml$/i.test(file) ? 'YAML' : 'JSON';
}

/**
 * A value, or what is wrong at which line and column, both from 1. Empty text is an empty object. Throws only what a parser
 * throws for want of memory or stack.
 */
export function parseText(
  text: string,
  format: Format,
):
  | { readonly value: unknown }
  | { readonly mistake: string; readonly line: number; readonly column: number } {
  return text.trim() === '' ? { value: {} } : PARSERS[format](text);
}

const PARSERS: Readonly<Record<Format, (text: string) => ReturnType<typeof parseText>>> = {
  JSON: parseJson,
  TOML: (text) => {
    const { parse, TomlError } = tomlParser();
    try {
      return { value: parse(text, { integersAsBigInt: 'asNeeded' }) };
    } catch (thrown) {
      if (!(thrown instanceof TomlError)) throw thrown;
      // The lines below the first quote the file, which may hold tokens.
      const [first = ''] = thrown.message.split('\n');
      const mistake = first.replace(/^Invalid TOML document: /, '');
      return { mistake, line: thrown.line, column: thrown.column };
    }
  },
  YAML: (text) => {
    const { LineCounter, parseDocument } = yamlParser();
    const lineCounter = new LineCounter();
    // Continue's own documentation shares values by `<<`. Its warnings would quote the file on our stderr.
    const document = parseDocument(text, {
      lineCounter,
      prettyErrors: false,
      merge: true,
      logLevel: 'error',
    });
    const [error] = document.errors;
    if (error !== undefined) {
      const { line, col } = lineCounter.linePos(error.pos[0]);
      return { mistake: error.message, line, column: col };
    }
    try {
      return { value: (document.toJS() as unknown) ?? {} };
    } catch (thrown) {
      // Aliases that would grow without end.
      return { mistake: messageOf(thrown), line: 1, column: 1 };
    }
  },
};

function parseJson(text: string): ReturnType<typeof parseText> {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    // Comments and trailing commas are common in these files; the tolerant parser is ten times slower.
  }
  const { parseTree, printParseErrorCode } = jsoncParser();
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (tree !== undefined && error === undefined) return { value: plainValue(tree) };
  const before = text.slice(0, error?.offset ?? 0).split('\n');
  const trouble = error === undefined ? 'NoValue' : printParseErrorCode(error.error);
  const mistake = trouble.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).trim();
  return { mistake, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

// The parser's own conversion assigns members, and assigning `__proto__` changes the object instead.
function plainValue(node: Node): unknown {
  const children = node.children ?? [];
  if (node.type === 'array') return children.map(plainValue);
  if (node.type !== 'object') return node.value as unknown;
  return Object.fromEntries(
    children.flatMap(({ children: [key, value] = [] }) =>
      key === undefined || value === undefined ? [] : [[String(key.value), plainValue(value)]],
    ),
  );
}

// Files of the operator's own rules as plain values: YAML, or JSON, which is YAML too. Stricter than what hosts write: a key
// that is there twice is an error, and so is whatever a parser would only warn of.

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
