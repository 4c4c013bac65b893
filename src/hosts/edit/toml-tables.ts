// One table or key of a TOML file put in or taken out, and every other character left as it is. Finds where statements begin and
// end, and asks a parser for nothing; the caller compares what the text means before and after.

import { isObject } from '../../base/json/records.js';
import { tomlParser } from '../../settings/files/parsers.js';
import { type MemberPath, nestValue, type takeMember } from './json-members.js';

/** A header or a key with its value. `path` begins at the root; `end` is behind its line's end. */
type Statement = {
  readonly isHeader: boolean;
  readonly path: MemberPath;
  readonly start: number;
  readonly end: number;
};

/** A table goes to the end of the file; a key goes to the end of its table, where that has a header of its own. */
export function putTable(text: string, path: MemberPath, value: unknown, raw?: string): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const placed = isObject(value) ? undefined : putKey(text, path, value, eol);
  if (placed !== undefined) return placed;
  const table =
    (raw ?? tomlParser().stringify(nestValue(path, value))).replace(/\r?\n/g, eol).trimEnd() + eol;
  if (text.trim() === '') return text + table;
  const end = /\n$/.test(text) ? '' : eol;
  const blank = /\n\r?\n$/.test(text) ? '' : eol;
  return text + end + blank + withoutEmptyParents(table, path, eol);
}

function putKey(text: string, path: MemberPath, value: unknown, eol: string): string | undefined {
  const statements = statementsOf(text);
  const parent = path.slice(0, -1);
  let last = statements.findLastIndex((one) => one.isHeader && isSamePath(one.path, parent));
  if (last === -1) return undefined;
  while (statements[last + 1]?.isHeader === false) last++;
  const end = statements[last]?.end ?? text.length;
  const line =
    tomlParser()
      .stringify(nestValue(path.slice(-1), value))
      .trimEnd() + eol;
  const before = text.slice(0, end);
  return before + (before.endsWith('\n') ? '' : eol) + line + text.slice(end);
}

/** Behind the equals sign: a text of one line or a word, up to what may stand behind it. */
const SHORT_VALUE = /=[ \t]*("(?:\\.|[^"\\\n])*"|'[^'\n]*'|[^\s#"'[{,]+)(?=[ \t]*(?:#|\r?\n|$))/;

/** The text with another value of a key that has a line of its own; undefined where it has none. */
export function replaceKey(text: string, path: MemberPath, value: unknown): string | undefined {
  const own = statementsOf(text).find((one) => !one.isHeader && isSamePath(one.path, path));
  if (own === undefined || isObject(value)) return undefined;
  const found = SHORT_VALUE.exec(text.slice(own.start, own.end));
  const [, written] = found ?? [];
  if (found === null || written === undefined) return undefined;
  const end = own.start + found.index + found[0].length;
  const fresh = tomlParser().stringify({ key: value }).trimEnd().slice('key = '.length);
  return text.slice(0, end - written.length) + fresh + text.slice(end);
}

const isSamePath = (one: MemberPath, other: MemberPath): boolean =>
  one.length === other.length && one.every((key, index) => other[index] === key);

/** smol-toml writes no headers for tables that hold only tables, but versions differ, and a second one is an error. */
function withoutEmptyParents(table: string, path: MemberPath, eol: string): string {
  const parents = path.slice(0, -1).map((_key, index) => path.slice(0, index + 1).join('.'));
  return table
    .split(eol)
    .filter((line) => !parents.some((parent) => line.trim() === `[${parent}]`))
    .join(eol)
    .trimStart();
}

/** The text without the table and the tables in it, and what puts them back. */
export function takeTable(text: string, path: MemberPath): ReturnType<typeof takeMember> {
  const statements = statementsOf(text);
  const isWithin = (one: Statement) => path.every((key, index) => one.path[index] === key);
  const own = statements.filter(isWithin);
  let out = text;
  const spans = spansOf(own, statements, text);
  for (const [start, end] of spans.toReversed()) out = out.slice(0, start) + out.slice(end);
  if (spans[0]?.[0] === 0) out = out.replace(/^(?:[ \t]*\r?\n)+/, '');
  // Keys that stood below a header of all servers mean nothing at the end of the file.
  const standsAlone = own[0]?.isHeader === true;
  const raw = own.map(({ start, end }) => text.slice(start, end)).join('');
  return {
    text: out,
    taken: {
      raw: standsAlone ? raw : tomlParser().stringify(nestValue(path, valueAt(text, path))),
      behind: [],
    },
  };
}

const valueAt = (text: string, path: MemberPath): unknown =>
  path.reduce<unknown>((found, key) => (found as Record<string, unknown>)[key], tomlParser().parse(text));

/** Neighbours become one span with what stands between them; an empty line in front of a table goes with it. */
function spansOf(
  own: readonly Statement[],
  all: readonly Statement[],
  text: string,
): Array<[number, number]> {
  const spans: Array<[number, number]> = [];
  for (const statement of own) {
    const last = spans.at(-1);
    const before = all[all.indexOf(statement) - 1];
    if (last !== undefined && before !== undefined && own.includes(before) && !statement.isHeader)
      last[1] = statement.end;
    else
      spans.push([statement.isHeader ? blankBefore(text, statement.start) : statement.start, statement.end]);
  }
  return spans;
}

function blankBefore(text: string, start: number): number {
  let at = start;
  while (at >= 2 && text[at - 1] === '\n') {
    const line = text.lastIndexOf('\n', at - 2) + 1;
    if (line === 0 || !/^[ \t]*\r?\n$/.test(text.slice(line, at))) break;
    at = line;
  }
  return at;
}

const STRING = /"""(?:\\[\s\S]|[^\\])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'/y;
const KEY_PART = /[ \t]*(?:"((?:\\.|[^"\\\n])*)"|'([^'\n]*)'|([\w-]+))[ \t]*/y;

function statementsOf(text: string): Statement[] {
  const found: Statement[] = [];
  let table: MemberPath = [];
  for (let at = 0; at < text.length; ) {
    const line = /[^\S\n]*(?:#[^\n]*)?(?:\n|$)/y;
    line.lastIndex = at;
    const blank = line.exec(text);
    if (blank !== null && blank[0] !== '') {
      at = line.lastIndex;
      continue;
    }
    const start = at;
    const [brackets = ''] = /^[ \t]*\[*/.exec(text.slice(start, start + 200)) ?? [];
    const isHeader = brackets.trim() !== '';
    const { path } = keyAt(text, start + brackets.length);
    at = endOfStatement(text, start);
    if (isHeader) table = path;
    found.push({ isHeader, path: isHeader ? path : [...table, ...path], start, end: at });
  }
  return found;
}

function keyAt(text: string, from: number): { readonly path: MemberPath } {
  const path: string[] = [];
  for (let at = from; ; at++) {
    KEY_PART.lastIndex = at;
    const [whole = '', basic, literal, bare] = KEY_PART.exec(text) ?? [];
    if (whole === '') return { path };
    path.push(basic === undefined ? (literal ?? bare ?? '') : unescapeBasicString(basic));
    at += whole.length;
    if (text[at] !== '.') return { path };
  }
}

/** The string as TOML reads it. */
function unescapeBasicString(basic: string): string {
  return Object.keys(tomlParser().parse(`"${basic}" = 1`))[0] ?? basic;
}

/** Behind the line's end, with brackets closed and texts of several lines ended. */
function endOfStatement(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (char === '"' || char === "'") {
      STRING.lastIndex = at;
      at += (STRING.exec(text)?.[0].length ?? 1) - 1;
    } else if (char === '#') at = (text.indexOf('\n', at) + 1 || text.length + 1) - 2;
    else if (char === '[' || char === '{') depth++;
    else if (char === ']' || char === '}') depth--;
    else if (char === '\n' && depth <= 0) return at + 1;
  }
  return text.length;
}
