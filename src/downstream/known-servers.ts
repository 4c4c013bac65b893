// The documentation of every discovered server, whether this bridge has started it or not, made of what is kept of it.
// Starts nothing. What it says makes no tool callable.

import type { DownstreamSpec } from '../config/downstream-spec.js';
import type { ServerBrief, ServerDoc } from '../protocol/frames.js';
import { summaryOf, type ToolNotes, toServerDoc } from './catalog.js';
import { changeWords, type KeptCatalog, type KeptServer } from './kept-catalog.js';
import type { ObservedShapes } from './observed-shapes.js';

/** What a run may look up of servers that it has not loaded. */
export type Known = {
  /** Undefined for a server that has never been started, or is not discovered. */
  docOf(name: string): ServerDoc | undefined;
  /** Of all servers that were ever started; the same array as long as nothing of it changes. */
  allDocs(): readonly ServerDoc[];
};

type Part = (doc: ServerDoc) => ServerDoc;
type Made = { readonly kept: KeptServer; readonly spec: DownstreamSpec; readonly doc: ServerDoc };

export class KnownServers implements Known {
  readonly #kept: KeptCatalog;
  readonly #shapes: Pick<ObservedShapes, 'of'>;
  #specs: readonly DownstreamSpec[] = [];
  #aliasOf: (name: string) => string = (name) => name;
  #part: Part = (doc) => doc;
  #made = new Map<string, Made>();
  #all: readonly ServerDoc[] = [];

  constructor(kept: KeptCatalog, shapes: Pick<ObservedShapes, 'of'>) {
    this.#kept = kept;
    this.#shapes = shapes;
  }

  /**
   * Takes what is configured now, in that order, how it is called in Python, and what of a server's documentation is
   * shown: the same function as long as the answer is the same, since what is made by it is kept.
   */
  adopt(specs: readonly DownstreamSpec[], aliasOf: (name: string) => string, part: Part): void {
    this.#specs = specs;
    this.#aliasOf = aliasOf;
    if (part !== this.#part) this.#made.clear();
    this.#part = part;
  }

  /** Reads what is kept before a run needs it, a file at a time: fifty of them take thirty milliseconds. */
  async readAhead(): Promise<void> {
    for (const spec of this.#specs) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#kept.of(spec);
    }
  }

  docOf(name: string): ServerDoc | undefined {
    const spec = this.#specs.find((candidate) => candidate.name === name);
    const kept = spec && this.#kept.of(spec);
    if (spec === undefined || kept === undefined) return undefined;
    const observed = this.#shapes.of({ ...kept, spec });
    return this.#part(toServerDoc({ ...kept, spec }, this.#aliasOf(name), observed, changesOf(kept, name)));
  }

  /** Without the shapes of answers, which lie in files of their own and would change these with every answer. */
  allDocs(): readonly ServerDoc[] {
    const before = this.#made;
    const made = this.#specs.flatMap((spec) => this.#make(spec, before.get(spec.name)) ?? []);
    this.#made = new Map(made.map((one) => [one.doc.name, one]));
    const isSame =
      made.length === this.#all.length && made.every(({ doc }, index) => doc === this.#all[index]);
    if (!isSame) this.#all = made.map(({ doc }) => doc);
    return this.#all;
  }

  /** All that are configured, each in one line whatever it has; `loaded` are the names of those that a run has. */
  briefs(loaded: readonly string[]): readonly ServerBrief[] {
    this.allDocs();
    return this.#specs.map((spec) => {
      const made = this.#made.get(spec.name);
      return {
        name: spec.name,
        alias: this.#aliasOf(spec.name),
        description: summaryOf(spec.description, made?.kept.instructions),
        loaded: loaded.includes(spec.name),
        tools: made?.doc.tools.length ?? null,
      };
    });
  }

  /** How the documentation of a tool says that it has changed; for a live server as for one that is not started. */
  changedOf(spec: DownstreamSpec): ToolNotes['changed'] {
    const kept = this.#kept.of(spec);
    return kept === undefined ? () => undefined : changesOf(kept, spec.name);
  }

  #make(spec: DownstreamSpec, before: Made | undefined): Made | undefined {
    const kept = this.#kept.of(spec);
    if (kept === undefined) return undefined;
    const alias = this.#aliasOf(spec.name);
    const isSame =
      before?.kept === kept && before.doc.alias === alias && before.spec.description === spec.description;
    if (isSame) return before;
    const none = () => undefined;
    const doc = this.#part(toServerDoc({ ...kept, spec }, alias, none, changesOf(kept, spec.name)));
    return { kept, spec, doc };
  }
}

function changesOf(kept: KeptServer, server: string): ToolNotes['changed'] {
  return (tool) => {
    const change = kept.changes.get(tool);
    return change && changeWords(change, server);
  };
}
