// What carries a network, from what the engines say of themselves; and what is said where nothing can.

import { describe, expect, it } from 'vitest';
import { dialectOf } from '../../src/engine/client/dialects.js';
import type { EngineMode, NetworkMode } from '../../src/engine/engine.js';
import { demandNetworkMode } from '../../src/engine/machine/network-modes.js';

const info = (helpers: Readonly<Record<string, string>>) =>
  JSON.stringify({
    host: Object.fromEntries(Object.entries(helpers).map(([name, executable]) => [name, { executable }])),
  });

describe('the networkMode', () => {
  it.each<[string, Readonly<Record<string, string>>, EngineMode, NetworkMode | undefined]>([
    ['podman 4 with slirp4netns', { slirp4netns: '/usr/bin/slirp4netns' }, 'rootless', 'slirp4netns'],
    ['the same as root', { slirp4netns: '/usr/bin/slirp4netns' }, 'userns-mapped', 'slirp4netns'],
    ['podman 4 without', { slirp4netns: '' }, 'rootless', undefined],
    [
      'podman 5 with both: the one that closes more',
      { slirp4netns: '/s', pasta: '/p' },
      'rootless',
      'slirp4netns',
    ],
    ['podman 5 with pasta', { slirp4netns: '', pasta: '/p' }, 'rootless', 'pasta'],
    ['as root, for whom podman runs no pasta', { slirp4netns: '', pasta: '/p' }, 'userns-mapped', undefined],
    ['podman 6', { pasta: '/p' }, 'rootless', 'pasta'],
    ['a machine', {}, 'vm', 'default'],
  ])('%s', (_name, helpers, mode, networkMode) => {
    expect(dialectOf('podman', mode).networkMode(info(helpers), mode)).toBe(networkMode);
  });

  it('of docker is its own network', () => {
    expect(dialectOf('docker', 'rootless').networkMode('{}', 'rootless')).toBe('default');
  });

  it('is demanded with the command that installs one, and with a device that it can open', () => {
    const none = () => demandNetworkMode(undefined, () => true);
    expect(none).toThrow(expect.objectContaining({ code: 'E_NETWORK', fault: 'operator' }));
    expect(none).toThrow(
      expect.objectContaining({ remedy: expect.stringContaining('scripts/setup --with network') }),
    );
    expect(() => demandNetworkMode('slirp4netns', () => false)).toThrow(
      expect.objectContaining({
        code: 'E_NETWORK',
        message: expect.stringContaining('slirp4netns, which provides it, cannot open /dev/net/tun'),
      }),
    );
    expect(demandNetworkMode('pasta', (device) => device === '/dev/net/tun')).toBe('pasta');
    expect(demandNetworkMode('default', () => false)).toBe('default');
  });
});
