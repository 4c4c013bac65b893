// Every change that we make to a host's files, recorded before it is made: what the file was, what we wrote, and the edits
// that take it back. Kept in the state directory, private to the user, until it is undone.

import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { BridgeError, messageOf } from '../../base/errors.js';
import { exchangeable } from '../../base/files/only-ours.js';
import { knownStateDirs } from '../../settings/files/state-dir.js';
import type { MemberEdit } from '../edit/member-edit.js';
import { bytesFor, digestOf, removeUserFile, replaceUserFile, type UserFile } from '../edit/user-file.js';
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

export type ChangeKind = z.output<typeof record>['kind'];
export type RecordedFile = z.output<typeof record>['files'][number];
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
  kind: ChangeKind,
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

/** To what it was a moment ago, with `bytes` in it now. */
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
      remedy: 'Set MCP_BRIDGE_STATE_DIR to a folder that you own. Nothing was changed.',
      cause: thrown,
    });
  }
}

/**
 * Changes in a host that stand to be undone, the latest first: changes of `hostFiles`, since one state directory may serve
 * several homes. A record that is damaged is as none, and so is one that others could have written.
 */
export function changesOf(
  kind: ChangeKind,
  host: string,
  hostFiles: readonly string[],
  { stateDir, env, host: facts }: ChangePlace,
): Change[] {
  return knownStateDirs(stateDir, env, facts)
    .flatMap((dir) => {
      const root = join(dir, FOLDER);
      if (exchangeable(root, facts.uid) !== undefined) return [];
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
export const backupOf = ({ folder }: Change, { backup }: RecordedFile): Buffer | undefined =>
  backup === null ? undefined : readFileSync(join(folder, backup));

/** The backup goes with it. */
export function forget({ folder }: Change): void {
  rmSync(folder, { recursive: true, force: true });
}
