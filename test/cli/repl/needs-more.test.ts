// Where a program ends that is typed line by line, as Python's REPL has it.

import { expect, it } from 'vitest';
import { needsMore } from '../../../src/cli/repl/repl.js';

it.each([
  ['a statement', 'x = 1'],
  ['several in a line', 'x = 1; y = 2'],
  ['nothing', ''],
  ['a comment that ends in a colon', 'x = 1  # so:'],
  ['a comment with a bracket', 'x = 1  # ('],
  ['brackets that are closed', 'f(1,\n  [2, {3: 4}])'],
  ['a bracket too many', 'f(1))'],
  ['a bracket in a text', "print('(')"],
  ['a text that is not closed, which is an error', "print('abc"],
  ['an escaped quote', String.raw`x = 'a\'b'`],
  ['three quotes', '"""a\nb"""'],
  ['a name that begins like a word with a block', 'format = 1'],
  ['a colon within brackets', 'x[1:]'],
  ['a block and an empty line', 'if x:\n    y\n'],
  ['a block and a line of spaces', 'if x:\n    y\n  '],
  ['a block in one line and an empty line', 'if x: y\n'],
  ['a nested text of an f-string', `f'{x["a"]}'`],
])('%s is whole', (_what, text) => expect(needsMore(text)).toBe(false));

it.each([
  ['an open bracket', 'f(1,'],
  ['an empty line in brackets', 'f(1,\n'],
  ['three open quotes', 'x = """a'],
  ['an empty line in three quotes', "x = '''a\n"],
  ['a backslash at the end', 'x = 1 + \\'],
  ['a backslash at the end of a text', "x = 'a\\"],
  ['a block', 'if x:'],
  ['a block in one line', 'while x: y()'],
  ['a block with a comment', 'for x in y:  # all'],
  ['a block with a line', 'def f():\n    return 1'],
  ['a decorator', '@cache'],
  ['a class', 'class A: pass'],
  ['an async function', 'async def f(): pass'],
  ['a match', 'match x:'],
  ['a block whose head goes on', 'if (x\n    and y):'],
  ['a block behind a statement', 'x = 1\nif x:\n    y'],
])('%s goes on', (_what, text) => expect(needsMore(text)).toBe(true));
