// The files that an image without Python gets: the Python of our own image, with its loader and its libraries, as files that
// run in any image of the same processor. sandbox-runtime/harness/python_fallback.py says which; they are mounted read-only,
// in a place that is on nobody's PATH.

import { type Files, inOrder } from './installed-files.js';

/** Where the directory is mounted. */
export const FALLBACK_MOUNT = '/python-fallback';
const LOADER = 'loader';
const PYTHON = 'bin/python3';
/** Instead of `python3`. By its own loader, since the image may have another one, or none. */
export const FALLBACK_PYTHON: readonly string[] = [
  `${FALLBACK_MOUNT}/${LOADER}`,
  '--library-path',
  `${FALLBACK_MOUNT}/shared`,
  `${FALLBACK_MOUNT}/${PYTHON}`,
];

/** No segment begins with a dot, so none leads out of the directory. */
const LINE = /^(\w[\w.+-]*(?:\/\w[\w.+-]*)*) ([A-Za-z0-9+/]*={0,2})$/;

/** Parses the files that were printed; undefined where `printed` is no list of files, or not all of one. */
export function filesIn(printed: string): Files | undefined {
  const files = new Map<string, Buffer>();
  for (const line of printed.trimEnd().split('\n')) {
    const [, name, data] = LINE.exec(line) ?? [];
    if (name === undefined || data === undefined) return undefined;
    files.set(name, Buffer.from(data, 'base64'));
  }
  return files.has(LOADER) && files.has(PYTHON) && printed.endsWith('\n') ? inOrder(files) : undefined;
}
