// A condition of CEL, written anew so that what readers of JSON take differently is an error in it and not an answer: CEL says
// that "true" and true are not equal, and a server that reads both as true does what the condition forbids. Names of
// members, comparisons, sizes and what is gone through become calls of functions (either-reading.ts). An error is what CEL has for `nobody knows`: `false && error` is false, `true && error` an error.

import type { CelNode } from '../../settings/files/parsers.js';

/** The functions; whoever writes a condition cannot name them. */
export const STRICT = {
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
export function strictExpression(source: string, ast: CelNode): string {
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
