// A task is what a run of code runs: a cell of Python, or a program in a file of some language. Pure.

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
