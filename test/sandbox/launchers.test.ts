// Which launcher starts what: a kind that insists on an OCI runtime never starts under another one.

import { expect, it } from 'vitest';
import { BridgeError } from '../../src/base/errors.js';
import type { Sandbox } from '../../src/sandbox/conversation/sandbox.js';
import type { Launcher } from '../../src/sandbox/launch/launcher.js';
import { Launchers } from '../../src/sandbox/launch/launcher.js';
import { commandProfile, pythonProfile } from '../../src/sandbox/spec/profile.js';
import { parseSettings, type Settings } from '../../src/settings/environment/settings.js';
import { NEVER } from '../support/time.js';

const settingsOf = (env: Record<string, string>): Settings =>
  parseSettings(env, { home: '/h', platform: 'linux', cores: 2, cwd: '/', uid: 1000, exists: () => false })
    .settings;

/** What started and ended, by the OCI runtime of the launcher. */
function stage(env: Record<string, string> = {}, failure?: BridgeError) {
  const settings = settingsOf(env);
  const told: string[] = [];
  const launcher = (runtime: string | undefined): Launcher =>
    ({
      start: () => {
        told.push(`start ${runtime}`);
        return failure === undefined ? Promise.resolve({} as Sandbox) : Promise.reject(failure);
      },
      retire: () => told.push(`retire ${runtime}`),
      isCurrent: () => runtime === 'runsc',
      [Symbol.asyncDispose]: async () => void told.push(`end ${runtime}`),
    }) as unknown as Launcher;
  const open = ({ ociRuntime }: Settings) => launcher(ociRuntime);
  return { settings, told, launchers: new Launchers(settings, launcher('main'), open) };
}

it('commands start under gVisor, everything else where it did, and each ends where it started', async () => {
  const { settings, told, launchers } = stage();
  const command = await launchers.start(commandProfile(settings, 'v'), NEVER);
  const python = await launchers.start(pythonProfile(settings), NEVER);
  expect([launchers.isCurrent(command), launchers.isCurrent(python)]).toEqual([true, false]);
  launchers.retire(command);
  launchers.retire(python);
  await launchers[Symbol.asyncDispose]();
  expect(told).toEqual(['start runsc', 'start main', 'retire runsc', 'retire main', 'end runsc']);
});

it.each([{ MCP_BRIDGE_EXECUTE_OCI_RUNTIME: 'auto' }, { MCP_BRIDGE_OCI_RUNTIME: 'runsc' }])(
  'one launcher is enough with %j',
  async (env) => {
    const { settings, told, launchers } = stage(env);
    await launchers.start(commandProfile(settings, 'v'), NEVER);
    expect(told).toEqual(['start main']);
  },
);

it('where the runtime starts nothing, says why, and what would change it; other errors stay as they are', async () => {
  const missing = new BridgeError('E_OCI_RUNTIME', 'No OCI runtime starts a container: runsc: not found', {
    fault: 'operator',
    remedy: 'Unset MCP_BRIDGE_OCI_RUNTIME to let the bridge choose.',
  });
  const { settings, told, launchers } = stage({}, missing);
  await expect(launchers.start(commandProfile(settings, 'v'), NEVER)).rejects.toMatchObject({
    code: 'E_OCI_RUNTIME',
    message: expect.stringContaining('runsc: not found'),
    remedy: expect.stringContaining('MCP_BRIDGE_EXECUTE_OCI_RUNTIME=auto'),
  });
  expect(told).toEqual(['start runsc']);
  await expect(launchers.start(pythonProfile(settings), NEVER)).rejects.toBe(missing);
});
