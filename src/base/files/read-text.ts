// Text of small files: one that may not be there, such as one of /proc; and one that lies beside the code. And how to read
// whatever another process may remove between a look for it and the reading.

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

/** The result of `read`; undefined where it finds nothing at its path. Throws what else the file system says. */
export function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (thrown) {
    if (Object(thrown).code === 'ENOENT') return undefined;
    throw thrown;
  }
}

/**
 * The text of a file that lies beside the code that asks for it: code in another language. What is given is written as
 * `new URL('./FILE', import.meta.url)`, since the bundler reads the file in its place (scripts/bundle/texts-beside.mjs).
 */
export const textBeside = (url: URL): string => readFileSync(url, 'utf8');
