// Rights of one run over the functions that are kept for later runs: save a few of its own, and put one in the place of another
// run's only where its code asks for that. Whoever reads the answer hears of such a replacement from here, whatever the code
// does with what save_tool() told it.

import { BridgeError } from '../../base/errors.js';
import type { CallParams } from '../../wire/frames.js';
import type { SavedTool, SavedTools } from './saved-tools.js';

/** A library of helpers has a handful; a run that saves more fills the 200 places of all runs. */
const MAX_SAVED_PER_RUN = 8;

export class SavedByRun {
  readonly #saved: SavedTools;
  readonly #run: string;
  readonly #own = new Set<string>();
  readonly #replaced = new Set<string>();

  constructor(saved: SavedTools, run: string) {
    this.#saved = saved;
    this.#run = run;
  }

  list(): readonly SavedTool[] {
    return this.#saved.list();
  }

  get(name: string): string {
    return this.#saved.get(name);
  }

  /** Throws E_DENIED for what this run may not save, E_STATE where nothing can be. */
  put({ replace, ...tool }: CallParams['saved.put']): { readonly replaced: boolean } {
    const isOwn = this.#own.has(tool.name);
    if (!isOwn && this.#own.size >= MAX_SAVED_PER_RUN) throw tooMany([...this.#own]);
    const { replaced } = this.#saved.put(tool, { run: this.#run, mayReplace: isOwn || replace });
    this.#own.add(tool.name);
    if (replaced && !isOwn) this.#replaced.add(tool.name);
    return { replaced };
  }

  /** For the answer: what this run has taken the place of. */
  get note(): string | undefined {
    if (this.#replaced.size === 0) return undefined;
    return `This run has replaced saved tools of earlier runs: ${[...this.#replaced].join(', ')}.`;
  }
}

const tooMany = (names: readonly string[]): BridgeError =>
  new BridgeError(
    'E_DENIED',
    `This run has saved ${MAX_SAVED_PER_RUN} functions, the most that one run may: ${names.join(', ')}.`,
    { fault: 'guest', remedy: 'Save this one in a later run.' },
  );
