// Programs that an operator keeps for `execute_code`, by name: files in one folder, read anew on each use, since people
// edit them. A name is compared with those that the folder lists, and is never made into a path.

import { constants, type Dirent } from 'node:fs';
import { lstat, open, opendir, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { BridgeError, messageOf } from '../../base/errors.js';
import { didYouMean } from '../../base/text/closest.js';
import {
  clipHarmless,
  decodedText,
  inOneLine,
  isHarmless,
  makeHarmless,
  nameList,
  wholeCharacters,
} from '../../base/text/text.js';
import { type Language, languageOfFile } from '../../settings/languages/records.js';
import { nameProblem } from '../artifacts/file-names.js';

// The folder that holds an operator's snippets: which of its files are some, and the bytes of one. Only what the folder
// itself lists is opened, and only a regular file inside it; no name that somebody sends is ever a path. Writes nothing.

/** A program that a model would send in a call may have as much; more is data in the wrong place. */
const MAX_SNIPPET_BYTES = 1_000_000;
/** A folder with more in it is not one of snippets, and is not read to its end. */
const MAX_ENTRIES = 10_000;

/** A file that is a snippet by its name; nothing is known of its content. */
type SnippetFile = {
  readonly file: string;
  /** Without its extension. */
  readonly base: string;
  readonly language: Language;
};

/** A file that is none, and why, as the end of a sentence that begins with its name. */
type SkippedFile = { readonly file: string; readonly reason: string };

/** Throws what the file system says where the folder cannot be read. */
async function listFolder(folder: string): Promise<{
  /** Where the folder really is. */
  readonly path: string;
  /** Sorted by name. */
  readonly files: readonly SnippetFile[];
  readonly skipped: readonly SkippedFile[];
}> {
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
      skipped.push({ file, reason: 'has an ending that belongs to no language' });
    else files.push({ file, base: withoutExtension(file, language), language });
  }
  return { path, files, skipped };
}

/** Such a name reads as another one. */
const oddity = (file: string): string | undefined =>
  isHarmless(file)
    ? undefined
    : 'has invisible characters in its name, or characters that turn the direction of text';

function withoutExtension(file: string, { extensions }: Language): string {
  const extension = extensions.find((candidate) => file.endsWith(candidate)) ?? '';
  return file.slice(0, file.length - extension.length);
}

/** At most `maxBytes` from its start. Throws an error whose message is the end of a sentence about the file. */
async function readFileOf(path: string, file: string, maxBytes: number): Promise<Buffer> {
  const target = await targetOf(path, file);
  // Between the look and now it may have become something else: links are not followed, pipes not waited for.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  await using handle = await open(target, flags).catch(throwUnreadable);
  const stats = await handle.stat();
  if (!stats.isFile()) throw new Error('is not a regular file');
  if (stats.size > MAX_SNIPPET_BYTES)
    throw new Error(`has ${stats.size} bytes; a snippet has at most ${MAX_SNIPPET_BYTES}`);
  const buffer = Buffer.alloc(Math.min(maxBytes, stats.size));
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0).catch(throwUnreadable);
  return buffer.subarray(0, bytesRead);
}

async function targetOf(path: string, file: string): Promise<string> {
  const own = join(path, file);
  const stats = await lstat(own).catch(throwUnreadable);
  if (!stats.isSymbolicLink()) {
    if (!stats.isFile()) throw new Error('is not a regular file');
    return own;
  }
  const target = await realpath(own).catch(() => {
    throw new Error('is a link that leads nowhere');
  });
  if (!target.startsWith(path.endsWith(sep) ? path : path + sep))
    throw new Error('is a link that leads out of the folder');
  return target;
}

function throwUnreadable(thrown: unknown): never {
  // The error's own words hold the whole path, which is for the operator; the code says as much to everybody.
  const { code } = thrown as NodeJS.ErrnoException;
  throw new Error(`cannot be read: ${code ?? messageOf(thrown)}`);
}

/** A list with more helps nobody; those after them are found by name all the same. */
const MAX_LISTED = 1_000;
const HEAD_BYTES = 4_096;
const MAX_ECHO_CHARS = 80;

export type Snippet = {
  readonly name: string;
  /** Name of the file in the folder. */
  readonly file: string;
  readonly language: Language;
  readonly code: string;
};

export type SnippetBrief = Omit<Snippet, 'code'> & {
  /** The snippet's own words about itself; empty where it says nothing. */
  readonly description: string;
};

export class Snippets {
  /** Undefined where there is none. */
  readonly folder: string | undefined;

  constructor(folder: string | undefined) {
    this.folder = folder;
  }

  /** Snippets that can be read. Throws E_ARGUMENTS where the folder cannot. */
  async list(): Promise<readonly SnippetBrief[]> {
    return (await this.survey()).snippets;
  }

  /** Snippets that can be read, and what lies beside them. Throws E_ARGUMENTS where the folder cannot be read. */
  async survey(): Promise<{
    readonly snippets: readonly SnippetBrief[];
    readonly skipped: readonly SkippedFile[];
  }> {
    const listing = await this.#listing();
    const snippets: SnippetBrief[] = [];
    const skipped = [...listing.skipped];
    for (const { name, file, language } of nameSnippets(listing.files).slice(0, MAX_LISTED)) {
      try {
        const head = textOf(
          wholeCharacters(await readFileOf(listing.path, file, HEAD_BYTES), HEAD_BYTES - 4),
        );
        snippets.push({ name, file, language, description: descriptionOf(head) });
      } catch (thrown) {
        skipped.push({ file, reason: messageOf(thrown) });
      }
    }
    return { snippets, skipped };
  }

  /**
   * Finds a snippet by its name, or by its file's whole name. Throws E_ARGUMENTS that lists the names, says why a file cannot
   * be read, or which setting is missing.
   */
  async find(name: string): Promise<Snippet> {
    const { path, files } = await this.#listing();
    const found = findSnippet(name, files);
    const { file, language } = found;
    try {
      return {
        name: found.name,
        file,
        language,
        code: textOf(await readFileOf(path, file, MAX_SNIPPET_BYTES)),
      };
    } catch (thrown) {
      throw refuse(
        `The snippet '${found.name}' cannot be used: its file ${file} ${messageOf(thrown)}.`,
        'Fix the file, or pass the code itself.',
      );
    }
  }

  async #listing() {
    if (this.folder === undefined)
      throw refuse(
        'There are no snippets: MCP_BRIDGE_SNIPPETS is not set.',
        'Set MCP_BRIDGE_SNIPPETS to a folder, or pass the code itself.',
      );
    try {
      return await listFolder(this.folder);
    } catch (thrown) {
      throw refuse(
        `There are no snippets: their folder cannot be read: ${messageOf(thrown)}.`,
        'Make it, or correct MCP_BRIDGE_SNIPPETS; or pass the code itself.',
      );
    }
  }
}

/** The names under which they are listed: a file's whole name where a shorter one could mean another file. */
function nameSnippets(files: readonly SnippetFile[]): (SnippetFile & { readonly name: string })[] {
  const wholes = new Set(files.map(({ file }) => file));
  const counts = new Map<string, number>();
  for (const { base } of files) counts.set(base, (counts.get(base) ?? 0) + 1);
  return files.map((each) => {
    const isClear = counts.get(each.base) === 1 && !wholes.has(each.base);
    return { ...each, name: isClear ? each.base : each.file };
  });
}

function findSnippet(wanted: string, files: readonly SnippetFile[]): SnippetFile & { readonly name: string } {
  const all = nameSnippets(files);
  // One system writes an accent as a character of its own, another does not.
  const name = wanted.normalize();
  const matches = (other: string) => other.normalize() === name;
  const byFile = all.find(({ file }) => file === wanted) ?? all.find(({ file }) => matches(file));
  if (byFile !== undefined) return byFile;
  const [first, ...others] = all.filter(({ base }) => matches(base));
  const shown = clipHarmless(wanted, MAX_ECHO_CHARS);
  if (first !== undefined && others.length === 0) return first;
  if (first !== undefined) {
    const candidates = shownNames([first, ...others].map(({ file }) => file));
    throw refuse(
      `The snippet '${shown}' could be any of: ${candidates}.`,
      'Pass the whole file name, with its ending.',
    );
  }
  const names = all.slice(0, MAX_LISTED).map((each) => each.name);
  throw refuse(
    `There is no snippet '${shown}'.${didYouMean(wanted, names)}`,
    names.length === 0 ? 'The folder of snippets is empty.' : `Snippets: ${shownNames(names)}.`,
  );
}

const shownNames = (names: readonly string[]): string => makeHarmless(nameList(names));

/** Throws what is wrong with it as the end of a sentence. A byte order mark is for editors. */
function textOf(bytes: Buffer): string {
  const text = decodedText(bytes);
  if (text === undefined) throw new Error('is not UTF-8');
  return text.replace(/^\uFEFF/, '');
}

const refuse = (message: string, remedy: string): BridgeError =>
  new BridgeError('E_ARGUMENTS', message, { fault: 'agent', remedy });

// A program's description of itself at its head: the first line of its first comment or docstring, in whatever language. Reads
// text alone; knows how comments look, and no language's grammar.

const MAX_LINES = 40;
const MAX_LINE_CHARS = 500;
const MAX_DESCRIPTION_CHARS = 160;

/** Lines for an interpreter or a compiler, and what a program may have to begin with. */
const FOR_MACHINES =
  /^(?:#!|#.*coding[:=]|#\s*frozen_string_literal|\/\/go:|\/\/\s*@ts-|['"]use strict|package\s)/;
const COMMENT = /^(?:#+|\/\/[/!]?|\/\*+!?|--|r?"""|r?''')/;
/** Matches the opening of a comment that goes on in the next line without a mark. */
const OPENS = /^(?:\/\*|r?"""|r?''')/;
const CLOSES = /(?:\*\/|"""|''')$/;

/** Empty where it says nothing. */
export function descriptionOf(head: string): string {
  let isInside = false;
  for (const line of head.split('\n', MAX_LINES)) {
    const text = line.slice(0, MAX_LINE_CHARS).trim();
    if (text === '' || FOR_MACHINES.test(text)) continue;
    if (!isInside && !COMMENT.test(text)) return '';
    const said = text
      .replace(isInside ? /^\*+(?!\/)/ : COMMENT, '')
      .replace(CLOSES, '')
      .trim();
    if (said !== '') return clipHarmless(inOneLine(said), MAX_DESCRIPTION_CHARS);
    isInside = isInside ? !CLOSES.test(text) : OPENS.test(text);
  }
  return '';
}
