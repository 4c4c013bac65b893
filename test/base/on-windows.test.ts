// What only Windows itself can say: a batch file that is really started, and a tree of processes that is really ended. Passed
// over on every other system, where start-of.test.ts has the same rules, played.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { environmentWith, run } from '../../src/base/process/process.js';
import { groupOptions, signalGroup } from '../../src/base/process/process-group.js';
import { isAlive } from '../support/processes.js';
import { HANGS_MS, NEVER, PATIENTLY } from '../support/time.js';
import { HOSTILE } from './windows-command-line.js';

describe.runIf(process.platform === 'win32')('Windows', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'on windows & 100% '));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('a batch file hands on every argument as it was written', async () => {
    writeFileSync(join(folder, 'show.js'), 'process.stdout.write(JSON.stringify(process.argv.slice(2)))');
    writeFileSync(join(folder, 'show.cmd'), `@"${process.execPath}" "%~dp0show.js" %*\r\n`);
    const env = environmentWith({});
    const path = `${folder};${Object.entries(env).find(([name]) => name.toUpperCase() === 'PATH')?.[1] ?? ''}`;
    for (const args of [HOSTILE, ...HOSTILE.map((arg) => [arg, 'a b', arg])]) {
      const { exitCode, stdout } = await run(
        ['show', ...args],
        { timeoutMs: HANGS_MS, env: { PATH: path } },
        NEVER,
      );
      expect([exitCode, JSON.parse(stdout)]).toEqual([0, args]);
    }
  });

  it('starts npx by its command file', async () => {
    const { exitCode, stdout } = await run(['npx', '--version'], { timeoutMs: HANGS_MS }, NEVER);
    expect([exitCode, /^\d+\./.test(stdout)]).toEqual([0, true]);
  });

  it('ending a process ends what it has started', async () => {
    const inner = 'console.log(process.pid); setInterval(() => {}, 1000)';
    const code = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(inner)}], { stdio: 'inherit' })`;
    const child: ChildProcess = spawn(process.execPath, ['-e', code], {
      ...groupOptions(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = (await once(child.stdout ?? child, 'data')) as [Buffer];
    const grandchild = Number(said);
    signalGroup(child.pid ?? 0, 'SIGTERM', false);
    await once(child, 'exit');
    await expect.poll(() => isAlive(grandchild), PATIENTLY).toBe(false);
  });
});
