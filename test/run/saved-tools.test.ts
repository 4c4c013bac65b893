import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { BridgeError } from '../../src/base/errors.js';
import { SavedTools } from '../../src/run/saved-tools.js';

let state: string;
let tools: SavedTools;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'saved-test-'));
  tools = new SavedTools(state, true);
});
afterEach(() => rmSync(state, { recursive: true }));

const folder = () => join(state, 'user-tools');
const tool = (name: string, over: { source?: string; signature?: string; description?: string } = {}) => ({
  name,
  source: `def ${name}():\n    pass\n`,
  signature: `${name}()`,
  description: 'Does it.',
  ...over,
});
const refusal = (act: () => unknown): string => {
  try {
    act();
  } catch (thrown) {
    return `${(thrown as BridgeError).code}: ${(thrown as BridgeError).message}`;
  }
  return 'not refused';
};

test('one private file for each, listed and given back', () => {
  expect(tools.put(tool('double'))).toEqual({ replaced: false });
  expect(tools.put(tool('double', { source: 'def double(x):\n    return "\ud800"\n' }))).toEqual({
    replaced: true,
  });
  expect(readdirSync(folder())).toEqual(['double.py']);
  expect(statSync(join(folder(), 'double.py')).mode & 0o777).toBe(0o600);
  expect(tools.list()).toEqual([{ name: 'double', signature: 'double()', description: 'Does it.' }]);
  expect(tools.get('double')).toBe('# double()\n#: Does it.\ndef double(x):\n    return "\ufffd"\n');
});

test('what is said of a tool is one harmless line of a comment', () => {
  tools.put(
    tool('f', { signature: 'f(x=\n1)', description: `a\r\nimport os\u2028\u001b[31m${'é'.repeat(500)}` }),
  );
  const [first, second, third] = tools.get('f').split('\n');
  expect([first, third]).toEqual(['# f(x= 1)', 'def f():']);
  expect(second).toMatch(/^#: a import os/);
  expect(second).not.toContain('\u001b');
  const [listed] = tools.list();
  expect(listed?.description).toBe(second?.slice(3));
  expect(listed?.signature).toBe('f(x= 1)');
});

test.each([
  '',
  'a-b',
  '../x',
  'a.b',
  'a b',
  '1a',
  '__init__',
  'class',
  'runtime',
  'mcp_github',
  'x'.repeat(65),
  'é',
])('the name %j is refused', (name) => {
  expect(refusal(() => tools.put(tool(name)))).toMatch(/^E_DENIED: .*is not a name for a saved tool/);
  expect(existsSync(folder())).toBe(false);
});

test('two names that some file systems take for one are refused', () => {
  tools.put(tool('load'));
  expect(refusal(() => tools.put(tool('Load')))).toContain("differs from the saved tool 'load' only in case");
});

test('sizes and numbers are bounded', () => {
  expect(refusal(() => tools.put(tool('f', { source: 'x'.repeat(64 * 1024) })))).toContain(
    'larger than 65536 bytes',
  );
  for (let n = 0; n < 200; n++) tools.put(tool(`f${n}`));
  expect(refusal(() => tools.put(tool('one_more')))).toContain('200 saved tools already');
  expect(tools.put(tool('f7'))).toEqual({ replaced: true });
});

test('switched off, nothing is saved; what was saved is still there', () => {
  tools.put(tool('f'));
  const off = new SavedTools(state, false);
  expect(refusal(() => off.put(tool('g')))).toContain('MCP_BRIDGE_SAVE_TOOLS=off');
  expect(off.list()).toHaveLength(1);
  expect(off.get('f')).toContain('def f()');
});

test('a link, a pipe and a folder are not looked into', () => {
  mkdirSync(folder());
  writeFileSync(join(state, 'secret.py'), '# secret\n');
  symlinkSync(join(state, 'secret.py'), join(folder(), 'link.py'));
  mkdirSync(join(folder(), 'folder.py'));
  execFileSync('mkfifo', [join(folder(), 'pipe.py')]);
  expect(tools.list()).toEqual([]);
  for (const name of ['link', 'folder', 'pipe', '../secret'])
    expect(refusal(() => tools.get(name))).toContain('There is no saved tool');
  // Saving puts a file in the link's place, and leaves alone what it led to.
  tools.put(tool('link'));
  expect(readFileSync(join(state, 'secret.py'), 'utf8')).toBe('# secret\n');
  expect(tools.get('link')).toContain('def link()');
});

test('a file of a person is a tool like others', () => {
  mkdirSync(folder());
  writeFileSync(join(folder(), 'mine.py'), '# (c) me\ndef mine(x):\n    return x\n');
  writeFileSync(join(folder(), 'huge.py'), `def huge(): pass\n${'#'.repeat(100_000)}`);
  expect(tools.list()).toEqual([
    { name: 'huge', signature: '', description: '' },
    { name: 'mine', signature: '', description: '' },
  ]);
  expect(tools.get('mine')).toContain('return x');
  expect(refusal(() => tools.get('huge'))).toContain('larger than');
  rmSync(join(folder(), 'mine.py'));
  expect(refusal(() => tools.get('mine'))).toContain('There is no saved tool');
});

test('two bridges that save at once leave whole files and no others', () => {
  const other = new SavedTools(state, true);
  for (let n = 0; n < 20; n++) {
    tools.put(tool('f', { source: `def f(): return 'a' * ${n}\n` }));
    other.put(tool('f', { source: `def f(): return 'b' * ${n}\n` }));
  }
  expect(readdirSync(folder())).toEqual(['f.py']);
  expect(tools.get('f')).toContain("'b' * 19");
});

test('a state directory that cannot be written is the operator’s, and its path is not told', () => {
  writeFileSync(folder(), 'in the way');
  const said = refusal(() => tools.put(tool('f')));
  expect(said).toMatch(/^E_STATE: 'f' cannot be saved/);
  expect(said).not.toContain(state);
});
