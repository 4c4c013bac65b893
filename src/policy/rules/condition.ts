// Conditions of the policy file on the arguments of a call: one expression of CEL each, over `args`, `server`, `tool` and
// `principal`. An expression reads values and does nothing; it is bounded in length, depth and time, since the arguments are
// hostile and a pattern in it may take for ever on them. Loaded with the first policy that has a condition.

import { createContext, Script } from 'node:vm';
import { excessOf, hasRepeatedNames, inexactNumber } from '../../base/json/json-text.js';
import type { JsonObject } from '../../base/json/records.js';
import { clipHarmlessLine, linesOf } from '../../base/text/text.js';
import { type CelEnvironment, type CelNode, celParser } from '../../settings/files/parsers.js';
import {
  areSame,
  doubtWhatFitsNot,
  has,
  isSameName,
  isSameWithin,
  itemsOf,
  member,
  namedWithin,
  size,
} from './either-reading.js';

/** Facts that an expression can name. `argumentsText` is a JSON text, and becomes `args`. */
export type ConditionFacts = {
  readonly server: string;
  readonly tool: string;
  /** Id of the principal; `local` for the user who started the bridge. */
  readonly principal: string;
  readonly argumentsText: string;
  /** Schema that the server gives of the tool's arguments; undefined where nobody knows it. */
  readonly inputSchema?: JsonObject | undefined;
};

/**
 * `unclear`: readers may take the arguments differently, or the expression has failed over them or has taken too long. An
 * unclear condition counts as met where a rule asks or denies, and as not met where it allows.
 */
export type ConditionReading = {
  readonly is: 'met' | 'not met' | 'unclear';
  /** Why it is unclear, or is not met without having been looked at. */
  readonly why?: string;
};

const MAX_CONDITION_CHARS = 2_000;
/** Larger arguments are not judged: no condition that a person writes is about them. */
const MAX_ARGUMENTS_CHARS = 1024 * 1024;
const ARGUMENTS_LIMITS = { maxDepth: 64, maxValues: 20_000 };
const LIMITS = { maxAstNodes: 500, maxDepth: 32, maxListElements: 200, maxMapEntries: 100 };
/** Limits for an expression that keeps to LIMITS, once it is written anew. */
const STRICT_LIMITS = { maxAstNodes: 50_000, maxDepth: 200, maxListElements: 500, maxMapEntries: 100 };
const MAX_WHY_CHARS = 300;
/** Wall-clock limit of one evaluation, long enough on a busy machine: one takes a millisecond. All runs wait meanwhile. */
const WITHIN_MS = 1_000;
/** How long one that has taken longer is not evaluated: arguments that are made for it come again and again. */
const RESTS_MS = 30_000;

let environments: { readonly plain: CelEnvironment; readonly strict: CelEnvironment } | undefined;
const parsed = new Map<string, ReturnType<typeof parse>>();
const MAX_REMEMBERED = 1_000;

/** Fault of an expression, as the end of a sentence about it; undefined where there is none. */
export function conditionTrouble(text: string): string | undefined {
  const expression = expressionOf(text);
  return 'trouble' in expression ? expression.trouble : undefined;
}

/** Never throws. */
export function readCondition(text: string, facts: ConditionFacts): ConditionReading {
  const expression = expressionOf(text);
  if ('trouble' in expression) return unclearReading(`the condition ${expression.trouble}`);
  if (performance.now() < expression.restsUntil) return unclearReading(TOOK_TOO_LONG);
  const { server, tool, principal } = facts;
  let args: unknown;
  try {
    // Only an expression needs the clock: the work of reading arguments is bounded by their size.
    args = argumentsOf(facts);
  } catch (thrown) {
    return unclearReading(messageOf(thrown));
  }
  try {
    const value = runBounded(() => expression.evaluate({ args, server, tool, principal }));
    if (typeof value !== 'boolean') return unclearReading('it is neither true nor false');
    return { is: value ? 'met' : 'not met' };
  } catch (thrown) {
    if (!wasTimedOut(thrown)) return unclearReading(messageOf(thrown));
    expression.restsUntil = performance.now() + RESTS_MS;
    return unclearReading(TOOK_TOO_LONG);
  }
}

const wasTimedOut = (thrown: unknown): boolean => Object(thrown).code === TIMED_OUT;
const messageOf = (thrown: unknown): string => firstLine(Object(thrown).message);

const TOOK_TOO_LONG = 'it has taken too long, and is not tried for a while';

const unclearReading = (why: string): ConditionReading => ({
  is: 'unclear',
  why: clipHarmlessLine(why, MAX_WHY_CHARS),
});

/** Error code for a script that was ended because it took too long. */
const TIMED_OUT = 'ERR_SCRIPT_EXECUTION_TIMEOUT';

function expressionOf(text: string): ReturnType<typeof parse> {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const made = parse(text);
  if (parsed.size >= MAX_REMEMBERED) parsed.clear();
  parsed.set(text, made);
  return made;
}

function parse(text: string):
  | {
      readonly evaluate: (context: object) => unknown;
      /** Until when the expression is not evaluated, since it has taken too long; by performance.now(). */
      restsUntil: number;
    }
  | { readonly trouble: string } {
  if (text.length > MAX_CONDITION_CHARS)
    return { trouble: `has ${text.length} characters; at most ${MAX_CONDITION_CHARS} are allowed` };
  try {
    const { plain, strict } = environmentsOnce();
    const asWritten = plain.parse(text);
    const { valid, type = '', error } = asWritten.check();
    if (!valid) return { trouble: `is not a CEL expression: ${firstLine(error?.message)}` };
    if (type !== 'bool' && type !== 'dyn') return { trouble: `is of type ${type} and not true or false` };
    return { evaluate: strict.parse(strictExpression(text, asWritten.ast)), restsUntil: 0 };
  } catch (thrown) {
    return { trouble: `is not a CEL expression: ${messageOf(thrown)}` };
  }
}

function environmentsOnce() {
  if (environments !== undefined) return environments;
  const { Environment } = celParser();
  const withFacts = (limits: typeof LIMITS) =>
    new Environment({ unlistedVariablesAreDyn: false, limits })
      .registerVariable('args', 'dyn')
      .registerVariable('server', 'string')
      .registerVariable('tool', 'string')
      .registerVariable('principal', 'string');
  const strict = withFacts(STRICT_LIMITS)
    .registerFunction(`${STRICT.member}(dyn, dyn): dyn`, member)
    .registerFunction(`${STRICT.has}(dyn, dyn): bool`, has)
    .registerFunction(`${STRICT.same}(dyn, dyn): bool`, areSame)
    .registerFunction(`${STRICT.named}(dyn, dyn): bool`, isSameName)
    .registerFunction(`${STRICT.within}(dyn, dyn): bool`, isSameWithin)
    .registerFunction(`${STRICT.namedWithin}(dyn, dyn): bool`, namedWithin)
    .registerFunction(`${STRICT.size}(dyn): int`, size)
    .registerFunction(`${STRICT.each}(dyn, dyn): dyn`, itemsOf);
  environments = { plain: withFacts(LIMITS), strict };
  return environments;
}

const firstLine = (message = ''): string => linesOf(message)[0] ?? '';

/** Arguments that were read last: one call is judged by several conditions. */
let last: (Pick<ConditionFacts, 'argumentsText' | 'inputSchema'> & { readonly args: unknown }) | undefined;

/** Throws a sentence where readers could read different arguments altogether. */
function argumentsOf({
  argumentsText,
  inputSchema,
}: Pick<ConditionFacts, 'argumentsText' | 'inputSchema'>): unknown {
  if (last?.argumentsText !== argumentsText || last.inputSchema !== inputSchema)
    last = { argumentsText, inputSchema, args: readArguments({ argumentsText, inputSchema }) };
  return last.args;
}

function readArguments({
  argumentsText: text,
  inputSchema,
}: Pick<ConditionFacts, 'argumentsText' | 'inputSchema'>): unknown {
  if (text.length > MAX_ARGUMENTS_CHARS)
    throw new Error(`the arguments have ${text.length} characters; at most ${MAX_ARGUMENTS_CHARS} are read`);
  const excess = excessOf(text, ARGUMENTS_LIMITS);
  if (excess !== undefined) throw new Error(`what the arguments say ${excess}`);
  const args = parsedArguments(text);
  const inexact = inexactNumber(text);
  if (inexact !== undefined) throw new Error(`${inexact} is a number that is not kept exactly`);
  if (hasRepeatedNames(text)) throw new Error('a name is there twice');
  if (inputSchema !== undefined) doubtWhatFitsNot(args, inputSchema);
  return args;
}

function parsedArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('the arguments are not JSON');
  }
}

let clock: { work: () => unknown; readonly run: () => unknown } | undefined;

/** The value of `work`; throws where it takes too long. Only V8 can end a regular expression that is under way. */
function runBounded(work: () => unknown): unknown {
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

// A condition of CEL, written anew so that what readers of JSON take differently is an error in it and not an answer: CEL says
// that "true" and true are not equal, and a server that reads both as true does what the condition forbids. Names of members,
// comparisons, sizes and what is gone through become calls of functions (either-reading.ts). An error is what CEL has for
// `nobody knows`: `false && error` is false, `true && error` an error.

/** The functions; whoever writes a condition cannot name them. */
const STRICT = {
  member: 'strictMember',
  has: 'strictHas',
  same: 'strictSame',
  named: 'strictNamed',
  within: 'strictWithin',
  namedWithin: 'strictNamedWithin',
  size: 'strictSize',
  each: 'strictEach',
} as const;

/** Facts of the bridge's own, of which look-alikes count. */
const NAMES: ReadonlySet<unknown> = new Set(['server', 'tool', 'principal']);
/** Macros that go through a list, or the names of a map. */
const GO_THROUGH: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);

/** `source` is the text that `ast` was made of. */
function strictExpression(source: string, ast: CelNode): string {
  const texts: string[] = [];
  collectTexts(ast, texts);
  const mentioned = `[${texts.map(celString).join(', ')}]`;

  const call = (name: string, ...args: readonly string[]) => `${name}(${args.join(', ')})`;
  const compared = (left: CelNode, right: CelNode): string => {
    // An expression that says null means null.
    if (isNull(left) || isNull(right)) return `(${write(left)} == ${write(right)})`;
    return call(isName(left) || isName(right) ? STRICT.named : STRICT.same, write(left), write(right));
  };
  const write = (node: CelNode): string => {
    switch (node.op) {
      case 'value':
        return source.slice(node.start, node.end);
      case 'id':
        return node.args;
      case '.':
        return call(STRICT.member, write(node.args[0]), celString(node.args[1]));
      case '[]':
        return call(STRICT.member, write(node.args[0]), write(node.args[1]));
      case '==':
        return compared(...node.args);
      case '!=':
        return `!${compared(...node.args)}`;
      case 'in': {
        const [item, whole] = node.args;
        return call(isName(item) ? STRICT.namedWithin : STRICT.within, write(item), write(whole));
      }
      case 'call': {
        const [name, args] = node.args;
        const [first] = args;
        if (name === 'has' && first?.op === '.')
          return call(STRICT.has, write(first.args[0]), celString(first.args[1]));
        return call(name === 'size' ? STRICT.size : name, ...args.map(write));
      }
      case 'rcall': {
        const [name, receiver, args] = node.args;
        if (name === 'size' && args.length === 0) return call(STRICT.size, write(receiver));
        const of = GO_THROUGH.has(name) ? call(STRICT.each, write(receiver), mentioned) : write(receiver);
        return `${of}.${call(name, ...args.map(write))}`;
      }
      case 'list':
        return `[${node.args.map(write).join(', ')}]`;
      case 'map':
        return `{${node.args.map(([key, value]) => `${write(key)}: ${write(value)}`).join(', ')}}`;
      case '?:': {
        const [condition, yes, no] = node.args;
        return `(${write(condition)} ? ${write(yes)} : ${write(no)})`;
      }
      case '!_':
        return `(!${write(node.args)})`;
      case '-_':
        return `(-${write(node.args)})`;
      case '.?':
      case '[?]':
        throw new Error('optional members are not known here');
      default: {
        const [left, right] = node.args;
        return `(${write(left)} ${node.op} ${write(right)})`;
      }
    }
  };
  return write(ast);
}

const isNull = (node: CelNode): boolean => node.op === 'value' && node.args === null;
const isName = (node: CelNode): boolean => node.op === 'id' && NAMES.has(node.args);

/** Names of members, and all texts, one of which may be such a name. */
function collectTexts(part: unknown, texts: string[]): void {
  if (Array.isArray(part)) for (const item of part) collectTexts(item, texts);
  else if (isNode(part)) {
    if (part.op === 'value' && typeof part.args === 'string') texts.push(part.args);
    if (part.op === '.') texts.push(part.args[1]);
    collectTexts(part.args, texts);
  }
}

const isNode = (part: unknown): part is CelNode =>
  typeof part === 'object' && part !== null && 'op' in part && 'args' in part;

/** String of CEL, which has JSON's escapes; but CEL's \u stands for no half of a pair. */
const celString = (text: string): string => JSON.stringify(text);
