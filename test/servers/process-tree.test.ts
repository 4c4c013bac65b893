import { expect, it } from 'vitest';
import { ProcessTree } from '../../src/servers/stdio/process-tree.js';
import { isAlive } from '../support/processes.js';
import { until } from '../support/time.js';

// A shell that refuses SIGTERM, with a child that does so too.
const SCRIPT = 'trap "" TERM; (trap "" TERM; sleep 60) & echo $! $$; wait; sleep 60';

it('killNow ends a whole stubborn group without waiting, and end() then resolves at once', async () => {
  const env = { PATH: process.env['PATH'] ?? '' };
  const tree = new ProcessTree({ command: '/bin/sh', args: ['-c', SCRIPT], env, cwd: undefined });
  const output = await new Promise<Buffer>((resolve) => tree.stdout.once('data', resolve));
  const pids = output.toString().trim().split(' ').map(Number);
  expect(pids.filter(isAlive)).toHaveLength(2);
  tree.killNow();
  expect(await tree.exited).toEqual({ code: undefined, signal: 'SIGKILL' });
  await until(() => !pids.some(isAlive));
  await tree.end();
});
