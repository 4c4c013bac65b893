// Files that are written by hand beside what a command line writes.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const json = (value) => JSON.stringify(value, undefined, 2);

/** Writes text, or a value as JSON. */
export function put(folder, name, content) {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : json(content));
}
