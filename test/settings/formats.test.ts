// The three formats: each with the refusals of the others, its mistakes with their place, and no trust in its keys.

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfigFile } from '../../src/settings/files/config-file.js';
import { Home, reasonsIn, stdio } from '../hosts/home.js';
import { until } from '../support/time.js';

let home: Home;
beforeEach(() => {
  home = new Home();
});
afterEach(() => {
  home[Symbol.dispose]();
});

const TOML = '.codex/config.toml';
const YAML = '.continue/config.yaml';
const JSONC = '.cursor/mcp.json';
const good: Record<string, string> = {
  [TOML]: '[mcp_servers.a]\ncommand = "a"\n',
  [YAML]: 'mcpServers:\n  - name: a\n    command: a\n',
  [JSONC]: '{"mcpServers": {"a": {"command": "a"}}} // end',
};
const names = () => home.discover().ready.map((spec) => spec.name);

describe.each([TOML, YAML, JSONC])('%s', (name) => {
  it('is read, also with a byte order mark', () => {
    home.write(name, `\uFEFF${good[name]}`);
    expect(names()).toEqual(['a']);
  });

  it('is read with the line breaks of Windows, and a mistake has the same place', () => {
    const withCrLf = (text: string) => text.replaceAll('\n', '\r\n');
    const text = (good[name] ?? '').replace('{"mcpServers"', '// first\n{\n"mcpServers"');
    home.write(name, withCrLf(text));
    expect(names()).toEqual(['a']);
    const placeIn = (content: string) => {
      home.write(name, content);
      const [{ message } = { message: '' }] = home.discover().problems;
      return /:\d+:\d+: .*/.exec(message)?.[0] ?? message;
    };
    const bad = `${text}\n\n]{[`;
    expect(placeIn(withCrLf(bad))).toBe(placeIn(bad));
    expect(placeIn(bad)).toMatch(/^:[3-9]:\d+: /);
  });

  it('may be empty', () => {
    home.write(name, ' \n');
    expect(home.discover()).toMatchObject({ ready: [], problems: [] });
  });

  it('writable by others is refused', () => {
    const file = home.write(name, good[name] ?? '');
    chmodSync(file, 0o620);
    expect(home.discover().problems).toEqual([
      { file, message: expect.stringContaining(`chmod go-w '${file}'`) },
    ]);
  });

  it('as a fifo is not waited for', () => {
    const file = join(home.path, name);
    mkdirSync(dirname(file), { recursive: true });
    execFileSync('mkfifo', [file]);
    expect(home.discover().problems).toEqual([{ file, message: 'is not a regular file' }]);
  });

  it('malformed costs only itself, and shows nothing of what is in it', () => {
    const file = home.write(name, `${good[name]?.replace('// end', '')}\n]]] token = "hunter2-hunter2" [[[`);
    home.write('MCPs/fine.json', { command: 'fine' });
    const found = home.discover();
    expect(found.ready.map((spec) => spec.name)).toContain('fine');
    const place = { line: expect.any(Number), column: expect.any(Number) };
    expect(found.problems).toEqual([{ file, message: expect.stringMatching(/^\S+:\d+:\d+: \S/), place }]);
    expect(JSON.stringify(found.problems)).not.toContain('hunter2');
  });
});

it.each([
  [TOML, '[a]\nb = 1\n[mcp_servers.x\n', ':3:15: '],
  [YAML, 'a: 1\nb: "unclosed\n', ':3:1: '],
  [YAML, 'a: 1\na: 2\n', ':2:1: '],
  [JSONC, '{\n  "mcpServers": oops\n}', ':2:17: '],
])('%s says where its mistake is', (name, content, place) => {
  const file = home.write(name, content);
  expect(home.discover().problems[0]?.message).toContain(file + place);
});

it('names of the prototype are ordinary names', () => {
  home.write(TOML, '[mcp_servers.__proto__]\ncommand = "a"\n[mcp_servers.constructor]\ncommand = "b"\n');
  home.write(YAML, 'mcpServers:\n  __proto__:\n    command: c\n  toString:\n    command: d\n');
  expect(home.discover().ready.map((spec) => [spec.name, stdio(spec).command])).toEqual([
    ['__proto__', 'c'],
    ['toString', 'd'],
    ['constructor', 'b'],
  ]);
  expect(({} as Record<string, unknown>)['command']).toBeUndefined();
});

it.each([
  ['aliases that grow', `${growing(9)}mcpServers: []\n`],
  ['deep nesting', `a: ${'['.repeat(20_000)}\n`],
  ['two documents', 'a: 1\n---\nb: 2\n'],
  ['a tag that names code', 'a: !!js/function "x"\n b: 1'],
])('YAML with %s is a problem of one file', (_what, content) => {
  const file = home.write(YAML, content);
  home.write('MCPs/fine.json', { command: 'fine' });
  const found = home.discover();
  expect(found.ready.map((spec) => spec.name)).toEqual(['fine']);
  expect(found.problems.map((problem) => problem.file)).toEqual([file]);
});

/** Ten to the power of `levels` when it is written out. */
function growing(levels: number): string {
  const level = (n: number) =>
    `l${n}: &l${n} [${Array(10)
      .fill(n === 0 ? 'x' : `*l${n - 1}`)
      .join(', ')}]\n`;
  return Array.from({ length: levels }, (_, n) => level(n)).join('');
}

it('a value that contains itself does no harm', () => {
  home.write(YAML, 'mcpServers:\n  - &me\n    name: a\n    command: a\n    type: *me\n');
  expect(Object.values(reasonsIn(home.discover()))).toEqual([
    "field 'type' is an object; allowed: stdio, sse, streamable-http, http",
  ]);
});

describe('what is remembered of a file', () => {
  const past = new Date(Date.now() - 60_000);

  it('is forgotten when it changes, changes hands, or goes', () => {
    const file = home.write('MCPs/a.json', { command: 'a', args: ['1'] });
    const args = () => home.discover().ready.map((spec) => stdio(spec).args[0]);
    utimesSync(file, past, past);
    expect(args()).toEqual(['1']);
    // Of the same length, in the same moment, with its old time put back.
    home.write('MCPs/a.json', { command: 'a', args: ['2'] });
    utimesSync(file, past, past);
    expect(args()).toEqual(['2']);
    chmodSync(file, 0o666);
    expect(home.discover().problems).toHaveLength(1);
    chmodSync(file, 0o600);
    expect(args()).toEqual(['2']);
    execFileSync('rm', [file]);
    expect(args()).toEqual([]);
  });

  it('goes by the file that a link leads to', () => {
    home.write('one.json', { command: 'one' });
    home.write('two.json', { command: 'two' });
    const link = join(home.path, 'MCPs/a.json');
    mkdirSync(dirname(link));
    const commands = () => home.discover().ready.map((spec) => stdio(spec).command);
    symlinkSync('../one.json', link);
    expect(commands()).toEqual(['one']);
    execFileSync('ln', ['-sfn', '../two.json', link]);
    expect(commands()).toEqual(['two']);
  });

  it('is not read again while the file stays the same', async () => {
    const file = home.write('.claude.json', { mcpServers: { a: { command: 'a' } } });
    const read = () => readConfigFile(file, home.facts);
    // Until it is settled, it is read each time.
    let known: unknown;
    await until(() => {
      const before = known;
      known = read();
      return known === before;
    });
    expect(names()).toEqual(['a']);
    expect(read()).toBe(known);
    home.write('.claude.json', { mcpServers: { b: { command: 'b' } } });
    expect(names()).toEqual(['b']);
    expect(read()).not.toBe(known);
  });
});
