// Where the lines of `repl` come from: a person at a terminal, with editing, history and completion, or a pipe.

import { createInterface, type Interface } from 'node:readline';
import type { ReadStream } from 'node:tty';
import type { Completions } from './completion.js';
import { HISTORY_LINES, type History } from './history.js';

/** A line; undefined at the end; `interrupt` where the person wants to begin anew. */
export type Asked = { readonly line: string } | 'interrupt' | undefined;

export type Lines = {
  readonly ask: (prompt: string) => Promise<Asked>;
  /** From now until the next question a Ctrl-C is a signal to this process. */
  readonly rest: () => void;
  readonly close: () => void;
};

export function linesOfPipe(): Lines {
  const reader = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
  const lines = reader[Symbol.asyncIterator]();
  return {
    ask: async () => {
      const { value, done } = await lines.next();
      return done ? undefined : { line: value };
    },
    rest: () => {},
    close: () => reader.close(),
  };
}

export class TerminalLines implements Lines {
  readonly #reader: Interface;
  readonly #input = process.stdin as ReadStream;
  /** Typed or pasted while nobody asked. */
  readonly #waiting: Asked[] = [];
  #onAsked: ((asked: Asked) => void) | undefined;
  #isClosed = false;

  constructor(history: History, complete: (line: string) => Promise<Completions>) {
    this.#reader = createInterface({
      input: this.#input,
      output: process.stdout,
      terminal: true,
      history: history.read(),
      historySize: HISTORY_LINES,
      removeHistoryDuplicates: true,
      completer: (line: string, done: (error: null, completions: Completions) => void) => {
        complete(line).then(
          (completions) => done(null, completions),
          () => done(null, [[], '']),
        );
      },
    });
    this.#reader.on('history', (lines: string[]) => history.write(lines));
    this.#reader.on('line', (line) => this.#take({ line }));
    this.#reader.on('SIGINT', () => {
      this.#waiting.length = 0;
      // What stands in the line, before and behind the cursor.
      for (const name of ['e', 'u']) this.#reader.write(null, { ctrl: true, name });
      process.stdout.write('\n');
      this.#take('interrupt');
    });
    this.#reader.once('close', () => {
      this.#isClosed = true;
      this.#take(undefined);
    });
  }

  ask(prompt: string): Promise<Asked> {
    if (this.#waiting.length > 0) return Promise.resolve(this.#waiting.shift());
    if (this.#isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#onAsked = resolve;
      this.#input.setRawMode(true);
      this.#reader.resume();
      this.#reader.setPrompt(prompt);
      this.#reader.prompt();
    });
  }

  rest(): void {
    if (this.#isClosed) return;
    this.#reader.pause();
    this.#input.setRawMode(false);
  }

  close(): void {
    this.#reader.close();
  }

  #take(asked: Asked): void {
    const answer = this.#onAsked;
    this.#onAsked = undefined;
    if (answer === undefined) this.#waiting.push(asked);
    else answer(asked);
  }
}
