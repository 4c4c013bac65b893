// Which statements of a test are taken for a verdict by the clock, and which only look like one. N stands for a number, so that
// this file holds none.

import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { tempHome } from '../support/start-bridge.js';

const SCRIPT = fileURLToPath(new URL('../../scripts/time-literals.mjs', import.meta.url));

async function check(statement: string): Promise<string> {
  const root = tempHome();
  for (const folder of ['test', 'sandbox-runtime/tests']) mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, 'test/some.test.ts'), `${statement.replaceAll('N', '3_000')}\n`);
  const ended = promisify(execFile)(process.execPath, [SCRIPT, '--root', root, '--check']);
  return (await ended.catch((thrown: { stdout: string }) => thrown)).stdout;
}

it.each([
  ['judged', 'expect(tookMs).toBeLessThan(N);'],
  ['judged', 'expect(performance.now() - startedAt < N).toBe(true);'],
  ['judged', 'if (elapsed <= N) return;'],
  ['waited', 'await vi.waitFor(() => { expect(a).toBe(1) }, { timeout: N });'],
  ['waited', 'await expect.poll(() => a, { timeout: N, interval: b }).toBe(1);'],
  ['waited', 'await eventually(() => a, N);'],
])('%s: %s', async (kind, statement) => {
  expect(await check(statement)).toMatch(new RegExp(`^test/some.test.ts:1: ${kind}: `));
});

it.each([
  'return took.length < N;',
  "const row = '| ms | N ms | <= N |';",
  'const all = [{ when: () => eventually(() => a > b), }, { code: "sleep(timeout=N)" }];',
  'expect(tookMs).toBeLessThan(nodeStarts(2));',
  'await vi.waitFor(() => { expect(a).toBe(1) }, PATIENTLY);',
])('nothing: %s', async (statement) => {
  expect(await check(statement)).toBe('');
});
