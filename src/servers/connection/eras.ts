// Which era of MCP each server speaks, remembered from start to start: a server of 2025 that hangs or exits when it is
// asked for `server/discover` is asked only once. By what starts or reaches a server, and not by its name.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../../base/files/replace-file.js';
import { type DownstreamSpec, definitionKey } from '../../hosts/downstream-spec.js';

/** `legacy` opens with `initialize` (2024-11-05 to 2025-11-25), `modern` does without (2026-07-28). */
type ServerEra = 'legacy' | 'modern';

export type KnownEra = {
  readonly era: ServerEra;
  /** The server's own version when it was found out; undefined where it did not get that far. */
  readonly version?: string | undefined;
};

export interface EraMemory {
  of(spec: DownstreamSpec): KnownEra | undefined;
  /** Undefined forgets. Never throws. */
  learn(spec: DownstreamSpec, known: KnownEra | undefined): void;
}

/** For as long as this process lives. */
export class ErasInMemory implements EraMemory {
  readonly #known = new Map<string, KnownEra>();

  of(spec: DownstreamSpec): KnownEra | undefined {
    return this.#known.get(definitionKey(spec));
  }

  learn(spec: DownstreamSpec, known: KnownEra | undefined): void {
    const key = definitionKey(spec);
    if (known === undefined) this.#known.delete(key);
    else this.#known.set(key, known);
  }
}

/** The oldest are forgotten: they are only asked once more. */
const MAX_SERVERS = 1_000;
const MAX_VERSION_CHARS = 200;

const file = z.record(
  z.string(),
  z.object({ era: z.enum(['legacy', 'modern']), version: z.string().max(MAX_VERSION_CHARS).optional() }),
);

/**
 * In `cache/eras.json` of the state directory, which several bridges may share; the last one who writes is right. Nothing of
 * ours lies in that directory itself under a name that discovery reads: it may be ~/MCPs.
 */
export class KeptEras implements EraMemory {
  readonly #path: string;

  constructor(stateDir: string) {
    this.#path = join(stateDir, 'cache', 'eras.json');
  }

  of(spec: DownstreamSpec): KnownEra | undefined {
    return this.#read().get(definitionKey(spec));
  }

  learn(spec: DownstreamSpec, known: KnownEra | undefined): void {
    const key = definitionKey(spec);
    const all = this.#read();
    const before = all.get(key);
    const version = known?.version?.slice(0, MAX_VERSION_CHARS);
    if (before?.era === known?.era && before?.version === version) return;
    // The latest stand at the end.
    all.delete(key);
    if (known !== undefined) all.set(key, { era: known.era, version });
    try {
      replaceFile(this.#path, `${JSON.stringify(Object.fromEntries([...all].slice(-MAX_SERVERS)))}\n`);
    } catch {
      // It is asked once more.
    }
  }

  /** A file that is damaged is as none. */
  #read(): Map<string, KnownEra> {
    try {
      return new Map(Object.entries(file.parse(JSON.parse(readFileSync(this.#path, 'utf8')))));
    } catch {
      return new Map();
    }
  }
}
