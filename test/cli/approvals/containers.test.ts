// `run` with calls that need an approval: at a terminal a key answers, and without one the command says so once and ends with an
// exit code of its own.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { bridgeEnv, MAIN, tempHome } from '../../support/start-bridge.js';
import { PATIENTLY } from '../../support/time.js';
import { Desk } from '../../support/windows.js';
import { command } from '../command.js';

const SERVER = fileURLToPath(new URL('../../fixtures/approved-server.mjs', import.meta.url));
const CODE = 'print(await mcp_desk.erase(id="7"))';

let home: string;
let log: string;
beforeEach(() => {
  home = tempHome();
  log = join(home, 'calls.log');
  const desk = { command: process.execPath, args: [SERVER, log, 'desk'] };
  writeFileSync(join(home, 'servers.json'), JSON.stringify({ mcpServers: { desk } }), { mode: 0o600 });
  writeFileSync(join(home, 'job.py'), CODE);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const env = (more: Record<string, string> = {}) => ({
  MCP_SERVERS_CONFIG: join(home, 'servers.json'),
  MCP_BRIDGE_APPROVE: 'all',
  ...more,
});
const sent = () => (existsSync(log) ? readFileSync(log, 'utf8') : '');
const RUN = ['run', 'job.py', '--servers', 'desk'];

it('without a terminal it says which question waits, once, and ends with 75 when nobody has answered', async () => {
  const { stderr, exitCode } = await command(RUN, { home, env: env({ MCP_BRIDGE_APPROVE_WAIT: '2' }) });
  const [, id] = /^(q-[a-z0-9]{16}): desk\.erase needs your approval/m.exec(stderr) ?? [];
  expect(stderr.match(/needs your approval/g)).toHaveLength(1);
  expect(stderr).toContain(`approvals allow ${id}\``);
  expect(stderr).toContain(`Nobody answered ${id} in time.`);
  expect([exitCode, sent()]).toEqual([75, '']);
});

it('code that deals with the missing answer keeps its own exit code', async () => {
  writeFileSync(join(home, 'job.py'), `import sys\ntry:\n  ${CODE}\nexcept Exception:\n  sys.exit(4)`);
  const { exitCode } = await command(RUN, { home, env: env({ MCP_BRIDGE_APPROVE_WAIT: '1' }) });
  expect(exitCode).toBe(4);
});

it('a call of a session, which another process makes, is told in the same way', async () => {
  const entry = { command: process.execPath, args: [SERVER, log, 'desk'] };
  await using shared = new Desk({ desk: entry }, { MCP_BRIDGE_APPROVE: 'all', MCP_BRIDGE_APPROVE_WAIT: '2' });
  const { stderr, exitCode } = await command(['run', '-', '--session', 'asks', '--servers', 'desk'], {
    home: shared.home,
    env: shared.env(),
    input: CODE,
  });
  const [, id] = /^(q-[a-z0-9]{16}): desk\.erase needs your approval/m.exec(stderr) ?? [];
  expect(stderr).toContain(`Nobody answered ${id} in time.`);
  expect([exitCode, sent()]).toEqual([75, '']);
});

it.runIf(process.platform === 'linux').each([
  ['y', 0, /erase/],
  ['n', 1, /^$/],
] as const)('at a terminal %s answers, and the exit code is the code’s', async (key, expected, calls) => {
  const play = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';
  const child = spawn('python3', ['-c', play, process.execPath, MAIN, ...RUN], {
    cwd: home,
    env: bridgeEnv(home, env({ TERM: 'dumb', COLUMNS: '100' })),
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  try {
    await vi.waitFor(() => expect(said).toContain('y yes, once · r for this run'), PATIENTLY);
    expect(said).toContain('n no · l leave it');
    // A key that was on its way when the question appeared is not taken.
    await vi.waitFor(
      () => {
        child.stdin.write(key);
        expect(said).toContain('Taken: ');
      },
      { ...PATIENTLY, interval: 300 },
    );
    expect(await ended).toBe(expected);
  } finally {
    child.kill('SIGKILL');
  }
  expect(sent()).toMatch(calls);
});
