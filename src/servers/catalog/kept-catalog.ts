// Every server's own description from its last start, kept in the state directory, so that its tools can be looked up without
// starting the server, and so that a tool which is no longer what it was is noticed. A description decides nothing: only tools
// that a live server lists may be called. Beside it lies why the last start failed, until one succeeds. Trouble with the files
// costs what was kept, and nothing else.

import { readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../../base/files/replace-file.js';
import { isObject } from '../../base/json/records.js';
import type { Observer } from '../../base/log/events.js';
import { ownCommand } from '../../base/process/own-command.js';
import { shownName } from '../../base/text/shown-name.js';
import { clip } from '../../base/text/text.js';
import { catalogKey, type DownstreamSpec } from '../../hosts/downstream-spec.js';
import type { Downstream } from '../server/downstream.js';
import type { ServerTool } from '../server/tool-list.js';
import {
  type CatalogFile,
  catalogFileText,
  changedParts,
  digestOf,
  type FirstSeen,
  readCatalogFile,
  sweepCatalog,
} from './catalog-file.js';

/** A tool that is no longer what it was when it was first seen, and what it was. */
export type ToolChange = Omit<FirstSeen, 'digest'> & {
  readonly tool: string;
  readonly now: NonNullable<FirstSeen['was']>;
};

/** A server as it was when it was last started, in the words of `Downstream`. */
export type KeptServer = {
  readonly serverVersion: string | undefined;
  readonly instructions: string | undefined;
  tools(): readonly ServerTool[];
  /** Changes of the tools that it lists, by tool name, in the order of the list. */
  readonly changes: ReadonlyMap<string, ToolChange>;
};

const FOLDER = join('cache', 'catalog');
const FAILURE_ENDING = '.failed.json';
/** A reason holds the last words of a server, and is shown in a list. */
const MAX_REASON_CHARS = 2_000;
const failure = z.object({ at: z.string(), reason: z.string(), remedy: z.string().optional() });
/** A file's time says when its server was last started, to the day. */
const TOUCH_AFTER_MS = 24 * 60 * 60 * 1000;
const MAX_BEFORE_CHARS = 2_000;
const MAX_BEFORE_PARAMETERS = 100;

export class KeptCatalog {
  readonly #folder: string;
  readonly #observer: Observer;
  /** Catalogs by the path of their file. `stamp` is that of the file that was read; null where it could not be written. */
  readonly #entries = new Map<
    string,
    {
      readonly stamp: string | undefined | null;
      readonly file: CatalogFile | undefined;
      readonly kept: KeptServer | undefined;
    }
  >();
  readonly #paths = new WeakMap<DownstreamSpec, string>();
  /** Changes that were told last, by the path of the catalog's file. */
  readonly #told = new Map<string, string>();
  #swept = false;

  constructor(stateDir: string, observer: Observer) {
    this.#folder = join(stateDir, FOLDER);
    this.#observer = observer;
  }

  /** Undefined where it has never been started. The same object as long as its file is the same: that costs one stat. */
  of(spec: DownstreamSpec): KeptServer | undefined {
    return this.#entry(this.#pathOf(spec)).kept;
  }

  /** Takes what a server lists, whenever it has listed it. Emits `downstream.changed` for what is not as first seen. */
  learn(server: Pick<Downstream, 'spec' | 'serverVersion' | 'instructions' | 'tools'>): void {
    const { spec, serverVersion, instructions } = server;
    const path = this.#pathOf(spec);
    const before = this.#entry(path).file;
    const listed = server.tools();
    const seen = new Map(before?.firstSeen);
    for (const tool of listed) seen.set(tool.name, look(tool, seen.get(tool.name), before));
    this.#keep(path, spec, { version: serverVersion, instructions, tools: listed, firstSeen: seen }, before);
    this.#tell(path, spec);
  }

  /** Takes the tools of a server as they are now for what they are to be; gives what had changed of them. */
  accept(spec: DownstreamSpec): readonly ToolChange[] {
    const path = this.#pathOf(spec);
    const { file, kept } = this.#entry(path);
    if (file === undefined || kept === undefined || kept.changes.size === 0) return [];
    const seen = new Map(file.firstSeen);
    for (const tool of file.tools) if (kept.changes.has(tool.name)) seen.set(tool.name, first(tool));
    this.#keep(path, spec, { ...file, firstSeen: seen }, file);
    return [...kept.changes.values()];
  }

  /** Keeps why a start has failed, until the next one of the same server succeeds. */
  noteFailure(
    spec: DownstreamSpec,
    { reason, remedy }: { readonly reason: string; readonly remedy: string | undefined },
  ): void {
    const at = new Date().toISOString();
    const kept = {
      at,
      reason: clip(reason, MAX_REASON_CHARS),
      remedy: remedy && clip(remedy, MAX_REASON_CHARS),
    };
    try {
      replaceFile(failurePath(this.#pathOf(spec)), JSON.stringify(kept));
    } catch {
      // The call that needed the server was told.
    }
  }

  /** When the last start has failed, as ISO 8601 has it, and why; undefined where it has not, or nobody has tried. */
  lastFailure(spec: DownstreamSpec) {
    try {
      const found = failure.parse(JSON.parse(readFileSync(failurePath(this.#pathOf(spec)), 'utf8')));
      return { at: found.at, reason: found.reason, remedy: found.remedy };
    } catch {
      return undefined;
    }
  }

  #pathOf(spec: DownstreamSpec): string {
    const path = this.#paths.get(spec) ?? join(this.#folder, `${catalogKey(spec)}.json`);
    this.#paths.set(spec, path);
    return path;
  }

  #entry(path: string) {
    const known = this.#entries.get(path);
    if (known?.stamp === null) return known;
    const stamp = stampOf(path);
    if (known !== undefined && known.stamp === stamp) return known;
    const file = stamp === undefined ? undefined : readCatalogFile(path);
    const entry = { stamp, file, kept: file && keptServer(file) };
    this.#entries.set(path, entry);
    return entry;
  }

  /** When two bridges learn at once, the file of the later one stays. What was first seen is read anew each time. */
  #keep(path: string, spec: DownstreamSpec, file: CatalogFile, before: CatalogFile | undefined): void {
    const content = catalogFileText(spec.name, file);
    try {
      rmSync(failurePath(path), { force: true });
      // A server that another entry of the same definition names otherwise is no other server.
      const isSame = before !== undefined && catalogFileText(spec.name, before) === content;
      if (isSame && stampOf(path) !== undefined) touch(path);
      else {
        replaceFile(path, content);
        this.#entries.delete(path);
      }
      if (!this.#swept) sweepCatalog(this.#folder, Date.now());
      this.#swept = true;
    } catch {
      this.#entries.set(path, { stamp: null, file, kept: keptServer(file) });
    }
  }

  #tell(path: string, spec: DownstreamSpec): void {
    const changes = [...(this.#entry(path).kept?.changes.values() ?? [])];
    const tools = changes.map(({ tool, changed }) => `${shownName(tool)} (${changed.join(', ')})`);
    const told = tools.join('\n');
    if (told !== '' && told !== this.#told.get(path)) {
      this.#observer({ type: 'downstream.changed', server: spec.name, tools });
    }
    this.#told.set(path, told);
  }
}

/** In words for the agent and the operator, with the command that accepts it. */
export function changeWords({ changed, on }: ToolChange, server: string): string {
  return `${changed.join(' and ')} changed since it was first seen on ${on}; accept with \`${acceptCommand(server)}\``;
}

export function acceptCommand(server: string): string {
  return `${refreshCommand(server)} --accept`;
}

/** The command that learns what a server's tools are, to be pasted into a shell. */
export function refreshCommand(server: string): string {
  return ownCommand('servers', 'refresh', server);
}

const failurePath = (path: string): string => path.replace(/\.json$/, FAILURE_ENDING);

const first = (tool: ServerTool): FirstSeen => ({
  on: new Date().toISOString().slice(0, 10),
  digest: digestOf(tool),
  changed: [],
  was: undefined,
});

function look(tool: ServerTool, seen: FirstSeen | undefined, before: CatalogFile | undefined): FirstSeen {
  if (seen === undefined) return first(tool);
  const changed = changedParts(seen.digest, digestOf(tool));
  if (changed.length === 0) return { ...seen, changed, was: undefined };
  // Until now it was what it was at first, so that is what the last list says of it.
  const last = seen.changed.length === 0 ? before?.tools.find(({ name }) => name === tool.name) : undefined;
  return { ...seen, changed, was: last === undefined ? seen.was : brief(last) };
}

function brief({ description, inputSchema }: ServerTool) {
  const { properties } = inputSchema;
  const parameters = isObject(properties) ? Object.keys(properties) : [];
  return {
    description: description.slice(0, MAX_BEFORE_CHARS),
    parameters: parameters.slice(0, MAX_BEFORE_PARAMETERS).map((name) => name.slice(0, MAX_BEFORE_CHARS)),
  };
}

function keptServer({ version, instructions, tools, firstSeen }: CatalogFile): KeptServer {
  const changes = tools.flatMap((tool) => {
    const seen = firstSeen.get(tool.name);
    if (seen === undefined || seen.changed.length === 0) return [];
    const { on, changed, was } = seen;
    return [[tool.name, { tool: tool.name, on, changed, was, now: brief(tool) }] as const];
  });
  return { serverVersion: version, instructions, tools: () => tools, changes: new Map(changes) };
}

/** Differs whenever the file was replaced; undefined where there is none. */
function stampOf(path: string): string | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    return found && `${found.ino} ${found.size} ${found.mtimeMs}`;
  } catch {
    return undefined;
  }
}

function touch(path: string): void {
  const now = new Date();
  if (now.getTime() - statSync(path).mtimeMs > TOUCH_AFTER_MS) utimesSync(path, now, now);
}
