// Scopes that open servers and tools: what no scope of a principal opens is closed to it, and a call of it is answered 403
// with the scope that would, so that a client can ask its issuer for a token that has it (step-up).

import type { Principal } from '../../base/principal.js';
import { serverPattern } from '../../base/text/name-pattern.js';
import type { AuthenticationRefusal } from './authentication.js';
import { type PrincipalRules, sourceOf } from './principal-rules.js';
import type { PrincipalsFile } from './principals-table.js';
import { type ChallengeFacts, insufficientRefusal } from './refusals.js';

type Scopes = PrincipalsFile['scopes'];

/** Patterns of servers and tools that none of `granted` opens. */
export function closedServers(scopes: Scopes, granted: readonly string[]): readonly string[] {
  const open = new Set(
    granted.flatMap((scope) => (Object.hasOwn(scopes, scope) ? (scopes[scope]?.servers ?? []) : [])),
  );
  const all = Object.values(scopes).flatMap(({ servers }) => servers);
  return [...new Set(all)].filter((pattern) => !open.has(pattern));
}

/**
 * Names that a JSON-RPC message is about to use, as far as the message itself says: a tool of the bridge, and the servers that
 * its arguments name. Takes any value.
 * `executeServer` is the server to which the operator has calls of `execute` go.
 */
export function wantedUse(
  message: unknown,
  executeServer?: string,
): { readonly tool: string | undefined; readonly servers: readonly string[] } {
  const { method, params } = Object(message) as { method?: unknown; params?: unknown };
  if (method !== 'tools/call') return { tool: undefined, servers: [] };
  const { name, arguments: args } = Object(params) as { name?: unknown; arguments?: unknown };
  if (name === 'execute' && executeServer !== undefined) return { tool: name, servers: [executeServer] };
  const { servers } = Object(args) as { servers?: unknown };
  return {
    tool: typeof name === 'string' ? name : undefined,
    servers: Array.isArray(servers) ? servers.filter((one): one is string => typeof one === 'string') : [],
  };
}

/**
 * 403 with the scopes that a token needs for this use, those that it has included; undefined where none is missing. Of a
 * server that does not exist for the principal nothing is said, not even that a scope opens it.
 */
export function stepUp(
  principal: Principal,
  rules: PrincipalRules,
  scopes: Scopes,
  { tool, servers }: ReturnType<typeof wantedUse>,
  challenge: ChallengeFacts,
): AuthenticationRefusal | undefined {
  if (sourceOf(principal).kind === 'local') return undefined;
  const closed = closedServers(scopes, principal.scopes).map((text) => serverPattern(text, 'wide'));
  const exists = (server: string) =>
    [rules.servers, principal.servers].every((names) => names === undefined || names.includes(server));
  const shut = closed.filter((pattern) =>
    servers.some((server) => exists(server) && pattern.coversServer(server)),
  );
  const needed = new Set([
    ...shut.flatMap(({ text }) => firstScope(scopes, (opened) => opened.servers.includes(text))),
    ...(tool === undefined ? [] : scopeOfTool(scopes, tool, principal.scopes)),
  ]);
  if (needed.size === 0) return undefined;
  const asked = [...new Set([...challenge.scopes, ...principal.scopes, ...needed])];
  return insufficientRefusal(
    challenge,
    asked,
    `This call needs the scope ${[...needed].join(' ')}, which the token was not granted.`,
  );
}

function scopeOfTool(scopes: Scopes, tool: string, granted: readonly string[]): readonly string[] {
  const opens = ({ tools }: Scopes[string]) => (tools as readonly string[]).includes(tool);
  const isOpen = granted.some((scope) => Object.hasOwn(scopes, scope) && opens(scopes[scope] ?? NOTHING));
  return isOpen ? [] : firstScope(scopes, opens);
}

const NOTHING: Scopes[string] = { servers: [], tools: [] };

/** The first scope of the file that opens it, as a list; none where nothing does. */
function firstScope(scopes: Scopes, opens: (opened: Scopes[string]) => boolean): readonly string[] {
  return Object.entries(scopes)
    .filter(([, opened]) => opens(opened))
    .map(([scope]) => scope)
    .slice(0, 1);
}
