// Where an engine runs, told by what it and its client say. What desktops say is from their own documentation and issues.

import { describe, expect, it, vi } from 'vitest';
import { connectionEnv, dockerMode, podmanMode, withoutNewBus } from '../../src/engine/machine/place.js';

const linux = { url: undefined, platform: 'linux' } as const;
const mac = { url: undefined, platform: 'darwin' } as const;
const SOCKET = 'unix:///var/run/docker.sock';
const debian = { operatingSystem: 'Debian GNU/Linux 12 (bookworm)', name: 'box' };

describe('dockerMode', () => {
  it.each([
    ['a socket of this machine', debian, SOCKET, linux, 'rootful'],
    ['a rootless socket of this machine', debian, 'unix:///run/user/1000/docker.sock', linux, 'rootful'],
    ['no endpoint said', debian, undefined, linux, 'rootful'],
    ['a socket elsewhere', debian, 'unix:///mnt/docker.sock', linux, 'remote'],
    ['tcp', debian, 'tcp://10.0.0.1:2376', linux, 'remote'],
    ['ssh', debian, 'ssh://me@box', mac, 'remote'],
    ['Docker Desktop', { ...debian, operatingSystem: 'Docker Desktop' }, SOCKET, linux, 'vm'],
    [
      'OrbStack',
      { ...debian, operatingSystem: 'OrbStack' },
      'unix:///Users/me/.orbstack/run/docker.sock',
      mac,
      'vm',
    ],
    ['Colima', { ...debian, name: 'colima' }, 'unix:///Users/me/.colima/default/docker.sock', mac, 'vm'],
    [
      'Lima',
      { ...debian, name: 'lima-docker' },
      'unix:///home/me/.lima/docker/sock/docker.sock',
      linux,
      'vm',
    ],
    [
      'Rancher Desktop',
      { ...debian, name: 'lima-rancher-desktop' },
      'unix:///Users/me/.rd/docker.sock',
      mac,
      'vm',
    ],
    ['anything on a Mac', debian, SOCKET, mac, 'vm'],
    [
      'a pipe on Windows',
      debian,
      'npipe:////./pipe/docker_engine',
      { ...mac, platform: 'win32' as const },
      'vm',
    ],
    ['a desktop on another computer', { ...debian, name: 'colima' }, 'tcp://10.0.0.1:2375', linux, 'remote'],
  ] as const)('%s', (_, said, endpoint, connection, mode) => {
    expect(dockerMode('rootful', said, endpoint, connection)).toBe(mode);
  });

  it('says how ids map where nothing is elsewhere', () => {
    expect(dockerMode('rootless', debian, SOCKET, linux)).toBe('rootless');
  });
});

describe('podmanMode', () => {
  const service = { isRemote: true, hostname: 'box', variant: '' };
  const machine = { isRemote: true, hostname: 'localhost.localdomain', variant: 'coreos' };
  it.each([
    ['no service', { ...service, isRemote: false }, linux, 'rootless'],
    ['a service on Linux', service, linux, 'remote'],
    ['a service by its address', service, { ...linux, url: 'ssh://me@box/run/podman.sock' }, 'remote'],
    ['the default connection of a Mac', service, mac, 'vm'],
    ['a podman machine on Linux', machine, linux, 'vm'],
    ['a podman machine by its socket', machine, { ...linux, url: 'unix:///run/machine.sock' }, 'vm'],
    ['another computer from a Mac', service, { ...mac, url: 'ssh://me@box/run/podman.sock' }, 'remote'],
  ] as const)('%s', (_, said, connection, mode) => {
    expect(podmanMode('rootless', said, connection)).toBe(mode);
  });
});

it('gives a client the address, and takes away what would say otherwise', () => {
  vi.stubEnv('DBUS_SESSION_BUS_ADDRESS', 'unix:path=/x');
  expect(connectionEnv('podman', undefined)).toEqual({});
  expect(connectionEnv('podman', 'unix:///s')).toEqual({
    CONTAINER_HOST: 'unix:///s',
    CONTAINER_CONNECTION: undefined,
  });
  expect(connectionEnv('docker', 'tcp://h:1')).toEqual({
    DOCKER_HOST: 'tcp://h:1',
    DOCKER_CONTEXT: undefined,
  });
  vi.unstubAllEnvs();
});

describe('withoutNewBus', () => {
  it.each([
    ['says so where there is no bus', {}, [], { DBUS_SESSION_BUS_ADDRESS: 'disabled:' }],
    ['leaves the bus that is named', { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/x' }, [], {}],
    ['leaves the bus of the runtime folder', { XDG_RUNTIME_DIR: '/r' }, ['/r/bus'], {}],
    ['leaves the bus at its usual place', {}, ['/run/user/1000/bus'], {}],
    ['leaves the bus that a file names', {}, ['/run/user/1000/dbus-session'], {}],
    [
      'leaves the usual bus where the runtime folder has none',
      { XDG_RUNTIME_DIR: '/r' },
      ['/run/user/1000/bus'],
      {},
    ],
  ] as const)('%s', (_, env, there: readonly string[], expected) => {
    expect(withoutNewBus(env, 1000, (path) => there.includes(path))).toEqual(expected);
  });
});
