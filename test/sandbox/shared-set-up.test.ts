// A bridge with a new state directory begins with what others have found of the engine, and makes it its own once it has looked
// at a container.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { type EngineChoice, rememberChoice, rememberedChoice, shareFound } from '../../src/engine/detect.js';
import { rememberImage } from '../../src/engine/images/image-choice.js';
import {
  demandAsShared,
  engineSelectionOf,
  isChosenBefore,
  type LaunchContext,
  setUpEngine,
  specOn,
} from '../../src/sandbox/launch/launch-set-up.js';
import { Launcher } from '../../src/sandbox/launch/launcher.js';
import { keepCompiled } from '../../src/sandbox/python/python-name.js';
import { harnessVersion } from '../../src/sandbox/spec/harness-files.js';
import { pythonProfile } from '../../src/sandbox/spec/profile.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { removeFolder } from '../support/remove-folder.js';
import { NEVER } from '../support/time.js';

const IMAGE = {
  image: 'example.org/python:1',
  id: 'one',
  reason: { kind: 'found', by: 'operator' },
} as const;
const COMPILED = 'mcp/__pycache__/_proxy.cpython-313.pyc';

let dir: string;
let choice: EngineChoice;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shared-set-up-'));
  onTestFinished(() => removeFolder(dir));
  for (const folder of ['overlay-images', 'runtime']) mkdirSync(join(dir, folder), { mode: 0o700 });
  writeFileSync(join(dir, 'overlay-images/images.json'), '[]');
  writeFileSync(join(dir, 'podman'), `#!/bin/sh\necho "$*" >> '${dir}/asked'\nexit 125\n`);
  chmodSync(join(dir, 'podman'), 0o755);
  choice = {
    binary: join(dir, 'podman'),
    version: '5.0.0',
    mode: 'rootless',
    ids: 'rootless',
    architecture: 'amd64',
    limits: { memory: true, pids: true, cpu: true },
    storageDriver: 'overlay',
    storageRoot: dir,
    cgroups: 'v2',
    ociRuntime: 'runc',
    ociFlags: [],
    tried: [],
    enforcement: { memory: 'cgroup', pids: 'cgroup', cpu: 'cgroup' },
  };
});

function contextIn(state: string): LaunchContext {
  const env = {
    MCP_BRIDGE_RUNTIME: join(dir, 'podman'),
    MCP_BRIDGE_STATE_DIR: join(dir, state),
    MCP_BRIDGE_IMAGE: IMAGE.image,
    XDG_RUNTIME_DIR: join(dir, 'runtime'),
  };
  const host = { home: dir, platform: 'linux', cores: 2, cwd: dir, uid: 1000, exists: () => false } as const;
  return { settings: parseSettings(env, host).settings, instance: 'test', observer: () => {} };
}

const hasAsked = () => existsSync(join(dir, 'asked'));

/** What another bridge has found, in a state directory of its own. */
function findBefore(): void {
  const { settings } = contextIn('one');
  const { mtimeMs, size, ino } = statSync(join(dir, 'overlay-images/images.json'));
  rememberImage(settings.stateDir, pythonProfile(settings), choice, {
    stamp: `${mtimeMs} ${size} ${ino}`,
    choice: IMAGE,
  });
  keepCompiled(settings.stateDir, `${harnessVersion()} ${IMAGE.id}`, new Map([[COMPILED, 'compiled']]));
  shareFound(engineSelectionOf(settings), ['cache/images.json', 'cache/harness.json'], choice);
}

it('is set up without a question to the engine, with the harness as compiled', async () => {
  findBefore();
  const context = contextIn('two');
  expect(isChosenBefore(context)).toBe(true);
  const setUp = await setUpEngine(context, NEVER);
  expect(setUp).toMatchObject({ choice, image: IMAGE });
  expect(setUp.files.harnessDir).toMatch(`${dir}/two/ipc/`);
  expect(readFileSync(join(setUp.files.harnessDir, COMPILED), 'utf8')).toBe('compiled');
  expect(hasAsked()).toBe(false);
});

it('is taken back where the first container is held otherwise', async () => {
  findBefore();
  const context = contextIn('two');
  const setUp = await setUpEngine(context, NEVER);
  const wishes = engineSelectionOf(context.settings);
  // No group of this process is one that only it is in.
  const container = { pid: process.pid, spec: specOn(setUp, context, 'one') };
  expect(() => demandAsShared(setUp, container, context)).toThrow(
    expect.objectContaining({ code: 'E_UNENFORCED' }),
  );
  expect(() => demandAsShared(setUp, { ...container, pid: undefined }, context)).toThrow('held otherwise');
  expect(rememberedChoice(wishes)).toBeUndefined();
});

it('is found out anew where the engine has been reset', async () => {
  findBefore();
  rmSync(join(dir, 'overlay-images'), { recursive: true });
  await expect(setUpEngine(contextIn('two'), NEVER)).rejects.toMatchObject({ code: 'E_ENGINE_BROKEN' });
  expect(readFileSync(join(dir, 'asked'), 'utf8')).toMatch(/^info /);
});

it('is found out anew by each of two first starts that fail on it', async () => {
  const { settings } = contextIn('one');
  rememberChoice(engineSelectionOf(settings), choice);
  findBefore();
  await using launcher = new Launcher(settings, { platform: 'linux' }, () => {});
  const starts = [1, 2].map(() => launcher.start(pythonProfile(settings), NEVER));
  const ended = await Promise.allSettled(starts);
  expect(ended.map((each) => each.status === 'rejected' && each.reason.code)).toEqual([
    'E_ENGINE_BROKEN',
    'E_ENGINE_BROKEN',
  ]);
});
