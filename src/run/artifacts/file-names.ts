// Names of files that cross the wall, in either direction. Going in, a name is refused unless it is plain; coming out, a
// stranger has chosen it, and it is made fit to be shown. No name is ever a path on the host's disk but in the command
// line's own folder, and there only when it is plain too.

import { clip, isHarmless, makeHarmless } from '../../base/text/text.js';
import { MAX_PATH_BYTES, MAX_SEGMENT_BYTES } from '../../wire/limits.js';

/** The folder in the working directory whose files come back. */
export const RESULTS_FOLDER = 'out';

/** Description of an allowed name, as the end of a sentence. */
export const PLAIN_NAME = 'a relative path such as data.csv or in/data.csv';

// biome-ignore lint/suspicious/noControlCharactersInRegex: naming control characters is this pattern's purpose
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
/** Longest file name in a message; a longer one helps nobody. */
const MAX_SHOWN_CHARS = 200;

/** The problem with a name, as the end of a sentence that begins with the name; undefined for a plain one. */
export function nameProblem(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (!name.isWellFormed()) return 'is not well-formed text';
  if (CONTROL.test(name)) return 'holds a control character';
  if (!isHarmless(name)) return 'holds an invisible character';
  if (Buffer.byteLength(name) > MAX_PATH_BYTES) return `is longer than ${MAX_PATH_BYTES} bytes`;
  if (name.startsWith('/')) return 'is absolute';
  const segments = name.split('/');
  for (const segment of segments) {
    if (segment === '') return 'has an empty part';
    if (segment === '.' || segment === '..') return `has a part '${segment}'`;
    // Where a shell makes arguments of names, it would be an option.
    if (segment.startsWith('-')) return 'has a part that begins with a dash';
    if (Buffer.byteLength(segment) > MAX_SEGMENT_BYTES)
      return `has a part longer than ${MAX_SEGMENT_BYTES} bytes`;
  }
  return undefined;
}

/**
 * The problem with `name` beside `others`, in the same words: the same name in whatever Unicode form, or a file where another
 * needs a folder. Case counts, as on every Linux.
 */
export class NameSet {
  readonly #files = new Set<string>();
  readonly #folders = new Set<string>([RESULTS_FOLDER]);

  /** Takes the name when there is no problem. */
  add(name: string): string | undefined {
    const file = name.normalize('NFC');
    if (this.#files.has(file)) return 'is given twice';
    if (this.#folders.has(file)) return 'is the name of a folder';
    const folders = file.split('/').map((_, index, parts) => parts.slice(0, index).join('/'));
    const blocked = folders.find((folder) => this.#files.has(folder));
    if (blocked !== undefined) return `needs a folder where '${clip(blocked, MAX_SHOWN_CHARS)}' is a file`;
    this.#files.add(file);
    for (const folder of folders) if (folder !== '') this.#folders.add(folder);
    return undefined;
  }
}

/** A stranger's name as it is shown and addressed: one line, relative, no parts that lead elsewhere. */
export function shownName(name: string): string {
  const line = makeHarmless(name).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
  const parts = line.split('/').filter((part) => part !== '' && part !== '.' && part !== '..');
  return clip(parts.join('/'), MAX_SHOWN_CHARS) || 'unnamed';
}

/** `name`, or the first of `name (2)`, `name (3)` … that is not in `taken`; takes it. */
export function uniqueName(name: string, taken: Set<string>): string {
  let unique = name;
  for (let count = 2; taken.has(unique); count++) unique = `${name} (${count})`;
  taken.add(unique);
  return unique;
}
