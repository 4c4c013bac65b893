// Which entries become servers that may start, in the order in which they are shown to it, and why the others do not.
// Knows what the user has decided; reads no configuration file.

import type { Settings } from '../../settings/environment/settings.js';
import type { DownstreamSpec, SpecSource } from '../downstream-spec.js';
import type { ReadEntry } from '../entries/server-entry.js';
import { NO_HOST } from '../records/all-hosts.js';
import { isOurselves } from '../self.js';
import type { ServerSkipReason } from '../skip-reason.js';
import type { HostDecisions, Source } from '../terms/host.js';

export class EntryAdmission {
  readonly #settings: Pick<Settings, 'allowSelfServer' | 'trustProject' | 'depth'>;
  readonly #decisions: ReadonlyMap<string, HostDecisions>;
  readonly #ready: DownstreamSpec[] = [];
  /** Maps each server name to the entry that is ready under it. */
  readonly #byName = new Map<string, SpecSource>();
  /** Maps each server name to its entries that the user has switched off. */
  readonly #offByName = new Map<string, SpecSource[]>();
  readonly #definitions = new Definitions();
  /** Hosts with an administrator's file, and that file. */
  readonly #exclusive = new Map<string, string>();

  constructor(
    settings: Pick<Settings, 'allowSelfServer' | 'trustProject' | 'depth'>,
    decisions: ReadonlyMap<string, HostDecisions>,
  ) {
    this.#settings = settings;
    this.#decisions = decisions;
  }

  get ready(): readonly DownstreamSpec[] {
    return this.#ready;
  }

  /** Lets only this file count for the host from now on. */
  exclude(host: string, file: string): void {
    this.#exclusive.set(host, file);
  }

  /** Makes the entry ready, or answers why it is passed over; `problemWith` is what stands against it from outside. */
  consider(
    name: string,
    entry: ReadEntry,
    source: Source,
    at: SpecSource,
    objection: ServerSkipReason | undefined,
  ): ServerSkipReason | undefined {
    const exclusive = this.#exclusive.get(at.host);
    if (exclusive !== undefined && at.scope !== 'managed')
      return { kind: 'managed-only', host: at.host, file: exclusive };
    if (entry.state === 'unusable') return entry.reason;
    const earlier = this.#byName.get(name) ?? this.#offFor(name, at);
    if (earlier !== undefined) {
      const twin = entry.state === 'ready' ? this.#definitions.twinOf(entry.spec) : undefined;
      return twin?.source === earlier ? sameAs(twin) : { kind: 'shadowed', file: earlier.file };
    }
    const off = this.#reasonOff(name, entry, at);
    if (off !== undefined) {
      // A project's file, which anybody may have written, does not switch off the user's own servers.
      if (source.approval === 'none') this.#offByName.set(name, [...(this.#offByName.get(name) ?? []), at]);
      return off;
    }
    return entry.state === 'ready' ? this.#admit(entry.spec, objection) : undefined;
  }

  /** Why an entry of a project's own file may not start, if so. */
  problemWith(name: string, source: Source, at: SpecSource): ServerSkipReason | undefined {
    if (source.approval === 'none') return undefined;
    const decisions = this.#decisions.get(at.host);
    const decided = decisions?.approval?.(name, at);
    if (decided === 'refused') return { kind: 'refused-project', host: at.host };
    if (decided === 'approved' || this.#settings.trustProject) return undefined;
    return { kind: 'unapproved-project', host: decisions?.approval === undefined ? undefined : at.host };
  }

  /**
   * The entry that keeps one of the same name, further down, switched off: in the same host, or for files of no host, or
   * by the operator's word. What the user has off in one host and on in another, the user wants on.
   */
  #offFor(name: string, { host }: SpecSource): SpecSource | undefined {
    return this.#offByName
      .get(name)
      ?.find((off) => off.host === host || off.scope === 'explicit' || host === NO_HOST);
  }

  #reasonOff(name: string, entry: ReadEntry, { host }: SpecSource): ServerSkipReason | undefined {
    return entry.state === 'off' ? entry.reason : this.#decisions.get(host)?.reasonOff(name);
  }

  #admit(spec: DownstreamSpec, objection: ServerSkipReason | undefined): ServerSkipReason | undefined {
    const { allowSelfServer, depth } = this.#settings;
    if (!allowSelfServer && spec.transport === 'stdio' && isOurselves(spec.command, spec.args, spec.cwd))
      return { kind: 'this-bridge' };
    if (!allowSelfServer && depth > 0) return { kind: 'nested-bridge' };
    if (objection !== undefined) return objection;
    const twin = this.#definitions.twinOf(spec);
    if (twin !== undefined) return sameAs(twin);
    this.#byName.set(spec.name, spec.source);
    this.#definitions.add(spec);
    this.#ready.push(spec);
    return undefined;
  }
}

const sameAs = ({ name, source }: DownstreamSpec): ServerSkipReason => ({
  kind: 'same-server',
  name,
  file: source.file,
});

// Which entries are one and the same server under several names or in several hosts. Judges definitions by their words;
// connects to nothing.

/**
 * Two entries are one server when they say the same of everything that the server sees of them, and leave out the same
 * tools. One variable more may be what makes a server read only, and whoever wrote two entries means two.
 */
export class Definitions {
  readonly #known = new Map<string, DownstreamSpec>();

  /** The first one added that is the same server. */
  twinOf(spec: DownstreamSpec): DownstreamSpec | undefined {
    return this.#known.get(identityOf(spec));
  }

  add(spec: DownstreamSpec): void {
    const identity = identityOf(spec);
    if (!this.#known.has(identity)) this.#known.set(identity, spec);
  }
}

/** Identity of a server, without name, description and time limits: those are for us and not for the server. */
function identityOf(spec: DownstreamSpec): string {
  const { only, except } = spec.toolFilter;
  const tools = [only && [...only].sort(), [...except].sort()];
  if (spec.transport === 'stdio')
    return JSON.stringify([tools, spec.command, spec.args, spec.cwd ?? null, inOrder(spec.env)]);
  const headers = Object.entries(spec.headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const { headersHelper = null, oauth } = spec;
  const login = oauth && [{ ...oauth, scopes: [...oauth.scopes].sort() }];
  return JSON.stringify([
    tools,
    new URL(spec.url).href,
    inOrder(Object.fromEntries(headers)),
    headersHelper,
    login,
  ]);
}

const inOrder = (values: Readonly<Record<string, string>>): ReadonlyArray<readonly [string, string]> =>
  Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1));
