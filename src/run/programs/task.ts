// A task is what a run of code runs: a cell of Python, or a program in a file of some language. Pure.

import { KB_BYTES, MB_BYTES } from '../../base/text/sizes.js';
import { HARNESS_MOUNT } from '../../sandbox/spec/harness-files.js';
import { isPython, type Language } from '../../settings/languages/records.js';
import type { InputFile, ProgramStart } from '../../wire/frames.js';

/** A file that is run as a shell would run it. */
export type Program = {
  readonly type: 'program';
  readonly language: Language;
  /** Content of the entry file. */
  readonly code: string;
  /** Name of the entry file, checked: relative, and inside the working directory. */
  readonly file: string;
  readonly args: readonly string[];
  readonly stdin: Buffer | undefined;
  /** Besides the sandbox's own. */
  readonly env: Readonly<Record<string, string>>;
};

/** A cell is Python whose last expression is its value. */
export type Task = { readonly type: 'cell'; readonly code: string } | Program;

/** Whether the harness itself runs it. */
export const isPythonTask = (task: Task): boolean =>
  task.type === 'cell' || (task.type === 'program' && isPython(task.language));

/** Name of a task's language in an audit. */
export const languageOf = (task: Task): string => (task.type === 'program' ? task.language.name : 'python');

/** The name under which its code is checked; null for a cell. */
export const fileOf = (task: Task): string | null => (task.type === 'cell' ? null : task.file);

/** How it is started; null for a cell. */
export function startOf(task: Task): ProgramStart | null {
  if (task.type === 'cell') return null;
  const { language, file, args, stdin, env } = task;
  const path = `./${file}`;
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const places: Readonly<Record<string, string>> = {
    '{file}': path,
    '{folder}': folder,
    '{harness}': HARNESS_MOUNT,
  };
  const filled = (word: string): readonly string[] => {
    if (word === '{args}') return args;
    // In one pass, by a function: a file's name may look like a placeholder, or like a pattern of replace().
    return [word.replace(/\{(?:file|folder|harness)\}/g, (found) => places[found] ?? found)];
  };
  return {
    file,
    args,
    stdin: stdin === undefined ? null : stdin.toString('base64'),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ways: language.ways.map(({ needs, steps }) => ({
      needs,
      steps: steps.map((step) => step.flatMap(filled)),
    })),
  };
}

/** The entry file, in front of the others. */
export function filesOf(task: Task, files: readonly InputFile[]): readonly InputFile[] {
  if (task.type !== 'program') return files;
  return [{ name: task.file, data: Buffer.from(task.code).toString('base64') }, ...files];
}

// Words that a program can be started with: arguments and variables as Linux takes them, so that a refusal by Linux is not a
// riddle in the middle of a run. Pure; callers say what is wrong in their own words.

/** Most bytes that Linux takes for one argument or one `NAME=value`, without the NUL at its end. */
const MAX_WORD_BYTES = 128 * KB_BYTES - 1;
/** Most bytes of all words: half of what Linux takes below a stack of 8 MiB. The sandbox's variables need part of the rest. */
export const MAX_WORDS_BYTES = MB_BYTES;
/** Each has a NUL at its end, and a pointer. */
const BYTES_BESIDES_WORD = 1 + 8;

/** Variables by which the harness tells a program of itself. */
const OURS: readonly string[] = ['MCP_SANDBOX_CONVERSATION'];

/** As every shell can name it. Without `=`, which would end the name, and without NUL. */
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The problem with the name of a variable, as the end of a sentence that says what was got. */
export function variableNameTrouble(name: string): string | undefined {
  if (OURS.includes(name)) return 'which the sandbox sets itself, expected another one';
  if (VARIABLE_NAME.test(name)) return undefined;
  return 'expected letters, digits and _, and no digit at its beginning';
}

/** Description of what an argument, or the value of the variable `name`, may be; undefined where `text` is that. */
export function allowedWord(text: string, name?: string): string | undefined {
  const most = MAX_WORD_BYTES - (name === undefined ? 0 : Buffer.byteLength(`${name}=`));
  if (Buffer.byteLength(text) <= most && !text.includes('\0') && text.isWellFormed()) return undefined;
  return `well-formed text without NUL of at most ${most} bytes`;
}

/** Bytes that the kernel counts for arguments and variables, to be compared with MAX_WORDS_BYTES. */
export function wordsBytes(args: readonly string[], env: Readonly<Record<string, string>>): number {
  const words = [...args, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  return words.reduce((sum, word) => sum + Buffer.byteLength(word) + BYTES_BESIDES_WORD, 0);
}
