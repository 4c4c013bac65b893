// Images whose Python is called `python` and nothing else, as some are made: for run_python, and for programs in Python.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Launcher } from '../../src/sandbox/launch/launcher.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';
import { makeChangedImage } from '../support/changed-image.js';
import { removeImages } from '../support/remove-images.js';
import { bridgeEnv, type Payload, startBridge, tempHome } from '../support/start-bridge.js';

const IMAGE = `localhost/trial-named-${process.pid}/without-three:1`;
const RENAME = `
import glob, os
os.rename(os.path.realpath("/usr/bin/python3"), "/usr/bin/python")
[os.remove(each) for each in glob.glob("/usr/*bin/python3*")]`;
const CODE = 'import shutil, sys\n[shutil.which("python3"), sys.executable]';
const FOUND = [null, '/usr/bin/python'];

/** Of an operator who has used the image that all have; what was found out then is remembered. */
const used = join(tempHome(), 'state');

beforeAll(async () => {
  const home = tempHome();
  const env = bridgeEnv(home, { MCP_BRIDGE_STATE_DIR: used, MCP_BRIDGE_WARM: '0' });
  const { settings } = parseSettings(env, hostFacts());
  await using launcher = new Launcher(settings, { platform: 'linux' }, () => {});
  makeChangedImage(IMAGE, RENAME, await launcher.pad());
});
afterAll(() => removeImages(IMAGE));

async function runOnImage(stateDir: string): Promise<{ payload: Payload; starts: number }> {
  await using bridge = await startBridge(
    {},
    {
      env: {
        MCP_BRIDGE_IMAGE: IMAGE,
        MCP_BRIDGE_STATE_DIR: stateDir,
        MCP_BRIDGE_WARM: '0',
        MCP_BRIDGE_LOG_LEVEL: 'trace',
      },
    },
  );
  const payload = await bridge.run(CODE);
  return { payload, starts: bridge.stderr().split('starting a container').length - 1 };
}

it('run_python works on it where nothing is known yet', async () => {
  const { payload } = await runOnImage(join(tempHome(), 'state'));
  expect(payload).toMatchObject({ status: 'success', result: FOUND });
});

it('and where the engine is known and the image is new; the next bridge starts it at once', async () => {
  rmSync(join(used, 'cache/image-pythons.json'), { force: true });
  expect((await runOnImage(used)).payload).toMatchObject({ status: 'success', result: FOUND });
  const { payload, starts } = await runOnImage(used);
  expect([payload.result, starts]).toEqual([FOUND, 1]);
});

it('so do programs in Python', async () => {
  rmSync(join(used, 'cache/image-pythons.json'), { force: true });
  await using bridge = await startBridge(
    {},
    {
      env: {
        MCP_BRIDGE_TOOLS: 'run_python,execute_code',
        MCP_BRIDGE_LANGUAGE_IMAGES: `python=${IMAGE}`,
        MCP_BRIDGE_STATE_DIR: used,
        MCP_BRIDGE_WARM: '0',
      },
    },
  );
  const { structuredContent } = await bridge.client.callTool({
    name: 'execute_code',
    arguments: { language: 'python', entrypoint_code: 'import sys\nprint(sys.executable)' },
  });
  expect(structuredContent).toMatchObject({ status: 'success', stdout: ['/usr/bin/python'] });
});
