// Every MCP server that the user's hosts have configured, each with its file, and every one that is passed over,
// with the reason. Reads files synchronously, in tens of milliseconds; starts nothing. One bad file costs itself.

import type { Observer } from '../base/events.js';
import { type ConfigFile, readConfigFile } from './config-file.js';
import { Definitions } from './definitions.js';
import type { DownstreamSpec, SkippedSpec, SpecSource } from './downstream-spec.js';
import { entriesOf } from './entries.js';
import type { HostDecisions } from './host-decisions.js';
import { type HostFacts, pathRules } from './host-facts.js';
import { knownDecisions } from './known-decisions.js';
import { isOurselves } from './self.js';
import { type Entry, type EntryContext, parseEntry } from './server-entry.js';
import type { Environment, Settings } from './settings.js';
import type { Source } from './source.js';
import { filesOf, projectFolder, workspaceOf } from './source-files.js';
import { EXPLICIT, SOURCES } from './sources.js';

const NAMED_BUT_ABSENT = 'does not exist; MCP_SERVERS_CONFIG names it';

export type DiscoverContext = {
  readonly settings: Pick<Settings, 'serversConfig' | 'allowSelfServer' | 'trustProject' | 'depth'>;
  readonly env: Environment;
  readonly host: HostFacts;
};

export type Discovery = {
  /** In order of precedence; no two have the same name, or are the same server by the rule of definitions.ts. */
  readonly ready: readonly DownstreamSpec[];
  readonly skipped: readonly SkippedSpec[];
  readonly problems: readonly { readonly file: string; readonly message: string }[];
  /** The files that were read, in order of precedence. */
  readonly files: readonly string[];
};

/** Emits `config.problem` for each unreadable file and one `config.discovered`; never throws. */
export function discover(
  context: DiscoverContext,
  observer: Observer,
  sources: readonly Source[] = SOURCES,
): Discovery {
  const search = new Search(context);
  for (const source of sources) search.read(source);
  const discovery = search.discovery();
  for (const problem of discovery.problems) observer({ type: 'config.problem', ...problem });
  observer({
    type: 'config.discovered',
    ready: discovery.ready.length,
    skipped: discovery.skipped.length,
  });
  return discovery;
}

class Search {
  readonly #context: DiscoverContext;
  readonly #decisions: ReadonlyMap<string, HostDecisions>;
  readonly #files = new Map<string, ConfigFile>();
  readonly #problems = new Map<string, string>();
  readonly #ready: DownstreamSpec[] = [];
  readonly #skipped: SkippedSpec[] = [];
  readonly #seen = new Set<string>();
  /** The first entry of each name that counts, whether ready or switched off. */
  readonly #byName = new Map<string, SpecSource>();
  readonly #definitions = new Definitions();
  /** Hosts with an administrator's file, and that file. */
  readonly #exclusive = new Map<string, string>();

  constructor(context: DiscoverContext) {
    this.#context = context;
    this.#decisions = knownDecisions(context.env, context.host, (file) => this.#open(file));
  }

  read(source: Source): void {
    const { settings, env, host } = this.#context;
    const { dirname } = pathRules(host);
    const files = source === EXPLICIT ? settings.serversConfig : filesOf(source, env, host);
    for (const file of files) {
      const content = this.#open(file);
      const absent = content.state === 'absent';
      if (absent && source === EXPLICIT) this.#problems.set(file, NAMED_BUT_ABSENT);
      // One that cannot be read still says that an administrator has put it there.
      if (!absent && source.exclusive) this.#exclusive.set(source.host, file);
      if (content.state !== 'parsed') continue;
      const { entries, description, problem } = entriesOf(content.value, source, file, host);
      if (problem !== undefined) this.#problems.set(file, problem);
      const ofProject = source.scope === 'project';
      const workspace = ofProject ? workspaceOf(file, host) : host.cwd;
      const folder = ofProject ? projectFolder(file, workspace, host) : dirname(file);
      for (const { name, value: written, pointer } of entries) {
        const at: SpecSource = { host: source.host, scope: source.scope, file, pointer };
        const { dialect, expansion } = source;
        const objection = this.#objection(name, source, at);
        const mayRead = objection === undefined;
        const context = {
          source: at,
          dialect,
          expansion,
          description,
          env,
          host,
          workspace,
          folder,
          mayRead,
        };
        const reason = this.#consider(name, written, source, context, objection);
        if (reason !== undefined) this.#skipped.push({ name, reason, source: at });
      }
    }
  }

  discovery(): Discovery {
    return {
      ready: this.#ready,
      skipped: this.#skipped,
      problems: [...this.#problems].map(([file, message]) => ({ file, message })),
      files: [...this.#files].flatMap(([file, { state }]) => (state === 'parsed' ? [file] : [])),
    };
  }

  #open(file: string): ConfigFile {
    let content = this.#files.get(file);
    if (content === undefined) {
      content = readConfigFile(file, this.#context.host);
      this.#files.set(file, content);
      if (content.state === 'refused') this.#problems.set(file, content.message);
    }
    return content;
  }

  /** Makes the entry ready, or answers why it is passed over. */
  #consider(
    name: string,
    written: unknown,
    source: Source,
    context: EntryContext,
    objection: string | undefined,
  ): string | undefined {
    const at = context.source;
    // The same entry by two ways, such as a file that is named explicitly as well: the first way counts.
    const place = `${at.file}#${at.pointer}`;
    if (this.#seen.has(place)) return undefined;
    this.#seen.add(place);

    const exclusive = this.#exclusive.get(at.host);
    if (exclusive !== undefined && exclusive !== at.file) return `only ${exclusive} counts for ${at.host}`;
    const entry = parseEntry(name, written, context);
    if (entry.state === 'unusable') return entry.reason;
    const earlier = this.#byName.get(name);
    if (earlier !== undefined) return `shadowed by ${earlier.file}`;
    const off = this.#reasonOff(name, entry, source);
    if (off !== undefined) {
      // A project's file, which anybody may have written, does not switch off the user's own servers.
      if (source.approval === 'none') this.#byName.set(name, at);
      return off;
    }
    return entry.state === 'ready' ? this.#admit(entry.spec, objection) : undefined;
  }

  #reasonOff(name: string, entry: Entry, source: Source): string | undefined {
    if (entry.state === 'off') return entry.reason;
    return this.#decisions.get(source.host)?.reasonOff(name);
  }

  #admit(spec: DownstreamSpec, objection: string | undefined): string | undefined {
    const { allowSelfServer, depth } = this.#context.settings;
    if (!allowSelfServer && spec.transport === 'stdio' && isOurselves(spec.command, spec.args))
      return 'this bridge itself';
    if (!allowSelfServer && depth > 0) return 'this bridge runs inside another bridge';
    if (objection !== undefined) return objection;
    const twin = this.#definitions.twinOf(spec);
    if (twin !== undefined) return `same as ${twin.name} in ${twin.source.file}`;
    this.#byName.set(spec.name, spec.source);
    this.#definitions.add(spec);
    this.#ready.push(spec);
    return undefined;
  }

  /** Why an entry of a project's own file may not start, if so. */
  #objection(name: string, source: Source, at: SpecSource): string | undefined {
    if (source.approval === 'none') return undefined;
    const decisions = this.#decisions.get(source.host);
    const decided = decisions?.approval(name, at);
    if (decided === 'refused') return `not approved: refused in ${source.host}`;
    if (decided === 'approved' || this.#context.settings.trustProject) return undefined;
    const way = decisions === undefined ? '' : `approve it in ${source.host}, or `;
    return `not approved: it comes with the project; ${way}set MCP_BRIDGE_TRUST_PROJECT=1`;
  }
}
