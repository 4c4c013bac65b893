// The documentation of every discovered server, whether this bridge has started it or not, made of what is kept of it.
// Starts nothing. What it says makes no tool callable.

import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import type { ServerBrief, ServerDoc } from '../../wire/frames.js';
import { summaryOf, type ToolNotes, toServerDoc } from './catalog.js';
import { changeWords, type KeptCatalog, type KeptServer } from './kept-catalog.js';
import type { ObservedShapes } from './observed-shapes.js';

/** The part of a server's documentation that may be seen; a view leaves tools out, and makes none. */
type View = (doc: ServerDoc) => ServerDoc;

/** `whole` is of `kept`, and `doc` what `view` lets be seen of it. */
type MadeDoc = {
  readonly kept: KeptServer;
  readonly description: string;
  readonly whole: ServerDoc;
  readonly view: View;
  readonly doc: ServerDoc;
};

const ALL: View = (doc) => doc;

/** Documentation that a run may look up of servers that it has not loaded. */
export class KnownServers {
  readonly #kept: KeptCatalog;
  readonly #shapes: Pick<ObservedShapes, 'of'>;
  readonly #viewNow: () => View;
  #specs: readonly DownstreamSpec[] = [];
  #aliasOf: (name: string) => string = (name) => name;
  #made = new Map<string, MadeDoc>();
  #all: readonly ServerDoc[] = [];

  /** `viewNow` is asked with every question, and answers with the same function as long as its rules are the same. */
  constructor(kept: KeptCatalog, shapes: Pick<ObservedShapes, 'of'>, viewNow: () => View = () => ALL) {
    this.#kept = kept;
    this.#shapes = shapes;
    this.#viewNow = viewNow;
  }

  /** Takes what is configured now, in that order, and how it is called in Python. */
  adopt(specs: readonly DownstreamSpec[], aliasOf: (name: string) => string): void {
    this.#specs = specs;
    this.#aliasOf = aliasOf;
  }

  /** Reads what is kept before a run needs it, a file at a time: fifty of them take thirty milliseconds. */
  async readAhead(): Promise<void> {
    for (const spec of this.#specs) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#kept.of(spec);
    }
  }

  /** Undefined for a server that has never been started, or is not discovered. */
  docOf(name: string): ServerDoc | undefined {
    const spec = this.#specs.find((candidate) => candidate.name === name);
    const kept = spec && this.#kept.of(spec);
    if (spec === undefined || kept === undefined) return undefined;
    const observed = this.#shapes.of({ ...kept, spec });
    return this.#viewNow()(
      toServerDoc({ ...kept, spec }, this.#aliasOf(name), observed, changesOf(kept, name)),
    );
  }

  /**
   * Documentation of all servers that were ever started; the same array as long as none of it changes. Without the shapes of
   * answers, which lie in files of their own and would change these with every answer.
   */
  allDocs(): readonly ServerDoc[] {
    const before = this.#made;
    const view = this.#viewNow();
    const made = this.#specs.flatMap((spec) => this.#make(spec, view, before.get(spec.name)) ?? []);
    this.#made = new Map(made.map((one) => [one.doc.name, one]));
    const isSame =
      made.length === this.#all.length && made.every(({ doc }, index) => doc === this.#all[index]);
    if (!isSame) this.#all = made.map(({ doc }) => doc);
    return this.#all;
  }

  /** All that are configured, each in one line whatever it has; `loaded` are the names of those that a run has. */
  briefs(loaded: readonly string[]): readonly ServerBrief[] {
    const docs = new Map(this.allDocs().map((doc) => [doc.name, doc]));
    return this.#specs.map((spec) => {
      const doc = docs.get(spec.name);
      return {
        name: spec.name,
        alias: this.#aliasOf(spec.name),
        description: summaryOf(spec.description, doc?.instructions ?? undefined),
        loaded: loaded.includes(spec.name),
        tools: doc?.tools.length ?? null,
      };
    });
  }

  /**
   * Changes of each tool since it was first seen, in words; undefined where there are none. For a live server as for one that is
   * not started.
   */
  changedOf(spec: DownstreamSpec): ToolNotes['changed'] {
    const kept = this.#kept.of(spec);
    return kept === undefined ? () => undefined : changesOf(kept, spec.name);
  }

  #make(spec: DownstreamSpec, view: View, before: MadeDoc | undefined): MadeDoc | undefined {
    const kept = this.#kept.of(spec);
    if (kept === undefined) return undefined;
    const { name, description } = spec;
    const alias = this.#aliasOf(name);
    const isSame =
      before?.kept === kept && before.whole.alias === alias && before.description === description;
    if (isSame && before.view === view) return before;
    const none = () => undefined;
    const whole = isSame ? before.whole : toServerDoc({ ...kept, spec }, alias, none, changesOf(kept, name));
    const seen = view(whole);
    // Other rules that come to the same: whoever has made something of these need not make it anew.
    const doc = isSame && haveSameTools(before.doc, seen) ? before.doc : seen;
    return { kept, description, whole, view, doc };
  }
}

function haveSameTools({ tools }: ServerDoc, other: ServerDoc): boolean {
  return tools.length === other.tools.length && tools.every((tool, index) => tool === other.tools[index]);
}

function changesOf(kept: KeptServer, server: string): ToolNotes['changed'] {
  return (tool) => {
    const change = kept.changes.get(tool);
    return change && changeWords(change, server);
  };
}
