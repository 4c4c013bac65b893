// What is found out of an engine is shared with bridges of the same user that have another state directory, for as long as the
// engine and its configuration are what they were.

import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import {
  type EngineChoice,
  type EngineSelection,
  forgetChoice,
  shareFound,
  takeSharedChoice,
} from '../../src/engine/detect.js';
import { enginePlaceFrom } from '../../src/settings/files/engine-place.js';
import { removeFolder } from '../support/remove-folder.js';

const CHOICE: EngineChoice = {
  binary: 'podman',
  version: '5.4.0',
  mode: 'rootless',
  ids: 'rootless',
  architecture: 'amd64',
  limits: { memory: true, pids: true, cpu: true },
  storageDriver: 'overlay',
  storageRoot: '/there',
  cgroups: 'v2',
  ociRuntime: 'crun',
  ociFlags: [],
  tried: [],
  enforcement: { memory: 'cgroup', pids: 'cgroup', cpu: 'cgroup' },
};
const FOUND = ['cache/images.json', 'cache/harness.json'];

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shared-choice-'));
  onTestFinished(() => removeFolder(dir));
  for (const folder of ['runtime', 'bin', 'more', 'config/containers/containers.conf.d', 'one/cache'])
    mkdirSync(join(dir, folder), { recursive: true, mode: 0o700 });
  for (const name of ['bin/podman', 'bin/crun']) program(name);
  writeFileSync(join(dir, 'config/containers/containers.conf'), '[engine]\n');
  writeFileSync(join(dir, 'one/cache/images.json'), '["an image"]');
});

function program(name: string): void {
  writeFileSync(join(dir, name), '#!/bin/sh\n');
  chmodSync(join(dir, name), 0o755);
}

/** Wishes of a bridge with the state directory `state`. */
function wishes(state: string, env: Readonly<Record<string, string>> = {}): EngineSelection {
  const host = { home: join(dir, 'home'), platform: 'linux', cores: 2, cwd: dir, uid: 1000 } as const;
  const said = {
    PATH: `${dir}/more:${dir}/bin`,
    XDG_RUNTIME_DIR: join(dir, 'runtime'),
    XDG_CONFIG_HOME: join(dir, 'config'),
    ...env,
  };
  return {
    runtime: undefined,
    ociRuntime: undefined,
    allowRootful: false,
    url: undefined,
    clientVariables: '',
    limitsCpus: false,
    stateDir: join(dir, state),
    place: enginePlaceFrom(said, { ...host, exists: () => false }),
  };
}

const taken = (env?: Readonly<Record<string, string>>) => takeSharedChoice(wishes('two', env), FOUND);

it('is taken by another state directory, with the files that were found', () => {
  expect(taken()).toBeUndefined();
  shareFound(wishes('one'), FOUND, CHOICE);
  expect(taken()).toEqual(CHOICE);
  expect(readFileSync(join(dir, 'two/cache/images.json'), 'utf8')).toBe('["an image"]');
  expect(statSync(join(dir, 'runtime/mcp-sandbox-bridge-engines')).mode & 0o777).toBe(0o700);
});

it('gets what was found later, and nothing where no choice is there', () => {
  shareFound(wishes('one'), FOUND);
  expect(taken()).toBeUndefined();
  shareFound(wishes('one'), FOUND, CHOICE);
  writeFileSync(join(dir, 'one/cache/images.json'), '["another"]');
  shareFound(wishes('one'), FOUND);
  expect(taken()).toEqual(CHOICE);
  expect(readFileSync(join(dir, 'two/cache/images.json'), 'utf8')).toBe('["another"]');
});

it('is not there for other wishes, nor with a variable that the engine reads', () => {
  shareFound(wishes('one'), FOUND, CHOICE);
  expect(takeSharedChoice({ ...wishes('two'), limitsCpus: true }, FOUND)).toBeUndefined();
  expect(takeSharedChoice({ ...wishes('two'), url: 'ssh://ann@there' }, FOUND)).toBeUndefined();
  expect(taken({ CONTAINERS_CONF: join(dir, 'other.conf') })).toBeUndefined();
  expect(taken({ STORAGE_DRIVER: 'vfs' })).toBeUndefined();
  expect(taken({ XDG_DATA_HOME: join(dir, 'data') })).toBeUndefined();
  expect(taken({ LANG: 'C.UTF-8' })).toEqual(CHOICE);
});

it.each<readonly [string, () => void]>([
  ['the engine was upgraded', () => writeFileSync(join(dir, 'bin/podman'), '#!/bin/sh\n# 5.5\n')],
  ['another engine comes first on PATH', () => program('more/podman')],
  ['an OCI runtime was upgraded', () => utimesSync(join(dir, 'bin/crun'), 1, 1)],
  ['another OCI runtime was installed', () => symlinkSync('/bin/true', join(dir, 'bin/runc'))],
  ['an OCI runtime was removed', () => rmSync(join(dir, 'bin/crun'))],
  ['its configuration was changed', () => writeFileSync(join(dir, 'config/containers/containers.conf'), '')],
  [
    'its configuration got a file',
    () => writeFileSync(join(dir, 'config/containers/containers.conf.d/a.conf'), ''),
  ],
  ['it was forgotten', () => forgetChoice(wishes('one'))],
  ['others may enter the folder', () => chmodSync(join(dir, 'runtime/mcp-sandbox-bridge-engines'), 0o777)],
])('is not taken any more when %s', (_what, change) => {
  shareFound(wishes('one'), FOUND, CHOICE);
  expect(taken()).toEqual(CHOICE);
  change();
  expect(taken()).toBeUndefined();
});

it('is left in no folder that others may write', () => {
  chmodSync(join(dir, 'runtime'), 0o777);
  shareFound(wishes('one'), FOUND, CHOICE);
  expect(readdirSync(join(dir, 'runtime'))).toEqual([]);
});

it('is no choice of another boot or of another version of the file', () => {
  shareFound(wishes('one'), FOUND, CHOICE);
  const shared = join(dir, 'runtime/mcp-sandbox-bridge-engines');
  const [state = ''] = readdirSync(shared);
  const [file = ''] = readdirSync(join(shared, state)).filter((name) => name.startsWith('engine-'));
  const text = readFileSync(join(shared, state, file), 'utf8');
  writeFileSync(join(shared, state, file), text.replace(/\\"[0-9a-f-]{36}\\"/, '\\"another-boot\\"'));
  expect(taken()).toBeUndefined();
});

it('is kept for the latest states of an engine only', () => {
  for (let upgrade = 0; upgrade < 6; upgrade++) {
    writeFileSync(join(dir, 'bin/podman'), `#!/bin/sh\n# ${'x'.repeat(upgrade)}\n`);
    shareFound(wishes('one'), FOUND, CHOICE);
  }
  expect(readdirSync(join(dir, 'runtime/mcp-sandbox-bridge-engines'))).toHaveLength(4);
  expect(taken()).toEqual(CHOICE);
});

it('is shared by nobody who has no folder for sockets, nor on another system', () => {
  const host = { home: dir, platform: 'linux', cores: 2, cwd: dir, uid: 1000, exists: () => false } as const;
  expect(enginePlaceFrom({}, host)).toBeUndefined();
  expect(enginePlaceFrom({ XDG_RUNTIME_DIR: '/run/user/1000' }, { ...host, platform: 'darwin' })).toBe(
    undefined,
  );
  const there = (path: string) => ({ ...host, exists: (each: string) => each === path });
  expect(enginePlaceFrom({}, there('/run/user/1000'))?.shared).toMatch(/^\/run\/user\/1000\//);
  expect(enginePlaceFrom({}, there('/run'))).toBeUndefined();
  expect(enginePlaceFrom({}, { ...there('/run'), uid: 0 })?.shared).toMatch(/^\/run\/mcp/);
});
