// What a trial takes for a host's own doing in a home, with homes made up here: the control has to excuse what the host does, and
// nothing that we leave.

import { expect, it } from 'vitest';

type Snapshot = ReadonlyMap<string, { readonly mode: number; readonly content: string }>;
type Change = { readonly path: string; readonly how: string };
const { toldApart } = (await import(
  new URL('../../scripts/agents/home-files.mjs', import.meta.url).href
)) as {
  toldApart: (
    withUs: readonly [Snapshot, Snapshot],
    without: readonly [Snapshot, Snapshot],
  ) => { readonly ours: readonly Change[]; readonly theirs: readonly Change[] };
};

const home = (files: Readonly<Record<string, string>>, mode = 0o644): Snapshot =>
  new Map(Object.entries(files).map(([path, content]) => [path, { mode, content }]));

const BEFORE = home({ 'host.json': '{"a":1,  "servers":{"x":"node x"}}', 'notes.txt': 'tea' });
const neat = (server: string, starts: number) =>
  `{\n  "a": 1,\n  "servers": {\n    "x": "${server}"\n  },\n  "starts": ${starts}\n}`;
const ALONE = home({ 'host.json': neat('node x', 1), 'notes.txt': 'tea', 'log/mcp-logs-x/12.jsonl': 'a' });

it('takes a file that the host writes anew, and logs under other names, for its own doing', () => {
  const after = home({ 'host.json': neat('node x', 7), 'notes.txt': 'tea', 'log/mcp-logs-us/34.jsonl': 'b' });
  expect(toldApart([BEFORE, after], [BEFORE, ALONE])).toEqual({
    theirs: [
      { path: 'host.json', how: 'changed' },
      { path: 'log/mcp-logs-us/34.jsonl', how: 'new' },
    ],
    ours: [],
  });
});

it.each([
  ['an entry in the file that the host writes anew', { 'host.json': neat('node us', 7), 'notes.txt': 'tea' }],
  [
    'a file that only we have left',
    { ...{ 'host.json': neat('node x', 7), 'notes.txt': 'tea' }, 'host.json.bak': '' },
  ],
  ['a file that is gone', { 'host.json': neat('node x', 7) }],
  [
    'another text in a file that the host leaves alone',
    { 'host.json': neat('node x', 7), 'notes.txt': 'tea\n' },
  ],
])('finds %s', (_, files) => {
  expect(toldApart([BEFORE, home(files)], [BEFORE, ALONE]).ours).toHaveLength(1);
});

it('finds a mode that is another', () => {
  const after = home({ 'host.json': neat('node x', 1), 'notes.txt': 'tea' }, 0o600);
  expect(toldApart([BEFORE, after], [BEFORE, ALONE]).ours).toEqual([
    { path: 'host.json', how: 'changed' },
    { path: 'notes.txt', how: 'changed' },
  ]);
});
