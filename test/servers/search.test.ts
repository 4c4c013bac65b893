// What search takes for a word, and what it does with words: each case is a rule that the ranking rests on.

import { expect, it } from 'vitest';
import { toServerDoc } from '../../src/servers/catalog/catalog.js';
import { searchTools, searchWords, stemOf } from '../../src/servers/catalog/search.js';
import type { ServerTool } from '../../src/servers/server/tool-list.js';
import { growth, LINEAR } from '../support/cpu-time.js';
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

it.each([
  ['files', 'file'],
  ['queries query', 'queri queri'],
  ['merging merged merges merge', 'merg merg merg merg'],
  ['created creating creates create', 'creat creat creat creat'],
  ['stopped stopping', 'stop stop'],
  ['filing', 'file'],
  ['agreed feed', 'agre feed'],
  ['classes class status bus is this', 'class class status bus is this'],
  ['bring sing red', 'bring sing red'],
  ['sky say pages paging', 'sky sai page page'],
  ['naïve 查询 x2', 'naïve 查询 x2'],
])('the stems of %j are %j', (text, stems) => {
  expect(text.split(' ').map(stemOf).join(' ')).toBe(stems);
});

it.each([
  ['names', 'createIssue', 'creat issu createissu'],
  ['names', 'create_issue', 'creat issu'],
  ['names', 'HTTPServer-list', 'http server httpserver list'],
  ['names', 'GitHub', 'git hub github'],
  ['prose', 'GitHub repos', 'github repositori'],
  ['prose', 'the maxItems of PRs', 'the max item maxitem of pull request'],
  ['prose', "naïve café's 3pm context7", 'naiv cafe s 3pm context7'],
] as const)('in %s %j is %j', (kind, text, words) => {
  expect(searchWords(text, kind).join(' ')).toBe(words);
});

const DOCS = [
  doc('github', [
    tool('create_issue', 'Open a new issue in a repository', { title: {}, body: {} }),
    tool('listPullRequests', 'List pull requests', {
      state: { enum: ['open', 'merged'], description: 'Which ones' },
    }),
    tool('constructor', 'toString hasOwnProperty __proto__'),
  ]),
  doc('files', [tool('read_file', 'Read the contents of a file', { path: {} })], 'Local file system'),
  doc('graph', [
    tool('delete_entities', 'Delete entities by their names'),
    tool('search_nodes', 'Search the graph for entities'),
    tool('take_screenshot', 'An image of the page'),
  ]),
];
const found = (query: string, limit = 5) => searchTools(DOCS, query, limit).map(({ tool: { name } }) => name);

it.each([
  ['issue', 'create_issue'],
  ['open isue', 'create_issue'],
  ['pull requests', 'listPullRequests'],
  ['PRs', 'listPullRequests'],
  ['listpullrequests', 'listPullRequests'],
  ['merged', 'listPullRequests'],
  ['repo', 'create_issue'],
  ['path', 'read_file'],
  ['file system', 'read_file'],
  ['screen shot', 'take_screenshot'],
  ['screensh', 'take_screenshot'],
  ['hasOwnProperty', 'constructor'],
  ['__proto__', 'constructor'],
  ['toString', 'constructor'],
  ['find entities by name', 'search_nodes'],
  ['remove entity', 'delete_entities'],
])('search for %j finds %s first', (query, expected) => {
  const [first] = searchTools(DOCS, query, 5);
  expect(first?.tool.name).toBe(expected);
  expect(first?.score).toBeGreaterThan(0);
});

it('search keeps to its limit and finds nothing for nothing', () => {
  expect(found('a list read create', 1)).toHaveLength(1);
  expect(found('???')).toEqual([]);
  expect(found('')).toEqual([]);
  expect(searchTools([], 'x', 5)).toEqual([]);
});

it('an odd schema costs nothing but its words', () => {
  const cyclic: Record<string, unknown> = { description: 'deep' };
  cyclic['items'] = cyclic;
  const odd = [
    tool('a', 'zebra', { p: cyclic }),
    { ...tool('b', 'zebra'), inputSchema: { properties: [1], enum: 'x', items: null } },
    {
      ...tool('c', 'zebra'),
      inputSchema: { properties: { p: null, q: { enum: [1, null], properties: 5 } } },
    },
  ];
  expect(searchTools([doc('odd', odd)], 'zebra', 5)).toHaveLength(3);
  expect(searchTools([doc('odd', odd)], 'deep', 5)).toHaveLength(1);
});

it('many tools and long questions take time that grows with them', () => {
  const words = (seed: number, count: number) =>
    Array.from({ length: count }, (_, at) => `word${(seed * 31 + at * 17) % 5_000}`).join(' ');
  const toolsOf = (length: number) =>
    Array.from({ length }, (_, at) => tool(`get_thing_${at}`, words(at, 60), { [`field${at}`]: {} }));
  const indexed = (tools: number) => searchTools([doc('many', toolsOf(tools))], 'get thing 7', 5);
  expect(growth(indexed, 16)).toBeLessThan(LINEAR);
  const many = [doc('many', toolsOf(1_000))];
  expect(searchTools(many, 'get thing 7', 5)).toHaveLength(5);
  const ofWords = (chars: number) => searchTools(many, words(3, 200).slice(0, chars), 100);
  expect(growth(ofWords, 16)).toBeLessThan(LINEAR);
  const ofOne = (chars: number) => searchTools(many, 'ab'.repeat(chars / 2), 100);
  expect(growth(ofOne, 16)).toBeLessThan(LINEAR);
});
