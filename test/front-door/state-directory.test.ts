// Home folders and state directories with names that engines, their options and their monitors could misread.

import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { bridgeEnv, MAIN, startBridge, tempHome } from '../support/start-bridge.js';
import { HANGS_MS } from '../support/time.js';

it.each([
  ['letters beyond ASCII, a space and a colon', 'Zoë: 日本'],
  ['what separates, quotes and escapes', `a,b=c "d" 'e' \\f\n$g %h`],
])('code runs with %s in the home folder and in the state directory', async (_what, name) => {
  const home = join(tempHome(), name);
  mkdirSync(home);
  const stateDir = join(home, 'state');
  await using bridge = await startBridge({}, { env: { HOME: home, MCP_BRIDGE_STATE_DIR: stateDir } });
  expect(await bridge.run('"it runs"')).toMatchObject({ status: 'success', result: 'it runs' });
});

it('a home folder that is empty text is the one that the system knows', async () => {
  const [state, config] = [tempHome(), tempHome()];
  const env = { HOME: '', MCP_BRIDGE_STATE_DIR: state, XDG_CONFIG_HOME: config };
  await using bridge = await startBridge({}, { env });
  expect(await bridge.run('1')).toMatchObject({ status: 'success' });
});

it.each([
  [{ MCP_BRIDGE_STATE_DIR: '/proc/state' }, "MCP_BRIDGE_STATE_DIR is '/proc/state', which is in /proc"],
  [{ HOME: '/sys' }, "The state directory is '/sys/.local/state/mcp-sandbox-bridge', which is in /sys"],
])('a state directory where no files can be kept is an error at the start: %j', async (env, words) => {
  const home = tempHome();
  const { MCP_BRIDGE_STATE_DIR: _, ...others } = bridgeEnv(home);
  const ended = spawnSync(process.execPath, [MAIN, 'run', '-'], {
    env: { ...others, ...env },
    cwd: home,
    input: 'print(1)',
    timeout: HANGS_MS,
    encoding: 'utf8',
  });
  expect(ended.stderr).toContain(words);
  expect(ended.stderr).toContain('next:');
  expect(ended.status).toBe(2);
});
