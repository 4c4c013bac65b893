// The commands that nobody need run and that start the built bridge, each in its smallest form: one attack, one fault, one
// call, one question, one measure. What they measure is not judged here.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const report = () => join(mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'command-')), 'report.json');
const script = (name: string, ...args: readonly string[]) =>
  spawnSync('node', [`scripts/${name}.mjs`, ...args], { cwd: ROOT, encoding: 'utf8' });
const jsonOf = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

it('walls makes the one attack that is asked for', () => {
  const json = report();
  const { status, stdout, stderr } = script('walls', '--only', '^files.write /run$', '--json', json);
  expect([status, stderr]).toEqual([0, '']);
  expect(jsonOf(json).attacks).toMatchObject([{ state: 'contained' }]);
  expect(stdout).toContain('contained');
});

it('faults makes the one fault that is asked for', () => {
  const json = report();
  const { status } = script(
    'faults',
    '--only',
    'closes our stdin before it has said anything',
    '--json',
    json,
  );
  const { total, ...found } = jsonOf(json);
  expect(total, JSON.stringify(found)).toMatchObject({ kinds: 1, leaks: 0, hung: 0, lost: 0, failed: 0 });
  expect(status).toBe(0);
});

it('one call again and again, once', () => {
  const json = report();
  const { stdout } = script('faults', '--soak', '--calls', '1', '--concurrency', '1', '--json', json);
  expect(stdout).toContain('total');
  expect(jsonOf(json).findings.length).toBeGreaterThan(0);
});

it('search-quality asks the one question that is asked for', () => {
  const { stdout } = script('search-quality', '--json', '--only', 'add two figures together');
  expect(JSON.parse(stdout)).toMatchObject({ all: { questions: 1 }, tools: expect.any(Number) });
});

it('bench takes the one measure that is asked for', () => {
  const { status, stdout } = script('bench', '--quick', '--only', 'context', '--out', join(report(), '..'));
  expect(stdout).toMatch(/wrote .*raw\.json/);
  expect(status).toBe(0);
});

it('context-cost does the one task that is asked for', () => {
  const { status, stdout } = script('context-cost', '--only', 'small: one entity of the graph');
  expect(status).toBe(0);
  expect(stdout).toContain('one entity of the graph');
});
