// The folder that holds an operator's snippets: which of its files are some, and the bytes of one. Only what the folder
// itself lists is opened, and only a regular file inside it; no name that somebody sends is ever a path. Writes nothing.

import { constants, type Dirent } from 'node:fs';
import { lstat, open, opendir, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { messageOf } from '../../base/errors.js';
import { isHarmless } from '../../base/text/text.js';
import { type Language, languageOfFile } from '../../settings/languages/records.js';
import { nameProblem } from '../artifacts/file-names.js';

/** A program that a model would send in a call may have as much; more is data in the wrong place. */
export const MAX_SNIPPET_BYTES = 1_000_000;
/** A folder with more in it is not one of snippets, and is not read to its end. */
const MAX_ENTRIES = 10_000;

/** A file that is a snippet by its name; nothing is known of its content. */
export type SnippetFile = {
  readonly file: string;
  /** Without its extension. */
  readonly base: string;
  readonly language: Language;
};

/** A file that is none, and why, as the end of a sentence that begins with its name. */
export type SkippedFile = { readonly file: string; readonly reason: string };

export type FolderListing = {
  /** Where the folder really is. */
  readonly path: string;
  /** Sorted by name. */
  readonly files: readonly SnippetFile[];
  readonly skipped: readonly SkippedFile[];
};

/** Throws what the file system says where the folder cannot be read. */
export async function listFolder(folder: string): Promise<FolderListing> {
  const path = await realpath(folder);
  const entries: Dirent[] = [];
  for await (const entry of await opendir(path)) {
    if (entries.push(entry) >= MAX_ENTRIES) break;
  }
  const files: SnippetFile[] = [];
  const skipped: SkippedFile[] = [];
  for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const { name: file } = entry;
    if (file.startsWith('.')) continue;
    const language = languageOfFile(file);
    const reason = entry.isDirectory() ? 'is a folder' : (nameProblem(file) ?? oddity(file));
    if (reason !== undefined) skipped.push({ file, reason });
    else if (language === undefined)
      skipped.push({ file, reason: 'has an ending that is not of any language' });
    else files.push({ file, base: withoutExtension(file, language), language });
  }
  return { path, files, skipped };
}

/** Such a name reads as another one. */
const oddity = (file: string): string | undefined =>
  isHarmless(file)
    ? undefined
    : 'has a name with characters that do not show, or that turn the direction of text';

function withoutExtension(file: string, { extensions }: Language): string {
  const extension = extensions.find((candidate) => file.endsWith(candidate)) ?? '';
  return file.slice(0, file.length - extension.length);
}

/** At most `maxBytes` from its start. Throws an error whose message is the end of a sentence about the file. */
export async function readFileOf(path: string, file: string, maxBytes: number): Promise<Buffer> {
  const target = await targetOf(path, file);
  // Between the look and now it may have become something else: links are not followed, pipes not waited for.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  await using handle = await open(target, flags).catch(unreadable);
  const stats = await handle.stat();
  if (!stats.isFile()) throw new Error('is no regular file');
  if (stats.size > MAX_SNIPPET_BYTES)
    throw new Error(`has ${stats.size} bytes; a snippet has at most ${MAX_SNIPPET_BYTES}`);
  const buffer = Buffer.alloc(Math.min(maxBytes, stats.size));
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0).catch(unreadable);
  return buffer.subarray(0, bytesRead);
}

async function targetOf(path: string, file: string): Promise<string> {
  const own = join(path, file);
  const stats = await lstat(own).catch(unreadable);
  if (!stats.isSymbolicLink()) {
    if (!stats.isFile()) throw new Error('is no regular file');
    return own;
  }
  const target = await realpath(own).catch(() => {
    throw new Error('is a link that leads nowhere');
  });
  if (!target.startsWith(path.endsWith(sep) ? path : path + sep))
    throw new Error('is a link that leads out of the folder');
  return target;
}

function unreadable(thrown: unknown): never {
  // The error's own words hold the whole path, which is for the operator; the code says as much to everybody.
  const { code } = thrown as NodeJS.ErrnoException;
  throw new Error(`cannot be read: ${code ?? messageOf(thrown)}`);
}
