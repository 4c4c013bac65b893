// Which calls of tools wait for a person, by the policy: allow, ask or deny. Pure. What a tool says of itself is its server's
// own claim: what makes a call look harmless counts only of a server that the policy trusts, and what is not said is the worst.

import { namePattern, type Reach, type ServerPattern, serverPattern } from '../../base/text/name-pattern.js';
import { shownName } from '../../base/text/shown-name.js';
import { inOneLine } from '../../base/text/text.js';
import { makeVisible } from '../../base/text/unseen.js';
import { catalogKey, type DownstreamSpec } from '../../hosts/downstream-spec.js';
import type { ToolHints } from '../../servers/server/tool-list.js';
import type { SettingValues } from '../../settings/environment/variables.js';
import { type ConditionFacts, type ConditionReading, readCondition } from './condition.js';
import type { ApprovalSection } from './policy-file.js';

/** A call that is to be judged; `hints` are what its server says of the tool now. */
export type CallFacts = ConditionFacts & { readonly hints: ToolHints | undefined };

export type ApprovalVerdict = {
  readonly is: 'allow' | 'ask' | 'deny';
  /** A noun: `approvals.rules.2 in /p.yaml`. Where several ask, all of them: a decision about the call is one about these. */
  readonly rule: string;
  /** Whether one of them goes by the arguments: then nothing that is decided of the tool as a whole answers it. */
  readonly isConditional: boolean;
  /** Whether one of them counts only because nobody can tell: what is decided of such a call is decided of it alone. */
  readonly isUnclear?: boolean;
  /** Key that tells the server's entry from others of its name; undefined where unknown. A decision means this entry. */
  readonly entry?: string | undefined;
};

/** How one rule takes a call, for whoever asks why. */
export type RuleReading = ConditionReading & {
  readonly action: ApprovalVerdict['is'];
  /** Name of the rule, as in a verdict. */
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

const ALLOWED: ApprovalVerdict = { is: 'allow', rule: 'no rule', isConditional: false };

/** Effects of a tool that are known when the claims that do not count are taken away. */
type Effects = { readonly writes: boolean; readonly destroys: boolean; readonly reachesOut: boolean };

type Rule = {
  readonly action: ApprovalVerdict['is'];
  readonly name: string;
  readonly isConditional: boolean;
  readonly read: (facts: CallFacts, effects: Effects) => ConditionReading;
};

export function approvalPolicyOf({
  mode = 'off',
  trust,
  file,
  entryOf = () => undefined,
}: {
  readonly mode: SettingValues['approve'] | undefined;
  /** Patterns over servers, for a file that names none. */
  readonly trust: readonly string[];
  readonly file: { readonly path: string; readonly section: ApprovalSection | undefined } | undefined;
  /** The entry of a server; what was decided of its name does not hold for one that takes it. */
  readonly entryOf?: (server: string) => DownstreamSpec | undefined;
}): ApprovalPolicy {
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
    const isKnown = entryOf(server)?.takesName !== true;
    const isTrusted = isKnown && trusted.some((matches) => matches(server));
    const says = (hint: boolean | undefined, harmless: boolean) => isTrusted && hint === harmless;
    const isRead = isKnown && reads.some((pattern) => pattern.coversTool(server, tool));
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
    const { server, tool } = facts;
    const spec = entryOf(server);
    const isTaker = spec?.takesName === true;
    const effects = effectsOf(facts);
    const holding = isTaker ? rules.filter(({ action }) => action !== 'allow') : rules;
    const unclear = new Set<Rule>();
    const fitting = holding.filter((rule) => {
      const reading = rule.read(facts, effects);
      if (reading.is === 'unclear') unclear.add(rule);
      return counts(rule, reading);
    });
    const denies = fitting.filter(({ action }) => action === 'deny').slice(0, 1);
    const verdict =
      verdictOf(denies.length > 0 ? denies : decisiveRules(fitting), unclear) ?? byMode(effects);
    if (verdict.is !== 'ask') return verdict;
    const entry = spec && catalogKey(spec);
    // One that holds no entry's identity means the name.
    const isMeant = (held: string | undefined) => (held === undefined ? !isTaker : held === entry);
    const isAlways = (one: (typeof always)[number]) =>
      one.server === server && one.tool === tool && isMeant(one.entry);
    if (!verdict.isConditional && always.some(isAlways))
      return { is: 'allow', rule: `approvals.always${where}`, isConditional: false };
    return entry === undefined ? verdict : { ...verdict, entry };
  };

  return {
    isOn: asked !== 'off' || rules.some(({ action }) => action !== 'allow'),
    judge,
    readRules: (facts) => {
      const effects = effectsOf(facts);
      const isTaker = entryOf(facts.server)?.takesName === true;
      return rules.map((rule) => {
        const reading = rule.read(facts, effects);
        const isHeld = !isTaker || rule.action !== 'allow';
        return { action: rule.action, rule: rule.name, ...reading, counts: isHeld && counts(rule, reading) };
      });
    },
    isRead: (facts) => !effectsOf(facts).writes,
    patterns: section === undefined ? [] : patternsOf(section, where),
    file: file?.path,
  };
}

/** Whether a rule counts: where nobody can tell, a rule that asks or denies does, and one that allows does not. */
const counts = ({ action }: Rule, { is }: ConditionReading): boolean =>
  is === 'met' || (is === 'unclear' && action !== 'allow');

/** The first that fits, and where that one asks, every further one that asks ahead of one that allows. */
function decisiveRules(fitting: readonly Rule[]): readonly Rule[] {
  const end = fitting.findIndex(({ action }) => action === 'allow');
  return end === -1 ? fitting : fitting.slice(0, Math.max(end, 1));
}

/** Verdict of `rules`, whose action is the same; undefined without any. `unclear`: those whose condition nobody could tell. */
function verdictOf(rules: readonly Rule[], unclear: ReadonlySet<Rule>): ApprovalVerdict | undefined {
  const [first] = rules;
  if (first === undefined) return undefined;
  const rule = namesOfAll(rules.map(({ name }) => name));
  const isConditional = rules.some((one) => one.isConditional);
  const isUnclear = rules.some((one) => unclear.has(one));
  return { is: first.action, rule, isConditional, ...(isUnclear && { isUnclear }) };
}

/** Names of rules, as one noun. */
export const namesOfAll = (names: readonly string[]): string => [...new Set(names)].join(' and ');

function patternsOf(section: ApprovalSection, where: string): ApprovalPolicy['patterns'] {
  const ruled = (text: string, name: string) => ({
    ...serverPattern(text, 'wide'),
    rule: `${name} '${shownName(text)}'${where}`,
  });
  const trusted = section.trust.map((text) => {
    const matches = namePattern(text, 'exact');
    const rule = `approvals.trust '${shownName(text)}'${where}`;
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
  // A rule that allows means exact names, one that asks or denies their look-alikes too.
  const reach: Reach = action === 'allow' ? 'exact' : 'wide';
  const patterns: readonly ServerPattern[] | undefined = tools?.map((text) => serverPattern(text, reach));
  const ids = principals?.map((text) => namePattern(text, reach));
  return {
    action,
    name: when === undefined ? name : `${name} (${inOneLine(makeVisible(when))})`,
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

/** Two policies as one: the stricter verdict holds, or both where they are alike, and a read is what both take for one. */
export const layeredApprovals = (first: ApprovalPolicy, second: ApprovalPolicy): ApprovalPolicy => ({
  isOn: first.isOn || second.isOn,
  judge: (facts) => {
    const [one, other] = [first.judge(facts), second.judge(facts)];
    if (one.is === 'allow' || one.is !== other.is) return SEVERITY[other.is] > SEVERITY[one.is] ? other : one;
    const rule = namesOfAll([one.rule, other.rule]);
    const isUnclear = one.isUnclear === true || other.isUnclear === true;
    const isConditional = one.isConditional || other.isConditional;
    return { ...one, rule, isConditional, ...(isUnclear && { isUnclear }) };
  },
  readRules: (facts) => [...first.readRules(facts), ...second.readRules(facts)],
  isRead: (facts) => first.isRead(facts) && second.isRead(facts),
  patterns: [...first.patterns, ...second.patterns],
  // One of the two may be a principal's: what the principal decides for good would be written into the operator's file.
  file: undefined,
});

/** Policy for principals of whom nothing is known: all calls are denied, and nothing is a read. */
export const deniesAllCalls = (rule: string): ApprovalPolicy => ({
  isOn: true,
  judge: () => ({ is: 'deny', rule, isConditional: false }),
  readRules: () => [{ action: 'deny', rule, is: 'met', counts: true }],
  isRead: () => false,
  patterns: [],
  file: undefined,
});
