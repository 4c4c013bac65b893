// The rules of principals as they are now: the principals file, read again when it has changed. One that cannot be used stops
// the start; later it changes nothing, so that no slip of an editor opens anything.

import { asBridgeError } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import type { Principal } from '../../base/principal.js';
import { inOneLine } from '../../base/text/text.js';
import type { Settings } from '../../settings/environment/settings.js';
import { stampOf } from '../../settings/files/config-file.js';
import { absolutePath, type HostFacts } from '../../settings/files/host-facts.js';
import { NO_RULES, type PrincipalBook, type PrincipalRules, sourceOf } from './principal-rules.js';
import { openEntries, readPrincipalsFile } from './principals-file.js';
import type { ExchangeEntry, PrincipalEntry, PrincipalsFile } from './principals-table.js';
import { closedServers } from './scope-rules.js';

const KEPT = 'Until it is corrected, the previous rules stay in force.';

export class PrincipalsBook implements PrincipalBook {
  readonly #path: string | undefined;
  readonly #issuers: readonly string[];
  readonly #host: HostFacts;
  readonly #stateDir: string;
  readonly #observer: Observer;
  #file: PrincipalsFile | undefined;
  /** The data folders of each entry. */
  #data: ReturnType<typeof openEntries> = new Map();
  /** Stamp of the file as last read; undefined when the file may have changed since without a trace. */
  #stamp: string | undefined;
  /** The last message about a file that cannot be used; undefined while the file can be used. */
  #told: string | undefined;

  /** Throws E_SETTINGS where there is to be a principals file and it cannot be used. */
  constructor(
    { principalsFile, oauth, stateDir }: Pick<Settings, 'principalsFile' | 'oauth' | 'stateDir'>,
    host: HostFacts,
    observer: Observer,
  ) {
    this.#path = principalsFile;
    this.#issuers = oauth?.issuers ?? [];
    this.#host = host;
    this.#stateDir = stateDir;
    this.#observer = observer;
    if (principalsFile === undefined) return;
    // Before reading: a change in between is seen the next time.
    this.#stamp = stampOf(principalsFile);
    this.#read(principalsFile);
  }

  rulesOf(principal: Principal): PrincipalRules {
    const source = sourceOf(principal);
    if (source.kind === 'local') return NO_RULES;
    const entry = this.#entryOf(principal);
    // At once: when the file is read anew, the entries are others.
    const data = (entry && this.#data.get(entry)) ?? [];
    // A principal that an issuer names is not known here before the operator says so.
    const unsaid = source.kind === 'token' ? undefined : [];
    const closed = closedServers(this.#current()?.scopes ?? {}, principal.scopes);
    if (entry === undefined) return { ...NO_RULES, servers: unsaid, deny: closed };
    const { memory, ...quotas } = entry.quotas;
    return {
      servers: entry.servers === '*' ? undefined : (entry.servers ?? unsaid),
      allow: entry.allow,
      deny: [...entry.deny, ...closed],
      policyFile:
        entry.policy === undefined ? undefined : absolutePath(entry.policy, this.#host.cwd, this.#host),
      data,
      headers: Object.fromEntries(
        Object.entries(entry.headers).map(([server, sources]) => [
          server,
          Object.fromEntries(Object.entries(sources).map(([name, source]) => [name, headerSource(source)])),
        ]),
      ),
      quotas: { ...quotas, ...(memory === undefined ? {} : { memoryBytes: memory }) },
    };
  }

  sharedServers(): readonly string[] {
    return this.#current()?.sharedServers ?? [];
  }

  /** The claim that names groups. */
  groupsClaim(): string {
    return this.#current()?.groupsClaim ?? 'groups';
  }

  /** Which scopes open what. */
  scopes(): PrincipalsFile['scopes'] {
    return this.#current()?.scopes ?? {};
  }

  /** How a header of this principal's requests to the server is had, where that takes the principal's own access token. */
  grantOf(
    principal: Principal,
    server: string,
  ):
    | { readonly kind: 'exchange'; readonly exchange: ExchangeEntry }
    | { readonly kind: 'passThrough'; readonly audience: string }
    | undefined {
    const file = this.#current();
    const sources = Object.values(this.#entryOf(principal)?.headers[server] ?? {});
    for (const source of sources) {
      if (typeof source === 'string') continue;
      if ('passThrough' in source) return { kind: 'passThrough', audience: source.passThrough };
      const exchange = 'exchange' in source ? file?.exchanges[source.exchange] : undefined;
      if (exchange !== undefined) return { kind: 'exchange', exchange };
    }
    return undefined;
  }

  /** Why the file as it is now does not count, in one line; undefined where it does. */
  get trouble(): string | undefined {
    return this.#told === undefined ? undefined : `${inOneLine(this.#told)} ${KEPT}`;
  }

  /** The principal's own entry before that of a group, and the first of its groups in the file before the others. */
  #entryOf(principal: Principal): PrincipalEntry | undefined {
    const file = this.#current();
    const source = sourceOf(principal);
    if (file === undefined || source.kind === 'local') return undefined;
    if (source.kind === 'token') return ownEntry(file.tokens, principal.name) ?? file.default;
    const keysOf = (name: string) => [
      `${source.issuer} ${name}`,
      ...(this.#issuers.length > 1 ? [] : [name]),
    ];
    const map = source.kind === 'subject' ? file.subjects : file.clients;
    for (const key of keysOf(source.name)) {
      const entry = ownEntry(map, key);
      if (entry !== undefined) return entry;
    }
    const groups = new Set((principal.groups ?? []).flatMap(keysOf));
    const [group] = Object.entries(file.groups).filter(([key]) => groups.has(key));
    return group?.[1] ?? file.default;
  }

  #current(): PrincipalsFile | undefined {
    const path = this.#path;
    if (path === undefined) return undefined;
    const stamp = stampOf(path);
    if (stamp !== undefined && stamp === this.#stamp) return this.#file;
    this.#stamp = stamp;
    try {
      this.#read(path);
      this.#told = undefined;
    } catch (thrown) {
      this.#tell(path, asBridgeError(thrown).message);
    }
    return this.#file;
  }

  #read(path: string): void {
    const file = readPrincipalsFile(path, this.#issuers, this.#host);
    this.#data = openEntries(path, file, this.#stateDir, this.#host);
    this.#file = file;
  }

  #tell(file: string, reason: string): void {
    if (reason === this.#told) return;
    this.#told = reason;
    this.#observer({ type: 'config.problem', file, message: `${inOneLine(reason)} ${KEPT}` });
  }
}

const ownEntry = (map: Readonly<Record<string, PrincipalEntry>>, key: string): PrincipalEntry | undefined =>
  Object.hasOwn(map, key) ? map[key] : undefined;

function headerSource(
  source: PrincipalEntry['headers'][string][string],
): PrincipalRules['headers'][string][string] {
  if (typeof source === 'string') return { from: 'text', text: source };
  return 'variable' in source ? { from: 'variable', name: source.variable } : { from: 'exchange' };
}
