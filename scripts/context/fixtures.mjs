// Made-up files, the same every time: words, numbers and choices from a small generator with a fixed seed.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const SEED = 20_261_121;
const WORDS =
  'order item price stock user token cache index query batch retry event field total limit state'.split(' ');

/** A source of chance that always says the same. Knuth's 32-bit linear congruential generator. */
export class Chance {
  #state = SEED;

  /** A whole number below `bound`. */
  nextBelow(bound) {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * bound);
  }

  pick(list) {
    return list[this.nextBelow(list.length)];
  }

  /** A line of code that means nothing. */
  code() {
    const word = () => this.pick(WORDS);
    return `  const ${word()}${this.nextBelow(90)} = ${word()}.${word()}(${word()}, ${this.nextBelow(1_000)});`;
  }
}

export function put(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Every file below `folder` by its path from there: { path: text }. */
export function treeOf(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const entries = files.map(({ parentPath, name }) => {
    const path = join(parentPath, name);
    return [path.slice(folder.length + 1), readFileSync(path, 'utf8')];
  });
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The lines of the memory server's file, parsed, in an order of their own. */
export const graphIn = (file) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.stringify(JSON.parse(line)))
    .sort();

/** Memory's file from entities and relations. */
export const graphText = (entities, relations = []) =>
  [
    ...entities.map((entity) => JSON.stringify({ type: 'entity', ...entity })),
    ...relations.map((relation) => JSON.stringify({ type: 'relation', ...relation })),
  ].join('\n');

/** What the filesystem server's read_multiple_files says, as { path: text }. */
export const filesIn = (text) =>
  Object.fromEntries(
    text.split('\n---\n').map((part) => {
      const at = part.indexOf(':\n');
      return [part.slice(0, at), part.slice(at + 2)];
    }),
  );

/** `list` in parts of `size`: what a careful agent reads at once. */
export const parts = (list, size) =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  );
