// What the model is told of names that no loaded server has, word for word; and what is none of our business.

import { describe, expect, it } from 'vitest';
import { preflight } from '../../src/run/life/preflight.js';
import type { ServerBrief, ServerDoc } from '../../src/wire/frames.js';

const server = (
  name: string,
  alias: string,
  ...tools: readonly (readonly [string, string])[]
): ServerDoc => ({
  name,
  alias,
  description: '',
  version: null,
  instructions: null,
  tools: tools.map(([tool, toolAlias]) => ({
    name: tool,
    alias: toolAlias,
    description: '',
    inputSchema: {},
    outputSchema: null,
    observed: null,
    changed: null,
  })),
});
const github = server('git-hub', 'git_hub', ['create-issue', 'create_issue'], ['list', 'list']);
const many = server('many', 'many', ...Array.from({ length: 13 }, (_, n) => [`t${n}`, `t${n}`] as const));
const brief = ({ name, alias }: { name: string; alias: string }, loaded: boolean): ServerBrief => ({
  name,
  alias,
  description: '',
  loaded,
  tools: null,
});
const discovered = [brief(github, true), brief(many, true), brief({ name: 'a b', alias: 'a_b' }, false)];

const check = (...named: readonly (readonly [string, string | null])[]) =>
  preflight(
    named.map(([word, tool], index) => ({ server: word, tool, line: index + 1 })),
    [github, many],
    discovered,
  );

describe('what is wrong', () => {
  it.each<[string, [string, string | null][], string, string]>([
    [
      'a mistyped tool',
      [['git_hub', 'create_isue']],
      'E_TOOL_UNKNOWN',
      "Line 1: server 'git-hub' has no tool 'create_isue'. Did you mean 'create_issue'? Nothing was run. Fix the name and send the whole program again.",
    ],
    [
      'a tool that is like none',
      [['many', 'something_else']],
      'E_TOOL_UNKNOWN',
      "Line 1: server 'many' has no tool 'something_else'. It has: t0, t1, t2, t3, t4, t5, t6, t7, t8, t9 and 3 more. Nothing was run. Fix the name and send the whole program again.",
    ],
    [
      'a server that is not loaded, with those that are',
      [
        ['a_b', 'x'],
        ['a b', 'y'],
      ],
      'E_SERVER_NOT_LOADED',
      'Line 1: server \'a b\' is not loaded in this run. Nothing was run. Pass servers=["git-hub","many","a b"] in the call.',
    ],
    [
      'a server that is imported as a whole',
      [['a_b', null]],
      'E_SERVER_NOT_LOADED',
      'Line 1: server \'a b\' is not loaded in this run. Nothing was run. Pass servers=["git-hub","many","a b"] in the call.',
    ],
    [
      'several at once',
      [
        ['git_hub', 'lst'],
        ['git_hub', 'list'],
        ['a_b', 'x'],
      ],
      'E_TOOL_UNKNOWN',
      "Line 1: server 'git-hub' has no tool 'lst'. Did you mean 'list'? Line 3: server 'a b' is not loaded in this run. Nothing was run. Pass servers=[\"git-hub\",\"many\",\"a b\"] in the call.",
    ],
  ])('%s', (_what, named, code, advice) => {
    expect(check(...named)).toMatchObject({ code, advice, fault: 'agent' });
  });

  it('is told of in few words, whatever was written', () => {
    const words = Array.from(
      { length: 50 },
      (_, n) => ['git_hub', `${n}\u001b[31m${'x'.repeat(190)}`] as const,
    );
    const error = check(...words);
    expect(error?.message.length).toBeLessThan(700);
    expect(error?.message).toMatch(/ And 46 more\.$/);
    expect(error?.message).not.toContain('\u001b');
  });

  it('a server without tools has none', () => {
    const named = [{ server: 'e', tool: 'x', line: 1 }];
    expect(preflight(named, [server('e', 'e')], [])?.message).toBe(
      "Line 1: server 'e' has no tool 'x'. It has: none.",
    );
  });
});

describe('a server that is not loaded', () => {
  const named = [{ server: 'x', tool: 't', line: 1 }];
  const x = brief({ name: 'x', alias: 'x' }, false);

  it('can be asked for from inside, where that would work', () => {
    expect(preflight(named, [many], [{ ...x, onDemand: true }])?.remedy).toBe(
      'Nothing was run. Pass servers=["many","x"] in the call, or await runtime.load_server("x") in the code.',
    );
  });

  it('did not open, which naming it would not change', () => {
    const error = preflight(named, [many], [{ ...x, problem: 'it exited with code 3.' }]);
    expect(error?.message).toBe("Line 1: server 'x' is not loaded in this run: it exited with code 3.");
    expect(error?.remedy).toBe(
      'Nothing was run. Go on without it; `mcp-sandbox-bridge servers` tells the user more.',
    );
  });
});

describe('what is not', () => {
  it.each<[string, [string, string | null][]]>([
    ['nothing', []],
    [
      'aliases and real names',
      [
        ['git_hub', 'create_issue'],
        ['git-hub', 'create-issue'],
        ['git_hub', 'list'],
      ],
    ],
    ['a loaded server as a whole', [['many', null]]],
    ['a name that is no server, which Python itself will tell', [['gihub', 'create_issue']]],
  ])('%s', (_what, named) => {
    expect(check(...named)).toBeUndefined();
  });
});

describe('servers with names of one alias', () => {
  const dashed = server('foo-bar', 'foo_bar_2', ['search', 'search']);
  const spaced = server('foo bar', 'foo_bar_3', ['find', 'find']);
  const plain = server('foo_bar', 'foo_bar', ['list', 'list']);
  const all = [dashed, spaced, plain];
  const judged = (loaded: readonly ServerDoc[], word: string, tool: string) =>
    preflight(
      [{ server: word, tool, line: 1 }],
      loaded,
      all.map((one) => brief(one, loaded.includes(one))),
    )?.message;

  it('the one that is loaded is named, with the name under which code finds it', () => {
    expect(judged([dashed], 'foo_bar', 'search')).toBe(
      "Line 1: server 'foo_bar' is not loaded in this run. mcp_foo_bar is always that server; 'foo-bar' is mcp_foo_bar_2: write that if you mean it.",
    );
    expect(judged([dashed, spaced], 'foo_bar', 'x')).toContain(
      "'foo-bar' is mcp_foo_bar_2, 'foo bar' is mcp_foo_bar_3: write that",
    );
    expect(judged([plain], 'foo_bar_2', 'search')).toContain("'foo_bar' is mcp_foo_bar: write that");
  });

  it('the one that has the tool is named where all are loaded', () => {
    expect(judged(all, 'foo_bar', 'search')).toBe(
      "Line 1: server 'foo_bar' has no tool 'search'. Server 'foo-bar' has it: mcp_foo_bar_2.",
    );
    expect(judged(all, 'foo_bar', 'lst')).toContain("Did you mean 'list'?");
    expect(judged(all, 'foo_bar_2', 'search')).toBeUndefined();
  });

  it('are not taken for servers that are not loaded', () => {
    expect(judged([github], 'foo_bar', 'search')).toBe("Line 1: server 'foo_bar' is not loaded in this run.");
  });
});
