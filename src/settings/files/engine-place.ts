// Where this user's engine on this machine, and its configuration, are looked for, as the environment says; and the folder in
// which bridges of one user tell each other what they have found out of it, until the machine is started anew.

import type { Environment } from '../../base/process/environment.js';
import type { HostFacts } from './host-facts.js';

const OWN_FOLDER = 'mcp-sandbox-bridge-engines';
/** Variables that podman, its libraries and what they start read; another value may mean another engine. */
const READ_BY_ENGINES =
  /^(?:_?CONTAINERS?_.*|PODMAN_.*|STORAGE_.*|XDG_RUNTIME_DIR|DBUS_SESSION_BUS_ADDRESS)$/;

export type EnginePlace = {
  /** Folder that is this user's alone, and empty after each start of the machine. It need not be there yet. */
  readonly shared: string;
  /** Folders in which programs are looked up, in this order. */
  readonly programs: readonly string[];
  /** Folders and files of the engine's configuration; they need not be there. */
  readonly configuration: readonly string[];
  /** Variables that engines read, and where a user's images lie, as one text. */
  readonly variables: string;
};

/** Undefined where there is no such folder: on other systems than Linux, and where the user has none for sockets. */
export function enginePlaceFrom(env: Environment, host: HostFacts): EnginePlace | undefined {
  const runtime = runtimeFolder(env, host);
  if (runtime === undefined) return undefined;
  const {
    XDG_CONFIG_HOME: config = `${host.home}/.config`,
    XDG_DATA_HOME: data = `${host.home}/.local/share`,
  } = env;
  const read = Object.entries(env)
    .filter(([name]) => READ_BY_ENGINES.test(name))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return {
    shared: `${runtime}/${OWN_FOLDER}`,
    programs: (env['PATH'] ?? '').split(':').filter((folder) => folder.startsWith('/')),
    configuration: [
      ...['/usr/share/containers', '/etc/containers', `${config}/containers`, '/etc/subuid', '/etc/subgid'],
      ...read.flatMap(([, value = '']) => (value.startsWith('/') && value !== runtime ? [value] : [])),
    ],
    // The images of root lie in a folder of the system's.
    variables: JSON.stringify([read, host.uid === 0 ? '' : data]),
  };
}

/** The user's folder for sockets, as systemd makes it, also where a host has not handed its variable on. */
function runtimeFolder(env: Environment, { platform, uid, exists }: HostFacts): string | undefined {
  if (platform !== 'linux' || uid === undefined) return undefined;
  const said = env['XDG_RUNTIME_DIR'];
  if (said?.startsWith('/')) return said;
  return [`/run/user/${uid}`, ...(uid === 0 ? ['/run'] : [])].find(exists);
}
