// Which calls of tools wait for a person, by the policy: allow, ask or deny. Pure. What a tool says of itself is its server's own
// claim: what makes a call look harmless counts only of a server that the policy trusts, and what is not said is the worst.

import { clipHarmless } from '../../base/text.js';
import { type ConditionFacts, type ConditionReading, readCondition } from '../../config/condition.js';
import { namePattern, type Reach, type ServerPattern, serverPattern } from '../../config/name-pattern.js';
import type { ApprovalSection } from '../../config/policy-file.js';
import type { ApproveMode } from '../../config/variables.js';
import type { ToolHints } from '../../downstream/tool-list.js';

/** A call that is to be judged; `hints` are what its server says of the tool now. */
export type CallFacts = ConditionFacts & { readonly hints: ToolHints | undefined };

export type ApprovalVerdict = {
  readonly is: 'allow' | 'ask' | 'deny';
  /** A noun: `approvals.rules.2 in /p.yaml`. */
  readonly rule: string;
  /** Whether it goes by the arguments: then nothing that is decided of the tool as a whole answers it. */
  readonly isConditional: boolean;
};

/** How one rule takes a call, for whoever asks why. */
export type RuleReading = ConditionReading & {
  readonly action: ApprovalVerdict['is'];
  /** As in a verdict. */
  readonly rule: string;
  /** Whether it takes part in the verdict: what is unclear counts as met where it asks or denies. */
  readonly counts: boolean;
};

export interface ApprovalPolicy {
  /** Whether it can say anything but `allow`; where it cannot, nobody need look for the facts of a call. */
  readonly isOn: boolean;
  judge(facts: CallFacts): ApprovalVerdict;
  /** Every rule in its order, as `judge` takes it. */
  readRules(facts: CallFacts): readonly RuleReading[];
  /** Whether the call changes nothing, as far as the policy trusts whoever says so: what a plan may execute. */
  isRead(facts: CallFacts): boolean;
  /** All that names servers or tools, with where it stands. */
  readonly patterns: readonly (Omit<ServerPattern, 'text'> & { readonly rule: string })[];
  /** The policy file in which `always` can be written; undefined where there is none. */
  readonly file: string | undefined;
}

export type ApprovalRules = {
  readonly mode: ApproveMode | undefined;
  /** Patterns over servers, for a file that names none. */
  readonly trust: readonly string[];
  readonly file: { readonly path: string; readonly section: ApprovalSection | undefined } | undefined;
};

const ALLOWED: ApprovalVerdict = { is: 'allow', rule: 'no rule', isConditional: false };

/** What is known of a tool's effects when the claims that do not count are taken away. */
type Effects = { readonly writes: boolean; readonly destroys: boolean; readonly reachesOut: boolean };

type Rule = {
  readonly action: ApprovalVerdict['is'];
  readonly name: string;
  readonly isConditional: boolean;
  readonly read: (facts: CallFacts, effects: Effects) => ConditionReading;
};

export function approvalPolicyOf({ mode = 'off', trust, file }: ApprovalRules): ApprovalPolicy {
  const section = file?.section;
  const asked = section?.mode ?? mode;
  const trusted = (section === undefined || section.trust.length === 0 ? trust : section.trust).map((text) =>
    namePattern(text, 'exact'),
  );
  const reads = (section?.reads ?? []).map((text) => serverPattern(text, 'exact'));
  const where = file === undefined ? '' : ` in ${file.path}`;
  const rules = (section?.rules ?? []).map((rule, index) => ruleOf(rule, `approvals.rules.${index}${where}`));
  const always = section?.always ?? [];
  const modeName =
    section?.mode === undefined ? `MCP_BRIDGE_APPROVE=${asked}` : `approvals.mode ${asked}${where}`;

  const effectsOf = ({ server, tool, hints }: CallFacts): Effects => {
    const isTrusted = trusted.some((matches) => matches(server));
    const says = (hint: boolean | undefined, harmless: boolean) => isTrusted && hint === harmless;
    const isRead = reads.some((pattern) => pattern.coversTool(server, tool));
    const writes = !isRead && !says(hints?.readOnly, true);
    return {
      writes,
      destroys: writes && !says(hints?.destructive, false),
      reachesOut: !says(hints?.openWorld, false),
    };
  };

  const byMode = (effects: Effects): ApprovalVerdict => {
    const asks = { off: false, destructive: effects.destroys, writes: effects.writes, all: true }[asked];
    return asks ? { is: 'ask', rule: modeName, isConditional: false } : ALLOWED;
  };

  const judge = (facts: CallFacts): ApprovalVerdict => {
    const effects = effectsOf(facts);
    const fits = (rule: Rule) => counts(rule, rule.read(facts, effects));
    const denies = rules.find((rule) => rule.action === 'deny' && fits(rule));
    const first = denies ?? rules.find((rule) => rule.action !== 'deny' && fits(rule));
    const verdict: ApprovalVerdict =
      first === undefined
        ? byMode(effects)
        : { is: first.action, rule: first.name, isConditional: first.isConditional };
    if (verdict.is !== 'ask' || verdict.isConditional) return verdict;
    const { server, tool } = facts;
    const isAllowed = always.some((entry) => entry.server === server && entry.tool === tool);
    return isAllowed ? { is: 'allow', rule: `approvals.always${where}`, isConditional: false } : verdict;
  };

  return {
    isOn: asked !== 'off' || rules.some(({ action }) => action !== 'allow'),
    judge,
    readRules: (facts) => {
      const effects = effectsOf(facts);
      return rules.map((rule) => {
        const reading = rule.read(facts, effects);
        return { action: rule.action, rule: rule.name, ...reading, counts: counts(rule, reading) };
      });
    },
    isRead: (facts) => !effectsOf(facts).writes,
    patterns: section === undefined ? [] : patternsOf(section, where),
    file: file?.path,
  };
}

/** What nobody can tell is asked about or denied, and never allowed. */
const counts = ({ action }: Rule, { is }: ConditionReading): boolean =>
  is === 'met' || (is === 'unclear' && action !== 'allow');

function patternsOf(section: ApprovalSection, where: string): ApprovalPolicy['patterns'] {
  const ruled = (text: string, name: string) => ({
    ...serverPattern(text, 'wide'),
    rule: `${name} '${clipHarmless(text, 120)}'${where}`,
  });
  const trusted = section.trust.map((text) => {
    const matches = namePattern(text, 'exact');
    const rule = `approvals.trust '${clipHarmless(text, 120)}'${where}`;
    return {
      coversServer: matches,
      concernsServer: matches,
      coversTool: matches,
      coversRequest: matches,
      rule,
    };
  });
  return [
    ...trusted,
    ...section.reads.map((text) => ruled(text, 'approvals.reads')),
    ...section.rules.flatMap(({ tools = [] }, index) =>
      tools.map((text) => ruled(text, `approvals.rules.${index}.tools`)),
    ),
  ];
}

function ruleOf(
  { action, tools, is, when, principals }: ApprovalSection['rules'][number],
  name: string,
): Rule {
  // What allows means exact names, what asks or denies their look-alikes too.
  const reach: Reach = action === 'allow' ? 'exact' : 'wide';
  const patterns: readonly ServerPattern[] | undefined = tools?.map((text) => serverPattern(text, reach));
  const ids = principals?.map((text) => namePattern(text, reach));
  return {
    action,
    name: when === undefined ? name : `${name} (${clipHarmless(when, 120)})`,
    isConditional: when !== undefined,
    read: (facts, effects) => {
      const { server, tool, principal } = facts;
      const isNot = (why: string): ConditionReading => ({ is: 'not met', why });
      if (patterns?.some((pattern) => pattern.coversTool(server, tool)) === false)
        return isNot('its tools are others');
      if (ids?.some((matches) => matches(principal)) === false) return isNot('its principals are others');
      if (is !== undefined && !hasEffect(is, effects)) return isNot(`the tool is not ${is}`);
      return when === undefined ? { is: 'met' } : readCondition(when, facts);
    },
  };
}

function hasEffect(is: 'read' | 'write' | 'destructive' | 'open-world', effects: Effects): boolean {
  if (is === 'read') return !effects.writes;
  if (is === 'write') return effects.writes;
  return is === 'destructive' ? effects.destroys : effects.reachesOut;
}

const SEVERITY = { allow: 0, ask: 1, deny: 2 };

/** Two policies as one: the stricter of their verdicts holds, and a read is what both take for one. */
export const layeredApprovals = (first: ApprovalPolicy, second: ApprovalPolicy): ApprovalPolicy => ({
  isOn: first.isOn || second.isOn,
  judge: (facts) => {
    const [one, other] = [first.judge(facts), second.judge(facts)];
    const stricter = SEVERITY[other.is] > SEVERITY[one.is] ? other : one;
    return {
      ...stricter,
      isConditional: stricter.isConditional || (one.is === other.is && other.isConditional),
    };
  },
  readRules: (facts) => [...first.readRules(facts), ...second.readRules(facts)],
  isRead: (facts) => first.isRead(facts) && second.isRead(facts),
  patterns: [...first.patterns, ...second.patterns],
  // Of a principal: what it decides for good would be written into the operator's file.
  file: undefined,
});

/** Of whom nothing is known: nothing is a read. */
export const deniesAllCalls = (rule: string): ApprovalPolicy => ({
  isOn: true,
  judge: () => ({ is: 'deny', rule, isConditional: false }),
  readRules: () => [{ action: 'deny', rule, is: 'met', counts: true }],
  isRead: () => false,
  patterns: [],
  file: undefined,
});
