// Two policies as one: what either denies is denied, by the rules of all that deny it, and of two limits the lower one holds. No layer gives back what another
// one takes away.

import { layeredApprovals, namesOfAll } from './approval-rules.js';
import type { Limit, Policy, RunLimits, ServerLimits, Verdict } from './policy.js';

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
    serverLimits: (server) => lowerServerLimits(first.serverLimits(server), second.serverLimits(server)),
    patterns: [...first.patterns, ...second.patterns],
  };
}

const lowerRunLimits = (one: RunLimits, other: RunLimits): RunLimits => ({
  callsPerRun: lower(one.callsPerRun, other.callsPerRun),
  callsInFlight: lowerOf(one.callsInFlight, other.callsInFlight),
});

const lowerServerLimits = (one: ServerLimits, other: ServerLimits): ServerLimits => ({
  callsPerRun: lower(one.callsPerRun, other.callsPerRun),
  callsInFlight: lowerOf(one.callsInFlight, other.callsInFlight),
  secondsPerCall: lower(one.secondsPerCall, other.secondsPerCall),
  bytesPerCall: lower(one.bytesPerCall, other.bytesPerCall),
});

const lowerOf = (one: Limit, other: Limit): Limit => (other.max < one.max ? other : one);

const lower = (one: Limit | undefined, other: Limit | undefined): Limit | undefined =>
  one === undefined || other === undefined ? (one ?? other) : lowerOf(one, other);
