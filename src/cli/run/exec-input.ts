// The program of `exec`, from what its user has written: a file, stdin or a snippet, its language, the files beside it, its
// variables and what it reads. Everything is looked at before anything is started, and a complaint says what to write instead.

import { closeSync, openSync, readSync } from 'node:fs';
import { basename, dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { BridgeError, messageOf } from '../../base/errors.js';
import { didYouMean } from '../../base/text/closest.js';
import { KB_BYTES, MB_BYTES } from '../../base/text/sizes.js';
import { clipHarmless, decodedText } from '../../base/text/text.js';
import { NameSet, nameProblem } from '../../run/artifacts/file-names.js';
import type { Snippets } from '../../run/programs/snippets.js';
import {
  allowedWord,
  MAX_WORDS_BYTES,
  type Program,
  variableNameTrouble,
  wordsBytes,
} from '../../run/programs/task.js';
import {
  LANGUAGE_NAMES,
  type Language,
  languageNamed,
  languageOfFile,
  languages,
} from '../../settings/languages/records.js';
import { type InputFile, MAX_INPUT_BYTES, MAX_INPUT_FILES } from '../../wire/frames.js';
import { usageError } from '../terminal/output.js';

export type ExecInputOptions = {
  readonly language?: string;
  /** Snippet to run instead of a file. */
  readonly snippet?: string;
  /** Paths of further files. */
  readonly file: readonly string[];
  /** Variables of the program, each as `NAME=value`. */
  readonly env: readonly string[];
  /** A path, or `-`. */
  readonly stdin?: string;
};

/** Operands of the command line: those before a `--`, and those after it. */
export type Words = { readonly before: readonly string[]; readonly after: readonly string[] };

const STDIN = '-';
const NAME_ONE = 'Name a file, or - for stdin with --language, or a snippet with --snippet.';
const MAX_ECHO_CHARS = 80;

/** The code, under the name that it has in the sandbox, and the folder from which other files keep their path. */
type EntryFile = {
  readonly language: Language;
  readonly code: string;
  readonly name: string;
  readonly folder: string;
};

/** Throws E_ARGUMENTS. */
export async function execInput(
  words: Words,
  options: ExecInputOptions,
  snippets: Snippets,
): Promise<{ readonly program: Program; readonly files: readonly InputFile[] }> {
  const { before, after } = words;
  const isSnippet = options.snippet !== undefined;
  if (isSnippet && before.length > 0)
    throw usageError(
      `Got the file ${quoteText(before[0] ?? '')} and --snippet ${quoteText(options.snippet)}: give only one of them.`,
      'Leave one of them out. Arguments of the program come after --.',
    );
  if (before[0] === STDIN && options.stdin === STDIN)
    throw usageError('stdin cannot be both the code and what it reads.', 'Name a file for one of them.');
  const source = isSnippet
    ? await fromSnippet(options.snippet, options.language, snippets)
    : await fromFile(before[0] ?? after[0], options.language);
  const args = isSnippet ? after : [...before, ...after].slice(1);
  const files = furtherFiles(source, options.file);
  const { language, code, name: file } = source;
  const env = variablesFor(args, options.env);
  const stdin = await whatItReads(options.stdin);
  return { program: { type: 'program', language, code, file, args, env, stdin }, files };
}

async function fromSnippet(
  name: string,
  language: string | undefined,
  snippets: Snippets,
): Promise<EntryFile> {
  if (language !== undefined)
    throw usageError('--language: the ending of a snippet says its language.', 'Leave --language out.');
  const snippet = await snippets.find(name);
  return { language: snippet.language, code: snippet.code, name: snippet.file, folder: process.cwd() };
}

async function fromFile(path: string | undefined, said: string | undefined): Promise<EntryFile> {
  if (path === undefined || path === '') throw usageError('There is nothing to run.', NAME_ONE);
  const named = said === undefined ? undefined : languageCalled(said);
  if (path === STDIN) {
    if (named === undefined)
      throw usageError(
        'The language of what comes on stdin is not known.',
        `Name it: --language ${LANGUAGE_NAMES}.`,
      );
    return {
      language: named,
      code: codeOf(await readStdin(), 'stdin'),
      name: named.file,
      folder: process.cwd(),
    };
  }
  const code = codeOf(readInput(path, NAME_ONE), path);
  const byName = languageOfFile(basename(path));
  const language = named ?? byName;
  if (language === undefined)
    throw usageError(
      `The ending of ${quoteText(path)} says no language.`,
      `Name it: --language ${LANGUAGE_NAMES}.`,
    );
  // Compilers go by the ending; what is left of the name is seen in errors.
  const ending = byName === language ? '' : (language.extensions[0] ?? '');
  return { language, code, name: basename(path) + ending, folder: dirname(resolve(path)) };
}

function languageCalled(said: string): Language {
  const language = languageNamed(said);
  if (language !== undefined) return language;
  const known = languages.flatMap(({ name, aliases }) => [name, ...aliases]);
  throw usageError(
    `--language: got ${quoteText(said)}, expected ${LANGUAGE_NAMES}.`,
    didYouMean(said, known).trim() || 'Name one of them.',
  );
}

/** A byte order mark is for editors. */
function codeOf(bytes: Buffer, from: string): string {
  const text = decodedText(bytes);
  if (text === undefined) throw usageError(`${quoteText(from)} is not UTF-8.`, 'Save it in UTF-8.');
  return text.replace(/^\uFEFF/, '');
}

function furtherFiles({ name: entry, code, folder }: EntryFile, paths: readonly string[]): InputFile[] {
  const names = new NameSet();
  const add = (path: string, name: string) => {
    const problem = nameProblem(name) ?? names.add(name);
    if (problem !== undefined)
      throw usageError(
        `${quoteText(path)} cannot go in as ${quoteText(name)}, which ${problem}.`,
        'Rename it, or leave it out.',
      );
  };
  add(entry, entry);
  if (paths.length >= MAX_INPUT_FILES)
    throw usageError(
      `--file: got ${paths.length} files, at most ${MAX_INPUT_FILES - 1} are allowed.`,
      'Pack them into one.',
    );
  let bytes = Buffer.byteLength(code);
  return paths.map((path) => {
    const content = readInput(path);
    const name = nameInside(path, folder);
    add(path, name);
    bytes += content.length;
    if (bytes > MAX_INPUT_BYTES)
      throw usageError(
        `With ${quoteText(path)}, the files have more than ${MAX_INPUT_BYTES / MB_BYTES} MiB, the most that a run takes.`,
        'Give fewer or smaller files.',
      );
    return { name, data: content.toString('base64') };
  });
}

/**
 * A file keeps its path from the program's folder where it lies below that: packages of Go are folders. One that is
 * written relative, and leads down from here, keeps its path as well; any other arrives under its last part.
 */
export function nameInside(path: string, folder: string): string {
  const bases = isAbsolute(path) ? [folder] : [folder, process.cwd()];
  const below = bases.map((base) => relative(base, resolve(path))).find(leadsDown);
  return (below ?? basename(path)).split(sep).join('/');
}

const leadsDown = (path: string): boolean =>
  path !== '' && path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path);

/** Only what is asked for: a pipe that nobody closes would be waited for without end, as under cron or ssh. */
async function whatItReads(path: string | undefined): Promise<Buffer | undefined> {
  if (path === undefined) return undefined;
  return path === STDIN ? await readStdin() : readInput(path);
}

/** A path or word of the user's, on one line. */
const quoteText = (text: string): string => `'${clipHarmless(text, MAX_ECHO_CHARS)}'`;
const IN_A_FILE = 'Put the data into a file for --file or --stdin.';

/**
 * The variables that `--env NAME=value` gives a program that also has these arguments, checked by the rules that hold for
 * agents; nothing of our own environment is among them. Of a name that is there twice, the last one counts. Throws E_ARGUMENTS.
 */
function variablesFor(args: readonly string[], pairs: readonly string[]): Readonly<Record<string, string>> {
  const env = Object.fromEntries(pairs.map(variableOf));
  const bytes = wordsBytes(args, env);
  if (bytes <= MAX_WORDS_BYTES) return env;
  throw usageError(
    `The arguments and variables have ${bytes} bytes together, at most ${MAX_WORDS_BYTES} are allowed.`,
    IN_A_FILE,
  );
}

function variableOf(pair: string): readonly [name: string, value: string] {
  const end = pair.indexOf('=');
  if (end < 0)
    throw usageError(
      `--env: got ${quoteText(pair)}, expected NAME=value.`,
      'Give its value; none is taken from this shell.',
    );
  const [name, value] = [pair.slice(0, end), pair.slice(end + 1)];
  const trouble = variableNameTrouble(name);
  if (trouble !== undefined)
    throw usageError(`--env: got the name ${quoteText(name)}, ${trouble}.`, 'Correct the name.');
  const allowed = allowedWord(value, name);
  if (allowed === undefined) return [name, value];
  throw usageError(`--env ${name}: got ${Buffer.byteLength(value)} bytes, expected ${allowed}.`, IN_A_FILE);
}

// Input that a command reads: a file that its user names, or stdin. All of the input at once, and no more than a run takes: a
// device or a pipe may have no end.

const CHUNK_BYTES = 64 * KB_BYTES;
const READABLE = 'Name a file that you may read.';

/** Throws E_ARGUMENTS with `remedy` where the file cannot be read. */
export function readInput(path: string, remedy = READABLE): Buffer {
  try {
    return readOpen(path);
  } catch (thrown) {
    if (thrown instanceof BridgeError) throw thrown;
    throw usageError(`${path} cannot be read: ${messageOf(thrown)}`, remedy);
  }
}

/** Waits for its end. Throws E_ARGUMENTS where there is more than a run takes. */
export async function readStdin(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_INPUT_BYTES) throw tooMuch('stdin');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function readOpen(path: string): Buffer {
  const fd = openSync(path, 'r');
  try {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const chunk = Buffer.alloc(CHUNK_BYTES);
      const read = readSync(fd, chunk);
      if (read === 0) return Buffer.concat(chunks);
      bytes += read;
      if (bytes > MAX_INPUT_BYTES) throw tooMuch(path);
      chunks.push(chunk.subarray(0, read));
    }
  } finally {
    closeSync(fd);
  }
}

const tooMuch = (what: string): BridgeError =>
  usageError(
    `${what} has more than ${MAX_INPUT_BYTES / MB_BYTES} MiB, the most that a run takes.`,
    'Give a part of it.',
  );
