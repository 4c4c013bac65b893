// Engines that are absent, broken, slow to answer or unsafe, as programs on PATH that behave so.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isAlive, ownerFrom, thisOwner } from '../../src/base/process/owner.js';
import {
  chooseEngine,
  chooseOciRuntime,
  type EngineChoice,
  type EngineSelection,
  forgetChoice,
  rememberChoice,
  rememberedChoice,
} from '../../src/engine/detect.js';
import type { OciRuntime } from '../../src/engine/engine.js';
import { driverOf } from '../../src/engine/engines.js';
import { NEVER } from '../support/time.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'detect-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function program(name: string, body: string): string {
  const path = join(dir, name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}
const wishes = (runtime: string, allowRootful = false): EngineSelection => ({
  runtime,
  ociRuntime: undefined,
  allowRootful,
  url: undefined,
  clientVariables: '',
  limitsCpus: false,
  stateDir: dir,
});
const DOCKER = JSON.stringify({
  ServerVersion: '28',
  Driver: 'overlay2',
  DockerRootDir: '/d',
  DefaultRuntime: 'runc',
  OperatingSystem: 'Debian',
  SecurityOptions: [],
});

describe('chooseEngine', () => {
  it.each([
    ['absent', '/nonexistent/podman', 'E_ENGINE_MISSING', /No container engine was found/],
    ['printing garbage', 'echo hello', 'E_ENGINE_BROKEN', /unexpected/],
    [
      'failing',
      'echo "cannot clone: Operation not permitted" >&2; exit 125',
      'E_ENGINE_BROKEN',
      /cannot clone/,
    ],
  ])('%s', async (_name, body, code, message) => {
    const binary = body.startsWith('/') ? body : program('podman', body);
    await expect(chooseEngine(wishes(binary), NEVER)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
      remedy: expect.stringMatching(/\w/),
    });
  });

  it('refuses a docker daemon that runs as root, until the operator accepts it', async () => {
    const docker = program('docker', `echo '${DOCKER}'`);
    await expect(chooseEngine(wishes(docker), NEVER)).rejects.toMatchObject({ code: 'E_ENGINE_UNSAFE' });
    await expect(chooseEngine(wishes(docker, true), NEVER)).resolves.toMatchObject({
      status: { mode: 'rootful' },
    });
  });

  it('says that a stopped daemon is to be started', async () => {
    const docker = program(
      'docker',
      'echo "Cannot connect to the Docker daemon. Is the docker daemon running?" >&2; exit 1',
    );
    await expect(chooseEngine(wishes(docker), NEVER)).rejects.toMatchObject({
      remedy: 'Start the docker daemon.',
    });
  });
});

describe('chooseOciRuntime', () => {
  const status = {
    state: 'ready',
    version: '4',
    mode: 'rootless',
    ids: 'rootless',
    architecture: 'amd64',
    limits: { memory: true, pids: true, cpu: true },
    storageDriver: 'overlay',
    storageRoot: '/',
    defaultOciRuntime: 'crun',
    cgroups: 'v1',
  } as const;

  it('takes the first that starts a container and keeps why others did not', async () => {
    const attempt = async ({ name }: OciRuntime) =>
      name === 'crun' ? { reason: 'cgroups in hybrid mode not supported' } : undefined;
    expect(await chooseOciRuntime(driverOf('podman'), status, undefined, attempt)).toEqual({
      runtime: { name: 'runc', flags: [] },
      tried: [
        { name: 'crun', ok: false, reason: 'cgroups in hybrid mode not supported' },
        { name: 'runc', ok: true, reason: 'started a container' },
      ],
    });
  });

  it('never replaces one that was named', async () => {
    await expect(
      chooseOciRuntime(driverOf('podman'), status, 'runsc', async () => ({ reason: 'not found' })),
    ).rejects.toMatchObject({
      code: 'E_OCI_RUNTIME',
      message: expect.stringContaining('runsc --network=none --ignore-cgroups: not found'),
    });
  });
});

describe('owners', () => {
  it('this process is alive; another pid, start time or boot is not', () => {
    const owner = thisOwner();
    expect(isAlive(owner)).toBe(true);
    expect(isAlive({ ...owner, startTime: '1' })).toBe(false);
    expect(isAlive({ ...owner, bootId: 'another' })).toBe(false);
    expect(isAlive({ ...owner, pid: 2 ** 22 + 1 })).toBe(false);
  });

  it('one that cannot be judged is left alone', () => {
    expect(isAlive(ownerFrom([]))).toBe(true);
    expect(isAlive(ownerFrom(['garbage', '', '']))).toBe(true);
  });
});

it('says of an engine elsewhere that hangs to look where it runs, and not at processes of this machine', async () => {
  const status = {
    state: 'ready',
    version: '5',
    mode: 'remote',
    ids: 'rootless',
    architecture: 'amd64',
    limits: { memory: true, pids: true, cpu: true },
    storageDriver: 'overlay',
    storageRoot: '/',
    defaultOciRuntime: 'crun',
    cgroups: 'v2',
  } as const;
  const hangs = async () => ({ reason: 'no greeting within 60 s', waitedMs: 60_000 });
  await expect(chooseOciRuntime(driverOf('podman'), status, undefined, hangs)).rejects.toMatchObject({
    remedy: expect.stringMatching(/engine's machine.*MCP_BRIDGE_ENGINE_URL/),
  });
  await expect(chooseOciRuntime(driverOf('podman'), status, 'runc', hangs)).rejects.toMatchObject({
    code: 'E_OCI_RUNTIME',
    message: expect.stringContaining('its service there uses crun'),
  });
});

describe('what is remembered', () => {
  const choice: EngineChoice = {
    binary: 'podman',
    version: '5.4.0',
    mode: 'remote',
    ids: 'rootless',
    architecture: 'x64',
    limits: { memory: true, pids: true, cpu: true },
    storageDriver: 'overlay',
    storageRoot: '/there',
    cgroups: 'v2',
    ociRuntime: 'crun',
    ociFlags: [],
    tried: [],
    enforcement: { memory: 'cgroup', pids: 'cgroup', cpu: 'cgroup' },
  };

  it('is one choice for each set of wishes, so that bridges with different settings share a state directory', () => {
    const here = wishes('podman');
    const there = { ...here, url: 'ssh://user@there' };
    const underRunsc = { ...here, ociRuntime: 'runsc' };
    for (const each of [here, there, underRunsc])
      rememberChoice(each, { ...choice, storageRoot: JSON.stringify(each) });
    for (const each of [here, there, underRunsc])
      expect(rememberedChoice(each)?.storageRoot).toBe(JSON.stringify(each));
    forgetChoice(there);
    expect([here, there, underRunsc].map((each) => rememberedChoice(each) !== undefined)).toEqual([
      true,
      false,
      true,
    ]);
  });
});
