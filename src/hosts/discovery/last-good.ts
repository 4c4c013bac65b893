// The last readable content of each configuration file. While an editor or a host writes a file, it is for a moment empty, half
// there or missing; a bridge that took such a file at its word would take servers away for a slip of the pen. One memory for
// each bridge, in its process only: a bridge that starts beside a broken file has nothing to go by.

import { statSync } from 'node:fs';
import { type ConfigFile, type FileTrouble, REMEMBERED_BYTES } from '../../settings/files/config-file.js';
import { type HostFacts, pathRules } from '../../settings/files/host-facts.js';
import type { Source } from '../terms/source.js';

/** Editors that replace a file by another one need some milliseconds between the two. */
const REPLACED_WITHIN_MS = 1_000;
const KEPT = 'what it said before stays in use until it can be read';
const MISSING: FileTrouble = { message: 'is missing' };
const EMPTY = 'is empty; delete it if it is to name no servers';

type ParsedFile = Extract<ConfigFile, { readonly state: 'parsed' }>;
type RememberedFile = { readonly file: ParsedFile; missingSinceMs: number | undefined };

export class LastGoodFiles {
  readonly #nowMs: () => number;
  readonly #kept = new Map<string, RememberedFile>();
  /** The files of each source at the last look. */
  readonly #listed = new Map<Source, readonly string[]>();

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** The file as it counts now; `found` is what was just read. One that others may write is refused whatever it said. */
  current(file: string, found: ConfigFile, host: HostFacts): ConfigFile {
    const kept = this.#kept.get(file);
    const isGood = found.state === 'parsed' && !(found.isBlank && kept !== undefined);
    if (isGood) this.#keep(file, found);
    if (isGood || kept === undefined) return found;
    if (found.state !== 'absent') kept.missingSinceMs = undefined;
    const trouble = this.#passingTrouble(file, found, kept, host);
    if (trouble !== undefined)
      return { ...kept.file, warning: { ...trouble, message: `${trouble.message}; ${KEPT}` } };
    this.#kept.delete(file);
    return found;
  }

  /** The files of a source, and among them, in their places, those that were there at the last look and are kept. */
  filesOf(source: Source, files: readonly string[]): readonly string[] {
    const merged = [...files];
    for (const [index, file] of (this.#listed.get(source) ?? []).entries()) {
      if (this.#kept.has(file) && !files.includes(file)) merged.splice(index, 0, file);
    }
    this.#listed.set(source, merged);
    return merged;
  }

  #keep(file: string, content: ParsedFile): void {
    this.#kept.delete(file);
    const held = [...this.#kept.values()].reduce((sum, one) => sum + one.file.bytes, 0);
    if (held + content.bytes > REMEMBERED_BYTES) return;
    this.#kept.set(file, { file: content, missingSinceMs: undefined });
  }

  /** The trouble with a file that was good; undefined where the earlier content is to count no longer. */
  #passingTrouble(
    file: string,
    found: ConfigFile,
    kept: RememberedFile,
    host: HostFacts,
  ): FileTrouble | undefined {
    if (found.state === 'parsed') return { message: EMPTY };
    if (found.state === 'absent') return this.#isOnItsWay(file, kept, host) ? MISSING : undefined;
    const { message, place, isUnsafe } = found;
    return isUnsafe ? undefined : { message, place };
  }

  /** Whether it went so lately that its successor may be about to take its place. */
  #isOnItsWay(file: string, kept: RememberedFile, host: HostFacts): boolean {
    kept.missingSinceMs ??= this.#nowMs();
    if (this.#nowMs() - kept.missingSinceMs >= REPLACED_WITHIN_MS) return false;
    try {
      const folder = statSync(pathRules(host).dirname(file));
      return Math.abs(Date.now() - folder.mtimeMs) < REPLACED_WITHIN_MS;
    } catch {
      // The folder is gone too, which no editor does.
      return false;
    }
  }
}
