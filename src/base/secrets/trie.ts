// Looks for many patterns at once in time that depends on the text alone (Aho and Corasick, 1975). A text that nearly
// has a pattern, over and over, costs no more than another one. Knows bytes; what they mean is for others.

import { BARRIER, type Reading, SKIPPED } from './reading.js';

/** Every pattern has at least this many bytes: the filter looks at so many at once. */
const GRAM_BYTES = 4;
const GRAMS = 2 ** 16;

export class Trie {
  /**
   * Arrays by node, of which 0 is the root: its byte, its first child, its parent's next child, how deep it is, what it ends.
   */
  readonly #byte = [0];
  readonly #child = [0];
  readonly #sibling = [0];
  readonly #depth = [0];
  readonly #label = [-1];
  /** Children of the root, which most bytes of a text are compared with. */
  readonly #first = new Int32Array(256);
  /** Whether a pattern may begin with the last four bytes, by these: only then is it worth while to look closer. */
  readonly #filter = new Uint8Array(GRAMS);
  /** The node of the longest end of this one's bytes that begins a pattern. */
  #fail: Int32Array | undefined;
  /** The node of the longest pattern that ends here; 0 where none does. */
  #ending = new Int32Array(0);
  /** Where the bytes of a search come from that were not skipped. */
  #places = new Int32Array(256);

  get isEmpty(): boolean {
    return this.#byte.length === 1;
  }

  /** `label` is what a find is told with. Shorter patterns than four bytes are not taken. */
  add({ bytes, length }: Pick<Reading, 'bytes' | 'length'>, label: number): void {
    if (length < GRAM_BYTES) return;
    let node = 0;
    for (let at = 0; at < length; at++) {
      const byte = bytes[at] ?? 0;
      node = this.#childOf(node, byte) || this.#grow(node, byte);
    }
    this.#label[node] = label;
    let gram = 0;
    for (let at = 0; at < GRAM_BYTES; at++) gram = (gram << 4) ^ (bytes[at] ?? 0);
    this.#filter[gram & (GRAMS - 1)] = 1;
    this.#fail = undefined;
  }

  /**
   * Looks through what `table` makes of each byte: another byte, SKIPPED, or BARRIER, which is in no pattern. Tells
   * `found` of each place at which a pattern ends: its first and last byte and its label, of several that end there
   * the longest one.
   */
  search(
    { bytes, length }: Reading,
    table: Int16Array,
    found: (first: number, last: number, label: number) => void,
  ): void {
    if (this.isEmpty) return;
    if (this.#places.length < length) this.#places = new Int32Array(length);
    const fail = this.#fail ?? this.#link();
    const [barrier, skipped] = [BARRIER, SKIPPED];
    const [filter, ending, places] = [this.#filter, this.#ending, this.#places];
    let node = 0;
    let gram = 0;
    // Bytes since the last barrier, without those that were skipped.
    let taken = 0;
    for (let at = 0; at < length; at++) {
      const byte = table[bytes[at] ?? 0] ?? barrier;
      if (byte === skipped) continue;
      if (byte === barrier) {
        node = 0;
        taken = 0;
        continue;
      }
      places[taken++] = at;
      gram = ((gram << 4) ^ byte) & (GRAMS - 1);
      if (node === 0) {
        if (filter[gram] === 0 || taken < GRAM_BYTES) continue;
        for (let back = GRAM_BYTES; back > 0; back--)
          node = this.#step(fail, node, table[bytes[places[taken - back] ?? 0] ?? 0] ?? barrier);
      } else node = this.#step(fail, node, byte);
      const end = ending[node] ?? 0;
      if (end !== 0) found(places[taken - (this.#depth[end] ?? 0)] ?? 0, at, this.#label[end] ?? -1);
    }
  }

  #step(fail: Int32Array, from: number, byte: number): number {
    let node = from;
    for (;;) {
      const next = this.#childOf(node, byte);
      if (next !== 0 || node === 0) return next;
      node = fail[node] ?? 0;
    }
  }

  #childOf(node: number, byte: number): number {
    if (node === 0) return this.#first[byte] ?? 0;
    let child = this.#child[node] ?? 0;
    while (child !== 0 && this.#byte[child] !== byte) child = this.#sibling[child] ?? 0;
    return child;
  }

  #grow(parent: number, byte: number): number {
    const node = this.#byte.push(byte) - 1;
    this.#sibling.push(this.#child[parent] ?? 0);
    this.#child.push(0);
    this.#depth.push((this.#depth[parent] ?? 0) + 1);
    this.#label.push(-1);
    this.#child[parent] = node;
    if (parent === 0) this.#first[byte] = node;
    return node;
  }

  /** Links the nodes from the root down, since a node's links lead to less deep ones. */
  #link(): Int32Array {
    const fail = new Int32Array(this.#byte.length);
    const ending = new Int32Array(this.#byte.length);
    const queue = new Int32Array(this.#byte.length);
    let queued = 1;
    for (let taken = 0; taken < queued; taken++) {
      const node = queue[taken] ?? 0;
      for (let child = this.#child[node] ?? 0; child !== 0; child = this.#sibling[child] ?? 0) {
        queue[queued++] = child;
        const link = node === 0 ? 0 : this.#step(fail, fail[node] ?? 0, this.#byte[child] ?? 0);
        fail[child] = link;
        ending[child] = (this.#label[child] ?? -1) >= 0 ? child : (ending[link] ?? 0);
      }
    }
    this.#fail = fail;
    this.#ending = ending;
    return fail;
  }
}
