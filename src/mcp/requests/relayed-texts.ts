// Results hold texts that are relayed as they are (RawJson), because JavaScript would change numbers in them. The SDK's HTTP
// transports write with JSON.stringify, which cannot do that: so each such text is written as a mark, and the mark is
// replaced on the way out.

import { randomUUID } from 'node:crypto';
import { RawJson, stringify, wellFormedJson } from '../../base/json/json-text.js';

/** Never leaves this process, so nothing that anybody sends can contain it. */
const NONCE = randomUUID();
const MARK = new RegExp(`"${NONCE}:(\\d+)"`, 'g');
/** How JSON.stringify begins the escape of a surrogate that stands alone. */
const LONE_SURROGATE = '\\ud';

/** The texts of one request's answers. */
export class RelayedTexts {
  readonly #texts: string[] = [];

  /** `result` with a mark in place of each RawJson in it, once it is written as JSON; the same object where there is none. */
  mark<T>(result: T): T {
    return this.#markValue(result) as T;
  }

  /** A piece of an answer as the client gets it. A mark lies in one piece: the transports put in whole messages. */
  placeTexts(piece: Uint8Array): Uint8Array {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    const hasMarks = this.#texts.length > 0 && bytes.includes(NONCE);
    if (!hasMarks && !bytes.includes(LONE_SURROGATE)) return piece;
    const text = bytes
      .toString()
      .replace(MARK, (_mark, index: string) => this.#texts[Number(index)] ?? 'null');
    return Buffer.from(wellFormedJson(text));
  }

  #markValue(value: unknown): unknown {
    if (value instanceof RawJson)
      return { toJSON: () => `${NONCE}:${this.#texts.push(stringify(value)) - 1}` };
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#markValue(item));
      return items.some((item, index) => item !== value[index]) ? items : value;
    }
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).flatMap(([key, member]) => {
      const marked = this.#markValue(member);
      return marked === member ? [] : [[key, marked] as const];
    });
    return members.length === 0 ? value : { ...value, ...Object.fromEntries(members) };
  }
}
