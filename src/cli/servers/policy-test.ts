// `policy test`: what the policy makes of one call, rule by rule, and why. Starts nothing and sends nothing: what it knows of
// the tool is what was kept when its server was last started.

import { wellFormedJson } from '../../base/json/json-text.js';
import { LOCAL_USER } from '../../base/principal.js';
import { ownCommand } from '../../base/process/own-command.js';
import { didYouMean } from '../../base/text/closest.js';
import { discover } from '../../hosts/discovery/discover.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import type { CallFacts, RuleReading } from '../../policy/rules/approval-rules.js';
import type { Policy } from '../../policy/rules/policy.js';
import { changeWords, KeptCatalog, refreshCommand } from '../../servers/catalog/kept-catalog.js';
import { prepare } from '../serving/prepare.js';
import { columns } from '../terminal/columns.js';
import { coloursFor, printJson, usageError, visibleText } from '../terminal/output.js';

import { paragraph, widthOf } from '../terminal/wrap.js';

const SUCH_AS = 'Such as: bank.pay \'{"amount":500}\'';

/** `words` are the call as plans and questions show it: `server.tool {…}`, in one word or several. */
export function policyTest(
  words: readonly string[],
  options: { readonly principal?: string; readonly json?: true },
): void {
  const { discovery: context, settings, policyBook } = prepare('error', 'ends');
  const { ready } = discover(context, () => {});
  const { spec, tool, argumentsText } = callOf(words.join(' '), ready);
  const kept = new KeptCatalog(settings.stateDir, () => {}).of(spec);
  const listed = kept?.tools().find(({ name }) => name === tool);
  const change = kept?.changes.get(tool);
  const changed = change === undefined ? null : changeWords(change, spec.name);
  const policy = policyBook.policy(ready);
  const facts: CallFacts = {
    server: spec.name,
    tool,
    principal: options.principal ?? LOCAL_USER.id,
    argumentsText,
    inputSchema: listed?.inputSchema,
    hints: listed?.hints,
  };
  const outcome = outcomeOf(policy, facts, changed);
  const rules = policy.approvals.readRules(facts);
  if (options.json)
    return printJson({
      server: spec.name,
      tool,
      arguments: argumentsText,
      principal: facts.principal,
      isKnown: listed !== undefined,
      ...outcome,
      rules,
    });
  process.stdout.write(
    testedText({
      call: `${spec.name}.${tool} ${argumentsText}`,
      outcome,
      rules,
      learn: listed === undefined ? refreshCommand(spec.name) : undefined,
      goesByClaims: policy.approvals.isOn,
    }),
  );
}

export type Tested = {
  readonly call: string;
  readonly outcome: { readonly is: 'allow' | 'ask' | 'deny'; readonly rule: string };
  readonly rules: readonly RuleReading[];
  /** The command that learns what the tool is; undefined where that is known. */
  readonly learn: string | undefined;
  /** Whether the server's claims about the tool could make a difference. */
  readonly goesByClaims: boolean;
};

export function testedText({ call, outcome: { is, rule }, rules, learn, goesByClaims }: Tested): string {
  const parts = [paragraph(`${VERBS[is]} by ${visibleText(rule)}: ${visibleText(call)}`)];
  if (rules.length > 0) parts.push(rulesText(rules));
  if (learn !== undefined)
    parts.push(
      paragraph(`This tool is not known yet, so its schema was not checked. To learn it: \`${learn}\``),
    );
  if (goesByClaims)
    parts.push(
      paragraph(
        'What the server says about the effect of the tool is known only while it runs. Without that, the tool counts as one that may destroy something.',
      ),
    );
  return parts.join('\n');
}

const VERBS = { allow: 'Allowed', ask: 'Asked about', deny: 'Denied' };

function outcomeOf(policy: Policy, facts: CallFacts, changed: string | null): Tested['outcome'] {
  const { server, tool } = facts;
  for (const verdict of [policy.server(server), policy.tool(server, { name: tool, changed })])
    if (!verdict.allowed) return { is: 'deny', rule: verdict.rule };
  const { is, rule } = policy.approvals.judge(facts);
  return { is, rule };
}

function rulesText(rules: readonly RuleReading[]): string {
  const paint = coloursFor(process.stdout);
  const rows = rules.map(({ action, rule, is, why, counts }) => {
    const counted = is === 'unclear' ? `, counts as ${counts ? 'met' : 'not met'}` : '';
    const state = `${is}${counted}`;
    return [
      action,
      counts ? paint.bold(state) : state,
      visibleText(rule),
      why === undefined ? '' : visibleText(why),
    ];
  });
  const head = ['does', 'is', 'rule', 'why'].map((title) => paint.dim(title));
  return columns([head, ...rows], { width: widthOf(process.stdout), wraps: [2, 3] });
}

/** The call that `text` says. Throws E_ARGUMENTS. */
function callOf(
  text: string,
  ready: readonly DownstreamSpec[],
): { readonly spec: DownstreamSpec; readonly tool: string; readonly argumentsText: string } {
  const brace = text.indexOf('{');
  const name = (brace < 0 ? text : text.slice(0, brace)).trim();
  const argumentsText = wellFormedJson(brace < 0 ? '{}' : text.slice(brace));
  // Names of servers may have dots of their own, and so may those of tools.
  const splits = [...name.matchAll(/\./g)]
    .map(({ index }) => ({ server: name.slice(0, index), tool: name.slice(index + 1) }))
    .reverse();
  const last = splits[0];
  if (last === undefined || name.endsWith('.') || name.startsWith('.'))
    throw usageError(
      `The call is '${visibleText(name)}'; allowed: the server's name, a dot, the tool's name, and then its arguments as JSON.`,
      SUCH_AS,
    );
  for (const { server, tool } of splits) {
    const spec = ready.find((one) => one.name === server);
    if (spec !== undefined) return { spec, tool, argumentsText: checkJson(argumentsText) };
  }
  const names = ready.map((spec) => spec.name);
  throw usageError(
    `No server is called '${visibleText(last.server)}'.${didYouMean(last.server, names)}`,
    `\`${ownCommand('servers')}\` lists them.`,
  );
}

function checkJson(argumentsText: string): string {
  try {
    JSON.parse(argumentsText);
    return argumentsText;
  } catch (thrown) {
    throw usageError(
      `The arguments are not JSON (${visibleText(String(Object(thrown).message))}); allowed: one object.`,
      `${SUCH_AS}, in quotes of the shell.`,
    );
  }
}
