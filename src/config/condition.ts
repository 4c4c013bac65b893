// Conditions of the policy file on the arguments of a call: one expression of CEL each, over `args`, `server`, `tool` and
// `principal`. An expression reads values and does nothing; it is bounded in length, depth and time, since the arguments are
// hostile and a pattern in it may take for ever on them. Loaded with the first policy that has a condition.

import { createContext, Script } from 'node:vm';
import { linesOf } from '../base/text.js';
import { excessOf, hasRepeatedNames } from '../protocol/json-text.js';
import { celParser } from './parsers.js';

/** What an expression can name. `argumentsText` is a JSON text, and becomes `args`. */
export type ConditionFacts = {
  readonly server: string;
  readonly tool: string;
  /** Id of the principal; `local` for the user who started the bridge. */
  readonly principal: string;
  readonly argumentsText: string;
};

/** `unclear`: the arguments cannot be judged, or the expression has failed over them or has taken too long. */
export type ConditionVerdict = 'met' | 'not met' | 'unclear';

const MAX_CONDITION_CHARS = 2_000;
/** Larger arguments are not judged: no condition that a person writes is about them. */
const MAX_ARGUMENTS_CHARS = 1024 * 1024;
const ARGUMENTS_LIMITS = { maxDepth: 64, maxValues: 20_000 };
const LIMITS = { maxAstNodes: 500, maxDepth: 32, maxListElements: 200, maxMapEntries: 100 };
/** By the clock on the wall, so that a busy machine is no reason: one takes a millisecond. All runs wait meanwhile. */
const WITHIN_MS = 1_000;
/** How long one that has taken longer is not evaluated: arguments that are made for it come again and again. */
const RESTS_MS = 30_000;

type Expression = {
  readonly evaluate: (context: object) => unknown;
  /** By performance.now(): until when it is not evaluated, since it has taken too long. */
  restsUntil: number;
};

let environment: { parse(text: string): Parsed } | undefined;
type Parsed = {
  (context: object): unknown;
  check(): { readonly valid: boolean; readonly type?: string; readonly error?: { readonly message: string } };
};
const parsed = new Map<string, Expression | { readonly trouble: string }>();
const MAX_REMEMBERED = 1_000;

/** What is wrong with an expression, as the end of a sentence about it; undefined where nothing is. */
export function conditionTrouble(text: string): string | undefined {
  const expression = expressionOf(text);
  return 'trouble' in expression ? expression.trouble : undefined;
}

/** Never throws. */
export function judgeCondition(text: string, facts: ConditionFacts): ConditionVerdict {
  const expression = expressionOf(text);
  const args = argumentsOf(facts.argumentsText);
  if ('trouble' in expression || args === undefined) return 'unclear';
  if (performance.now() < expression.restsUntil) return 'unclear';
  const { server, tool, principal } = facts;
  try {
    const value = bounded(() => expression.evaluate({ args, server, tool, principal }));
    if (typeof value !== 'boolean') return 'unclear';
    return value ? 'met' : 'not met';
  } catch (thrown) {
    if (Object(thrown).code === TIMED_OUT) expression.restsUntil = performance.now() + RESTS_MS;
    return 'unclear';
  }
}

/** What V8 says of a script that was ended. */
const TIMED_OUT = 'ERR_SCRIPT_EXECUTION_TIMEOUT';

function expressionOf(text: string): Expression | { readonly trouble: string } {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const made = parse(text);
  if (parsed.size >= MAX_REMEMBERED) parsed.clear();
  parsed.set(text, made);
  return made;
}

function parse(text: string): Expression | { readonly trouble: string } {
  if (text.length > MAX_CONDITION_CHARS)
    return { trouble: `has ${text.length} characters; at most ${MAX_CONDITION_CHARS} are taken` };
  try {
    const evaluate = environmentOnce().parse(text);
    const { valid, type = '', error } = evaluate.check();
    if (!valid) return { trouble: `is no expression of CEL: ${firstLine(error?.message)}` };
    if (type !== 'bool' && type !== 'dyn') return { trouble: `is of type ${type} and not true or false` };
    return { evaluate, restsUntil: 0 };
  } catch (thrown) {
    return { trouble: `is no expression of CEL: ${firstLine(Object(thrown).message)}` };
  }
}

function environmentOnce(): { parse(text: string): Parsed } {
  if (environment !== undefined) return environment;
  const { Environment } = celParser();
  environment = new Environment({ unlistedVariablesAreDyn: false, limits: LIMITS })
    .registerVariable('args', 'dyn')
    .registerVariable('server', 'string')
    .registerVariable('tool', 'string')
    .registerVariable('principal', 'string');
  return environment;
}

const firstLine = (message = ''): string => linesOf(message)[0] ?? '';

/**
 * Undefined where different readers could read different arguments: a name that is there twice, and a number that is no
 * double. What a condition would look at need not be what the server does.
 */
function argumentsOf(text: string): unknown {
  if (text.length > MAX_ARGUMENTS_CHARS || excessOf(text, ARGUMENTS_LIMITS) !== undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text, (_name, member: unknown) => {
      if (typeof member === 'number' && !isExact(member)) throw new RangeError();
      return member;
    });
    return hasRepeatedNames(text) ? undefined : value;
  } catch {
    return undefined;
  }
}

const isExact = (number: number): boolean =>
  Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number));

let clock: { work: () => unknown; readonly run: () => unknown } | undefined;

/** The value of `work`; throws where it takes too long. Only V8 can end a regular expression that is under way. */
function bounded(work: () => unknown): unknown {
  if (clock === undefined) {
    const made: { work: () => unknown; run: () => unknown } = { work, run: () => undefined };
    const context = createContext({ work: () => made.work() });
    const script = new Script('work()');
    made.run = () => script.runInContext(context, { timeout: WITHIN_MS });
    clock = made;
  }
  clock.work = work;
  return clock.run();
}
