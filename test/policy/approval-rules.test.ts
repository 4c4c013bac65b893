// Which calls wait for a person: by the mode, the tool's own annotations, the rules, and by whom they are.

import { describe, expect, it } from 'vitest';
import {
  approvalPolicyOf,
  type CallFacts,
  deniesAllCalls,
  layeredApprovals,
} from '../../src/policy/rules/approval-rules.js';
import type { ApprovalSection } from '../../src/policy/rules/policy-file.js';
import type { ToolHints } from '../../src/servers/server/tool-list.js';

type ApprovalRules = Parameters<typeof approvalPolicyOf>[0];

const NOTHING: ApprovalSection = { trust: [], reads: [], rules: [], always: [] };
const policy = (section: Partial<ApprovalSection>, more: Partial<ApprovalRules> = {}, path = '/p.yaml') =>
  approvalPolicyOf({
    mode: 'off',
    trust: [],
    file: { path, section: { ...NOTHING, ...section } },
    ...more,
  });
const facts = (more: Partial<CallFacts> = {}): CallFacts => ({
  server: 'desk',
  tool: 'erase',
  principal: 'local',
  argumentsText: '{}',
  hints: undefined,
  ...more,
});
const hints = (more: Partial<ToolHints>): ToolHints => ({
  readOnly: undefined,
  destructive: undefined,
  openWorld: undefined,
  ...more,
});
const READS = hints({ readOnly: true });
const ADDS = hints({ readOnly: false, destructive: false });

describe('the mode', () => {
  const asks = (mode: ApprovalRules['mode'], trusted: boolean, said: ToolHints | undefined) =>
    approvalPolicyOf({ mode, trust: trusted ? ['desk'] : [], file: undefined }).judge(facts({ hints: said }))
      .is;

  it.each([
    ['off', true, undefined, 'allow'],
    ['destructive', true, READS, 'allow'],
    ['destructive', true, ADDS, 'allow'],
    ['destructive', true, undefined, 'ask'],
    ['destructive', true, hints({ readOnly: true, destructive: true }), 'allow'],
    ['destructive', false, READS, 'ask'],
    ['destructive', false, ADDS, 'ask'],
    ['writes', true, READS, 'allow'],
    ['writes', true, ADDS, 'ask'],
    ['all', true, READS, 'ask'],
  ] as const)('%s, trusted: %s, %o: %s', (mode, trusted, said, verdict) => {
    expect(asks(mode, trusted, said)).toBe(verdict);
  });

  it('of the file comes before that of the setting, and names itself', () => {
    const { judge } = policy({ mode: 'all' });
    expect(judge(facts())).toEqual({
      is: 'ask',
      rule: 'approvals.mode all in /p.yaml',
      isConditional: false,
    });
    expect(policy({ mode: 'off' }, { mode: 'all' }).judge(facts()).is).toBe('allow');
    expect(policy({}, { mode: 'all' }).judge(facts()).rule).toBe('MCP_BRIDGE_APPROVE=all');
  });
});

describe('rules', () => {
  it('one that denies counts wherever it stands; else the first that fits', () => {
    const rules: ApprovalSection['rules'] = [
      { action: 'allow', tools: ['desk.*'] },
      { action: 'ask', tools: ['desk.erase'] },
      { action: 'deny', tools: ['desk.erase_all'] },
    ];
    const { judge } = policy({ rules });
    expect(judge(facts())).toMatchObject({ is: 'allow', rule: 'approvals.rules.0 in /p.yaml' });
    expect(judge(facts({ tool: 'erase_all' }))).toMatchObject({
      is: 'deny',
      rule: 'approvals.rules.2 in /p.yaml',
    });
  });

  it('all that ask ahead of the first that allows ask together', () => {
    const rules: ApprovalSection['rules'] = [
      { action: 'ask', tools: ['desk.erase'] },
      { action: 'ask', when: 'args.amount > 100' },
      { action: 'allow', tools: ['desk'] },
      { action: 'ask' },
    ];
    const { judge } = policy({ rules });
    expect(judge(facts({ argumentsText: '{"amount":50}' }))).toEqual({
      is: 'ask',
      rule: 'approvals.rules.0 in /p.yaml',
      isConditional: false,
    });
    expect(judge(facts({ argumentsText: '{"amount":500}' }))).toEqual({
      is: 'ask',
      rule: 'approvals.rules.0 in /p.yaml and approvals.rules.1 in /p.yaml (args.amount > 100)',
      isConditional: true,
    });
    expect(judge(facts({ tool: 'list', argumentsText: '{"amount":50}' })).is).toBe('allow');
  });

  it('what asks or denies means look-alikes too, what allows means the name', () => {
    const wide = policy({ rules: [{ action: 'ask', tools: ['desk.erase'] }] });
    expect(wide.judge(facts({ tool: 'ERASE' })).is).toBe('ask');
    const exact = policy({ rules: [{ action: 'allow', tools: ['desk.erase'] }], mode: 'all' });
    expect(exact.judge(facts({ tool: 'ERASE' })).is).toBe('ask');
    expect(exact.judge(facts()).is).toBe('allow');
  });

  it('go by annotations, which are believed of a trusted server only', () => {
    const rules: ApprovalSection['rules'] = [
      { action: 'allow', is: 'read' },
      { action: 'ask', is: 'open-world' },
    ];
    const { judge } = policy({ rules, trust: ['desk'] });
    expect(judge(facts({ hints: READS })).is).toBe('allow');
    expect(judge(facts({ hints: hints({ openWorld: false }) })).is).toBe('allow');
    expect(judge(facts()).is).toBe('ask');
    expect(judge(facts({ server: 'till', hints: READS })).is).toBe('ask');
  });

  it('may name a principal', () => {
    const { judge } = policy({ rules: [{ action: 'ask', principals: ['token:*'] }] });
    expect(judge(facts()).is).toBe('allow');
    expect(judge(facts({ principal: 'token:ann#1' })).is).toBe('ask');
  });

  it('by arguments; what cannot be told is asked about, denied, and never allowed', () => {
    const rule = (action: 'allow' | 'ask' | 'deny') =>
      policy({ rules: [{ action, when: 'args.amount > 100' }], mode: 'all' }).judge;
    const of = (amount: unknown) => facts({ argumentsText: JSON.stringify({ amount }) });
    expect(rule('ask')(of(500))).toMatchObject({ is: 'ask', isConditional: true });
    expect(rule('deny')(of('many')).is).toBe('deny');
    expect(rule('allow')(of(500)).is).toBe('allow');
    expect(rule('allow')(of('many'))).toMatchObject({ is: 'ask', rule: 'approvals.mode all in /p.yaml' });
  });
});

describe('each rule by itself, for whoever asks why', () => {
  const rules: ApprovalSection['rules'] = [
    { action: 'deny', tools: ['till'] },
    { action: 'ask', principals: ['token:*'] },
    { action: 'ask', is: 'read' },
    { action: 'deny', when: 'args.amount > 100' },
    { action: 'allow', when: 'args.amount > 100' },
    { action: 'allow' },
  ];
  const states = (argumentsText: string, more: Partial<CallFacts> = {}) =>
    policy({ rules })
      .readRules(facts({ argumentsText, ...more }))
      .map(({ is, counts, why = '' }) => `${is}${counts ? ' +' : ''} ${why}`.trim());

  it('is met, unclear or not met, and counts as its action says', () => {
    const others = [
      'not met its tools are others',
      'not met its principals are others',
      'not met the tool is not read',
    ];
    expect(states('{"amount":500}')).toEqual([...others, 'met +', 'met +', 'met +']);
    expect(states('{"amount":50}')).toEqual([...others, 'not met', 'not met', 'met +']);
    const why = "there is no 'amount', which has(…) would tell";
    expect(states('{}')).toEqual([...others, `unclear + ${why}`, `unclear ${why}`, 'met +']);
  });

  it('goes by the schema of the tool', () => {
    const inputSchema = { properties: { amount: { type: 'integer' } } };
    const why = "'amount' is a number with a fraction, and the tool's schema says integer";
    expect(states('{"amount":5.5}', { inputSchema }).slice(3, 5)).toEqual([
      `unclear + ${why}`,
      `unclear ${why}`,
    ]);
    const { judge } = policy({ rules });
    expect(judge(facts({ argumentsText: '{"amount":5.5}', inputSchema })).is).toBe('deny');
    expect(judge(facts({ argumentsText: '{"amount":5.5}' })).is).toBe('allow');
  });

  it('tells of two policies one after the other', () => {
    const both = layeredApprovals(policy({ rules }), deniesAllCalls('a rule'));
    expect(both.readRules(facts()).map(({ rule, action }) => [rule, action])).toHaveLength(7);
    expect(both.readRules(facts()).at(-1)).toEqual({
      action: 'deny',
      rule: 'a rule',
      is: 'met',
      counts: true,
    });
  });
});

describe('what was allowed for good', () => {
  const always = [{ server: 'desk', tool: 'erase' }];

  it('is asked about no more, by exact names', () => {
    const { judge } = policy({ mode: 'all', always });
    expect(judge(facts())).toMatchObject({ is: 'allow', rule: 'approvals.always in /p.yaml' });
    expect(judge(facts({ tool: 'ERASE' })).is).toBe('ask');
  });

  it('but for what goes by its arguments, and what is denied', () => {
    const when = policy({ always, rules: [{ action: 'ask', when: 'true' }] });
    expect(when.judge(facts()).is).toBe('ask');
    const denied = policy({ always, rules: [{ action: 'deny', tools: ['desk'] }] });
    expect(denied.judge(facts()).is).toBe('deny');
  });
});

describe('what a plan may execute', () => {
  it.each([
    ['what a trusted server says that only reads', { trust: ['desk'] }, READS, true],
    ['what another one says', {}, READS, false],
    ['what the policy says', { reads: ['desk.erase'] }, undefined, true],
    ['nothing else', { trust: ['desk'] }, ADDS, false],
  ] as const)('%s', (_what, section, said, isRead) => {
    expect(policy(section).isRead(facts({ hints: said }))).toBe(isRead);
  });
});

describe('two policies', () => {
  it('the stricter one holds, and nothing can be written into a file', () => {
    const asks = policy({ mode: 'all' });
    const allows = policy({ rules: [{ action: 'allow' }], reads: ['desk'] });
    for (const both of [layeredApprovals(asks, allows), layeredApprovals(allows, asks)]) {
      expect(both.judge(facts()).is).toBe('ask');
      expect(both.isRead(facts())).toBe(false);
      expect(both.file).toBeUndefined();
      expect(both.isOn).toBe(true);
    }
    const denies = layeredApprovals(asks, deniesAllCalls('a rule'));
    expect(denies.judge(facts())).toMatchObject({ is: 'deny', rule: 'a rule' });
  });

  it('where both ask, both say why, and once where they say the same', () => {
    const asks = (path: string, ...conditions: readonly string[]) =>
      policy({ rules: conditions.map((when) => ({ action: 'ask', when }) as const) }, {}, path);
    const people = facts({ argumentsText: '{"to":"eve"}' });
    const operators = asks('/o.yaml', 'args.to != ""');
    const own = asks('/p.yaml', 'args.to == "eve"');
    expect(layeredApprovals(operators, own).judge(people)).toEqual({
      is: 'ask',
      rule: 'approvals.rules.0 in /o.yaml (args.to != "") and approvals.rules.0 in /p.yaml (args.to == "eve")',
      isConditional: true,
    });
    expect(layeredApprovals(own, own).judge(people).rule).toBe(own.judge(people).rule);
    const mother = facts({ argumentsText: '{"to":"mother"}' });
    expect(layeredApprovals(operators, own).judge(mother).rule).toBe(operators.judge(mother).rule);
    const denies = layeredApprovals(deniesAllCalls('one'), deniesAllCalls('the other'));
    expect(denies.judge(people).rule).toBe('one and the other');
  });

  it('names every pattern, for those who look whether it means something', () => {
    const { patterns } = policy({
      trust: ['desk'],
      reads: ['db.query'],
      rules: [{ action: 'ask', tools: ['bank.pay', 'bank.send_*'] }],
    });
    expect(patterns.map(({ rule }) => rule)).toEqual([
      "approvals.trust 'desk' in /p.yaml",
      "approvals.reads 'db.query' in /p.yaml",
      "approvals.rules.0.tools 'bank.pay' in /p.yaml",
      "approvals.rules.0.tools 'bank.send_*' in /p.yaml",
    ]);
    expect(patterns.map(({ concernsServer }) => concernsServer('bank'))).toEqual([false, false, true, true]);
  });

  it('says whether it can ask at all', () => {
    expect(policy({}).isOn).toBe(false);
    expect(policy({ rules: [{ action: 'allow' }] }).isOn).toBe(false);
    expect(policy({ rules: [{ action: 'deny', when: 'true' }] }).isOn).toBe(true);
  });
});
