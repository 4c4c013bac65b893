// Edits of files as people write them: our own member goes in and out again, and no other character moves.

import { expect, it } from 'vitest';
import { editedText } from '../../../src/hosts/edit/edited-text.js';
import type { MemberEdit } from '../../../src/hosts/edit/json-members.js';
import { type Format, parseText } from '../../../src/settings/files/file-formats.js';

const OURS = { command: 'npx', args: ['-y', 'mcp-sandbox-bridge'], env: { A: 'ä "quoted"' } };
const into = (...path: string[]): MemberEdit => ({ kind: 'put', path: [...path, 'sandbox'], value: OURS });
const outOf = (...path: string[]): MemberEdit => ({ kind: 'remove', path });
const meaning = (text: string, format: Format) => {
  const parsed = parseText(text, format);
  if (!('value' in parsed)) throw new Error(JSON.stringify(parsed));
  return JSON.parse(JSON.stringify(parsed.value)) as Record<string, unknown>;
};

const JSONS: Record<string, string> = {
  empty: '',
  'an empty object': '{}',
  'an empty object in lines': '{\n}\n',
  'an empty map': '{\n  "mcpServers": {}\n}\n',
  'one server': '{\n  "mcpServers": {\n    "a": { "command": "a" }\n  }\n}\n',
  'no final newline': '{\n  "mcpServers": {\n    "a": { "command": "a" }\n  }\n}',
  CRLF: '{\r\n  "mcpServers": {\r\n    "a": {\r\n      "command": "a"\r\n    }\r\n  }\r\n}\r\n',
  tabs: '{\n\t"mcpServers": {\n\t\t"a": {\n\t\t\t"command": "a"\n\t\t}\n\t}\n}\n',
  'four spaces': '{\n    "theme": "dark",\n    "mcpServers": {\n        "a": {"command": "a"}\n    }\n}\n',
  'in one line': '{"mcpServers":{"a":{"command":"a"}},"z":1}',
  'in one line with spaces': '{ "mcpServers": { "a": { "command": "a" } } }',
  comments:
    '// head\n{\n  /* before */ "x": 1, // x\n  "mcpServers": { // servers\n    // about a\n    "a": { "command": "a" } // a, no comma\n    // the end\n  } // servers end\n}\n// tail\n',
  'commas at the end': '{\n  "mcpServers": {\n    "a": { "command": "a" }, // about a\n  },\n}\n',
  'a comment in an empty map': '{\n  "mcpServers": {\n    // nothing yet\n  }\n}\n',
  'a comma on its own line':
    '{\n  "mcpServers": {\n    "a": { "command": "a" }\n    , "b": { "command": "b" }\n  }\n}\n',
  'no map yet, comments': '{\n  // theme\n  "theme": "dark" /* yes */\n}\n',
  'members in one line of a file of many': '{\n  "mcpServers": { "a": { "command": "a" } },\n  "z": 1\n}\n',
  'a slash in a text':
    '{\n  "mcpServers": {\n    "a": { "command": "// no comment", "args": ["/* nor */"] }\n  }\n}\n',
};

it.each(Object.entries(JSONS))('puts our entry into JSON with %s, and takes it out', (_what, text) => {
  const put = editedText(text, 'JSON', [into('mcpServers')]);
  const before = meaning(text, 'JSON');
  expect(meaning(put.text, 'JSON')).toEqual({
    ...before,
    mcpServers: { ...(before['mcpServers'] as object), sandbox: OURS },
  });
  for (const line of text.split(/\r?\n/).filter((one) => one.includes('//') || one.includes('/*')))
    for (const comment of line.match(/\/\/.*|\/\*.*?\*\//g) ?? []) expect(put.text).toContain(comment);
  if (text.includes('\r\n')) expect(put.text.replaceAll('\r\n', '')).not.toContain('\n');
  const back = editedText(put.text, 'JSON', put.undo);
  expect(meaning(back.text, 'JSON')).toEqual(before);
  const exact = text.trim() !== '' && text.trim() !== '{}' && !/\{\s*\n\s*\}/.test(text);
  if (exact) expect(back.text).toBe(text);
});

it('follows the indentation, the line endings and the commas of the file', () => {
  const { text } = editedText(JSONS['tabs'] ?? '', 'JSON', [into('mcpServers')]);
  expect(text).toContain('\n\t\t"sandbox": {\n\t\t\t"command": "npx",\n');
  const commas = editedText(JSONS['commas at the end'] ?? '', 'JSON', [into('mcpServers')]);
  expect(commas.text).toMatch(/"a" \}, \/\/ about a\n {4}"sandbox": \{[\s\S]*\n {4}\},\n {2}\},\n\}\n$/);
});

const THREE = `{
  "mcpServers": {
    // first
    "a": { "command": "a" }, // behind a
    "b": {
      "command": "b" // in b
    },
    /* before c */
    "c": { "command": "c" } // behind c
  }
}
`;

it.each(['a', 'b', 'c'])('takes server %s out of three and puts it back in its place', (name) => {
  const taken = editedText(THREE, 'JSON', [outOf('mcpServers', name)]);
  for (const comment of ['// first', '// behind a', '/* before c */', '// behind c'])
    expect(taken.text).toContain(comment);
  const back = editedText(taken.text, 'JSON', taken.undo);
  expect(meaning(back.text, 'JSON')).toEqual(meaning(THREE, 'JSON'));
  expect(Object.keys(meaning(back.text, 'JSON')['mcpServers'] as object)).toEqual(['a', 'b', 'c']);
  if (name === 'b') expect(back.text).toContain('"command": "b" // in b');
});

it('takes all servers out and leaves what else is there', () => {
  const { text } = editedText(
    THREE,
    'JSON',
    ['a', 'b', 'c'].map((name) => outOf('mcpServers', name)),
  );
  expect(meaning(text, 'JSON')).toEqual({ mcpServers: {} });
});

it.each([
  ['a list', '{"mcpServers": []}', 'no object at mcpServers'],
  ['a key that is there twice', '{"mcpServers": {}, "mcpServers": {"a": {}}}', 'mcpServers more than once'],
  ['a broken file', '{"mcpServers": {', 'line 1'],
  ['a list of all', '[]', 'JSON object'],
])('refuses JSON with %s', (_what, text, words) => {
  expect(() => editedText(text, 'JSON', [into('mcpServers')])).toThrow(words);
});

const TOMLS: Record<string, string> = {
  empty: '',
  settings: 'model = "gpt-5" # why\n\n[profiles.x]\nmodel = "y"\n',
  servers:
    '[mcp_servers.a]\ncommand = "a"\n\n[mcp_servers.a.env]\nX = "1"\n\n# about b\n[mcp_servers."b c"]\ncommand = "b"\n',
  'no final newline': 'model = "m"\n[mcp_servers.a]\ncommand = "a"',
  CRLF: 'model = "m"\r\n\r\n[mcp_servers.a]\r\ncommand = "a"\r\n',
  'a header of all': '[mcp_servers]\n# none\n\n[tui]\nx = 1\n',
  'texts of several lines': 'note = """\n[mcp_servers.sandbox]\n"""\nlist = [\n  "[x]", # y\n]\n',
  'a header without its space': '[ mcp_servers . a ]\ncommand="a"\n[[list]]\nx=1\n',
};

it.each(Object.entries(TOMLS))('puts our table into TOML with %s, and takes it out', (_what, text) => {
  const put = editedText(text, 'TOML', [into('mcp_servers')]);
  const before = meaning(text, 'TOML');
  expect(meaning(put.text, 'TOML')).toEqual({
    ...before,
    mcp_servers: { ...(before['mcp_servers'] as object), sandbox: OURS },
  });
  expect(put.text.startsWith(text)).toBe(true);
  if (text.includes('\r\n')) expect(put.text.replaceAll('\r\n', '')).not.toContain('\n');
  const back = editedText(put.text, 'TOML', put.undo);
  expect(back.text.trimEnd()).toBe(text.trimEnd());
});

it('takes a table of TOML out with the tables in it, and leaves the comments of others', () => {
  const text = TOMLS['servers'] ?? '';
  const taken = editedText(text, 'TOML', [outOf('mcp_servers', 'a')]);
  expect(taken.text).toBe('# about b\n[mcp_servers."b c"]\ncommand = "b"\n');
  expect(meaning(editedText(taken.text, 'TOML', taken.undo).text, 'TOML')).toEqual(meaning(text, 'TOML'));
});

it('takes a server out of TOML that is written in one line, and puts it back as a table', () => {
  const text = '[mcp_servers]\n# both\na = { command = "a" }\nb.command = "b"\n';
  const taken = editedText(text, 'TOML', [outOf('mcp_servers', 'a')]);
  expect(taken.text).toBe('[mcp_servers]\n# both\nb.command = "b"\n');
  expect(meaning(editedText(taken.text, 'TOML', taken.undo).text, 'TOML')).toEqual(meaning(text, 'TOML'));
});

it.each([
  ['all servers in one value', 'mcp_servers = { a = { command = "a" } }\n'],
  ['a broken line', 'model = \n'],
])('refuses TOML with %s', (_what, text) => {
  expect(() => editedText(text, 'TOML', [into('mcp_servers')])).toThrow(/cannot be/);
});
