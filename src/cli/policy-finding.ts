// What doctor says of the policy: which rules there are, and which of them mean nothing here. A rule that is mistyped
// denies nothing, and nobody would notice.

import type { Examination, Finding } from './examination.js';
import { visible } from './output.js';

const MAX_NAMED = 10;

/** Undefined where nobody has set a rule. */
export function examinePolicy({
  discovery: { ready, skipped },
  policyBook,
  settings: { policyFile },
}: Examination): Omit<Finding, 'name'> | undefined {
  const policy = policyBook.policy(ready);
  if (policy.patterns.length === 0 && policyFile === undefined) return undefined;
  const names = [...ready, ...skipped].map(({ name }) => name);
  const idle = policy.patterns.filter((pattern) => !names.some((name) => pattern.concernsServer(name)));
  const denied = ready.filter(({ name }) => !policy.server(name).allowed).length;
  const where = policyFile === undefined ? '' : `${policyFile} is understood; `;
  const count = `${where}${policy.patterns.length} patterns, ${denied} of ${ready.length} servers denied`;
  if (idle.length === 0) return { status: 'ok', detail: count };
  const named = idle.slice(0, MAX_NAMED).map(({ rule }) => visible(rule));
  const more = idle.length > MAX_NAMED ? ` and ${idle.length - MAX_NAMED} more` : '';
  return {
    status: 'warn',
    detail: `${count}; of no server that is known: ${named.join(', ')}${more}`,
    remedy: 'Compare the names with `mcp-sandbox-bridge servers`; case counts, and aliases do not.',
  };
}
