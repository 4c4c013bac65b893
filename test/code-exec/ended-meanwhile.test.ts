// A program that ends while this process is busy with others: its end is noticed in the same moment as theirs, before anything
// of what it wrote was read, and the time for reading that is over when this process looks again.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { run } from '../../src/base/process/process.js';
import { runCommand } from '../../src/code-exec/run-command.js';
import { HANGS_MS, NEVER } from '../support/time.js';

/** More than is given to what stands in the pipes of a program that has ended. */
const BUSY_MS = 600;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ended-meanwhile-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Gives nothing else a turn. */
function busyUntil(condition: () => boolean): void {
  while (!condition());
}
const busyFor = (ms: number) => {
  const end = performance.now() + ms;
  busyUntil(() => performance.now() > end);
};
const hasEnded = (pidFile: string) => {
  const pid = existsSync(pidFile) ? readFileSync(pidFile, 'utf8').trim() : '';
  return pid !== '' && / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
};

const RUNNERS = {
  run: async (args: readonly string[]) =>
    (await run(['/bin/sh', ...args], { timeoutMs: HANGS_MS }, NEVER)).stdout,
  runCommand: async (args: readonly string[]) => {
    const rest = { stdin: Buffer.alloc(0), cwd: '/', env: { PATH: '/usr/bin:/bin' }, limit: undefined };
    const { output } = await runCommand(
      { path: '/bin/sh', args, timeoutMs: HANGS_MS, ...rest },
      1_000,
      NEVER,
    );
    return output.result(1_000, {}).stdout.text;
  },
};

it.each(['run', 'runCommand'] as const)('%s has all that it wrote', async (name) => {
  const [firstPid, secondPid, go] = ['first', 'second', 'go'].map((file) => join(dir, file)) as [
    string,
    string,
    string,
  ];
  const second = RUNNERS[name]([
    '-c',
    `echo $$ > '${secondPid}'; until [ -e '${go}' ]; do sleep 0.02; done; echo all`,
  ]);
  const first = run(
    ['/bin/sh', '-c', `echo $$ > '${firstPid}'; echo told`],
    {
      timeoutMs: HANGS_MS,
      onStarted: () => busyUntil(() => hasEnded(firstPid)),
      onLine: () => {
        writeFileSync(go, '');
        busyUntil(() => hasEnded(secondPid));
        setImmediate(() => busyFor(BUSY_MS));
      },
    },
    NEVER,
  );
  expect(await Promise.all([first.then(({ stdout }) => stdout), second])).toEqual(['told\n', 'all\n']);
});
