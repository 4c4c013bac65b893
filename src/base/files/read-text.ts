// A small file that may not be there, such as one of /proc: its text, or undefined.

import { readFileSync } from 'node:fs';

/** The text of a file, or undefined where it cannot be read. */
export type ReadText = (path: string) => string | undefined;

export const readText: ReadText = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};
