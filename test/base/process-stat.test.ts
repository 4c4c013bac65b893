import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { signalGroup } from '../../src/base/process/process-group.js';
import { descendantsOf, processesSeconds, processStat } from '../../src/base/process/process-stat.js';
import { until } from '../support/time.js';

function shell(script: string) {
  const started = spawn('sh', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  const pid = started.pid ?? 0;
  onTestFinished(() => signalGroup(pid, 'SIGKILL', false));
  return { pid, started };
}

it('a process is charged for what its children compute while they live', async () => {
  const { pid } = shell('while :; do :; done & wait');
  await until(() => (processesSeconds(pid) ?? 0) >= 0.1);
  expect(processStat(pid)?.used).toBeLessThan(10);
});

it('a process is charged for what its children have computed that have ended', async () => {
  const { pid, started } = shell('(n=0; while [ $n -lt 100000 ]; do n=$((n+1)); done); echo over; read line');
  await once(started.stdout, 'data');
  expect(descendantsOf(pid)).toEqual([]);
  expect(processesSeconds(pid)).toBeGreaterThan((processStat(pid)?.used ?? 0) / 100);
});

it('a process that has ended is charged for nothing', async () => {
  const { pid, started } = shell('');
  await once(started, 'exit');
  expect(processesSeconds(pid)).toBeUndefined();
});
