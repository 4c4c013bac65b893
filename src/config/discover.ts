// Every MCP server that the user's hosts have configured, each with its file, and every one that is passed over,
// with the reason. Reads files synchronously, in tens of milliseconds; starts nothing. One bad file costs itself.

import type { Observer } from '../base/events.js';
import { type ClaudeDecisions, claudeDecisions } from './claude-code.js';
import { type ConfigFile, readConfigFile } from './config-file.js';
import type { DownstreamSpec, SkippedSpec, SpecSource } from './downstream-spec.js';
import { entriesOf } from './entries.js';
import type { HostFacts } from './host-facts.js';
import { isOurselves } from './self.js';
import { type Entry, type EntryContext, parseEntry } from './server-entry.js';
import type { Environment, Settings } from './settings.js';
import { CLAUDE_LOCAL, EXPLICIT, filesOf, SOURCES, type Source } from './sources.js';

const NAMED_BUT_ABSENT = 'does not exist; MCP_SERVERS_CONFIG names it';

export type DiscoverContext = {
  readonly settings: Pick<Settings, 'serversConfig' | 'allowSelfServer' | 'trustProject' | 'depth'>;
  readonly env: Environment;
  readonly host: HostFacts;
};

export type Discovery = {
  /** In order of precedence; no two have the same name or the same command, arguments, variables and folder. */
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
  readonly #claude: ClaudeDecisions;
  readonly #files = new Map<string, ConfigFile>();
  readonly #problems = new Map<string, string>();
  readonly #ready: DownstreamSpec[] = [];
  readonly #skipped: SkippedSpec[] = [];
  readonly #seen = new Set<string>();
  /** The first entry of each name that counts, whether ready or switched off. */
  readonly #byName = new Map<string, SpecSource>();
  readonly #byDefinition = new Map<string, DownstreamSpec>();
  /** Hosts with an administrator's file, and that file. */
  readonly #exclusive = new Map<string, string>();

  constructor(context: DiscoverContext) {
    this.#context = context;
    this.#claude = claudeDecisions(context.env, context.host, (file) => this.#parsed(file));
  }

  read(source: Source): void {
    const { settings, env, host } = this.#context;
    const files = source === EXPLICIT ? settings.serversConfig : filesOf(source, env, host);
    for (const file of files) {
      const value = this.#parsed(file);
      const absent = this.#files.get(file)?.state === 'absent';
      if (absent && source === EXPLICIT) this.#problems.set(file, NAMED_BUT_ABSENT);
      // One that cannot be read still says that an administrator has put it there.
      if (!absent && source.exclusive) this.#exclusive.set(source.host, file);
      if (value === undefined) continue;
      const { entries, description, problem } = entriesOf(value, source, file, host);
      if (problem !== undefined) this.#problems.set(file, problem);
      for (const { name, value: written, pointer } of entries) {
        const at: SpecSource = { host: source.host, scope: source.scope, file, pointer };
        const reason = this.#consider(name, written, source, {
          source: at,
          expansion: source.expansion,
          description,
          env,
          host,
        });
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

  #parsed(file: string): unknown {
    let content = this.#files.get(file);
    if (content === undefined) {
      content = readConfigFile(file, this.#context.host);
      this.#files.set(file, content);
      if (content.state === 'refused') this.#problems.set(file, content.message);
    }
    return content.state === 'parsed' ? content.value : undefined;
  }

  /** Makes the entry ready, or answers why it is passed over. */
  #consider(name: string, written: unknown, source: Source, context: EntryContext): string | undefined {
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
    return entry.state === 'ready' ? this.#admit(entry.spec, source) : undefined;
  }

  #reasonOff(name: string, entry: Entry, source: Source): string | undefined {
    if (entry.state === 'off') return entry.reason;
    const off = source.host === CLAUDE_LOCAL.host && this.#claude.isOff(name);
    return off ? 'disabled in Claude Code for this project' : undefined;
  }

  #admit(spec: DownstreamSpec, source: Source): string | undefined {
    const { allowSelfServer, depth } = this.#context.settings;
    if (!allowSelfServer && spec.transport === 'stdio' && isOurselves(spec.command, spec.args))
      return 'this bridge itself';
    if (!allowSelfServer && depth > 0) return 'this bridge runs inside another bridge';
    const objection = this.#objection(spec.name, source);
    if (objection !== undefined) return objection;
    const definition = definitionOf(spec);
    const twin = this.#byDefinition.get(definition);
    if (twin !== undefined) return `same as ${twin.name} in ${twin.source.file}`;
    this.#byName.set(spec.name, spec.source);
    this.#byDefinition.set(definition, spec);
    this.#ready.push(spec);
    return undefined;
  }

  #objection(name: string, source: Source): string | undefined {
    if (source.approval === 'none') return undefined;
    const decided = source.approval === 'claude-code' ? this.#claude.approval(name) : undefined;
    if (decided === 'refused') return 'not approved: refused in Claude Code';
    if (decided === 'approved' || this.#context.settings.trustProject) return undefined;
    const way = source.approval === 'claude-code' ? 'approve it in Claude Code, or ' : '';
    return `not approved: it comes with the project; ${way}set MCP_BRIDGE_TRUST_PROJECT=1`;
  }
}

function definitionOf(spec: DownstreamSpec): string {
  if (spec.transport !== 'stdio') return JSON.stringify([spec.url]);
  const { command, args, env, cwd } = spec;
  return JSON.stringify([command, args, Object.entries(env).sort(), cwd]);
}
