// The engine's own clock, which ends a container that nobody else can end any more. Half a minute of waiting, in which nothing
// runs: only `scripts/test --all` has it.

import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { ourContainers } from '../support/nothing-left.js';
import { startBridge } from '../support/start-bridge.js';
import { eventually, pause } from '../support/time.js';

it('ends the sandbox of a bridge that was killed, when the sandbox cannot notice it', async () => {
  const env = { MCP_BRIDGE_WARM: '0', MCP_BRIDGE_MAX_TIMEOUT: '10', MCP_BRIDGE_TIMEOUT: '10' };
  await using bridge = await startBridge({}, { env });
  // What is tried before the first run of a machine are containers too.
  await bridge.run('1');
  expect(await eventually(() => ourContainers().length === 0)).toBe(true);
  const answer = bridge.run('while True: pass');
  answer.catch(() => {});
  const firstProcess = () =>
    Number(
      execFileSync('podman', ['ps', '--filter=label=mcp-sandbox-bridge', '--format={{.Pid}}'], {
        encoding: 'utf8',
      }),
    );
  expect(await eventually(() => ourContainers().length === 1 && firstProcess() > 0)).toBe(true);
  process.kill(firstProcess(), 'SIGSTOP');
  process.kill(bridge.pid, 'SIGKILL');
  await pause(3_000);
  expect(ourContainers()).toHaveLength(1);
  // Its 10 s and the 30 that every container may live longer.
  expect(await eventually(() => ourContainers().length === 0)).toBe(true);
});
