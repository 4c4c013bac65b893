// The lines that a person has typed, from one `repl` to the next: in the state directory, for their user alone.

import { join } from 'node:path';
import { readText } from '../../base/files/read-text.js';
import { replaceFile } from '../../base/files/replace-file.js';

export const HISTORY_LINES = 1_000;
const FILE = 'repl-history';

export class History {
  readonly #path: string;

  constructor(stateDir: string) {
    this.#path = join(stateDir, FILE);
  }

  /** The newest first, as readline has them; none where nothing can be read. */
  read(): string[] {
    const lines = (readText(this.#path) ?? '').split('\n').filter((line) => line !== '');
    return lines.reverse().slice(0, HISTORY_LINES);
  }

  /** `lines` are the newest first. What cannot be written is not there the next time, and no more. */
  write(lines: readonly string[]): void {
    const kept = lines.filter((line) => line.trim() !== '').slice(0, HISTORY_LINES);
    try {
      replaceFile(
        this.#path,
        kept
          .reverse()
          .map((line) => `${line}\n`)
          .join(''),
      );
    } catch {
      // A disk that is full is no reason to end with an error.
    }
  }
}
