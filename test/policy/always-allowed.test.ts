// What a person allows for good, written into a policy file that is somebody's own.

import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { allowAlways } from '../../src/policy/rules/always-allowed.js';
import { readPolicyFile } from '../../src/policy/rules/policy-file.js';
import { NEVER } from '../support/time.js';

const folder = mkdtempSync(join(tmpdir(), 'always-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const host = {
  home: '/h',
  platform: 'linux',
  cores: 2,
  cwd: '/',
  uid: process.getuid?.(),
  exists: () => false,
} as const;
const ON = new Date('2026-11-25T12:00:00Z');
const entry = { server: 'git.hub', tool: 'create issue', reason: 'it is: "mine" # really' };
const written = { ...entry, since: '2026-11-25' };

let files = 0;
async function allowed(text: string, ...entries: readonly (typeof entry)[]): Promise<string> {
  const file = join(folder, `${++files}.yaml`);
  writeFileSync(file, text, { mode: 0o640 });
  for (const each of entries.length === 0 ? [entry] : entries) await allowAlways(file, each, host, NEVER, ON);
  expect(readPolicyFile(file, host).approvals?.always.at(-1)).toEqual(written);
  expect(statSync(file).mode & 0o777).toBe(0o640);
  return readFileSync(file, 'utf8');
}

const ITEM = `- server: git.hub
  tool: create issue
  since: "2026-11-25"
  reason: "it is: \\"mine\\" # really"
`;
const item = (indent: string) => ITEM.replace(/^(?=.)/gm, indent);

it.each([
  ['no section', '# mine\nversion: 1\n', `# mine\nversion: 1\napprovals:\n  always:\n${item('    ')}`],
  ['no newline at the end', 'version: 1', `version: 1\napprovals:\n  always:\n${item('    ')}`],
  [
    'a section in the middle',
    'version: 1\napprovals:\n   mode: writes   # all of them\n\n# what is denied\ndeny: [ x ]\n',
    `version: 1\napprovals:\n   mode: writes   # all of them\n   always:\n${item('     ')}\n# what is denied\ndeny: [ x ]\n`,
  ],
  [
    'a list',
    'version: 1\napprovals:\n  always:\n  - {server: a, tool: b}\n  - server: c # c\n    tool: d # d\n# end\n',
    `version: 1\napprovals:\n  always:\n  - {server: a, tool: b}\n  - server: c # c\n    tool: d # d\n${item('  ')}# end\n`,
  ],
])('into a file with %s, which stays as it was', async (_what, before, after) => {
  expect(await allowed(before)).toBe(after);
});

it.each([
  ['an empty list', '# mine\nversion: 1\napprovals: {always: []} # here\n', ['# mine', '# here']],
  ['a section in one line', 'version: 1\napprovals: {mode: writes} # here\n', ['# here']],
  ['all of it in one line', '{version: 1, deny: [x]} # here\n', ['# here']],
])('into a file with %s, whose comments stay', async (_what, before, comments) => {
  const after = await allowed(before);
  for (const comment of comments) expect(after).toContain(comment);
});

it('into JSON, which stays JSON', async () => {
  const after = await allowed('{\n  "version": 1,\n  "deny": ["x"]\n}\n');
  expect(JSON.parse(after)).toEqual({ version: 1, deny: ['x'], approvals: { always: [written] } });
});

it('adds a tool once, however often a person allows it', async () => {
  const once = await allowed('version: 1\n');
  expect(await allowed('version: 1\n', entry, entry)).toBe(once);
});

it('through a link, which stays one', async () => {
  const file = join(folder, 'real.yaml');
  writeFileSync(file, 'version: 1\n', { mode: 0o600 });
  symlinkSync(file, join(folder, 'link.yaml'));
  await allowAlways(join(folder, 'link.yaml'), entry, host, NEVER, ON);
  expect(readPolicyFile(file, host).approvals?.always).toEqual([written]);
});

it.each([
  ['that is broken', 'version: 1\ndenny: [x]\n', 0o600],
  ['that others may write', 'version: 1\n', 0o666],
])('adds nothing to a file %s', async (_what, text, mode) => {
  const file = join(folder, `${++files}.yaml`);
  writeFileSync(file, text);
  chmodSync(file, mode);
  await expect(allowAlways(file, entry, host, NEVER, ON)).rejects.toMatchObject({ code: 'E_SETTINGS' });
  expect(readFileSync(file, 'utf8')).toBe(text);
});

it('many at once, and none is lost', async () => {
  const file = join(folder, 'many.yaml');
  writeFileSync(file, 'version: 1\n', { mode: 0o600 });
  const tools = Array.from({ length: 10 }, (_, n) => `tool-${n}`);
  await Promise.all(
    tools.map((tool) => allowAlways(file, { server: 's', tool, reason: undefined }, host, NEVER, ON)),
  );
  expect(
    readPolicyFile(file, host)
      .approvals?.always.map(({ tool }) => tool)
      .sort(),
  ).toEqual(tools);
});
