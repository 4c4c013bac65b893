// Edits of a configuration file as text, each checked by its meaning: what the text says afterwards is what it said
// before with nothing else changed. A file that cannot be edited so is left as it is, with the reason.

import { isObject } from '../../base/json/records.js';
import { type Format, parseText } from '../../settings/files/file-formats.js';
import {
  CannotEdit,
  type MemberEdit,
  type MemberPath,
  memberAt,
  putMember,
  takeMember,
} from './json-members.js';
import { putTable, replaceKey, takeTable } from './toml-tables.js';

/** Throws CannotEdit, whose message is the end of a sentence that begins with the file's name. */
export function editedText(
  text: string,
  format: Format,
  edits: readonly MemberEdit[],
): {
  readonly text: string;
  /** Edits that would take the made ones back, the last one first. */
  readonly undo: readonly MemberEdit[];
} {
  let now = text;
  const undo: MemberEdit[] = [];
  for (const edit of edits) {
    const before = meaningOf(now, format);
    if (edit.kind === 'remove' && edit.ifEmpty && !isEmptyMap(memberAt(before, edit.path))) continue;
    const { text: next, back } =
      edit.kind === 'put' ? put(now, before, format, edit) : take(now, before, format, edit);
    check(meaningOf(next, format), before, format, edit);
    now = next;
    undo.unshift(...back);
  }
  return { text: now, undo };
}

function put(
  text: string,
  before: unknown,
  format: Format,
  edit: Extract<MemberEdit, { kind: 'put' }>,
): ReturnType<typeof take> {
  const { path, value, raw } = edit;
  const earlier = memberAt(before, path);
  if (earlier === undefined) {
    const next = format === 'JSON' ? putMember(text, path, edit) : putTable(text, path, value, raw);
    return { text: next, back: [{ kind: 'remove', path }, ...editsThatEmpty(before, path)] };
  }
  const replaced = format === 'JSON' ? putMember(text, path, edit) : replaceKey(text, path, value);
  if (replaced !== undefined) return { text: replaced, back: [{ kind: 'put', path, value: earlier }] };
  const { text: without, back } = take(text, before, format, edit);
  return { text: putTable(without, path, value, raw), back: [{ kind: 'remove', path }, ...back] };
}

/** Maps that are made for the member go with it, the inner one first. */
function editsThatEmpty(before: unknown, path: MemberPath): MemberEdit[] {
  return path
    .slice(0, -1)
    .map((_key, index) => path.slice(0, index + 1))
    .filter((parent) => memberAt(before, parent) === undefined)
    .reverse()
    .map((parent) => ({ kind: 'remove', path: parent, ifEmpty: true }));
}

function take(
  text: string,
  before: unknown,
  format: Format,
  { path }: MemberEdit,
): { readonly text: string; readonly back: readonly MemberEdit[] } {
  const value = memberAt(before, path);
  const { text: next, taken } = format === 'JSON' ? takeMember(text, path) : takeTable(text, path);
  return { text: next, back: [{ kind: 'put', path, value, ...taken }] };
}

/** In TOML a map may end with its last member, or stay as an empty header; both mean the same to every host. */
function check(found: unknown, before: unknown, format: Format, edit: MemberEdit): void {
  const { path } = edit;
  const expected =
    edit.kind === 'put'
      ? [withMember(before, path, edit.value)]
      : [
          withoutMember(before, path, false),
          ...(format === 'TOML' ? [withoutMember(before, path, true)] : []),
        ];
  if (expected.some((one) => canonicalJson(found) === canonicalJson(one))) return;
  throw new CannotEdit(
    `has ${path.join('.')} in a form that cannot be changed without changes to other parts of the file`,
  );
}

const isEmptyMap = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0;

function meaningOf(text: string, format: Format): unknown {
  const parsed = parseText(text, format);
  if ('value' in parsed) return parsed.value;
  throw new CannotEdit(`cannot be read at line ${parsed.line}, column ${parsed.column}: ${parsed.mistake}`);
}

function withMember(value: unknown, [key, ...rest]: MemberPath, member: unknown): unknown {
  if (key === undefined) return member;
  const map = isObject(value) ? value : {};
  return { ...map, [key]: withMember(Object.hasOwn(map, key) ? map[key] : undefined, rest, member) };
}

/** `endsEmpty`: a map ends with its last member. */
function withoutMember(value: unknown, [key, ...rest]: MemberPath, endsEmpty: boolean): unknown {
  if (key === undefined || !isObject(value)) return value;
  const { [key]: inner, ...others } = value;
  if (rest.length === 0) return others;
  const left = withoutMember(inner, rest, endsEmpty);
  return endsEmpty && isEmptyMap(left) ? others : { ...others, [key]: left };
}

/** Equal texts mean equal values, whatever the order of keys. */
const canonicalJson = (value: unknown): string => JSON.stringify(orderMembers(value));

function orderMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(orderMembers);
  if (typeof value === 'bigint' || value instanceof Date) return { [typeof value]: String(value) };
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([key, member]) => [key, orderMembers(member)] as const);
  return Object.fromEntries(members.sort(([one], [other]) => (one < other ? -1 : 1)));
}
