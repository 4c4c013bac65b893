// The carrier of the traffic of a container that the operator has given a network: a process beside it that answers its
// packets with sockets of the engine's user, or what the engine has itself. Which one, in what words, and what such a
// container cannot reach. Runs nothing; the container keeps every other wall, and has no capability to change any of it.

import { accessSync, constants } from 'node:fs';
import { z } from 'zod';
import { BridgeError } from '../../base/errors.js';
import type { EngineMode, NetworkMode } from '../engine.js';

const NO_HOST_DOMAINS = '--dns-search=.';

/**
 * slirp4netns lies to the container about 169.254.0.0/16: the whole of it is the container's own network, in which only
 * the name server answers. So no link-local address of the host's network is reached, where clouds keep credentials.
 * IPv6 is off, of which that could not be said. podman 4.3 writes the name server of another network unless it is told.
 */
const SLIRP4NETNS = [
  '--network=slirp4netns:allow_host_loopback=false,enable_ipv6=false,cidr=169.254.0.0/16',
  '--dns=169.254.0.3',
  NO_HOST_DOMAINS,
];

/** Each is podman's own default, said because its configuration may say otherwise: nothing leads to the host's loopback. */
const PASTA = ['--network=pasta:--no-map-gw,-t,none,-u,none,-T,none,-U,none', NO_HOST_DOMAINS];

export const PODMAN_NETWORKS: Readonly<Record<'none' | NetworkMode, readonly string[]>> = {
  none: ['--network=none'],
  slirp4netns: SLIRP4NETNS,
  pasta: PASTA,
  default: [NO_HOST_DOMAINS],
};

export const DOCKER_NETWORKS = {
  none: ['--network=none'],
  outbound: ['--network=bridge', NO_HOST_DOMAINS],
} as const;

/** Targets within reach in each mode besides the internet, for a person. */
export const REACH: Readonly<Record<NetworkMode, string>> = {
  slirp4netns:
    "IPv4 only; it reaches the local network and this machine's addresses, but not localhost and link-local addresses",
  pasta:
    "it reaches the local network and link-local addresses (where clouds keep credentials), but not this machine's localhost",
  default:
    "the engine's own network: it may reach the local network, link-local addresses and other containers",
};

const helper = z.looseObject({ executable: z.string() }).optional();
const podmanHelpers = z.looseObject({ host: z.looseObject({ slirp4netns: helper, pasta: helper }) });

/**
 * From `podman info` of this machine, which lists what it finds of what it can use. podman runs pasta for no engine of root's.
 */
export function podmanNetworkMode(info: string, mode: EngineMode): NetworkMode | undefined {
  const { slirp4netns, pasta } = podmanHelpers.parse(JSON.parse(info)).host;
  if (slirp4netns !== undefined && slirp4netns.executable !== '') return 'slirp4netns';
  return mode === 'rootless' && pasta !== undefined && pasta.executable !== '' ? 'pasta' : undefined;
}

const TUN = '/dev/net/tun';

function canOpen(device: string): boolean {
  try {
    accessSync(device, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Throws E_NETWORK where nothing here can carry anything. `opens` tells whether a device can be opened. */
export function demandNetworkMode(
  found: NetworkMode | undefined,
  opens: typeof canOpen = canOpen,
): NetworkMode {
  if (found === undefined) {
    throw new BridgeError(
      'E_NETWORK',
      'A container needs a network, and podman finds neither slirp4netns nor a pasta that it can run here.',
      {
        fault: 'operator',
        remedy:
          'Run `scripts/setup --with network`, or install one (Debian: apt-get install slirp4netns). Or give no network: unset MCP_BRIDGE_NETWORK and MCP_BRIDGE_EXECUTE_NETWORK.',
      },
    );
  }
  if (found !== 'default' && !opens(TUN)) {
    throw new BridgeError(
      'E_NETWORK',
      `A container needs a network, but ${found}, which provides it, cannot open ${TUN}.`,
      {
        fault: 'operator',
        remedy: `Run as root: modprobe tun; chmod 666 ${TUN} (udev does the same).`,
      },
    );
  }
  return found;
}
