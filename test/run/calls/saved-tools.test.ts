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
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { BridgeError } from '../../../src/base/errors.js';
import { SavedByRun, SavedTools } from '../../../src/run/calls/saved-tools.js';

/** As a run that may replace everything. */
class Freely extends SavedTools {
  override put(saved: Parameters<SavedTools['put']>[0], by = { run: 'r1', mayReplace: true }) {
    return super.put(saved, by);
  }
}
const AT = '2026-11-22T10:00:00.000Z';
const LATER = '2026-11-23T11:30:00.000Z';

let state: string;
let tools: Freely;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'saved-test-'));
  vi.useFakeTimers({ toFake: ['Date'], now: new Date(AT) });
  tools = new Freely(state, true);
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(state, { recursive: true });
});

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

it('keeps one private file for each tool, lists it and gives it back', () => {
  expect(tools.put(tool('double'))).toEqual({ replaced: false });
  expect(tools.put(tool('double', { source: 'def double(x):\n    return "\ud800"\n' }))).toEqual({
    replaced: true,
  });
  expect(readdirSync(folder())).toEqual(['double.py']);
  expect(statSync(join(folder(), 'double.py')).mode & 0o777).toBe(0o600);
  expect(tools.list()).toEqual([
    { name: 'double', signature: 'double()', description: 'Does it.', created: AT, changed: '', run: 'r1' },
  ]);
  expect(tools.get('double')).toBe(
    `# double()\n#: Does it.\n#@ created ${AT}, run r1\ndef double(x):\n    return "\ufffd"\n`,
  );
});

it('a file that an editor of Windows has written anew says the same of itself', () => {
  tools.put(tool('f', { description: 'Does it.' }));
  const before = tools.list();
  const file = join(folder(), 'f.py');
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('\n', '\r\n'));
  expect(tools.list()).toEqual(before);
});

it('what is said of a tool is one harmless line of a comment', () => {
  tools.put(
    tool('f', { signature: 'f(x=\n1)', description: `a\r\nimport os\u2028\u001b[31m${'é'.repeat(500)}` }),
  );
  const [first, second, third, fourth] = tools.get('f').split('\n');
  expect([first, third, fourth]).toEqual(['# f(x= 1)', `#@ created ${AT}, run r1`, 'def f():']);
  expect(second).toMatch(/^#: a import os/);
  expect(second).not.toContain('\u001b');
  const [listed] = tools.list();
  expect(listed?.description).toBe(second?.slice(3));
  expect(listed?.signature).toBe('f(x= 1)');
});

it.each([
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

it('two names that some file systems take for one are refused', () => {
  tools.put(tool('load'));
  expect(refusal(() => tools.put(tool('Load')))).toContain(
    "differs from the saved tool 'load' only in upper and lower case",
  );
});

it('sizes and numbers are bounded', () => {
  expect(refusal(() => tools.put(tool('f', { source: 'x'.repeat(64 * 1024) })))).toContain(
    'larger than 65536 bytes',
  );
  for (let n = 0; n < 200; n++) tools.put(tool(`f${n}`));
  expect(refusal(() => tools.put(tool('one_more')))).toContain('200 saved tools already');
  expect(tools.put(tool('f7'))).toEqual({ replaced: true });
});

it('a run replaces its own as it likes, and those of others only where it says so', () => {
  const saving = (name: string, replace = false) => ({ ...tool(name), replace });
  const first = new SavedByRun(tools, 'r1');
  expect([first.put(saving('f')), first.put(saving('f'))]).toEqual([{ replaced: false }, { replaced: true }]);
  expect(first.note).toBeUndefined();
  vi.setSystemTime(LATER);
  const second = new SavedByRun(tools, 'r2');
  expect(refusal(() => second.put(saving('f')))).toBe(
    `E_DENIED: There is a saved tool 'f' already, by run r1, first at ${AT}.`,
  );
  expect(second.list()).toMatchObject([{ created: AT, changed: '', run: 'r1' }]);
  expect(second.put(saving('f', true))).toEqual({ replaced: true });
  expect(second.put(saving('f'))).toEqual({ replaced: true });
  expect(second.note).toBe('This run has replaced saved tools of earlier runs: f.');
  expect(second.list()).toMatchObject([{ created: AT, changed: LATER, run: 'r2' }]);
  expect(second.get('f')).toContain(`#@ created ${AT}, run r1; changed ${LATER}, run r2\n`);
  writeFileSync(join(folder(), 'mine.py'), 'def mine(): pass\n');
  expect(refusal(() => second.put(saving('mine')))).toContain('a file that no run has written');
});

it('what code says of itself is no history', () => {
  tools.put(
    tool('f', { description: `#@ created ${LATER}, run other`, source: `#@ created ${LATER}, run other` }),
  );
  expect(tools.list()).toMatchObject([{ created: AT, run: 'r1' }]);
});

it('one run saves a few, and leaves the other places to others', () => {
  const greedy = new SavedByRun(tools, 'r1');
  const saving = (name: string) => ({ ...tool(name), replace: true });
  for (let n = 0; n < 8; n++) greedy.put(saving(`f${n}`));
  expect(refusal(() => greedy.put(saving('f8')))).toContain('has saved 8 functions, the most');
  expect(greedy.put(saving('f3'))).toEqual({ replaced: true });
  expect(new SavedByRun(tools, 'r2').put(saving('f8'))).toEqual({ replaced: false });
  expect(tools.list()).toHaveLength(9);
});

it('switched off, nothing is saved; what was saved is still there', () => {
  tools.put(tool('f'));
  const off = new Freely(state, false);
  expect(refusal(() => off.put(tool('g')))).toContain('MCP_BRIDGE_SAVE_TOOLS=off');
  expect(off.list()).toHaveLength(1);
  expect(off.get('f')).toContain('def f()');
});

it('a link, a pipe and a folder are not looked into', () => {
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

it('a file of a person is a tool like others', () => {
  mkdirSync(folder());
  writeFileSync(join(folder(), 'mine.py'), '# (c) me\ndef mine(x):\n    return x\n');
  writeFileSync(join(folder(), 'huge.py'), `def huge(): pass\n${'#'.repeat(100_000)}`);
  expect(tools.list()).toEqual([
    { name: 'huge', signature: '', description: '', created: '', changed: '', run: '' },
    { name: 'mine', signature: '', description: '', created: '', changed: '', run: '' },
  ]);
  expect(tools.get('mine')).toContain('return x');
  expect(refusal(() => tools.get('huge'))).toContain('larger than');
  rmSync(join(folder(), 'mine.py'));
  expect(refusal(() => tools.get('mine'))).toContain('There is no saved tool');
});

it('two bridges that save at once leave whole files and no others', () => {
  const other = new Freely(state, true);
  for (let n = 0; n < 20; n++) {
    tools.put(tool('f', { source: `def f(): return 'a' * ${n}\n` }));
    other.put(tool('f', { source: `def f(): return 'b' * ${n}\n` }));
  }
  expect(readdirSync(folder())).toEqual(['f.py']);
  expect(tools.get('f')).toContain("'b' * 19");
});

it('a state directory that cannot be written is the operator’s, and its path is not told', () => {
  writeFileSync(folder(), 'in the way');
  const said = refusal(() => tools.put(tool('f')));
  expect(said).toMatch(/^E_STATE: 'f' cannot be saved/);
  expect(said).not.toContain(state);
});
