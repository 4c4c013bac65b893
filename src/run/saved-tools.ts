// Functions that guest code keeps for later runs: one Python file each in the state directory, stored as text,
// handed back as text on request, never executed or imported by the host.

import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { didYouMean } from '../base/closest.js';
import { BridgeError } from '../base/errors.js';
import { clip } from '../base/text.js';

/** A long function has 5 KB; this bounds what a run can leave on the disk together with MAX_TOOLS. */
const MAX_SOURCE_BYTES = 64 * 1024;
const MAX_TOOLS = 200;
const NAME = /^[a-z_][a-z0-9_]{0,63}$/i;
const DESCRIPTION_MARK = '# ';

export type SavedTool = { readonly name: string; readonly description: string };

export class SavedTools {
  readonly #dir: string;
  readonly #enabled: boolean;

  constructor(stateDir: string, enabled: boolean) {
    this.#dir = join(stateDir, 'user-tools');
    this.#enabled = enabled;
  }

  list(): readonly SavedTool[] {
    return this.#names().map((name) => ({
      name,
      description: (this.#read(name).split('\n')[0] ?? '').slice(DESCRIPTION_MARK.length),
    }));
  }

  /** The source as it was saved. */
  get(name: string): string {
    const names = this.#names();
    if (!names.includes(name)) throw refuse(`There is no saved tool '${name}'.${didYouMean(name, names)}`);
    return this.#read(name);
  }

  put(name: string, source: string, description: string): void {
    if (!this.#enabled) throw refuse('Saving tools is switched off (MCP_BRIDGE_SAVE_TOOLS=off).');
    if (!NAME.test(name))
      throw refuse(`'${clip(name, 80)}' is not a name for a saved tool: use a plain Python function name.`);
    if (Buffer.byteLength(source) > MAX_SOURCE_BYTES)
      throw refuse(`The source is larger than ${MAX_SOURCE_BYTES} bytes.`);
    const names = this.#names();
    if (!names.includes(name) && names.length >= MAX_TOOLS)
      throw refuse(`There are ${MAX_TOOLS} saved tools already.`);
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
    const text = `${DESCRIPTION_MARK}${clip(description.replaceAll(/\s+/g, ' ').trim(), 200)}\n${source.toWellFormed()}`;
    const fresh = join(this.#dir, `.${name}.${process.pid}`);
    writeFileSync(fresh, text, { mode: 0o600 });
    renameSync(fresh, join(this.#dir, `${name}.py`));
  }

  #names(): string[] {
    try {
      return readdirSync(this.#dir)
        .filter((file) => file.endsWith('.py') && NAME.test(file.slice(0, -3)))
        .map((file) => file.slice(0, -3))
        .sort();
    } catch {
      return [];
    }
  }

  #read(name: string): string {
    return readFileSync(join(this.#dir, `${name}.py`), 'utf8');
  }
}

const refuse = (message: string) => new BridgeError('E_DENIED', message, { fault: 'guest' });
