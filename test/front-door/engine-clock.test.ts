// The engine's own clock, which ends a container that nobody else can end any more: a sandbox that the engine has started, and a
// template. Half a minute of waiting for each, in which nothing runs: only `scripts/test --all` has it.

import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { isOfTemplate, ourContainers, ourListed } from '../support/nothing-left.js';
import { startBridge } from '../support/start-bridge.js';
import { eventually, pause, until } from '../support/time.js';
import { isFromTemplate } from './from-template.js';

const env = { MCP_BRIDGE_WARM: '0', MCP_BRIDGE_MAX_TIMEOUT: '10', MCP_BRIDGE_TIMEOUT: '10' };

const templates = (): string[] => ourListed('status=running').filter(isOfTemplate);
const firstProcess = (name: string): number =>
  Number(execFileSync('podman', ['inspect', '--format={{.State.Pid}}', name], { encoding: 'utf8' }));

/** Stops the container, which then notices nothing, and waits for its end after that of the bridge with this pid. */
async function outlives(name: string, bridge: number): Promise<void> {
  process.kill(firstProcess(name), 'SIGSTOP');
  process.kill(bridge, 'SIGKILL');
  await pause(3_000);
  expect(ourContainers()).toEqual([name]);
  // Its 10 s and the 30 that every container may live longer.
  expect(await eventually(() => ourContainers().length === 0)).toBe(true);
}

it('ends the sandbox of a bridge that was killed, when the sandbox cannot notice it', async () => {
  await using bridge = await startBridge({}, { env: { ...env, MCP_BRIDGE_LAUNCH: 'engine' } });
  // What is tried before the first run of a machine are containers too.
  await bridge.run('1');
  expect(await eventually(() => ourContainers().length === 0)).toBe(true);
  bridge.run('while True: pass').catch(() => {});
  expect(await eventually(() => ourListed('status=running').length === 1)).toBe(true);
  const [name = ''] = ourListed();
  await outlives(name, bridge.pid);
});

it('ends the template of a bridge that was killed, when the template cannot notice it', async () => {
  await using bridge = await startBridge({}, { env: { ...env, MCP_BRIDGE_LAUNCH: 'template' } });
  const isMade = async () => {
    await bridge.run('1');
    return templates().length > 0;
  };
  expect(await eventually(isMade)).toBe(true);
  const alone = () => ourContainers().length === 1;
  expect(await eventually(alone)).toBe(true);
  const [name = ''] = ourContainers();
  expect(isOfTemplate(name)).toBe(true);
  await outlives(name, bridge.pid);
});

it('ends no template that is in use, which is followed by another before, and each that is not', async () => {
  await using bridge = await startBridge({}, { env });
  await until(() => isFromTemplate(bridge), bridge.stderr());
  const [first = ''] = templates();
  const isFollowed = async () => {
    // In between as well.
    expect(await isFromTemplate(bridge)).toBe(true);
    return templates().length === 1 && !templates().includes(first);
  };
  expect(await eventually(isFollowed)).toBe(true);
  expect(await eventually(() => ourContainers().length === 0)).toBe(true);
  expect(bridge.stderr()).not.toContain('is lost');
  await until(() => isFromTemplate(bridge), bridge.stderr());
});
