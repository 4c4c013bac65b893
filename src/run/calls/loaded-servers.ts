// The servers of one run: those that it began with, and those that its code has got since. Each is known whole, for those
// who judge, and as policy shows it at the moment when it was loaded, for the code.

import { allowedPart, type Policy } from '../../policy/rules/policy.js';
import type { ServerDoc } from '../../wire/frames.js';

export class LoadedServers {
  readonly #policy: () => Policy;
  readonly #whole = new Map<string, ServerDoc>();
  readonly #shown = new Map<string, ServerDoc>();

  constructor(docs: readonly ServerDoc[], policy: () => Policy) {
    this.#policy = policy;
    for (const doc of docs) this.add(doc);
  }

  /** Takes one more, and returns what the code may see of it. */
  add(doc: ServerDoc): ServerDoc {
    const shown = allowedPart(doc, this.#policy());
    this.#whole.set(doc.name, doc);
    this.#shown.set(doc.name, shown);
    return shown;
  }

  /** With what policy hides; undefined for a server that the run has not. */
  whole(name: string): ServerDoc | undefined {
    return this.#whole.get(name);
  }

  /** The part of a server that the code may see; undefined for a server that the run has not. */
  shown(name: string): ServerDoc | undefined {
    return this.#shown.get(name);
  }

  get allShown(): readonly ServerDoc[] {
    return [...this.#shown.values()];
  }

  get names(): readonly string[] {
    return [...this.#whole.keys()];
  }
}
