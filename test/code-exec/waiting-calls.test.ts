// Calls of `execute` that wait for their turn, and are given up meanwhile.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseExecSettings } from '../../src/code-exec/exec-settings.js';
import { Execute } from '../../src/code-exec/execute.js';
import { NEVER } from '../support/time.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'waiting-calls-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const WAITING = 1_000;
const textOf = ({ content }: Awaited<ReturnType<Execute['call']>>) => JSON.stringify(content);

it('a call that is cancelled while it waits is gone at once, and keeps nobody from waiting', async () => {
  const settings = parseExecSettings({ MCP_EXEC_WORKDIR: dir, MCP_EXEC_CONCURRENCY: '1' });
  const told: string[] = [];
  const execute = new Execute(settings, { PATH: '/usr/bin:/bin' }, ({ outcome }) => told.push(outcome));
  const wait = 'until [ -e let-go ]; do sleep 0.05; done';
  const first = execute.call({ command: 'sh', args: ['-c', wait] }, NEVER);
  const callers = Array.from({ length: WAITING }, () => new AbortController());
  const waiting = callers.map(({ signal }) => execute.call({ command: 'true' }, signal));
  // The control: as many as may wait do.
  expect(textOf(await execute.call({ command: 'true' }, NEVER))).toContain(
    `Busy: ${WAITING} calls wait already`,
  );
  for (const caller of callers) caller.abort();
  const answers = await Promise.all(waiting);
  for (const answer of answers) expect(textOf(answer)).toContain('cancelled before its command began');
  expect(told).toEqual([]);
  const last = execute.call({ command: 'true' }, NEVER);
  expect(textOf(await execute.call({ command: 'true' }, AbortSignal.abort()))).toContain('cancelled before');
  writeFileSync(join(dir, 'let-go'), '');
  await Promise.all([first, last]);
  expect(told).toEqual(['exit status 0', 'exit status 0']);
  await execute.waitUntilIdle();
});
