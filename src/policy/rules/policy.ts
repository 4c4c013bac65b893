// Rules about what the user allows: servers, their tools, resources and prompts, and how much of them. Pure. Every list is a
// layer of its own, whoever wrote it: what any layer denies is denied, and what an allow list does not name is denied too. Real
// names count, never aliases, and each verdict names the rule that it comes from. A rule that takes something away means
// look-alikes of a name as well (base/text/name-pattern.ts); a rule that allows means the name exactly.

import { BridgeError } from '../../base/errors.js';
import {
  looksLike,
  namePattern,
  type Reach,
  readingsOf,
  requestPattern,
  type ServerPattern,
  serverPattern,
} from '../../base/text/name-pattern.js';
import { shownName } from '../../base/text/shown-name.js';
import { clipHarmless } from '../../base/text/text.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { DataFolder } from '../../settings/files/data-folders.js';
import type { ServerDoc, ToolDoc } from '../../wire/frames.js';
import { MAX_CALLS_IN_FLIGHT } from '../../wire/limits.js';
import { type ApprovalPolicy, approvalPolicyOf, layeredApprovals, namesOfAll } from './approval-rules.js';
import { DATA_ACCESS, DEFAULT_CALLS_IN_FLIGHT_PER_SERVER, type PolicyFile } from './policy-file.js';

/** `rule` is a noun: `MCP_BRIDGE_DENY 'github.delete_*'`. */
export type Verdict = { readonly allowed: boolean; readonly rule: string };

/** `rule` says who set it. */
export type Limit = { readonly max: number; readonly rule: string };

/** Undefined where nothing limits it here. */
type ServerLimits = {
  readonly callsPerRun: Limit | undefined;
  /** Limit for the calls of all runs together. */
  readonly callsInFlight: Limit;
  readonly secondsPerCall: Limit | undefined;
  readonly bytesPerCall: Limit | undefined;
};

type RunLimits = {
  readonly callsPerRun: Limit | undefined;
  readonly callsInFlight: Limit;
};

export type RuledPattern = Omit<ServerPattern, 'text'> & { readonly rule: string };

/** Requests to a server besides its tools, by MCP's names. Patterns name these requests like tools, and so does the audit. */
export const REQUEST_METHODS = ['resources/list', 'resources/read', 'prompts/list', 'prompts/get'] as const;
export type RequestMethod = (typeof REQUEST_METHODS)[number];

export interface Policy {
  server(server: string): Verdict;
  /** `tool`: by its real name, and what its server has changed of it. */
  tool(server: string, tool: Pick<ToolDoc, 'name' | 'changed'>): Verdict;
  /** A question about its resources or prompts. */
  request(server: string, method: RequestMethod): Verdict;
  readonly runLimits: RunLimits;
  /** How code may use data folders. */
  readonly data: (typeof DATA_ACCESS)[number];
  serverLimits(server: string): ServerLimits;
  /** Which of the calls that the rest allows wait for a person. */
  readonly approvals: ApprovalPolicy;
  /** Everything that names servers or tools, with where it stands: for those who check that each means something. */
  readonly patterns: readonly RuledPattern[];
}

/** Rules that the operator has set. */
export type PolicyRules = Pick<Settings, 'allow' | 'deny'> & {
  readonly [K in 'approve' | 'approveTrust']?: Settings[K] | undefined;
} & {
  readonly file: { readonly path: string; readonly content: PolicyFile } | undefined;
  /** Names of the two lists in a verdict; without these, the lists go by their variables. */
  readonly names?: { readonly allow: string; readonly deny: string } | undefined;
};

const VARIABLES = { allow: 'MCP_BRIDGE_ALLOW', deny: 'MCP_BRIDGE_DENY' };

const ALLOWED: Verdict = { allowed: true, rule: 'no rule' };

/** Part of a server that a verdict is about. */
type Subject =
  | { readonly kind: 'server' }
  | { readonly kind: 'tool'; readonly name: string }
  | { readonly kind: 'request'; readonly method: RequestMethod };

const WHOLE_SERVER: Subject = { kind: 'server' };

/** One list, or one pair of lists; each answers with a rule, or undefined where it says nothing. */
type PolicyLayer = {
  readonly denies: (server: string, subject: Subject) => string | undefined;
  /** The rule that lets it through; undefined where there is no allow list. */
  readonly allows: (server: string, subject: Subject) => Verdict | undefined;
};

/** `specs` are the servers with their hosts' own choices. */
export function policyOf(rules: PolicyRules, specs: readonly DownstreamSpec[]): Policy {
  const { file, names = VARIABLES } = rules;
  const entries = new Map(specs.map((spec) => [spec.name, spec]));
  const takesName: TakesName = (server) => entries.get(server)?.takesName === true;
  const lists = [patternLists(names.allow, names.deny, '', rules, takesName)];
  if (file !== undefined) {
    lists.push(patternLists('allow', 'deny', ` in ${file.path}`, file.content, takesName));
    lists.push(perServerLists(file.path, file.content, takesName));
  }
  const layers = [...lists.map(({ layer }) => layer), hostLayer(specs)];
  const judge = (server: string, subject: Subject): Verdict => {
    for (const { denies } of layers) {
      const rule = denies(server, subject);
      if (rule !== undefined) return { allowed: false, rule };
    }
    const verdicts = layers.flatMap(({ allows }) => allows(server, subject) ?? []);
    return verdicts.find(({ allowed }) => !allowed) ?? verdicts[0] ?? ALLOWED;
  };
  const refusesChanged = file?.content.changedTools === 'refuse';
  const approvals = approvalPolicyOf({
    mode: rules.approve,
    trust: rules.approveTrust ?? [],
    file: file && { path: file.path, section: file.content.approvals },
    entryOf: (server) => entries.get(server),
  });
  return {
    server: (server) => judge(server, WHOLE_SERVER),
    tool: (server, tool) => {
      const verdict = judge(server, { kind: 'tool', name: tool.name });
      // Asked last, and only by those who want to know: whether it has changed is looked up for each call.
      if (!verdict.allowed || !refusesChanged || tool.changed === null) return verdict;
      const { changed } = tool;
      return { allowed: false, rule: `changedTools in ${file.path}: ${clipHarmless(changed, 200)}` };
    },
    request: (server, method) => judge(server, { kind: 'request', method }),
    approvals,
    runLimits: runLimits(file),
    data: file?.content.data ?? 'write',
    serverLimits: (server) => serverLimits(file, server),
    patterns: [...lists.flatMap(({ patterns }) => patterns), ...approvals.patterns],
  };
}

/** Whether the server has a name that is another entry's: what gives something to the name gives it nothing. */
type TakesName = (server: string) => boolean;

type Lists = { readonly layer: PolicyLayer; readonly patterns: readonly RuledPattern[] };

function patternLists(
  allowName: string,
  denyName: string,
  where: string,
  lists: { readonly allow?: readonly string[] | undefined; readonly deny: readonly string[] },
  takesName: TakesName,
): Lists {
  const named = (name: string, reach: Reach) => (text: string) => ({
    ...serverPattern(text, reach),
    rule: `${name} '${shownName(text)}'${where}`,
  });
  const allow = lists.allow?.map(named(allowName, 'exact'));
  const deny = lists.deny.map(named(denyName, 'wide'));
  const covers = (server: string, subject: Subject) => (pattern: ServerPattern) => {
    if (subject.kind === 'tool') return pattern.coversTool(server, subject.name);
    if (subject.kind === 'request') return pattern.coversRequest(server, subject.method);
    return pattern.coversServer(server);
  };
  const layer: PolicyLayer = {
    denies: (server, subject) => deny.find(covers(server, subject))?.rule,
    allows: (server, subject) => {
      if (allow === undefined) return undefined;
      if (takesName(server))
        return { allowed: false, rule: `${allowName}${where}, which means another entry` };
      const found = allow.find((pattern) =>
        subject.kind === 'server' ? pattern.concernsServer(server) : covers(server, subject)(pattern),
      );
      if (found !== undefined) return { allowed: true, rule: found.rule };
      return { allowed: false, rule: `${allowName}${where}, which does not name it` };
    },
  };
  return { layer, patterns: [...(allow ?? []), ...deny] };
}

type ServerRules = PolicyFile['perServer'][string];

/** The entries of `perServer` for servers that look like this one, with the names that they stand under. */
const rulesOfLookalikes = (
  content: PolicyFile | undefined,
  server: string,
): readonly (readonly [string, ServerRules])[] =>
  Object.entries(content?.perServer ?? {}).filter(([name]) => looksLike(name, server));

/** One entry of `perServer`, with its patterns made ready. */
type ServerEntry = {
  readonly server: string;
  /** Where it stands in the file, for its rules. */
  readonly at: string;
  readonly allow: readonly EntryPattern[] | undefined;
  readonly deny: readonly EntryPattern[];
  readonly resources: ServerRules['resources'];
  readonly resourcesRule: string;
};

type EntryPattern = {
  readonly matches: (tool: string) => boolean;
  readonly matchesRequest: (method: string) => boolean;
  readonly rule: string;
};

function perServerLists(path: string, content: PolicyFile, takesName: TakesName): Lists {
  const entries = Object.entries(content.perServer).map(([server, rules]) => entryOf(server, rules, path));
  const layer: PolicyLayer = {
    denies: (server, subject) => {
      if (subject.kind === 'server') return undefined;
      return entries
        .filter((entry) => looksLike(entry.server, server))
        .flatMap((entry) => deniedBy(entry, server, subject, takesName) ?? [])[0];
    },
    allows: allowedByEntries(entries, path, takesName),
  };
  return { layer, patterns: entries.flatMap((entry) => patternsOf(entry, path)) };
}

function entryOf(server: string, { allow, deny, resources }: ServerRules, path: string): ServerEntry {
  const at = `perServer.${shownName(server)}`;
  const ruled = (list: string, reach: Reach) => (text: string) => ({
    matches: namePattern(text, reach),
    matchesRequest: requestPattern(text, reach),
    rule: `${at}.${list} '${shownName(text)}' in ${path}`,
  });
  return {
    server,
    at,
    allow: allow?.map(ruled('allow', 'exact')),
    deny: deny.map(ruled('deny', 'wide')),
    resources,
    resourcesRule: `${at}.resources in ${path}`,
  };
}

const entryCovers =
  (subject: Subject) =>
  (pattern: EntryPattern): boolean => {
    if (subject.kind === 'tool') return pattern.matches(subject.name);
    return subject.kind === 'request' && pattern.matchesRequest(subject.method);
  };

/** The rule of one entry, which is the server's own or that of a look-alike. */
function deniedBy(
  entry: ServerEntry,
  server: string,
  subject: Subject,
  takesName: TakesName,
): string | undefined {
  if (subject.kind === 'request') {
    if (entry.resources === 'deny') return entry.resourcesRule;
    // This permission goes before its own entry's list, and gives a look-alike nothing.
    if (entry.resources === 'allow' && entry.server === server && !takesName(server)) return undefined;
  }
  return entry.deny.find(entryCovers(subject))?.rule;
}

function allowedByEntries(
  entries: readonly ServerEntry[],
  path: string,
  takesName: TakesName,
): PolicyLayer['allows'] {
  const byName = new Map(entries.map((entry) => [entry.server, entry]));
  return (server, subject) => {
    if (subject.kind === 'server') return undefined;
    // A look-alike without an entry of its own has what the other is allowed taken away, and none of it given.
    const own = takesName(server) ? undefined : byName.get(server);
    if (subject.kind === 'request' && own?.resources === 'allow')
      return { allowed: true, rule: own.resourcesRule };
    const isRestricted = ({ allow, ...entry }: ServerEntry) =>
      allow !== undefined && looksLike(entry.server, server);
    const restricting = own ?? entries.find(isRestricted);
    if (restricting?.allow === undefined) return undefined;
    const found = own?.allow?.find(entryCovers(subject));
    if (found !== undefined) return { allowed: true, rule: found.rule };
    return { allowed: false, rule: `${restricting.at}.allow in ${path}, which does not name it` };
  };
}

/** Patterns of an entry: for its whole server, and for tools and requests of that server. */
function patternsOf({ server, at, allow = [], deny }: ServerEntry, path: string): readonly RuledPattern[] {
  const concernsServer = (name: string) => name === server;
  const whole = {
    coversServer: concernsServer,
    concernsServer,
    coversTool: concernsServer,
    coversRequest: concernsServer,
  };
  const ofTools = [...allow, ...deny].map(({ matches, matchesRequest, rule }) => ({
    rule,
    coversServer: () => false,
    concernsServer,
    coversTool: (name: string, tool: string) => name === server && matches(tool),
    coversRequest: (name: string, method: string) => name === server && matchesRequest(method),
  }));
  return [{ ...whole, rule: `${at} in ${path}` }, ...ofTools];
}

/** The choice that the user has made among a server's tools in a host. */
function hostLayer(specs: readonly DownstreamSpec[]): PolicyLayer {
  const filters = new Map(
    specs.map(({ name, toolFilter: { only, except }, source }) => [
      name,
      {
        only: only && new Set(only),
        except: new Set(except.flatMap(readingsOf)),
        rule: `${source.host}'s own choice of tools in ${source.file}`,
      },
    ]),
  );
  return {
    denies: (server, subject) => {
      const filter = filters.get(server);
      if (filter === undefined || subject.kind !== 'tool') return undefined;
      const isExcepted = readingsOf(subject.name).some((reading) => filter.except.has(reading));
      const isOff = isExcepted || filter.only?.has(subject.name) === false;
      return isOff ? filter.rule : undefined;
    },
    allows: () => undefined,
  };
}

function runLimits(file: PolicyRules['file']): RunLimits {
  const limits = file?.content.limits;
  const of = limitIn(file);
  return {
    callsPerRun: of('limits.callsPerRun', limits?.callsPerRun),
    callsInFlight: of('limits.callsInFlight', limits?.callsInFlight) ?? {
      max: MAX_CALLS_IN_FLIGHT,
      rule: "the bridge's own",
    },
  };
}

function serverLimits(file: PolicyRules['file'], server: string): ServerLimits {
  const all = file?.content.limits;
  const of = limitIn(file);
  const rules = rulesOfLookalikes(file?.content, server);
  const exact = rules.filter(([name]) => name === server);
  /** The server's own, else the tightest of those whose names it looks like. */
  const own = (name: keyof ServerRules['limits']): Limit | undefined =>
    (exact.length > 0 ? exact : rules)
      .flatMap(([at, { limits }]) => of(`perServer.${shownName(at)}.limits.${name}`, limits[name]) ?? [])
      .sort((one, other) => one.max - other.max)[0];
  return {
    callsPerRun: own('callsPerRun'),
    callsInFlight: own('callsInFlight') ??
      of('limits.callsInFlightPerServer', all?.callsInFlightPerServer) ?? {
        max: DEFAULT_CALLS_IN_FLIGHT_PER_SERVER,
        rule: "the bridge's own",
      },
    secondsPerCall: own('secondsPerCall') ?? of('limits.secondsPerCall', all?.secondsPerCall),
    bytesPerCall: own('bytesPerCall') ?? of('limits.bytesPerCall', all?.bytesPerCall),
  };
}

const limitIn =
  (file: PolicyRules['file']) =>
  (field: string, max: number | undefined): Limit | undefined =>
    max === undefined ? undefined : { max, rule: `${field} in ${file?.path}` };

/** Part of a server that is shown to a run: a denied tool is as if it were not there. */
export const allowedPart = (doc: ServerDoc, policy: Policy): ServerDoc => ({
  ...doc,
  tools: doc.tools.filter((tool) => policy.tool(doc.name, tool).allowed),
});

/** `what` names the server or tool, as the beginning of a sentence. */
export const deniedError = (what: string, { rule }: Verdict, hint = ''): BridgeError =>
  new BridgeError('E_DENIED', `${what} is denied by ${rule}.${hint}`, {
    fault: 'operator',
    remedy: 'Only the user can change that; go on without it.',
  });

// Two policies as one: what either denies is denied, by the rules of all that deny it, and of two limits the lower one holds.
// No layer gives back what another one takes away.

export function layeredPolicy(first: Policy, second: Policy): Policy {
  const both = (judge: (policy: Policy) => Verdict): Verdict => {
    const [one, other] = [judge(first), judge(second)];
    if (one.allowed || other.allowed) return one.allowed ? other : one;
    return { allowed: false, rule: namesOfAll([one.rule, other.rule]) };
  };
  return {
    server: (server) => both((policy) => policy.server(server)),
    tool: (server, tool) => both((policy) => policy.tool(server, tool)),
    request: (server, method) => both((policy) => policy.request(server, method)),
    approvals: layeredApprovals(first.approvals, second.approvals),
    runLimits: lowerRunLimits(first.runLimits, second.runLimits),
    data: DATA_ACCESS[Math.min(DATA_ACCESS.indexOf(first.data), DATA_ACCESS.indexOf(second.data))] ?? 'none',
    serverLimits: (server) => lowerServerLimits(first.serverLimits(server), second.serverLimits(server)),
    patterns: [...first.patterns, ...second.patterns],
  };
}

const lowerRunLimits = (one: RunLimits, other: RunLimits): RunLimits => ({
  callsPerRun: lowerLimit(one.callsPerRun, other.callsPerRun),
  callsInFlight: lowerOf(one.callsInFlight, other.callsInFlight),
});

const lowerServerLimits = (one: ServerLimits, other: ServerLimits): ServerLimits => ({
  callsPerRun: lowerLimit(one.callsPerRun, other.callsPerRun),
  callsInFlight: lowerOf(one.callsInFlight, other.callsInFlight),
  secondsPerCall: lowerLimit(one.secondsPerCall, other.secondsPerCall),
  bytesPerCall: lowerLimit(one.bytesPerCall, other.bytesPerCall),
});

const lowerOf = (one: Limit, other: Limit): Limit => (other.max < one.max ? other : one);

const lowerLimit = (one: Limit | undefined, other: Limit | undefined): Limit | undefined =>
  one === undefined || other === undefined ? (one ?? other) : lowerOf(one, other);

/** The folders of a principal that its code may see now, as it may use them. */
export function allowedFolders({
  settings: { data: folders },
  servers,
}: {
  readonly settings: Pick<Settings, 'data'>;
  readonly servers: { policy(): Pick<Policy, 'data'> };
}): readonly DataFolder[] {
  const { data } = servers.policy();
  if (data === 'none') return [];
  return data === 'write' ? folders : folders.map((folder) => ({ ...folder, isWritable: false }));
}
