// What a run runs: code that is a cell of Python, a program in a file of some language, or a command. Pure.

import { basename } from 'node:path/posix';
import { isPython, type Language } from '../config/languages/language.js';
import { type HostFrame, INPUT_PIECE_BYTES, type InputFile, type ProgramStart } from '../protocol/frames.js';
import { HARNESS_MOUNT } from '../sandbox/harness-files.js';
import { WORK } from '../sandbox/kind.js';

/** Python whose last expression is its value. */
export type Cell = { readonly type: 'cell'; readonly code: string };

/** A file that is run as a shell would run it. */
export type Program = {
  readonly type: 'program';
  readonly language: Language;
  /** Of the entry file. */
  readonly code: string;
  /** Its name, checked: relative, and inside the working directory. */
  readonly file: string;
  readonly args: readonly string[];
  readonly stdin: Buffer | undefined;
  /** Besides the sandbox's own. */
  readonly env: Readonly<Record<string, string>>;
};

/** What the image, or an earlier command, has for a program; its arguments as they are. */
export type Command = {
  readonly type: 'command';
  readonly argv: readonly [string, ...string[]];
  readonly stdin: Buffer | undefined;
  /** Absolute. */
  readonly cwd: string;
  /** Besides the sandbox's own. */
  readonly env: Readonly<Record<string, string>>;
  /** Its answer has so many bytes of stdout and stderr together; of a command that writes more, all of it is kept. */
  readonly shownBytes: number;
};

export type Task = Cell | Program | Command;

/** Whether the harness itself runs it. */
export const isPythonTask = (task: Task): boolean =>
  task.type === 'cell' || (task.type === 'program' && isPython(task.language));

/** What an audit calls it. */
export function languageOf(task: Task): string {
  if (task.type === 'program') return task.language.name;
  return task.type === 'cell' ? 'python' : 'command';
}

/** What an audit weighs: the source, or the argument vector. */
export const textOf = (task: Task): string =>
  task.type === 'command' ? JSON.stringify(task.argv) : task.code;

/** The Python that is to be checked before it runs, and under which name; undefined where there is none. */
export function checkOf(task: Task): { readonly code: string; readonly file: string | null } | undefined {
  if (task.type === 'cell') return { code: task.code, file: null };
  return task.type === 'program' && isPythonTask(task) ? { code: task.code, file: task.file } : undefined;
}

/** How it is started; null for a cell. */
export function startOf(task: Task): ProgramStart | null {
  if (task.type === 'cell') return null;
  if (task.type === 'command') return startOfCommand(task);
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

const startOfCommand = ({ argv, stdin, cwd, env }: Command): ProgramStart => ({
  file: basename(argv[0]),
  args: argv.slice(1),
  stdin: stdin === undefined || goesAhead(stdin) ? null : stdin.toString('base64'),
  cwd,
  env,
  ways: [{ needs: [], steps: [argv] }],
});

/**
 * What a command reads, where it is long: ahead of its run, onto the disk, since it need fit neither into a frame nor
 * into the sandbox's memory.
 */
export function* inputOf(task: Task): Generator<Extract<HostFrame, { type: 'input' }>> {
  if (task.type !== 'command' || task.stdin === undefined || !goesAhead(task.stdin)) return;
  for (let at = 0; at < task.stdin.length; at += INPUT_PIECE_BYTES)
    yield { type: 'input', data: task.stdin.toString('base64', at, at + INPUT_PIECE_BYTES), folder: WORK };
}

const goesAhead = ({ length }: Buffer): boolean => length > INPUT_PIECE_BYTES;

/** The entry file, in front of the others. */
export function filesOf(task: Task, files: readonly InputFile[]): readonly InputFile[] {
  if (task.type !== 'program') return files;
  return [{ name: task.file, data: Buffer.from(task.code).toString('base64') }, ...files];
}
