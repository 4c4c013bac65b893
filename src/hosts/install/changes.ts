// Every change that we make to a host's files, recorded before it is made: what the file was, what we wrote, and the edits
// that take it back. Kept in the state directory, private to the user, until it is undone.

import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { BridgeError, messageOf } from '../../base/errors.js';
import { findExchangeable } from '../../base/files/only-ours.js';
import { formatOf, parseText } from '../../settings/files/file-formats.js';
import { knownStateDirs, stateDirRemedy } from '../../settings/files/state-dir.js';
import { editedText } from '../edit/edited-text.js';
import { CannotEdit, type MemberEdit, memberAt } from '../edit/json-members.js';
import {
  bytesFor,
  digestOf,
  fileError,
  readUserFile,
  removeUserFile,
  replaceUserFile,
  type UserFile,
} from '../edit/user-file.js';
import type { Machine } from './hosts.js';

const FOLDER = 'host-changes';
const RECORD = 'change.json';
const FORMAT = 1;

const path = z.array(z.string());
const edit = z.union([
  z.object({
    kind: z.literal('put'),
    path,
    value: z.unknown(),
    raw: z.string().optional(),
    behind: z.array(z.string()).optional(),
  }),
  z.object({ kind: z.literal('remove'), path, ifEmpty: z.literal(true).optional() }),
]);
const record = z.object({
  format: z.literal(FORMAT),
  id: z.string(),
  kind: z.enum(['install', 'uninstall', 'adopt']),
  host: z.string(),
  made: z.string(),
  files: z.array(
    z.object({
      path: z.string(),
      /** The file beside the record that holds what was there before; null where there was no file. */
      backup: z.string().nullable(),
      /** Hash of the bytes that we wrote. */
      sha256: z.string(),
      /** Folders that were made for it. */
      folders: z.array(z.string()),
      edits: z.array(edit),
      undo: z.array(edit),
    }),
  ),
});

export type Change = z.output<typeof record> & { readonly folder: string };

/** One file as it is to be. */
export type PlannedFile = {
  readonly file: UserFile;
  readonly text: string;
  readonly edits: readonly MemberEdit[];
  readonly undo: readonly MemberEdit[];
};

/** Where changes are recorded. */
export type ChangePlace = Machine & { readonly stateDir: string };

/** Backs up and writes the files in their order, all of them or none. Throws E_CONFIG and E_STATE. */
export function makeChange(
  kind: Change['kind'],
  host: string,
  planned: readonly PlannedFile[],
  place: ChangePlace,
): Change {
  const made = new Date().toISOString();
  const id = `${made.replace(/[-:.]/g, '')}-${host}-${kind}-${randomBytes(2).toString('hex')}`;
  const folder = join(place.stateDir, FOLDER, id);
  const files = planned.map(({ file, text, edits, undo }, index) => ({
    path: file.path,
    backup: file.bytes === undefined ? null : `${index}-${basename(file.path)}`,
    sha256: digestOf(bytesFor(file, text)),
    folders: [] as string[],
    edits: [...edits],
    undo: [...undo],
  }));
  const change = { format: FORMAT, id, kind, host, made, files } as z.output<typeof record>;
  writeRecord(folder, change, planned);
  const done: Array<{
    readonly file: UserFile;
    readonly bytes: Buffer;
    readonly folders: readonly string[];
  }> = [];
  try {
    for (const [index, { file, text }] of planned.entries()) {
      const bytes = bytesFor(file, text);
      const folders = replaceUserFile(file, bytes);
      done.push({ file, bytes, folders });
      files[index]?.folders.push(...folders);
    }
  } catch (thrown) {
    for (const { file, bytes, folders } of done.reverse()) putBack(file, bytes, folders);
    rmSync(folder, { recursive: true, force: true });
    throw thrown;
  }
  writeRecord(folder, change, []);
  return { ...change, folder };
}

/**
 * Writes a further edit of a file that one of `changes` has left as it is now, as a part of that change: its undo then still
 * gives back what the file was before both. Throws E_CONFIG.
 */
export function amendChange(
  { file, text }: Pick<PlannedFile, 'file' | 'text'>,
  changes: readonly Change[],
): void {
  const before = file.bytes === undefined ? '' : digestOf(file.bytes);
  const bytes = bytesFor(file, text);
  replaceUserFile(file, bytes);
  const isOf = ({ path, sha256 }: Change['files'][number]) => path === file.path && sha256 === before;
  const amended = changes.find(({ files }) => files.some(isOf));
  if (amended === undefined) return;
  const { folder, ...change } = amended;
  const files = change.files.map((one) => (isOf(one) ? { ...one, sha256: digestOf(bytes) } : one));
  try {
    writeRecord(folder, { ...change, files }, []);
  } catch {
    // The undo then takes our edits back one by one, as in a file that somebody else has changed.
  }
}

/** Puts `file` back to its content of a moment ago; now it holds `bytes`. */
function putBack(file: UserFile, bytes: Buffer, folders: readonly string[]): void {
  const now = { ...file, bytes };
  if (file.bytes === undefined) removeUserFile(now, folders);
  else replaceUserFile(now, file.bytes);
}

function writeRecord(folder: string, change: z.output<typeof record>, planned: readonly PlannedFile[]): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const [index, { file }] of planned.entries()) {
      const backup = change.files[index]?.backup;
      if (file.bytes !== undefined && backup)
        writeFileSync(join(folder, backup), file.bytes, { mode: 0o600 });
    }
    writeFileSync(join(folder, RECORD), `${JSON.stringify(change, undefined, 1)}\n`, { mode: 0o600 });
  } catch (thrown) {
    throw new BridgeError('E_STATE', `No backup can be written to ${folder}: ${messageOf(thrown)}.`, {
      fault: 'operator',
      remedy: `${stateDirRemedy(thrown)} Nothing was changed.`,
      cause: thrown,
    });
  }
}

/**
 * Changes in a host that stand to be undone, the latest first: changes of `hostFiles`, since one state directory may serve
 * several homes. A record that is damaged is as none, and so is one that others could have written.
 */
export function changesOf(
  kind: Change['kind'],
  host: string,
  hostFiles: readonly string[],
  { stateDir, env, host: facts }: ChangePlace,
): Change[] {
  return knownStateDirs(stateDir, env, facts)
    .flatMap((dir) => {
      const root = join(dir, FOLDER);
      if (findExchangeable(root, facts.uid) !== undefined) return [];
      return namesIn(root).flatMap((name) => readRecord(join(root, name)) ?? []);
    })
    .filter((change) => change.kind === kind && change.host === host)
    .filter(({ files }) => files.some(({ path }) => hostFiles.includes(path)))
    .sort((one, other) => (one.made < other.made ? 1 : -1));
}

function readRecord(folder: string): Change | undefined {
  try {
    const found = record.safeParse(JSON.parse(readFileSync(join(folder, RECORD), 'utf8')));
    return found.success ? { ...found.data, folder } : undefined;
  } catch {
    return undefined;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The file's content before the change; undefined where there was no file. */
const backupOf = ({ folder }: Change, { backup }: Change['files'][number]): Buffer | undefined =>
  backup === null ? undefined : readFileSync(join(folder, backup));

/** The backup goes with it. */
export function forget({ folder }: Change): void {
  rmSync(folder, { recursive: true, force: true });
}

// A change taken back. A file that nobody has touched since becomes what it was, byte for byte; in any other only our own
// edits are taken back, and what somebody has changed of them stays, with a word about it. No old file goes over a newer one.

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
type UndoRules = {
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
  recorded: Change['files'][number],
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
      `Remove the bridge's entry by hand. A copy of the file as it was is in ${change.folder}.`,
    );
  }
}

function editsThatFit(
  now: UserFile,
  { path: file, edits, undo }: Change['files'][number],
  { mayRemove, homeless }: UndoRules & { readonly homeless: Set<string> },
): { readonly edits: readonly MemberEdit[]; readonly notes: readonly string[] } {
  const parsed = parseText(now.text, formatOf(file));
  if (!('value' in parsed)) {
    const { line, column, mistake } = parsed;
    throw fileError(
      `${file}:${line}:${column}`,
      `cannot be read: ${mistake}`,
      'Correct the file, then try again.',
    );
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
      notes.push(`${path.join('.')} in ${file} was changed since then, so it was left there.`);
      return false;
    }
    if (found === undefined || isOurPlace(undo, path)) return true;
    if (!isDeepStrictEqual(plain(found), plain(edit.value))) {
      homeless.add(path.at(-1) ?? '');
      notes.push(`${path.join('.')} could not be put back: ${file} now has another entry of this name.`);
    }
    return false;
  });
  return { edits: fitting, notes };
}

/** Our own entry is removed before the entry that was there before it comes back. */
const isOurPlace = (undo: readonly MemberEdit[], path: readonly string[]): boolean =>
  undo.some((one) => one.kind === 'remove' && isDeepStrictEqual(one.path, path));

/** The value as it is written: parsers differ in what their objects descend from. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner)) ??
      'null',
  ) as unknown;
