// Words about an end that depend on what was run: a cell of Python, a Python program, or a program of another language. Data;
// conclude.ts says when.

import { isPythonTask, type Task } from '../programs/task.js';

export type EndingWords = {
  /** Who has ended, at the beginning of a sentence. */
  readonly subject: string;
  /** After an exit status of its own; undefined where its output says it all. */
  readonly exited: string | undefined;
  /** In place of that, after one by which the language itself says something. */
  readonly exitedWith?: Readonly<Record<number, string>>;
  /** After a signal by which programs die of their own mistakes. */
  readonly crashed: string;
  /** After any other signal. */
  readonly signalled: string;
};

const CELL: EndingWords = {
  subject: 'The code',
  exited: 'It called sys.exit or os._exit, as argparse and unittest.main do: let it run to its end instead.',
  crashed: 'Native code crashed (ctypes, or a library in C); stderr names the line.',
  signalled:
    'Nobody outside has sent that: it was os.kill, signal.alarm, or a program that the code started.',
};

const PROGRAM: EndingWords = {
  subject: 'The program',
  exited: undefined,
  crashed: 'It crashed: nobody outside has sent that.',
  signalled: 'Nobody outside has sent that: it was the program, or one that it started.',
};

const PYTHON_PROGRAM: EndingWords = { ...CELL, subject: PROGRAM.subject, exited: PROGRAM.exited };

/** Node says this itself only of a program that nobody else has started. */
const NODE_PROGRAM: EndingWords = {
  ...PROGRAM,
  exitedWith: {
    13: 'Node ends so when an `await` at the top level can never be done: its promise was not settled, and nothing was left to do. A question to stdin is one where the call gives no more `stdin`.',
  },
};

export function wordsFor(task: Task): EndingWords {
  if (task.type === 'cell') return CELL;
  if (isPythonTask(task)) return PYTHON_PROGRAM;
  return task.language.tools === 'javascript' ? NODE_PROGRAM : PROGRAM;
}
