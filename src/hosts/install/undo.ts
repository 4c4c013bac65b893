// A change taken back. A file that nobody has touched since becomes what it was, byte for byte; in any other only our own
// edits are taken back, and what somebody has changed of them stays, with a word about it. No old file goes over a newer one.

import { isDeepStrictEqual } from 'node:util';
import { formatOf, parseText } from '../../settings/files/file-formats.js';
import { editedText } from '../edit/edited-text.js';
import { CannotEdit, memberAt } from '../edit/json-members.js';
import type { MemberEdit } from '../edit/member-edit.js';
import {
  bytesFor,
  digestOf,
  fileError,
  readUserFile,
  removeUserFile,
  replaceUserFile,
  type UserFile,
} from '../edit/user-file.js';
import { backupOf, type Change, type ChangePlace, forget, type RecordedFile } from './changes.js';

export type UndoneFile = {
  readonly file: string;
  /**
   * `restored`: byte for byte what it was. `removed`: it was made by us and is gone. `edited`: it was changed since, and
   * our edits were taken back. `kept`: nothing of ours was left in it.
   */
  readonly result: 'restored' | 'removed' | 'edited' | 'kept';
  /** Sentences about what could not be taken back. */
  readonly notes: readonly string[];
};

/** How an undo judges what stands where we wrote. */
export type UndoRules = {
  /** Whether a member that is no longer as we wrote it may go nevertheless. */
  readonly mayRemove: (value: unknown, path: readonly string[]) => boolean;
};

/** Throws E_CONFIG for a file that cannot be read or written; what was undone before it stays undone. */
export function undoChange(
  change: Change,
  rules: UndoRules,
  place: ChangePlace,
  dryRun = false,
): UndoneFile[] {
  // An entry that could not go back into its host must not leave our folder, which is undone after the host's file.
  const homeless = new Set<string>();
  const undone = change.files
    .toReversed()
    .map((file) => undoFile(change, file, { ...rules, homeless }, place, dryRun));
  // Entries that could not be put back are kept in the backup; a registration has nothing to put back.
  const isDone = change.kind === 'install' || undone.every(({ notes }) => notes.length === 0);
  if (!dryRun && isDone) forget(change);
  return undone;
}

function undoFile(
  change: Change,
  recorded: RecordedFile,
  rules: UndoRules & { readonly homeless: Set<string> },
  { host }: ChangePlace,
  dryRun: boolean,
): UndoneFile {
  const now = readUserFile(recorded.path, host);
  const before = backupOf(change, recorded);
  const file = recorded.path;
  const isUntouched = now.bytes !== undefined && digestOf(now.bytes) === recorded.sha256;
  if (isUntouched && rules.homeless.size === 0) {
    if (before === undefined) {
      if (!dryRun) removeUserFile(now, recorded.folders);
      return { file, result: 'removed', notes: [] };
    }
    if (!dryRun) replaceUserFile(now, before);
    return { file, result: 'restored', notes: [] };
  }
  const { edits, notes } = editsThatFit(now, recorded, rules);
  if (edits.length === 0) return { file, result: 'kept', notes };
  try {
    const { text } = editedText(now.text, formatOf(file), edits);
    if (text === now.text) return { file, result: 'kept', notes };
    if (!dryRun) replaceUserFile(now, bytesFor(now, text));
    return { file, result: 'edited', notes };
  } catch (thrown) {
    if (!(thrown instanceof CannotEdit)) throw thrown;
    throw fileError(
      file,
      thrown.message,
      `Take our entry out by hand; what the file was before stands in ${change.folder}.`,
    );
  }
}

function editsThatFit(
  now: UserFile,
  { path: file, edits, undo }: RecordedFile,
  { mayRemove, homeless }: UndoRules & { readonly homeless: Set<string> },
): { readonly edits: readonly MemberEdit[]; readonly notes: readonly string[] } {
  const parsed = parseText(now.text, formatOf(file));
  if (!('value' in parsed)) {
    const { line, column, mistake } = parsed;
    throw fileError(`${file}:${line}:${column}`, `cannot be read: ${mistake}`, 'Correct it, then try again.');
  }
  const notes: string[] = [];
  const fitting = undo.filter((edit) => {
    const { path } = edit;
    const found = memberAt(parsed.value, path);
    if (edit.kind === 'remove') {
      if (edit.ifEmpty || found === undefined) return edit.ifEmpty === true;
      if (homeless.has(path.at(-1) ?? '')) return false;
      const wrote = edits.find((one) => one.kind === 'put' && isDeepStrictEqual(one.path, path));
      const isOurs = wrote?.kind === 'put' && isDeepStrictEqual(plain(found), plain(wrote.value));
      if (isOurs || mayRemove(found, path)) return true;
      notes.push(`${path.join('.')} in ${file} was changed since, and stays there.`);
      return false;
    }
    if (found === undefined || isOurPlace(undo, path)) return true;
    if (!isDeepStrictEqual(plain(found), plain(edit.value))) {
      homeless.add(path.at(-1) ?? '');
      notes.push(`${path.join('.')} could not be put back: ${file} has another one of this name now.`);
    }
    return false;
  });
  return { edits: fitting, notes };
}

/** Our own entry is removed before the entry that was there before it comes back. */
const isOurPlace = (undo: readonly MemberEdit[], path: readonly string[]): boolean =>
  undo.some((one) => one.kind === 'remove' && isDeepStrictEqual(one.path, path));

/** As it is written: parsers differ in what their objects descend from. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner)) ??
      'null',
  ) as unknown;
