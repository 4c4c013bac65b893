// Measures of the benchmark that look at what the bridge leaves on disk, beside a stage that has no engine.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { SessionFiles, type SessionRecord } from '../../src/run/sessions/session-file.js';

type Row = { readonly measure: string; readonly skipped?: string };
type Bridge = { readonly run: () => Promise<void> };

const { sessionCall, firstProcess } = (await import(
  new URL('../../scripts/bench/session-call.mjs', import.meta.url).href
)) as {
  readonly sessionCall: (stage: object) => Promise<readonly Row[]>;
  readonly firstProcess: (stateDir: string) => number | undefined;
};

const stateDir = mkdtempSync(join(tmpdir(), 'bench-measures-'));
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

const session: Omit<SessionRecord, 'owner'> = {
  handle: 's-0123456789abcdef',
  name: 'bench',
  client: 'bench 1',
  principal: null,
  scope: null,
  container: 'mcp-sandbox-bridge-0-1',
  process: { pid: 4711, startTime: '1' },
  memoryLimitBytes: 1,
  createdAt: '2026-01-01T00:00:00.000Z',
  lastCallAt: '2026-01-01T00:00:00.000Z',
  calls: 1,
  idleSeconds: 1,
  lifeSeconds: 1,
  ended: null,
};

it('the benchmark finds the first process of a session in the record that a bridge writes', () => {
  new SessionFiles(stateDir).write(session);
  expect(firstProcess(stateDir)).toBe(4711);
});

it('the benchmark of a session says what is missing where no first process can be seen', async () => {
  new SessionFiles(stateDir).write({ ...session, process: null });
  const stage = {
    stateDir,
    withBridge: (_with: object, work: (bridge: Bridge) => unknown) => work({ run: () => Promise.resolve() }),
  };
  const rows = await sessionCall(stage);
  expect(rows).toHaveLength(1);
  expect(rows[0]?.skipped).toContain('no record of it names one here');
});
