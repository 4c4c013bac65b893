// Text of small files: one that may not be there, such as one of /proc; and one that lies beside the code.

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

/**
 * The text of a file that lies beside the code that asks for it: code in another language. What is given is written as
 * `new URL('./FILE', import.meta.url)`, since the bundler reads the file in its place (scripts/bundle/texts-beside.mjs).
 */
export const textBeside = (url: URL): string => readFileSync(url, 'utf8');
