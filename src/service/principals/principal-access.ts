// Configured servers of a principal that is not the user who started the bridge: the servers that the principal's credential
// and the operator's rules name, with the principal's own headers, under its own policy on top of the operator's. A server that
// the principal may not have is as if it were not configured anywhere. The rules are asked for with each call.

import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import type { Principal } from '../../base/principal.js';
import type { Environment } from '../../base/process/environment.js';
import { shellWord } from '../../base/process/own-command.js';
import { hideHeaders, type Redactor } from '../../base/secrets/redact.js';
import { shownName } from '../../base/text/shown-name.js';
import { clipHarmlessLine, inOneLine } from '../../base/text/text.js';
import { PACKAGE_NAME } from '../../base/version.js';
import type { Discovery } from '../../hosts/discovery/discover.js';
import type { DownstreamSpec, RemoteSpec } from '../../hosts/downstream-spec.js';
import { deniesAllCalls } from '../../policy/rules/approval-rules.js';
import { layeredPolicy, type Policy } from '../../policy/rules/policy.js';
import { PolicyBook } from '../../policy/rules/policy-book.js';
import type { LoginOwner, ServerLogin } from '../../servers/remote/login-needed.js';
import { RemoteFailure } from '../../servers/remote/remote-failure.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import type { ServerAccess } from '../../tenant/configured.js';
import {
  type HeaderSources,
  type PrincipalBook,
  type PrincipalRules,
  principalWord,
  sourceOf,
  type TokenExchange,
} from './principal-rules.js';

/** The principal's own lists and file as a policy; `deniesAll` where they cannot be used. */
type PrincipalLayer = { readonly rules: PrincipalRules; readonly book: PolicyBook | 'deniesAll' };

export class PrincipalAccess implements ServerAccess {
  readonly isWhole = false;
  readonly #options;
  #layer: PrincipalLayer | undefined;
  #trouble: string | undefined;
  #made: { readonly operators: Policy; readonly own: Policy; readonly policy: Policy } | undefined;
  /** Servers of which it was told in the log that they are left out. */
  readonly #toldMissing = new Set<string>();

  constructor(options: {
    readonly principal: Principal;
    readonly book: PrincipalBook;
    /** The bridge's own environment, from which headers may be taken by name. */
    readonly env: Environment;
    readonly host: HostFacts;
    readonly observer: Observer;
    readonly exchange?: TokenExchange | undefined;
    /** Learns its headers and tokens, which no error or log line is to show. */
    readonly redactor: Redactor;
    /** Takes the entries of which one process or session serves all principals, as they are now. */
    readonly onShared: (specs: readonly DownstreamSpec[]) => void;
  }) {
    this.#options = options;
  }

  /** The operator's rules for the principal as they are now. */
  get rules(): PrincipalRules {
    return this.#options.book.rulesOf(this.#options.principal);
  }

  grantedOf(found: Discovery): Discovery {
    const { servers: granted } = this.#options.principal;
    const { servers: given, headers } = this.rules;
    const names = [granted, given].filter((some) => some !== undefined);
    // A server that is given by name is the entry that had the name, and none that took it.
    const has = ({ name, takesName }: DownstreamSpec) =>
      names.every((some) => some.includes(name) && takesName !== true);
    const sharedNames = this.#options.book.sharedServers();
    const shared = found.ready.flatMap((spec) =>
      sharedNames.includes(spec.name) && spec.takesName !== true ? { ...spec, isShared: true as const } : [],
    );
    this.#options.onShared(shared);
    const ready = found.ready.filter(has).flatMap((spec) => {
      const reached = this.#asReached(spec, headers);
      // All reach a shared one as its entry says it: no headers of a principal are in that.
      return reached === undefined ? [] : (shared.find(({ name }) => name === spec.name) ?? reached);
    });
    // Why an entry is passed over, and what is wrong with a file, is the operator's business.
    return { ready, skipped: [], problems: [], files: [] };
  }

  policy(operators: Policy, specs: readonly DownstreamSpec[]): Policy {
    const { book } = this.#currentLayer();
    const own = book === 'deniesAll' ? DENIES_ALL : book.policy(specs);
    if (this.#made?.operators !== operators || this.#made.own !== own)
      this.#made = { operators, own, policy: layeredPolicy(operators, own) };
    return this.#made.policy;
  }

  get trouble(): string | undefined {
    const { book } = this.#currentLayer();
    return book === 'deniesAll' ? this.#trouble : book.trouble;
  }

  get advice(): string | undefined {
    return reachAdvice(this.#options.principal, this.rules);
  }

  get loginOwner(): LoginOwner {
    return { principal: principalWord(this.#options.principal) };
  }

  loginFor(spec: RemoteSpec): ServerLogin | undefined {
    const { principal, exchange, redactor } = this.#options;
    const sources = sourcesFor(spec, this.rules.headers) ?? {};
    return isExchanged(sources) ? exchangedLogin(spec, principal, exchange, redactor) : undefined;
  }

  /** Undefined where one of its headers cannot be had. */
  #asReached(spec: DownstreamSpec, headers: PrincipalRules['headers']): DownstreamSpec | undefined {
    const sources = sourcesFor(spec, headers);
    if (spec.transport === 'stdio' || sources === undefined) return spec;
    const { env, redactor } = this.#options;
    const reached = withHeaders(spec, sources, env);
    if (!('missing' in reached)) {
      // Hide the headers of the entry as a whole: with whatever goes wrong from here on they could be quoted.
      hideHeaders(redactor, spec.name, reached.headers);
      return reached;
    }
    if (!this.#toldMissing.has(spec.name)) {
      this.#toldMissing.add(spec.name);
      const message = `server '${shownName(spec.name)}' is left out: the variable ${reached.missing} is not set`;
      this.#options.observer({ type: 'config.problem', file: 'the headers of this principal', message });
    }
    return undefined;
  }

  #currentLayer(): PrincipalLayer {
    const { rules } = this;
    if (this.#layer !== undefined && isDeepStrictEqual(this.#layer.rules, rules)) return this.#layer;
    this.#layer = { rules, book: this.#bookOf(rules) };
    return this.#layer;
  }

  /** Rules that cannot be used deny everything until they are corrected: nothing is to run without what was asked for. */
  #bookOf({ allow, deny, policyFile }: PrincipalRules): PrincipalLayer['book'] {
    const { host, observer } = this.#options;
    try {
      return new PolicyBook({ allow, deny, policyFile, names: OWN_LISTS }, host, observer);
    } catch (thrown) {
      const reason = inOneLine(messageOf(thrown));
      this.#trouble =
        'The policy of this user cannot be read; no server may be used until the operator corrects it.';
      observer({
        type: 'config.problem',
        file: policyFile ?? 'the rules of this principal',
        message: reason,
      });
      return 'deniesAll';
    }
  }
}

/** An entry that takes a name has none of what was meant for another. */
const sourcesFor = (
  { name, takesName }: DownstreamSpec,
  headers: PrincipalRules['headers'],
): HeaderSources | undefined =>
  takesName !== true && Object.hasOwn(headers, name) ? headers[name] : undefined;

const OWN_LISTS = { allow: "the principal's allow list", deny: "the principal's deny list" };

const DENIED = { allowed: false, rule: 'a policy of the principal that cannot be read' };
const NOTHING = { max: 0, rule: DENIED.rule };
const DENIES_ALL: Policy = {
  server: () => DENIED,
  tool: () => DENIED,
  request: () => DENIED,
  approvals: deniesAllCalls(DENIED.rule),
  runLimits: { callsPerRun: NOTHING, callsInFlight: NOTHING },
  data: 'none',
  serverLimits: () => ({
    callsPerRun: NOTHING,
    callsInFlight: NOTHING,
    secondsPerCall: undefined,
    bytesPerCall: undefined,
  }),
  patterns: [],
};

const isAuthorization = (name: string): boolean => name.toLowerCase() === 'authorization';

/**
 * The entry with the headers by which its server knows one principal, in the place of its own of the same names, or the
 * variable that is not set: texts and variables of the bridge's environment that the operator has named for it. Nothing of what
 * its agent sends is among them.
 */
function withHeaders(
  spec: RemoteSpec,
  sources: HeaderSources,
  env: Environment,
): RemoteSpec | { readonly missing: string } {
  const own: Record<string, string> = {};
  for (const [header, source] of Object.entries(sources)) {
    if (source.from === 'exchange') continue;
    const value = source.from === 'text' ? source.text : env[source.name];
    if (value === undefined) return { missing: source.from === 'variable' ? source.name : header };
    own[header] = value;
  }
  const replaced = new Set(Object.keys(sources).map((header) => header.toLowerCase()));
  const others = Object.entries(spec.headers).filter(([header]) => !replaced.has(header.toLowerCase()));
  // Headers that the entry's command prints are the operator's own, and would win over those of the principal.
  const headersHelper = Object.keys(sources).some(isAuthorization) ? undefined : spec.headersHelper;
  return { ...spec, headers: { ...Object.fromEntries(others), ...own }, headersHelper };
}

/** Whether its token is had by an exchange. */
const isExchanged = (sources: HeaderSources): boolean =>
  Object.values(sources).some(({ from }) => from === 'exchange');

/** A login whose tokens are exchanged, and asked for with each request: whether one is still good is the exchange's to know. */
export function exchangedLogin(
  spec: RemoteSpec,
  principal: Principal,
  exchange: TokenExchange | undefined,
  redactor: Redactor,
): ServerLogin {
  let hidden: string | undefined;
  const fetched = async (signal: AbortSignal, refused?: string): Promise<string> => {
    if (exchange === undefined) throw tokenFailure('the bridge has no way to exchange tokens');
    try {
      const got = await exchange({ principal, server: spec.name, url: spec.url, refused }, signal);
      if (got !== hidden) hideHeaders(redactor, spec.name, { 'exchanged token': got });
      hidden = got;
      return got;
    } catch (thrown) {
      throw tokenFailure(messageOf(thrown));
    }
  };
  return {
    token: (signal) => fetched(signal),
    renew: async (refused, signal) => void (await fetched(signal, refused)),
    onRefused: ({ status }) => tokenFailure(`it refused the token that was exchanged (${status})`),
  };
}

const tokenFailure = (why: string): RemoteFailure =>
  new RemoteFailure(`no token could be got for this user: ${why}`, {
    fault: 'operator',
    remedy: 'Only the operator of the bridge can change that.',
  });

// Why a principal has few servers or none, and who can change that, for the error of a call that names another one. Read by
// whoever is served over HTTP, so it names nothing of this machine and no server that the principal does not have.

const MAX_NAME_CHARS = 128;

/** One or two sentences; undefined where neither credential nor principals file narrows what it reaches. */
export function reachAdvice(
  principal: Principal,
  { servers: ruled }: Pick<PrincipalRules, 'servers'>,
): string | undefined {
  const { kind } = sourceOf(principal);
  const { servers: named } = principal;
  const name = clipHarmlessLine(principal.name, MAX_NAME_CHARS);
  if (kind === 'local' || (named === undefined && ruled === undefined)) return undefined;
  if (kind === 'token' && named !== undefined) {
    const reach =
      named.length === 0 ? 'reaches no server' : 'reaches only the servers that were named for it';
    return `The token '${name}' ${reach}. Whoever runs the bridge can change that: \`${PACKAGE_NAME} token change ${shellWord(name)} --servers NAMES\`.`;
  }
  const reach =
    ruled?.length === 0 ? 'reaches no server' : 'reaches only the servers that the operator has named';
  return `'${name}' ${reach}. Whoever runs the bridge can change that in the principals file (MCP_BRIDGE_PRINCIPALS).`;
}
