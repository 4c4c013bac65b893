// Which image a bridge starts from is asked of podman once, and again when something has changed in podman's store.

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { rememberChoice } from '../../src/engine/detect.js';
import { engineSelectionOf, setUpEngine } from '../../src/sandbox/launch/launch-set-up.js';
import type { Settings } from '../../src/settings/environment/settings.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { removeFolder } from '../support/remove-folder.js';
import { NEVER } from '../support/time.js';

/** Says the id that stands in a file, for images of no public registry, and notes each question. */
const PODMAN = `#!/bin/sh
echo "$*" >> "$(dirname "$0")/asked"
case "$*" in *docker.io*) echo "Error: $*: image not known" >&2; exit 125;; esac
cat "$(dirname "$0")/id"
`;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'remembered-image-'));
  onTestFinished(() => removeFolder(dir));
  mkdirSync(join(dir, 'overlay-images'));
  writeFileSync(join(dir, 'podman'), PODMAN);
  chmodSync(join(dir, 'podman'), 0o755);
  storeHas('one', 1_000);
});

/** An image of this id, since so many seconds after the epoch. */
function storeHas(id: string, since: number): void {
  writeFileSync(join(dir, 'id'), `${id}\n`);
  const file = join(dir, 'overlay-images/images.json');
  writeFileSync(file, '[]');
  utimesSync(file, since, since);
}

const asked = (): readonly string[] =>
  readFileSync(join(dir, 'asked'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('image inspect'));

/** As a bridge does that starts, on an engine that an earlier one has chosen. */
async function start(more: Partial<Settings> = {}, storageRoot = dir) {
  const binary = join(dir, 'podman');
  const env = {
    MCP_BRIDGE_RUNTIME: binary,
    MCP_BRIDGE_STATE_DIR: join(dir, 'state'),
    MCP_BRIDGE_IMAGE: 'example.org/python:1',
  };
  const host = { home: dir, platform: 'linux', cores: 2, cwd: dir, uid: 1000, exists: () => false } as const;
  const settings = { ...parseSettings(env, host).settings, ...more };
  rememberChoice(engineSelectionOf(settings), {
    binary,
    version: '5.0.0',
    mode: 'rootless',
    ids: 'rootless',
    architecture: 'amd64',
    limits: { memory: true, pids: true, cpu: true },
    storageDriver: 'overlay',
    storageRoot,
    cgroups: 'v2',
    ociRuntime: 'runc',
    ociFlags: [],
    tried: [],
    enforcement: { memory: 'cgroup', pids: 'cgroup', cpu: 'cgroup' },
  });
  const { image } = await setUpEngine({ settings, instance: 'test', observer: () => {} }, NEVER);
  return image;
}

it('asks podman for the image at the first start only', async () => {
  const image = await start();
  expect(image).toEqual({
    image: 'example.org/python:1',
    id: 'one',
    reason: { kind: 'found', by: 'operator' },
  });
  expect(await start()).toEqual(image);
  expect(asked()).toHaveLength(1);
});

it('asks again when the store has changed, and for another image', async () => {
  await start();
  storeHas('two', 2_000);
  expect((await start()).id).toBe('two');
  expect(asked()).toHaveLength(2);
  expect((await start({ image: 'example.org/python:2' })).image).toBe('example.org/python:2');
  expect(asked()).toHaveLength(3);
  await start();
  expect(asked()).toHaveLength(3);
});

it('asks at each start where the store cannot be watched', async () => {
  await start({}, '/nowhere');
  await start({}, '/nowhere');
  expect(asked()).toHaveLength(2);
});

it('remembers as well that an image of our own stands in for the default', async () => {
  const first = await start({ explicitlySet: new Set(), image: 'docker.io/library/python:3' });
  expect(first.reason).toMatchObject({ kind: 'stand-in', image: 'docker.io/library/python:3' });
  const count = asked().length;
  expect(await start({ explicitlySet: new Set(), image: 'docker.io/library/python:3' })).toEqual(first);
  expect(asked()).toHaveLength(count);
});
