// Tools that a person has allowed for good, written into the policy file: with the day and the reason, and with everything else
// in the file as it was, comments included. The new text is read as the bridge will read it before it takes the place of the
// old one.

import { chmodSync, realpathSync, statSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Document } from 'yaml';
import { BridgeError } from '../../base/errors.js';
import { lockFile } from '../../base/files/file-lock.js';
import { replaceFile } from '../../base/files/replace-file.js';
import { jsonIn } from '../../base/json/records.js';
import { LinkedSignal } from '../../base/waiting/linked-signal.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import { yamlParser } from '../../settings/files/parsers.js';
import { type PolicyFile, parsePolicy, policyText } from './policy-file.js';

/** A tool that is allowed for good, by exact names. */
export type Always = {
  readonly server: string;
  readonly tool: string;
  /** Key that tells the server's entry from others of its name. */
  readonly entry?: string;
  readonly reason: string | undefined;
};

const LIST = ['approvals', 'always'] as const;
const LOCK_WITHIN_MS = 10_000;

/** Does nothing where it is allowed already. Throws E_SETTINGS or E_STATE, and then the file is as it was. */
export async function allowAlways(
  file: string,
  allowed: Always,
  host: HostFacts,
  signal: AbortSignal,
  now = new Date(),
): Promise<void> {
  // A link stays one.
  const path = realpathSync(file);
  using ends = new LinkedSignal(signal, AbortSignal.timeout(LOCK_WITHIN_MS));
  using _lock = await lockFile(`${path}.lock`, ends.signal);
  const before = policyText(path, host);
  const old = parsePolicy(path, before);
  const { server, tool, entry: held, reason } = allowed;
  const always = old.approvals?.always ?? [];
  if (always.some((one) => one.server === server && one.tool === tool && one.entry === held)) return;
  const since = now.toISOString().slice(0, 10);
  const ofEntry = held === undefined ? {} : { entry: held };
  const entry = { server, tool, ...ofEntry, since, ...(reason === undefined ? {} : { reason }) };
  const wanted = withAlways(old, [...always, entry]);
  const text = withEntry(before, entry).find((written) => saysIt(path, written, wanted));
  if (text === undefined) throw notWritten(path);
  const { mode } = statSync(path);
  replaceFile(path, text);
  chmodSync(path, mode & 0o777);
}

function saysIt(path: string, text: string, wanted: PolicyFile): boolean {
  try {
    return isDeepStrictEqual(parsePolicy(path, text), wanted);
  } catch {
    return false;
  }
}

/** Put in as text, where it can be; else the whole is written anew, and its white space may change. The best one first. */
function withEntry(text: string, entry: object): readonly string[] {
  const document = yamlParser().parseDocument(text);
  const inserted = insertedInto(text, document, entry);
  if (document.hasIn(LIST)) document.addIn(LIST, document.createNode(entry));
  else document.setIn(LIST, document.createNode([entry]));
  // Long lines stay long.
  const written = document.toString({ lineWidth: 0 });
  const anew = text.trimStart().startsWith('{') ? json(written, document.toJS(), text) : written;
  return inserted === undefined ? [anew] : [inserted, anew];
}

/** Undefined where the lists do not stand in lines of their own. */
function insertedInto(text: string, document: Document.Parsed, entry: object): string | undefined {
  const { isMap, isSeq } = yamlParser();
  const root: unknown = document.contents;
  if (!isMap(root) || root.flow === true) return undefined;
  const section = root.get(LIST[0], true);
  const list = isMap(section) ? section.get(LIST[1], true) : undefined;
  if (section === undefined)
    return insertedBehind(text, undefined, ['approvals:', '  always:', ...itemOf(entry, '    ')]);
  if (!isMap(section) || section.flow === true || section.items.length === 0) return undefined;
  const indent = indentOf(text, section.items[0]?.key);
  if (list === undefined) {
    const last = section.items.at(-1);
    const lines = [`${indent}always:`, ...itemOf(entry, `${indent}  `)];
    return insertedBehind(text, last?.value ?? last?.key, lines);
  }
  if (!isSeq(list) || list.flow === true || list.items.length === 0) return undefined;
  const [first] = list.items;
  // Ahead of its first member stand the dash and one space.
  const start = indentOf(text, first).slice(0, -2);
  return insertedBehind(text, list.items.at(-1), itemOf(entry, start));
}

/** One item of a list, in lines. JSON's strings are YAML's too. */
const itemOf = (entry: object, indent: string): readonly string[] =>
  Object.entries(entry).map(
    ([name, value], at) => `${indent}${at === 0 ? '- ' : '  '}${name}: ${scalar(String(value))}`,
  );

const scalar = (value: string): string =>
  /^[A-Za-z][\w ./-]*\w$/.test(value) && yamlParser().parse(value) === value ? value : JSON.stringify(value);

/** White space as wide as what stands before the node in its line. */
function indentOf(text: string, node: unknown): string {
  const start = rangeOf(node)?.[0] ?? 0;
  return ' '.repeat(start - (text.lastIndexOf('\n', start - 1) + 1));
}

/** Behind the line in which the node ends; at the end of the text without one. */
function insertedBehind(text: string, node: unknown, lines: readonly string[]): string | undefined {
  const end = node === undefined ? text.length : rangeOf(node)?.[1];
  if (end === undefined) return undefined;
  const newline = text.indexOf('\n', Math.max(0, end - 1));
  const at = node === undefined || newline === -1 ? text.length : newline + 1;
  const before = text.slice(0, at);
  const gap = before === '' || before.endsWith('\n') ? '' : '\n';
  return `${before}${gap}${lines.join('\n')}\n${text.slice(at)}`;
}

const rangeOf = (node: unknown): readonly number[] | undefined =>
  (Object(node) as { readonly range?: readonly number[] }).range;

/** JSON has no comments to keep, and is read by others as well. */
const json = (written: string, value: unknown, before: string): string =>
  jsonIn(before) !== undefined
    ? `${JSON.stringify(value, null, before.includes('\n') ? 2 : undefined)}\n`
    : written;

function withAlways(policy: PolicyFile, always: NonNullable<PolicyFile['approvals']>['always']): PolicyFile {
  const { approvals = { trust: [], reads: [], rules: [], always: [] } } = policy;
  return { ...policy, approvals: { ...approvals, always } };
}

const notWritten = (path: string): BridgeError =>
  new BridgeError('E_STATE', `${path} cannot be changed without a change to something else in it.`, {
    fault: 'operator',
    remedy: 'Write the tool into approvals.always by hand.',
  });
