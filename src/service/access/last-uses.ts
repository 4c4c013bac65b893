// When each token was last used, to within ten minutes: for whoever wonders whether one is still needed. Kept beside the
// tokens and not among them, so that a request never writes what decides who comes in. Losing it loses nothing else.

import { join } from 'node:path';
import { z } from 'zod';
import { readText } from '../../base/files/read-text.js';
import { replaceFile } from '../../base/files/replace-file.js';

/** A use sooner than this after a written one is not written. */
export const ROUGHLY_MS = 10 * 60_000;

const contents = z.record(z.string(), z.number());

export class LastUses {
  readonly #path: string;
  /** By a token's id, when this process last wrote it, in ms since 1970. */
  readonly #written = new Map<string, number>();

  constructor(stateDir: string) {
    this.#path = join(stateDir, 'http', 'token-uses.json');
  }

  /** By a token's id, in ms since 1970. Never throws. */
  read(): ReadonlyMap<string, number> {
    try {
      return new Map(Object.entries(contents.parse(JSON.parse(readText(this.#path) ?? '{}'))));
    } catch {
      return new Map();
    }
  }

  /** `known` are the ids of all tokens: what is kept of others is forgotten. Never throws. */
  note(id: string, known: readonly string[], nowMs = Date.now()): void {
    const lastMs = this.#written.get(id);
    if (lastMs !== undefined && Math.abs(nowMs - lastMs) < ROUGHLY_MS) return;
    this.#written.set(id, nowMs);
    try {
      // Another bridge may write at the same time; then one of the two uses is forgotten for ten minutes.
      const uses = [...this.read(), [id, nowMs] as const].filter(([one]) => known.includes(one));
      replaceFile(this.#path, `${JSON.stringify(Object.fromEntries(uses))}\n`);
    } catch {
      // A full disk, or one that may not be written, keeps nobody out.
    }
  }
}
