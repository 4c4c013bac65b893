// What the rest of the bridge is told of an engine in place of its name and of where it runs.

import { expect, it } from 'vitest';
import type { Engine, EngineMode } from '../../src/engine/engine.js';
import { automaticEngines, driverOf, machineOf } from '../../src/engine/engines.js';
import { NEVER } from '../support/time.js';

const OPTIONS = {
  url: undefined,
  instance: 'i',
  stateDir: '/nowhere',
  observer: () => {},
  acceptsOpenNetwork: false,
} as const;
const FACTS = { ids: 'rootless', architecture: '', storageDriver: 'overlay', storageRoot: '/' } as const;

const opened = (binary: string, mode: EngineMode, runtime = 'crun'): Engine =>
  driverOf(binary).open({
    ...OPTIONS,
    binary,
    ociRuntime: { name: runtime, flags: [] },
    facts: { ...FACTS, mode, ids: mode === 'vm' || mode === 'remote' ? 'rootless' : mode },
  });

it('podman is tried before docker where nobody has named an engine', () => {
  expect(automaticEngines).toEqual(['podman', 'docker']);
});

it.each([
  ['/usr/bin/docker', 'docker'],
  ['docker-29', 'docker'],
  ['/opt/podman-5/bin/podman', 'podman'],
  ['/opt/containers', 'podman'],
  ['kubernetes', 'kubernetes'],
])('%s is taken for %s', (binary, name) => {
  expect(driverOf(binary).name).toBe(name);
});

it.each<[string, EngineMode, string, Partial<Engine['traits']>]>([
  ['podman', 'rootless', 'crun', { masksAll: true, hasClock: true, reachesLocalhost: false }],
  ['podman', 'vm', 'crun', { masksAll: true, hasClock: true, reachesLocalhost: true }],
  ['podman', 'remote', 'crun', { reachesLocalhost: true }],
  ['kubernetes', 'remote', 'default', { masksAll: false, hasClock: true, reachesLocalhost: true }],
  ['docker', 'rootless', 'runc', { masksAll: false, hasClock: false, reachesLocalhost: false }],
  ['podman', 'rootless', 'crun', { ownKernel: undefined, networkAdvice: undefined }],
  [
    'podman',
    'rootless',
    '/opt/runsc',
    { ownKernel: 'gVisor', networkAdvice: expect.stringMatching(/gVisor/) },
  ],
  ['podman', 'userns-mapped', 'crun', { opensPrivateFolders: true, ownerBy: 'shift' }],
  ['podman', 'rootless', 'crun', { ownerBy: 'map' }],
  ['podman', 'rootless', 'runsc', { ownerBy: undefined }],
  ['podman', 'remote', 'crun', { ownerBy: undefined }],
  ['docker', 'rootful', 'runc', { ownerBy: 'id' }],
  ['docker', 'rootless', 'runc', { ownerBy: undefined }],
  ['podman', 'rootless', 'runsc', { opensPrivateFolders: true }],
  ['podman', 'userns-mapped', 'runsc', { opensPrivateFolders: false }],
])('gives %s, %s, with %s the traits %j', (binary, mode, runtime, traits) => {
  expect(opened(binary, mode, runtime).traits).toMatchObject(traits);
});

it.each<[string, EngineMode, boolean]>([
  ['podman', 'rootless', false],
  ['docker', 'rootful', false],
  ['podman', 'vm', true],
  ['docker', 'remote', true],
  ['kubernetes', 'remote', true],
])(
  '%s, %s: whether files come in an image, the engine is asked for an end, and for facts: %s',
  (binary, mode, is) => {
    const { derived, whyUnreachable, factsOf } = opened(binary, mode);
    expect([derived, whyUnreachable, factsOf].map((each) => each !== undefined)).toEqual([is, is, is]);
  },
);

it('nothing is looked for on this machine of an engine elsewhere', async () => {
  const engine = opened('/nowhere/podman', 'remote');
  expect(engine.imageStamp()).toBe('');
  expect(await engine.pidOf('name', 'command', NEVER)).toBeUndefined();
});

it.each<[string | undefined, string | undefined, NodeJS.Platform, boolean]>([
  [undefined, undefined, 'darwin', true],
  ['podman', undefined, 'win32', true],
  [undefined, undefined, 'linux', false],
  ['docker', undefined, 'darwin', false],
  [undefined, 'ssh://user@there', 'darwin', false],
])('a machine is started for %s at %s on %s: %s', (runtime, url, platform, is) => {
  const options = { idleMs: 1, letGo: () => {}, onProgress: () => {} };
  expect(machineOf(runtime, { url, platform }, options) !== undefined).toBe(is);
});
