// What is found out of an image that nobody here has built: its Python from the greeting, its libraries from a look.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { Launcher } from '../../src/sandbox/launch/launcher.js';
import { lastFacts } from '../../src/sandbox/python/image-facts.js';
import { pythonProfile } from '../../src/sandbox/spec/profile.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';
import { bridgeEnv, tempHome } from '../support/start-bridge.js';
import { coldSandboxes, eventually, NEVER, pause } from '../support/time.js';

const IMAGE = `localhost/trial-study-${process.pid}:1`;
const home = tempHome();
const settingsOf = (env: Record<string, string>) =>
  parseSettings(bridgeEnv(home, { MCP_BRIDGE_STATE_DIR: join(home, 'state'), ...env }), hostFacts()).settings;
const podman = (...args: string[]) =>
  execFileSync('podman', ['--log-level=error', ...args], { encoding: 'utf8' });
let imageId = '';
beforeAll(async () => {
  await using launcher = new Launcher(settingsOf({}), { platform: 'linux' }, () => {});
  imageId = (await launcher.pad()).image.id;
  podman('tag', imageId, IMAGE);
});
// By its id as well: without it every name of the image would go.
afterAll(() => void podman('untag', imageId, IMAGE));

it('is its version at once and its libraries soon, once for each image', async () => {
  const settings = settingsOf({ MCP_BRIDGE_IMAGE: IMAGE });
  const events: BridgeEvent[] = [];
  const known = () => events.filter((event) => event.type === 'image.known');
  const start = async (launcher: Launcher) =>
    launcher.retire(await launcher.start(pythonProfile(settings), NEVER));
  {
    await using launcher = new Launcher(settings, { platform: 'linux' }, (event) => events.push(event));
    await start(launcher);
    expect(lastFacts(settings)).toMatchObject({ python: expect.stringMatching(/^3\.\d+$/), modules: null });
    expect(await eventually(() => known().length === 2)).toBe(true);
    expect(lastFacts(settings)).toMatchObject({ modules: [] });
  }
  await using again = new Launcher(settings, { platform: 'linux' }, (event) => events.push(event));
  await start(again);
  await start(again);
  // A second study would have begun with the start, and taken about as long as one.
  await pause(coldSandboxes(5));
  expect(known()).toHaveLength(3);
});
