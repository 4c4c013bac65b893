// One member of a JSON file put in or taken out, and every other character left as it is: comments, commas at the end,
// tabs, line endings. From text to text; the caller compares what both mean. jsonc-parser's own `modify` would take a
// comment away with the member that follows it.

import type { Node, ParseError } from 'jsonc-parser';
import { isObject } from '../../base/json/records.js';
import { jsoncParser } from '../../settings/files/parsers.js';

/** An obstacle to an edit; its message is the end of a sentence that begins with the file's name. */
export class CannotEdit extends Error {}

/** Throws CannotEdit. A text without anything in it becomes a whole file. */
export function putMember(
  text: string,
  path: MemberPath,
  { value, raw, behind }: Omit<Extract<MemberEdit, { kind: 'put' }>, 'kind' | 'path'>,
): string {
  if (text.trim() === '') return `${JSON.stringify(nestValue(path, value), undefined, 2)}\n`;
  const { node, rest } = walk(rootOf(text), path);
  const style = styleOf(text);
  const [key, ...deeper] = rest;
  if (key === undefined)
    return splice(
      text,
      node.offset,
      endOf(node),
      raw ?? formatValue(value, indentAt(text, node.offset), style),
    );
  const content = (indent: string) =>
    `${JSON.stringify(key)}:${style.gap}${raw ?? formatValue(nestValue(deeper, value), indent, style)}`;
  const members = node.children ?? [];
  return members.length === 0
    ? intoEmpty(text, node, content, style)
    : insertedText(text, node, members, placeBehind(members, behind), content, style);
}

/** The text without the member, and what puts it back. Throws CannotEdit. */
export function takeMember(
  text: string,
  path: MemberPath,
): { readonly text: string; readonly taken: { readonly raw: string; readonly behind: readonly string[] } } {
  const { node, rest } = walk(rootOf(text), path.slice(0, -1));
  const members = node.children ?? [];
  const at = rest.length > 0 ? -1 : members.findIndex((member) => keyOf(member) === path.at(-1));
  const member = members[at];
  const value = member?.children?.[1];
  if (member === undefined || value === undefined) throw new CannotEdit(`has no ${path.join('.')}`);
  const behind = members.slice(0, at).map(keyOf);
  const raw = text.slice(value.offset, endOf(value));
  return { text: cut(text, node, members, at), taken: { raw, behind } };
}

function rootOf(text: string): Node {
  const errors: ParseError[] = [];
  const root = jsoncParser().parseTree(text, errors, { allowTrailingComma: true });
  if (root === undefined || errors.length > 0) throw new CannotEdit('cannot be parsed');
  if (root.type !== 'object') throw new CannotEdit('must hold a JSON object');
  return root;
}

/** The deepest node on the path, and the keys that are not there. */
function walk(root: Node, path: MemberPath): { readonly node: Node; readonly rest: MemberPath } {
  let node = root;
  for (const [index, key] of path.entries()) {
    if (node.type !== 'object') throw new CannotEdit(`has no object at ${path.slice(0, index).join('.')}`);
    const found = (node.children ?? []).filter((member) => keyOf(member) === key);
    if (found.length > 1) throw new CannotEdit(`has ${path.slice(0, index + 1).join('.')} more than once`);
    const value = found[0]?.children?.[1];
    if (value === undefined) return { node, rest: path.slice(index) };
    node = value;
  }
  return { node, rest: [] };
}

type Style = { readonly eol: string; readonly unit: string; readonly gap: string; readonly inLines: boolean };

function styleOf(text: string): Style {
  const inLines = text.trim().includes('\n') || /^\{\s*\}$/.test(text.trim());
  const eol = /\r\n/.test(text) ? '\r\n' : '\n';
  const unit = /^([ \t]+)"/m.exec(text)?.[1] ?? '  ';
  return { eol, unit, inLines, gap: inLines || /":\s/.test(text) ? ' ' : '' };
}

function formatValue(value: unknown, indent: string, { eol, unit, inLines }: Style): string {
  if (!inLines) return JSON.stringify(value);
  return JSON.stringify(value, undefined, unit).replaceAll('\n', eol + indent);
}

/** Into `{}`, before the comments in it. */
function intoEmpty(text: string, node: Node, content: (indent: string) => string, style: Style): string {
  const [start, end] = [node.offset + 1, endOf(node) - 1];
  const inner = text.slice(start, end);
  if (!style.inLines) return splice(text, start, inner.trim() === '' ? end : start, content(''));
  const base = indentAt(text, node.offset);
  const line = style.eol + base + style.unit + content(base + style.unit);
  return inner.trim() === ''
    ? splice(text, start, end, line + style.eol + base)
    : splice(text, start, start, line);
}

function placeBehind(members: readonly Node[], behind: readonly string[] | undefined): number {
  if (behind === undefined) return members.length;
  return members.findLastIndex((member) => behind.includes(keyOf(member))) + 1;
}

/** Before the member at `index`, or behind the last one. */
function insertedText(
  text: string,
  node: Node,
  members: readonly Node[],
  index: number,
  content: (indent: string) => string,
  style: Style,
): string {
  const [first] = members;
  if (first === undefined) return text;
  const inLines = text.slice(node.offset, first.offset).includes('\n');
  const indent = inLines ? indentAt(text, first.offset) : '';
  const separator = inLines ? style.eol + indent : style.gap;
  const own = inLines ? content(indent) : content(indentAt(text, node.offset));
  const before = members[index - 1];
  if (before === undefined) return splice(text, first.offset, first.offset, `${own},${separator}`);
  const comma = commaAfter(text, endOf(before));
  const anchor = comma === undefined ? endOf(before) : comma + 1;
  const place = inLines ? restOfLine(text, anchor) : anchor;
  // A member that others follow needs a comma, and so does the last one where the last one had it.
  const withText = splice(text, place, place, separator + own + (comma === undefined ? '' : ','));
  return comma === undefined ? splice(withText, anchor, anchor, ',') : withText;
}

function cut(text: string, node: Node, members: readonly Node[], at: number): string {
  const member = members[at];
  if (member === undefined) return text;
  const before = members[at - 1];
  const after = commaAfter(text, endOf(member));
  const earlier = after === undefined && before !== undefined ? commaAfter(text, endOf(before)) : undefined;
  const spans: Array<readonly [number, number]> = [];
  if (after !== undefined && text.slice(endOf(member), after).trim() === '') {
    spans.push(wholeLines(text, member.offset, after + 1));
  } else {
    spans.push(wholeLines(text, member.offset, endOf(member)));
    if (after !== undefined) spans.push([after, after + 1]);
  }
  if (earlier !== undefined) spans.push([earlier, earlier + 1]);
  let out = text;
  for (const [from, to] of spans.sort(([one], [other]) => other - one)) out = splice(out, from, to, '');
  if (members.length > 1) return out;
  // A member that was alone in the braces leaves nothing behind but its comments.
  const close = endOf(node) - 1 - (text.length - out.length);
  return out.slice(node.offset + 1, close).trim() === '' ? splice(out, node.offset + 1, close, '') : out;
}

/** The span with its lines where nothing else stands on them, else with the spaces in front or behind. */
function wholeLines(text: string, from: number, to: number): readonly [number, number] {
  let start = from;
  while (isSpace(text[start - 1])) start--;
  let end = to;
  while (isSpace(text[end])) end++;
  const opensLine = start === 0 || text[start - 1] === '\n';
  const closesLine = end === text.length || text[end] === '\n' || text.startsWith('\r\n', end);
  if (opensLine && closesLine)
    return [start, text.startsWith('\r\n', end) ? end + 2 : Math.min(end + 1, text.length)];
  if (opensLine) return [from, end];
  return closesLine || text[end] === '}' ? [start, to] : [from, end];
}

const isSpace = (char: string | undefined): boolean => char === ' ' || char === '\t';

/** The offset of the comma that follows, past space and comments. */
function commaAfter(text: string, from: number): number | undefined {
  const at = skip(text, from, /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y);
  return text[at] === ',' ? at : undefined;
}

/** Past the comments that stand on this line, where nothing else does. */
function restOfLine(text: string, from: number): number {
  const at = skip(text, from, /(?:[ \t]|\/\*[^\n]*?\*\/)*(?:\/\/[^\r\n]*)?/y);
  return at === text.length || text[at] === '\n' || text[at] === '\r' ? at : from;
}

function skip(text: string, from: number, pattern: RegExp): number {
  pattern.lastIndex = from;
  return from + (pattern.exec(text)?.[0].length ?? 0);
}

/** The space that the line of `offset` begins with. */
function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? '';
}

const keyOf = (member: Node): string => String(member.children?.[0]?.value);
const endOf = (node: Node): number => node.offset + node.length;
const splice = (text: string, from: number, to: number, put: string): string =>
  text.slice(0, from) + put + text.slice(to);

/** `value` below the keys of `path`. */
export function nestValue(path: MemberPath, value: unknown): unknown {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
}

/** Whether a member is there. */
export function memberAt(value: unknown, path: MemberPath): unknown {
  return path.reduce<unknown>(
    (found, key) => (isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined),
    value,
  );
}

// Edits of a configuration file as they are asked for, whatever the file's format. Types only.

/** Keys that lead from the root of the file to one member of a map. */
export type MemberPath = readonly string[];

export type MemberEdit =
  | {
      readonly kind: 'put';
      readonly path: MemberPath;
      readonly value: unknown;
      /** How the value was written before it was taken out; without it, it is written anew. */
      readonly raw?: string | undefined;
      /** Names of the members behind which it goes, where they are there; without it, it goes to the end. */
      readonly behind?: readonly string[] | undefined;
    }
  | {
      readonly kind: 'remove';
      readonly path: MemberPath;
      /** Only where nothing is in it. */
      readonly ifEmpty?: true | undefined;
    };
