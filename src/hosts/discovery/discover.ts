// Every MCP server that the user's hosts have configured, each with its file, and every one that is passed over,
// with the reason. Reads files synchronously, in tens of milliseconds; starts nothing. One bad file costs itself.

import { statSync } from 'node:fs';
import { notePath } from '../../base/files/asked-paths.js';
import type { Observer } from '../../base/log/events.js';
import type { Environment } from '../../base/process/environment.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { clip } from '../../base/text/text.js';
import type { Settings } from '../../settings/environment/settings.js';
import {
  type ConfigFile,
  type FileProblem,
  type FileTrouble,
  REMEMBERED_BYTES,
  readConfigFile,
} from '../../settings/files/config-file.js';
import { type HostFacts, pathKey, pathRules } from '../../settings/files/host-facts.js';
import type { DownstreamSpec, SkippedSpec, SpecSource } from '../downstream-spec.js';
import { entriesOf, pointerOf, unreadServers } from '../entries/entries.js';
import { MAX_NAME_CHARS, parseEntry, type ReadEntry } from '../entries/server-entry.js';
import { ALL_HOSTS, SOURCES, withAdopted } from '../records/all-hosts.js';
import type { HostDecisions, Source } from '../terms/host.js';
import { filesOf, projectFolder, workspaceOf } from '../terms/source-files.js';
import { EntryAdmission } from './admission.js';
import { pluginEntries } from './claude-plugins.js';
import { LastLook } from './last-look.js';
import type { NameOwners } from './name-owners.js';

/**
 * Largest file that is read from a project, in bytes. Such a file holds no history, and a stranger's file must not cost
 * seconds before each run.
 */
const MAX_PROJECT_BYTES = MB_BYTES;
/** Folders of projects are among its parts. */
const MAX_POINTER_CHARS = 8_192;
const NAMED_BUT_ABSENT: FileTrouble = { message: 'does not exist, but MCP_SERVERS_CONFIG names it' };

export type DiscoverContext = {
  readonly settings: Pick<Settings, 'serversConfig' | 'allowSelfServer' | 'trustProject' | 'depth'>;
  readonly env: Environment;
  readonly host: HostFacts;
  /**
   * Content that was read before, for a caller that discovers again and again: a file that has become unreadable keeps its last
   * good content in use, and the last look counts where nothing has changed. Belongs to one context. Without `lastGood`, each file
   * counts as it is now.
   */
  readonly lastGood?: LastGoodFiles | undefined;
  /** Owners of the names of servers; without them, each name is its entry's own. */
  readonly owners?: Pick<NameOwners, 'judge' | 'keep' | 'accept'> | undefined;
};

export type Discovery = {
  /** Servers in order of precedence; no two have the same name, or are the same server by the rule of admission.ts. */
  readonly ready: readonly DownstreamSpec[];
  readonly skipped: readonly SkippedSpec[];
  readonly problems: readonly FileProblem[];
  /** The files that are in use, in order of precedence. */
  readonly files: readonly string[];
};

/** Emits `config.problem` for each unreadable file and one `config.discovered`; never throws. */
export function discover(
  context: DiscoverContext,
  observer: Observer,
  table: readonly Source[] = SOURCES,
): Discovery {
  const look = () => lookedFor(context, table);
  // A problem may pass by itself, as when a file is being replaced.
  const found = context.lastGood?.look.of(look, ({ problems }) => problems.length === 0) ?? look();
  const discovery = context.owners?.judge(found) ?? found;
  for (const problem of discovery.problems) observer({ type: 'config.problem', ...problem });
  observer({
    type: 'config.discovered',
    ready: discovery.ready.length,
    skipped: discovery.skipped.length,
  });
  return discovery;
}

function lookedFor(context: DiscoverContext, table: readonly Source[]): Discovery {
  const sources = withAdopted(table);
  const search = new Search(context, sources);
  for (const source of sources) search.read(source);
  return search.discovery();
}

/** One look at all files: what was found in each, and who may start is the business of the admission. */
class Search {
  readonly #context: DiscoverContext;
  readonly #admission: EntryAdmission;
  /** Files and their contents, by the key of each file's path. */
  readonly #contents = new Map<string, { readonly file: string; readonly content: ConfigFile }>();
  /** Records that were read from each file, by the key of the file's path. */
  readonly #readers = new Map<string, readonly Source[]>();
  readonly #problems = new Map<string, FileTrouble>();
  readonly #skipped: SkippedSpec[] = [];
  readonly #seen = new Set<string>();
  /** The files of each record. */
  readonly #filesOf: ReadonlyMap<Source, readonly string[]>;
  /** The keys of those that are the user's, wherever we were started. */
  readonly #own: ReadonlySet<string>;

  constructor(context: DiscoverContext, sources: readonly Source[]) {
    const { env, settings, lastGood } = context;
    const host = { ...context.host, exists: askedOnce(context.host.exists) };
    this.#context = { ...context, host };
    const files = sources.map((source) => {
      const found = isExplicit(source) ? settings.serversConfig : filesOf(source, env, host);
      return lastGood?.filesOf(source, found) ?? found;
    });
    this.#filesOf = new Map(sources.map((source, index) => [source, files[index] ?? []]));
    const isOwn = (source: Source | undefined) => source?.approval === 'none' && !isExplicit(source);
    const own = files.flatMap((some, index) => (isOwn(sources[index]) ? some : []));
    this.#own = new Set(own.map((file) => pathKey(file, host)));
    this.#admission = new EntryAdmission(settings, this.#decisions());
  }

  /** Decisions of users in their hosts, by the host's title; of a host that is missing here, no decisions can be read. */
  #decisions(): ReadonlyMap<string, HostDecisions> {
    const { env, host } = this.#context;
    const open = (file: string) => this.#open(file);
    return new Map(
      ALL_HOSTS.flatMap(({ title, decisions }) =>
        decisions === undefined ? [] : [[title, decisions(env, host, open)]],
      ),
    );
  }

  read(source: Source): void {
    for (const file of this.#filesOf.get(source) ?? []) {
      // Started in the home folder, what looks like a project's file is the user's, and is read as that.
      if (source.approval === 'project' && this.#isOwn(file)) continue;
      const content = this.#open(file, source.scope === 'project' ? MAX_PROJECT_BYTES : undefined);
      const absent = content.state === 'absent';
      if (absent && isExplicit(source)) this.#problems.set(file, NAMED_BUT_ABSENT);
      // One that cannot be read still says that an administrator has put it there.
      if (!absent && source.exclusive) this.#admission.exclude(source.host, file);
      if (content.state === 'parsed') this.#readEntries(source, file, content.value);
      if (content.state === 'parsed') this.#noteReader(source, file);
    }
  }

  #noteReader(source: Source, file: string): void {
    const key = pathKey(file, this.#context.host);
    this.#readers.set(key, [...(this.#readers.get(key) ?? []), source]);
  }

  /** A host's format moves, and people write a file in another host's words. */
  #sayWhatWasNotRead(): void {
    for (const [key, sources] of this.#readers) {
      const { file, content } = this.#contents.get(key) ?? {};
      if (file === undefined || content?.state !== 'parsed' || this.#problems.has(file)) continue;
      // One that belongs to no host is read in whatever form it has.
      if (sources.some(({ shape, scope }) => shape === 'servers' || scope === 'plugin')) continue;
      const places = sources.map(({ pointer }) => pointerOf(pointer));
      const moved = sources.flatMap(({ pointer, movedTo }) =>
        movedTo === undefined ? [] : [pointerOf([...pointer, movedTo])],
      );
      const unread = unreadServers(content.value, new Set([...places, ...moved]));
      if (unread.length === 0) continue;
      const [{ host } = { host: 'this host' }] = sources;
      const found = unread.map(inWords).join(', ');
      const expected = [...new Set(moved.length > 0 ? moved : places)].map(inWords).join(' or ');
      this.#problems.set(file, {
        message: `has servers in ${found}, which are ignored: ${host} has its servers in ${expected}`,
      });
    }
  }

  discovery(): Discovery {
    this.#sayWhatWasNotRead();
    return {
      ready: this.#admission.ready,
      skipped: this.#skipped,
      problems: [...this.#problems].map(([file, trouble]) => ({ file, ...trouble })),
      files: [...this.#contents.values()].flatMap(({ file, content }) =>
        content.state === 'parsed' ? [file] : [],
      ),
    };
  }

  #isOwn(file: string): boolean {
    return this.#own.has(pathKey(file, this.#context.host));
  }

  #readEntries(source: Source, file: string, content: unknown): void {
    const { env, host } = this.#context;
    const { entries, description, problem } = this.#entriesOf(content, source, file);
    if (problem !== undefined) this.#problems.set(file, { message: problem });
    const ofProject = source.scope === 'project';
    const workspace = ofProject ? workspaceOf(file, host) : host.cwd;
    const folder = ofProject ? projectFolder(file, workspace, host) : pathRules(host).dirname(file);
    const shared = { expansion: source.expansion, dialect: source.dialect, description, env, host };
    for (const { name, value, pointer, file: own = file, refusal, trouble } of entries) {
      // An entry may be found in two ways, such as in a file that is named explicitly as well: the first way counts.
      const place = `${pathKey(own, host)}#${pointer}`;
      if (this.#seen.has(place)) continue;
      this.#seen.add(place);
      const at: SpecSource = { host: source.host, scope: source.scope, file: own, pointer };
      const objection = trouble ?? this.#admission.problemWith(name, source, at);
      const mayRead = objection === undefined;
      const entry: ReadEntry =
        refusal === undefined
          ? parseEntry(name, value, { ...shared, source: at, workspace, folder, mayRead })
          : { state: 'unusable', reason: refusal };
      const reason = this.#admission.consider(name, entry, source, at, objection);
      const spec = entry.state === 'ready' ? { spec: entry.spec } : {};
      if (reason !== undefined) {
        // A file of history and servers may hold a name of a megabyte, which is shown to people and agents.
        const source = { ...at, pointer: clip(pointer, MAX_POINTER_CHARS) };
        this.#skipped.push({ name: clip(name, MAX_NAME_CHARS), reason, source, ...spec });
      }
    }
  }

  #entriesOf(content: unknown, source: Source, file: string) {
    const { env, host } = this.#context;
    if (source.scope !== 'plugin') return entriesOf(content, source, file, host);
    const read = (named: string, ofProject?: 'of project'): unknown => {
      const found = this.#open(named, ofProject && MAX_PROJECT_BYTES);
      return found.state === 'parsed' ? found.value : undefined;
    };
    return { entries: pluginEntries(content, { env, host, read }), description: '', problem: undefined };
  }

  #open(file: string, maxBytes?: number): ConfigFile {
    const { host, lastGood } = this.#context;
    const key = pathKey(file, host);
    let content = this.#contents.get(key)?.content;
    if (content === undefined) {
      const found = readConfigFile(file, host, maxBytes);
      content = lastGood?.current(file, found, host) ?? found;
      this.#contents.set(key, { file, content });
      const problem = content.state === 'absent' ? undefined : problemOf(content);
      if (problem !== undefined) this.#problems.set(file, problem);
    }
    return content;
  }
}

/** The folders of a checkout are looked for by many records. */
function askedOnce(exists: HostFacts['exists']): HostFacts['exists'] {
  const known = new Map<string, boolean>();
  return (file) => {
    notePath(file);
    const found = known.get(file) ?? exists(file);
    known.set(file, found);
    return found;
  };
}

/** Whether a setting names the files. */
const isExplicit = ({ scope }: Source): boolean => scope === 'explicit';

/** A file may have a key of a megabyte. */
const inWords = (pointer: string): string =>
  `'${clip(pointer.slice(1).replaceAll('/', '.'), MAX_NAME_CHARS)}'`;

function problemOf(content: Exclude<ConfigFile, { readonly state: 'absent' }>): FileTrouble | undefined {
  if (content.state === 'parsed') return content.warning;
  const { message, place } = content;
  return place === undefined ? { message } : { message, place };
}

// The last readable content of each configuration file. While an editor or a host writes a file, it is for a moment empty, half
// there or missing; a bridge that took such a file at its word would take servers away for a slip of the pen. One memory for
// each bridge, in its process only: a bridge that starts beside a broken file has nothing to go by.

/** Editors that replace a file by another one need some milliseconds between the two. */
const REPLACED_WITHIN_MS = 1_000;
const KEPT = 'its last good content stays in use until it can be read';
const MISSING: FileTrouble = { message: 'is missing' };
const EMPTY = 'is empty; delete it if you want no servers from it';

type RememberedFile = {
  readonly file: Extract<ConfigFile, { readonly state: 'parsed' }>;
  missingSinceMs: number | undefined;
};

export class LastGoodFiles {
  readonly look = new LastLook<Discovery>();
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

  #keep(file: string, content: RememberedFile['file']): void {
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

  /** Whether `file` went so lately that a new one may be about to take its place. */
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
