// Which of a host's servers can be moved into the bridge's own folder with the same meaning and no more rights than they
// have there, and why the others stay. Reads files; changes and starts nothing.

import { isDeepStrictEqual } from 'node:util';
import { BridgeError } from '../../base/errors.js';
import { isObject, textsOf } from '../../base/json/records.js';
import type { Environment } from '../../base/process/environment.js';
import { shownName } from '../../base/text/shown-name.js';
import type { Settings } from '../../settings/environment/settings.js';
import { readConfigFile } from '../../settings/files/config-file.js';
import { formatOf, parseText } from '../../settings/files/file-formats.js';
import { pathRules } from '../../settings/files/host-facts.js';
import { Definitions } from '../discovery/admission.js';
import { type Discovery, discover } from '../discovery/discover.js';
import { explainSkip } from '../discovery/explain-skip.js';
import type { DownstreamSpec, SpecSource } from '../downstream-spec.js';
import { memberAt } from '../edit/json-members.js';
import { fileError, TRY_AGAIN, type UserFile } from '../edit/user-file.js';
import { entriesOf, type WrittenEntry } from '../entries/entries.js';
import { parseEntry, type ReadEntry } from '../entries/server-entry.js';
import { adoptedFields, adoptedSource, type HostRecord } from '../records/all-hosts.js';
import type { Source } from '../terms/host.js';
import { filesOf, locate } from '../terms/source-files.js';
import type { ChangePlace } from './changes.js';
import { userFiles } from './hosts.js';
import { ADOPTABLE_HOSTS, type DeniedTool, type HostRules, type RulesContext } from './known-rules.js';

/** A server that can be moved. */
export type Candidate = {
  readonly name: string;
  readonly file: string;
  /** Keys to it in the host's file. */
  readonly path: readonly string[];
  /** The entry as it stands there. */
  readonly written: unknown;
  /** The entry that is to stand in our own folder. */
  readonly entry: Readonly<Record<string, unknown>>;
  readonly spec: DownstreamSpec;
  /** Tools that are denied here since the host would have denied or asked. */
  readonly denied: readonly DeniedTool[];
  /** The only tools that are allowed here, where there is such a list. */
  readonly only: readonly string[] | undefined;
  /** Why there is one, where the host has none. */
  readonly onlyWhy: string | undefined;
};

export type AdoptPlace = ChangePlace & {
  readonly settings: Pick<Settings, 'serversConfig' | 'allowSelfServer' | 'trustProject' | 'depth'>;
  /** Whether the bridge reaches a remote server by itself, without what the host may hold for it. */
  readonly reaches: (spec: DownstreamSpec) => boolean;
};

/** Servers of the user's scope, and with their reasons those that stay, of other scopes as well. Throws E_CONFIG. */
export function candidatesOf(record: HostRecord, own: RulesContext['own'], place: AdoptPlace) {
  const adoptable = ADOPTABLE_HOSTS[record.id];
  if (adoptable === undefined) throw new Error(`nothing is known of ${record.id}`);
  const { settings, env, host } = place;
  const discovery = discover({ settings, env, host }, () => {});
  const candidates: Candidate[] = [];
  const left = ofOtherScopes(record, discovery);
  for (const { file, source } of userFiles(record, place)) {
    for (const entry of entriesIn(file, source, place)) {
      const judged = judge(entry, { record, adoptable, own, file, source, discovery, place });
      if (typeof judged === 'string') left.push({ name: entry.name, file, reason: judged });
      else candidates.push(judged);
    }
  }
  return { candidates, left };
}

function entriesIn(file: string, source: Source, { host }: AdoptPlace): readonly WrittenEntry[] {
  const content = readConfigFile(file, host);
  if (content.state === 'absent') return [];
  if (content.state === 'refused') throw fileError(file, content.message, 'Nothing was changed.');
  const { entries, problem } = entriesOf(content.value, source, file, host);
  if (problem !== undefined) throw fileError(file, problem, 'Correct the file. Nothing was changed.');
  return entries;
}

const SCOPES: Partial<Record<SpecSource['scope'], string>> = {
  project: "is in a project's file, which others share",
  local: 'is registered for this project only',
  managed: 'is set by an administrator',
  plugin: 'comes with a plugin',
};

function ofOtherScopes({ title }: HostRecord, { ready, skipped }: Discovery) {
  return [...ready, ...skipped].flatMap(({ name, source: { host, scope, file } }) => {
    const reason = host === title ? SCOPES[scope] : undefined;
    return reason === undefined ? [] : [{ name, file, reason }];
  });
}

/** The reason why it stays, or the server as it would be moved. */
function judge(
  { name, value, pointer, path: written }: WrittenEntry,
  context: {
    readonly record: HostRecord;
    readonly adoptable: (typeof ADOPTABLE_HOSTS)[string];
    readonly own: RulesContext['own'];
    readonly file: string;
    readonly source: Source;
    readonly discovery: Discovery;
    readonly place: AdoptPlace;
  },
): Candidate | string {
  const { record, adoptable, own, file, source, discovery, place } = context;
  const { title } = record;
  const path = written ?? [...source.pointer, name];
  if (/[\\/]profiles[\\/]/.test(file) && record.id === 'vscode') return 'belongs to one profile of VS Code';
  const skipped = discovery.skipped.find(
    (one) => one.source.file === file && one.source.pointer === pointer && one.reason.kind !== 'same-server',
  );
  if (skipped !== undefined) return explainSkip(skipped, 'the file').text;
  if (!isObject(value)) return 'is not an object';
  const unknown = Object.keys(value).find((field) => !adoptable.fields.includes(field));
  if (unknown !== undefined)
    return unknown === 'oauth' || unknown === 'auth' || unknown === 'authProviderType'
      ? `has a login that only ${title} has ('${unknown}')`
      : `has the field '${unknown}', which adopt does not know and which may restrict it`;
  if (value['oauth'] !== undefined && value['oauth'] !== false)
    return `has a login that only ${title} has ('oauth')`;
  if (/\$\{(workspace|CLAUDE_PROJECT_DIR|relativeFile|file)/.test(JSON.stringify(plainJson(value))))
    return 'names a variable of the workspace, which differs from project to project';
  const rules = adoptable.rules({ server: name, entry: value, own, read: readAt(place) });
  if (rules.leave !== undefined) return rules.leave;
  const asked = new Set<string>();
  const before = parseCandidate(name, value, source, file, place, recording(place.env, asked));
  if (before.state !== 'ready') return 'cannot be read';
  const missing = adoptable.handsOnVariables ? undefined : [...asked].find((one) => !isHandedOn(one, own));
  if (missing !== undefined)
    return `needs the variable ${missing}, which ${title} gives to the bridge only if the bridge's entry names it (${source.dialect.fields.envNames ?? 'env'})`;
  const { spec } = before;
  if (spec.transport !== 'stdio' && !hasCredentials(spec) && !place.reaches(spec))
    return `may need a login that only ${title} has; run \`login\` or \`servers refresh\` first, then adopt it`;
  return movedCandidate({ name, value, pointer, path }, spec, rules, context);
}

/** The entry for our own folder, if it means there what it means here. */
function movedCandidate(
  {
    name,
    value,
    pointer,
    path,
  }: Required<Pick<WrittenEntry, 'name' | 'pointer' | 'path'>> & {
    readonly value: Readonly<Record<string, unknown>>;
  },
  spec: DownstreamSpec,
  rules: HostRules,
  { record, file, source, discovery, place }: Parameters<typeof judge>[1],
): Candidate | string {
  const target = adoptedSource(source);
  const [targetFile] = target === undefined ? [] : filesOf(target, place.env, place.host);
  if (target === undefined || targetFile === undefined) return "cannot be written into the bridge's folder";
  const denied = rules.denied;
  const except = [...new Set([...spec.toolFilter.except, ...denied.map(({ tool }) => tool)])];
  const allowed = rules.only?.tools.filter((tool) => spec.toolFilter.only?.includes(tool) !== false);
  const only = allowed ?? spec.toolFilter.only;
  if (only?.every((tool) => except.includes(tool))) return `${record.title} asks before each of its tools`;
  const fields = adoptedFields(source.dialect);
  const entry = {
    ...(plainJson(value) as Record<string, unknown>),
    ...(only === undefined ? {} : { [fields.only]: only }),
    ...(except.length === 0 ? {} : { [fields.except]: except }),
  };
  const after = parseCandidate(name, entry, target, targetFile, place, place.env);
  const asItIs =
    after.state === 'ready' ? { ...after.spec, source: spec.source, toolFilter: spec.toolFilter } : undefined;
  if (after.state !== 'ready' || !isDeepStrictEqual(asItIs, { ...spec }))
    return 'names a file or folder by a path relative to its own file';
  const { toolFilter } = after.spec;
  if (!isDeepStrictEqual(toolFilter.only, only) || !isDeepStrictEqual([...toolFilter.except], except))
    return 'has lists of tools that cannot be moved';
  const earlier = discovery.ready.find((one) => one.name === name);
  if (earlier !== undefined && (earlier.source.file !== file || earlier.source.pointer !== pointer)) {
    const definitions = new Definitions();
    definitions.add(earlier);
    if (definitions.twinOf(after.spec) === undefined)
      return `has the same name as another server, which is used first: ${earlier.source.file}`;
  }
  return { name, file, path, written: value, entry, spec, denied, only, onlyWhy: rules.only?.why };
}

function parseCandidate(
  name: string,
  value: unknown,
  source: Source,
  file: string,
  { host }: AdoptPlace,
  env: Environment,
): ReadEntry {
  const { expansion, dialect } = source;
  const at: SpecSource = { host: source.host, scope: source.scope, file, pointer: '' };
  const folder = pathRules(host).dirname(file);
  const context = { expansion, dialect, env, host, folder, workspace: host.cwd, mayRead: true, source: at };
  return parseEntry(name, value, { ...context, description: '' });
}

/** The environment, with a note of each variable that was asked for. */
function recording(env: Environment, asked: Set<string>): Environment {
  return new Proxy(
    { ...env },
    {
      getOwnPropertyDescriptor: (target, name) => {
        asked.add(String(name));
        return Reflect.getOwnPropertyDescriptor(target, name);
      },
    },
  );
}

/** Every host hands these on. */
const ALWAYS_HANDED_ON = [
  'HOME',
  'PATH',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'TMPDIR',
  'USERPROFILE',
  'APPDATA',
];

function isHandedOn(variable: string, { entry }: RulesContext['own']): boolean {
  if (ALWAYS_HANDED_ON.includes(variable)) return true;
  const { env, env_vars: names } = entry;
  return (isObject(env) && Object.hasOwn(env, variable)) || textsOf(names).includes(variable);
}

/** Headers with a word for a credential, or an address with a query, as services hand out. */
function hasCredentials(spec: Exclude<DownstreamSpec, { transport: 'stdio' }>): boolean {
  const isKey = (name: string) => /auth|key|token|secret|cookie/i.test(name);
  const hasQuery = URL.canParse(spec.url) && [...new URL(spec.url).searchParams.keys()].some(isKey);
  return hasQuery || spec.headersHelper !== undefined || Object.keys(spec.headers).some(isKey);
}

const readAt =
  ({ env, host }: AdoptPlace): RulesContext['read'] =>
  (pattern) =>
    locate(pattern, env, host).flatMap((file) => {
      const content = readConfigFile(file, host);
      if (content.state === 'refused') {
        throw new BridgeError('E_CONFIG', `${file} ${content.message}, and may have rules for servers.`, {
          fault: 'operator',
          remedy: 'Correct the file, then try again. Nothing was changed.',
        });
      }
      return content.state === 'parsed' ? [{ file, value: content.value }] : [];
    });

/** Throws E_CONFIG where the file, as it is about to be changed, no longer has an entry as it was judged. */
export function refuseIfOthers({ path, text }: UserFile, candidates: readonly Candidate[]): void {
  const parsed = parseText(text, formatOf(path));
  const value = 'value' in parsed ? parsed.value : undefined;
  for (const { name, path: keys, written } of candidates) {
    const now = memberAt(value, keys);
    if (now === undefined || !isDeepStrictEqual(plainJson(now), plainJson(written)))
      throw fileError(path, `was changed by another program just now, at '${shownName(name)}'`, TRY_AGAIN);
  }
}

/** The value as JSON has it: TOML knows dates, and integers that no number of JavaScript holds. */
const plainJson = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'bigint' ? Number(inner) : inner)),
  );
