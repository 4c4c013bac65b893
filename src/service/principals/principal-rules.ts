// The operator's rules for principals, as values: which servers exist for one, what it may call, which headers its requests
// carry, and how much it may use. The file with the rules is read elsewhere; nothing here reads anything.

import type { Principal } from '../../base/principal.js';
import type { DataFolder } from '../../settings/files/data-folders.js';

/** Sources of the values of headers, by the name of the header. Nothing that an agent sends is ever forwarded. */
export type HeaderSources = Readonly<
  Record<
    string,
    | { readonly from: 'text'; readonly text: string }
    /** A variable of the bridge's own environment, read for each new connection. */
    | { readonly from: 'variable'; readonly name: string }
    /** A token that is had for this principal and this server, as `Bearer TOKEN` (`TokenExchange`). */
    | { readonly from: 'exchange' }
  >
>;

export type PrincipalRules = {
  /**
   * Names of the servers that exist for it, on top of those that its credential names (`Principal.servers`): it has
   * those that both name. Undefined means all that its credential names.
   */
  readonly servers: readonly string[] | undefined;
  /** Patterns as in MCP_BRIDGE_ALLOW and MCP_BRIDGE_DENY. A further layer: what the operator denies stays denied. */
  readonly allow: readonly string[] | undefined;
  readonly deny: readonly string[];
  /** Absolute path of a policy file of its own, a further layer as well; read anew when it changes. */
  readonly policyFile: string | undefined;
  /** Folders that its code sees; none of the operator's own. */
  readonly data: readonly DataFolder[];
  /** Headers by the name of the server. They come on top of the entry's own, which they replace by name. */
  readonly headers: Readonly<Record<string, HeaderSources>>;
  /** How much it may use; undefined means what the settings say for every principal. */
  readonly quotas: {
    /** Runs under way at once. */
    readonly runsAtOnce?: number | undefined;
    /** Runs that wait; a further one is refused. */
    readonly runsWaiting?: number | undefined;
    /** Tool calls under way at once, of the agent itself and of its code. */
    readonly callsAtOnce?: number | undefined;
    /** Calls of the agent itself that wait; a further one is refused. */
    readonly callsWaiting?: number | undefined;
    /** Seconds of processor time of its ended runs within one window. */
    readonly processorSeconds?: number | undefined;
    /** Bytes that its runs under way may have together; each counts with the memory limit of its sandbox. */
    readonly memoryBytes?: number | undefined;
    /** Sessions at once. */
    readonly sessions?: number | undefined;
  };
};

/** Rules of a principal of which nothing is said. */
export const NO_RULES: PrincipalRules = {
  servers: undefined,
  allow: undefined,
  deny: [],
  policyFile: undefined,
  data: [],
  headers: {},
  quotas: {},
};

/** The rules for principals as they are now; asked for each call, so that a change counts from the next call on. */
export interface PrincipalBook {
  rulesOf(principal: Principal): PrincipalRules;
  /**
   * Names of the servers of which one process, or one session, serves all principals. Every other server has one for each
   * principal, since it may keep what one principal told it.
   */
  sharedServers(): readonly string[];
}

/** Where nobody has said anything. */
export const NO_BOOK: PrincipalBook = { rulesOf: () => NO_RULES, sharedServers: () => [] };

/**
 * Gets a token for requests that this principal makes of the server at `url`, by token exchange (RFC 8693) or any other way.
 * `refused` is one that the server has just refused: another one is wanted. Rejects where there is none; the server is not
 * reached then.
 */
export type TokenExchange = (
  asked: {
    readonly principal: Principal;
    readonly server: string;
    readonly url: string;
    readonly refused?: string | undefined;
  },
  signal: AbortSignal,
) => Promise<string>;

// Where a principal's identity comes from, read out of its id, and how the command line names it.

/** Anything that is neither the local user nor of an issuer counts as a token. */
export function sourceOf({ id }: Pick<Principal, 'id'>):
  | { readonly kind: 'local' }
  | { readonly kind: 'token' }
  /** `name` is the subject or the client id, as the issuer writes it. */
  | { readonly kind: 'subject' | 'client'; readonly issuer: string; readonly name: string } {
  if (id === 'local') return { kind: 'local' };
  for (const [prefix, kind] of [
    ['oauth:', 'subject'],
    ['oauth-client:', 'client'],
  ] as const) {
    const at = id.indexOf(' ');
    if (id.startsWith(prefix) && at !== -1)
      return { kind, issuer: id.slice(prefix.length, at), name: id.slice(at + 1) };
  }
  return { kind: 'token' };
}

/** A principal as the command line names it, where only its id is known. */
export const wordOfId = (id: string): string =>
  principalWord({ id, name: id.replace(/^token:/, '').replace(/#[^#]*$/, '') });

/** The value of `login --principal` for this principal; its issuer is named in any case, since there may be several. */
export function principalWord(principal: Pick<Principal, 'id' | 'name'>): string {
  const source = sourceOf(principal);
  if (source.kind !== 'subject' && source.kind !== 'client') return principal.name;
  return `${source.kind}:${source.issuer} ${source.name}`;
}
