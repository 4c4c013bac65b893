// What TAB offers at each place of a line.

import { expect, it } from 'vitest';
import { RawJson } from '../../../src/base/json/json-text.js';
import { completionsOf, SessionNames } from '../../../src/cli/repl/completion.js';
import type { ToolDoc } from '../../../src/wire/frames.js';

const tool = (alias: string, inputSchema: unknown): ToolDoc => ({
  ...{ name: alias, alias, description: '', inputSchema },
  ...{ outputSchema: null, observed: null, changed: null },
});
const schema = { type: 'object', properties: { owner: {}, repo: {}, 'no-name': {} } };
const SOURCES = {
  servers: () => [
    {
      alias: 'github',
      tools: [tool('get_issue', schema), tool('list_issues', new RawJson(JSON.stringify(schema)))],
    },
  ],
  namesIn: async (object: string | undefined) =>
    object === undefined ? ['result', 'repeat', '_hidden', 'mcp_github'] : ['list_tools', 'load_server'],
};

it.each([
  ['tools of a server', 'await mcp_github.', ['mcp_github.get_issue', 'mcp_github.list_issues']],
  ['those that fit', 'x = mcp_github.li', ['mcp_github.list_issues']],
  ['arguments', 'mcp_github.get_issue(', ['owner=', 'repo=']],
  ['of a schema that is text', 'mcp_github.list_issues(', ['owner=', 'repo=']],
  ['arguments ahead of names', 'mcp_github.get_issue(re', ['repo=', 'repeat', 'result']],
  ['those that are left', 'mcp_github.get_issue(owner="a, (b", ', ['repo=']],
  ['names in a value', 'mcp_github.get_issue(owner=res', ['result']],
  ['names of the session', 'print(res', ['result']],
  ['none that begin with _ unasked', 'x + ', []],
  ['those that are asked for', '_h', ['_hidden']],
  ['members of an object', 'runtime.lo', ['runtime.load_server']],
  ['nothing in a text', 'print("res', []],
  ['an indent at the start of a line', '', ['    ']],
] as const)('%s', async (_what, line, expected) => {
  const [found, word] = await completionsOf(line, SOURCES);
  expect(found).toEqual(expected);
  expect(line.endsWith(word)).toBe(true);
});

it('asks a session once until it has run something', async () => {
  const asked: string[] = [];
  const names = new SessionNames(async (code) => {
    asked.push(code);
    return 'a\nb c\n_d\n';
  });
  expect(await names.of(undefined)).toEqual(['a', '_d']);
  await names.of(undefined);
  expect(asked.length).toBe(1);
  names.forget();
  await names.of('x.y');
  expect(asked[1]).toContain('dir(x.y)');
});
