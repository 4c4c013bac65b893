// Where the containers of an engine run: on this machine, in a virtual machine of this computer, or on another computer.
// An engine that runs elsewhere shares neither processes nor files with the bridge. Decided from what the engine, or its
// client's own configuration, says of itself; runs nothing.

import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { type Environment, sessionBus } from '../../base/process/environment.js';
import { environmentWith } from '../../base/process/process.js';
import { ENGINE_VARIABLES } from '../../settings/environment/variables.js';
import type { EngineConnection, EngineMode, IdMapping } from '../engine.js';

/** The engines that are driven by their command line. */
export type CliName = 'podman' | 'docker';

/** Whether neither processes nor files of the engine's are this machine's. */
export const isElsewhere = (mode: EngineMode): boolean => mode === 'vm' || mode === 'remote';

/**
 * Variables of a service manager for the bridge alone. podman hands NOTIFY_SOCKET on into its containers, where code could
 * then tell systemd that the service is ready, or that the service has another process.
 */
const OF_THE_SERVICE = {
  NOTIFY_SOCKET: undefined,
  WATCHDOG_USEC: undefined,
  WATCHDOG_PID: undefined,
  LISTEN_FDS: undefined,
  LISTEN_PID: undefined,
  LISTEN_FDNAMES: undefined,
} as const;

/** Changes to the environment of an engine's client, so that it talks to `url`; undefined takes a variable away. */
export function connectionEnv(
  engine: CliName,
  url: string | undefined,
): Readonly<Record<string, string | undefined>> {
  const asksSystemd = engine === 'podman' && process.platform === 'linux';
  const bus = asksSystemd ? withoutNewBus(environmentWith({}), process.getuid?.(), existsSync) : {};
  const always = { ...OF_THE_SERVICE, ...bus };
  if (url === undefined) return always;
  const { address, others } = ENGINE_VARIABLES[engine];
  const away = Object.fromEntries(others.map((name) => [name, undefined]));
  return { ...always, ...away, [address]: url };
}

/**
 * Says that there is no session bus where the user has none. An ordinary user's podman asks systemd over it for a control
 * group; where it finds no bus it starts one by dbus-launch (godbus does), and nobody ends that. Besides the usual places
 * godbus knows a file that names the bus.
 */
export function withoutNewBus(
  env: Environment,
  uid: number | undefined,
  exists: (path: string) => boolean,
): Readonly<Record<string, string>> {
  const hasBus = sessionBus(env, uid, exists) !== undefined || exists(`/run/user/${uid}/dbus-session`);
  return hasBus ? {} : { DBUS_SESSION_BUS_ADDRESS: 'disabled:' };
}

/** The program that is asked, and what its environment has besides ours; undefined takes a variable away. */
export type EngineClient = {
  readonly binary: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** `podman` unless the program's name says docker. */
export const cliNameOf = (binary: string): CliName =>
  basename(binary).includes('docker') ? 'docker' : 'podman';

/** Sockets of a docker daemon on this machine. */
const LOCAL_SOCKET = /^unix:\/\/(?:\/var)?\/run\/(?:user\/\d+\/)?docker\.sock$/;

/**
 * Words of desktop programs for the machine that their daemon runs in. Docker Desktop and OrbStack name themselves as the
 * operating system, Rancher Desktop on Windows too; Colima and Lima give the machine a name of theirs.
 */
const DESKTOP_SYSTEM = /docker desktop|orbstack|rancher desktop/i;
const DESKTOP_NAME = /^(?:colima|lima|rancher-desktop|docker-desktop|orbstack)(?:-|$)/i;
/** Variants of podman machine's own image: Fedora CoreOS, and on Windows a distribution of its own. */
const MACHINE_VARIANT = /^(?:coreos|container)$/i;

/** Where a daemon of docker's runs that is reached at `endpoint`. */
export function dockerMode(
  ids: IdMapping,
  said: { readonly operatingSystem: string; readonly name: string },
  endpoint: string | undefined,
  { platform }: EngineConnection,
): EngineMode {
  const isDesktop = DESKTOP_SYSTEM.test(said.operatingSystem) || DESKTOP_NAME.test(said.name);
  const isSocket = endpoint === undefined || /^(?:unix|npipe):/.test(endpoint);
  // A socket of this computer's leads into a machine wherever containers need one.
  if (isSocket && (isDesktop || platform !== 'linux')) return 'vm';
  return endpoint === undefined || LOCAL_SOCKET.test(endpoint) ? ids : 'remote';
}

/** Where a service of podman's runs; `isRemote` as `podman info` says it. */
export function podmanMode(
  ids: IdMapping,
  said: { readonly isRemote: boolean; readonly hostname: string; readonly variant: string },
  { url, platform }: EngineConnection,
): EngineMode {
  if (!said.isRemote) return ids;
  const isMachine = MACHINE_VARIANT.test(said.variant) || DESKTOP_NAME.test(said.hostname);
  // Without an address of ours the client's default connection is meant, which podman machine makes its own.
  const isOfThisComputer = url === undefined || /^(?:unix|npipe):/.test(url);
  return isOfThisComputer && (isMachine || platform !== 'linux') ? 'vm' : 'remote';
}
