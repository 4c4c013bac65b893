import { expect, it } from 'vitest';
import { serverAliases, toolAliases, toServerDoc } from '../../src/servers/catalog/catalog.js';
import type { ServerTool } from '../../src/servers/server/tool-list.js';
import { hostile } from './hostile.js';

function tool(name: string, description = '', properties: Record<string, unknown> = {}): ServerTool {
  return {
    name,
    description,
    inputSchema: { type: 'object', properties },
    outputSchema: undefined,
    needsTask: false,
  };
}

function doc(name: string, tools: readonly ServerTool[], description = '') {
  const spec = { ...hostile(), name, description };
  return toServerDoc(
    { spec, serverVersion: undefined, instructions: undefined, tools: () => tools },
    name,
    () => undefined,
  );
}

it('names that are identifiers keep themselves; others are numbered around them', () => {
  expect(Object.fromEntries(toolAliases(['a-b', 'a_b', 'a_b_2']))).toEqual({
    'a-b': 'a_b_3',
    a_b: 'a_b',
    a_b_2: 'a_b_2',
  });
  const odd = toolAliases([
    '__proto__',
    'class',
    '1st',
    'naïve',
    '',
    '查询',
    'getIssue',
    'get issue',
    'None',
    'print',
  ]);
  expect([...odd]).toEqual(
    expect.arrayContaining([
      ['__proto__', '__proto__'],
      ['class', 'class_'],
      ['1st', '_1st'],
      ['naïve', 'naive'],
      ['', 'tool'],
      ['查询', '__'],
      ['getIssue', 'getIssue'],
      ['get issue', 'get_issue'],
      ['None', 'None_'],
      ['print', 'print'],
    ]),
  );
});

it('server aliases are lower case, and an exact one goes first', () => {
  expect(Object.fromEntries(serverAliases(['GitHub', 'github', 'my-server', '@x/y']))).toEqual({
    GitHub: 'github_2',
    github: 'github',
    'my-server': 'my_server',
    '@x/y': '_x_y',
  });
});

it('aliases of random names are identifiers, none twice, and do not depend on the order', () => {
  // A fixed linear congruential generator: the same names on every machine.
  let seed = 42;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * below);
  };
  const alphabet = [
    ...'abAB_-. 12é\u0301中Ω🙂ſK\ud800'.normalize('NFC'),
    'class',
    'if',
    '_2',
    '_3',
    'ﬁ',
    '__proto__',
  ];
  for (let round = 0; round < 200; round++) {
    const name = () => Array.from({ length: random(4) }, () => alphabet[random(alphabet.length)]).join('');
    const names = [...new Set(Array.from({ length: 40 }, name))];
    for (const aliasesOf of [toolAliases, serverAliases]) {
      const aliases = aliasesOf(names);
      expect(new Set(aliases.values()).size).toBe(names.length);
      for (const alias of aliases.values())
        expect(alias).toMatch(/^(?!(?:class|if)$)[A-Za-z_][A-Za-z0-9_]*$/);
      expect(new Map([...aliasesOf(names.toReversed())].sort())).toEqual(new Map([...aliases].sort()));
    }
  }
});

it('documentation is capped and harmless, and keeps real names and schemas', () => {
  const made = doc('s', [tool('a-b', `\u001b[31mred\u001b[0m\u0007\ud800${'x'.repeat(30_000)}`, { q: {} })]);
  const [only] = made.tools;
  expect(only).toMatchObject({
    name: 'a-b',
    alias: 'a_b',
    inputSchema: { properties: { q: {} } },
    outputSchema: null,
  });
  expect(only?.description.length).toBe(20_000);
  expect(only?.description.startsWith('red\\x07\ufffdx')).toBe(true);
  expect(made).toMatchObject({ version: null, instructions: null });
});

it('a server without a configured description is described by the first line of its instructions', () => {
  const { spec } = { spec: hostile() };
  const server = { spec, serverVersion: '1', instructions: 'Use me.\nThen', tools: () => [] };
  const made = toServerDoc(server, 'h', () => undefined);
  expect(made).toMatchObject({ description: 'Use me.', instructions: 'Use me.\nThen', version: '1' });
});
