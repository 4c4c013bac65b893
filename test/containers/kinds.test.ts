// Images of kinds besides run_python's own: missing, made while the bridge runs, changed while a sandbox of theirs waits.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { Launcher } from '../../src/sandbox/launch/launcher.js';
import { pythonProfile, type SandboxProfile } from '../../src/sandbox/spec/profile.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';
import { bridgeEnv, tempHome } from '../support/start-bridge.js';
import { NEVER } from '../support/time.js';
import { makeUsed } from '../support/used-state.js';

// No registry is asked for long: nothing listens here.
const IMAGE = `localhost/trial-kinds-${process.pid}:1`;
const home = tempHome();
const state = makeUsed(join(home, 'state'));
const settingsOf = (env: Record<string, string>) =>
  parseSettings(bridgeEnv(home, { MCP_BRIDGE_STATE_DIR: state, ...env }), hostFacts()).settings;
const settings = settingsOf({});
const kind: SandboxProfile = { ...pythonProfile(settings), image: IMAGE, imageSource: 'operator', pids: 64 };

let events: BridgeEvent[] = [];
const open = (of = settings) => new Launcher(of, { platform: 'linux' }, (event) => events.push(event));
const steps = () => events.flatMap((event) => (event.type === 'setup.step' ? [event.step] : []));
const podman = (...args: string[]) =>
  execFileSync('podman', ['--log-level=error', ...args], { encoding: 'utf8' });
const other = IMAGE.replace(':1', ':2');
/** By its id as well: without it every name of the image would go. */
let imageId = '';
afterAll(() => void podman('untag', imageId, IMAGE));

it('a missing one is missing at each call, without all being found out anew, until it is there', async () => {
  await using first = open();
  const { image } = await first.pad();
  await using launcher = open();
  events = [];
  const missing = { code: 'E_IMAGE_MISSING', remedy: expect.stringContaining(IMAGE) };
  await expect(launcher.start(kind, NEVER)).rejects.toMatchObject(missing);
  await expect(launcher.start(kind, NEVER)).rejects.toMatchObject(missing);
  expect(steps().filter((step) => step.startsWith('checking'))).toEqual([]);
  // Where run_python's own is missing, it is said what every language needs it for.
  await using without = open(settingsOf({ MCP_BRIDGE_IMAGE: IMAGE }));
  const needed = { ...missing, message: expect.stringContaining('Every language needs it') };
  await expect(without.start({ ...kind, image: 'base' }, NEVER)).rejects.toMatchObject(needed);

  imageId = image.id;
  podman('tag', imageId, IMAGE);
  const sandbox = await launcher.start(kind, NEVER);
  expect([sandbox.spec.image, sandbox.spec.pids]).toEqual([IMAGE, 64]);
  expect(launcher.isCurrent(sandbox)).toBe(true);
  podman('tag', imageId, other);
  podman('untag', imageId, other);
  expect(launcher.isCurrent(sandbox)).toBe(false);
  launcher.retire(sandbox);
});
