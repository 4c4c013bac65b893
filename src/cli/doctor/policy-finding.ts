// Findings of `doctor` about the policy: which rules there are, and which of them mean nothing here. A rule that is mistyped
// denies nothing, and nobody would notice.

import { ownCommand } from '../../base/process/own-command.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import { REQUEST_METHODS, type RuledPattern } from '../../policy/rules/policy.js';
import { KeptCatalog } from '../../servers/catalog/kept-catalog.js';
import { visible } from '../terminal/output.js';
import type { Examination, Finding } from './examination.js';

const MAX_NAMED = 10;

/** Undefined where nobody has set a rule. */
export function examinePolicy({
  discovery: { ready, skipped },
  policyBook,
  settings: { policyFile, stateDir },
}: Examination): Omit<Finding, 'name'> | undefined {
  const policy = policyBook.policy(ready);
  if (policy.patterns.length === 0 && policyFile === undefined) return undefined;
  const catalog = new KeptCatalog(stateDir, () => {});
  const toolsOf = (spec: DownstreamSpec) =>
    catalog
      .of(spec)
      ?.tools()
      .map(({ name }) => name);
  const known = new Map([
    ...skipped.map(({ name }) => [name, undefined] as const),
    ...ready.map((spec) => [spec.name, toolsOf(spec)] as const),
  ]);
  const idle = idlePatterns(policy.patterns, known);
  const denied = ready.filter(({ name }) => !policy.server(name).allowed).length;
  const where = policyFile === undefined ? '' : `${policyFile} is understood; `;
  const count = `${where}${policy.patterns.length} patterns, ${denied} of ${ready.length} servers denied`;
  if (idle.length === 0) return { status: 'ok', detail: count };
  const named = idle.slice(0, MAX_NAMED).map(({ rule }) => visible(rule));
  const more = idle.length > MAX_NAMED ? ` and ${idle.length - MAX_NAMED} more` : '';
  return {
    status: 'warn',
    detail: `${count}; of nothing that is known: ${named.join(', ')}${more}`,
    remedy: `Compare the names with \`${ownCommand('servers')}\`; case counts where something is allowed, and aliases count nowhere.`,
  };
}

/**
 * Patterns that mean no known server, no known tool of one, and no resources or prompts of one. Tools are undefined where
 * nobody knows them yet.
 */
export function idlePatterns(
  patterns: readonly RuledPattern[],
  known: ReadonlyMap<string, readonly string[] | undefined>,
): readonly RuledPattern[] {
  return patterns.filter((pattern) => {
    const servers = [...known].filter(([server]) => pattern.concernsServer(server));
    return servers.every(
      ([server, tools]) =>
        !pattern.coversServer(server) &&
        tools?.every((tool) => !pattern.coversTool(server, tool)) &&
        !REQUEST_METHODS.some((method) => pattern.coversRequest(server, method)),
    );
  });
}
