// The defences that a control does without: each takes the argument vector that the bridge itself would use and gives
// up one wall in it, so that nothing else differs.

import type { EngineName } from '../../src/engine/engine.js';
import type { World } from './world.js';

type Edit = (argv: readonly string[], world: World) => string[];

const without =
  (...prefixes: readonly string[]): Edit =>
  (argv) =>
    argv.filter((word) => !prefixes.some((prefix) => word.startsWith(prefix)));

/** Adds options of `run`. */
const plus =
  (...words: readonly string[]): Edit =>
  (argv) => {
    const at = argv.indexOf('run') + 1;
    return [...argv.slice(0, at), ...words, ...argv.slice(at)];
  };

const all =
  (...edits: readonly Edit[]): Edit =>
  (argv, world) =>
    edits.reduce<string[]>((sum, edit) => edit(sum, world), [...argv]);

const replaced =
  (pattern: RegExp, replacement: string): Edit =>
  (argv) =>
    argv.map((word) => word.replace(pattern, replacement));

/** Those that an attack could use. Not ALL: the root of a machine may itself lack some, and gVisor then does not start. */
const CAPABILITIES = addCapabilities(
  'CHOWN DAC_OVERRIDE FOWNER SETUID SETGID SETFCAP NET_RAW NET_ADMIN SYS_ADMIN SYS_CHROOT SYS_BOOT SYS_PTRACE MKNOD',
);
/** What only the root of a machine has. */
const ROOT_CAPABILITIES = addCapabilities('SYS_MODULE SYS_PACCT SYSLOG');

function addCapabilities(names: string): readonly string[] {
  return names.split(' ').map((name) => `--cap-add=${name}`);
}

const NO_MASKS: Edit = (argv) =>
  argv.filter((word) => !word.startsWith('--security-opt=mask=') && !/^--volume=.*:\/proc\//.test(word));
const NO_ID_MAP = without('--uidmap=', '--gidmap=', '--userns=');

export const relaxations = {
  seccomp: all(
    without('--security-opt=seccomp=', '--seccomp-policy='),
    plus('--security-opt=seccomp=unconfined'),
  ),
  capabilities: all(without('--cap-drop='), plus(...CAPABILITIES)),
  'no new privileges': without('--security-opt=no-new-privileges'),
  user: replaced(/^--user=.*/, '--user=0:0'),
  'read-only image': without('--read-only'),
  'no tmpfs of the engine': without('--read-only-tmpfs=false'),
  'tmpfs options': replaced(/^(--tmpfs=.*)noexec,nosuid,nodev/, '$1exec,suid,dev'),
  'tmpfs size': replaced(/^(--tmpfs=.*size=)\d+m/, '$1400m'),
  'tmpfs of shm': all(
    without('--shm-size=', '--tmpfs=/dev/shm:'),
    plus('--tmpfs=/dev/shm:rw,exec,suid,dev,mode=1777,size=400m'),
  ),
  masks: all(NO_MASKS, plus('--security-opt=unmask=ALL')),
  // In the host's network nothing of it may be set.
  network: all(replaced(/^--network=none$/, '--network=host'), without('--sysctl=net.')),
  'process namespace': all(without('--pid='), plus('--pid=host')),
  'host name': all(without('--hostname=', '--uts='), plus('--uts=host')),
  environment: all(without('--http-proxy=', '--env-host='), plus('--env-host')),
  hosts: without('--no-hosts'),
  'id map': NO_ID_MAP,
  'core limit': replaced(/^--ulimit=core=.*/, '--ulimit=core=-1:-1'),
  'file limit': replaced(/^--ulimit=nofile=.*/, '--ulimit=nofile=8192:8192'),
  'signal limit': without('--ulimit=sigpending='),
  'size limit': without('--ulimit=fsize='),
  'process limit': all(
    replaced(/^--ulimit=nproc=.*/, '--ulimit=nproc=2000:2000'),
    replaced(/^--pids-limit=.*/, '--pids-limit=2000'),
  ),
  'memory limit': all(replaced(/^--memory(-swap)?=.*/, '--memory$1=4g'), without('--ulimit=data=')),
  'cpu limit': without('--ulimit=cpu='),
  terminal: all(without('--detach'), replaced(/^--log-driver=.*/, '--log-driver=none'), plus('--tty')),
  devices: plus('--volume=/dev/null:/dev/kvm:rw,dev', '--volume=/dev/null:/dev/mem:rw,dev'),
  'host files': (argv, world) => plus(`--volume=${world.folder}:${world.folder}:rw`)(argv, world),
  'engine socket': (argv, world) => plus(`--volume=${world.socket}:/run/podman/podman.sock`)(argv, world),
  'read-only data': replaced(/^(--volume=.*:\/data:)ro,/, '$1rw,'),
  'data options': replaced(/^(--volume=.*:\/data:.*),nosuid,nodev,noexec/, '$1,suid,dev,exec'),
  'read-only harness': (argv, world) =>
    plus(`--volume=${world.folder}:/ipc:rw`)(
      // Where the engine runs elsewhere it is part of the image.
      argv.filter((word) => !/^--volume=.*:\/ipc:/.test(word)),
      world,
    ),
  // Descriptor 3 of the client is the canary's folder; see raw-container.ts.
  descriptors: plus('--preserve-fds=1'),
  /** Root itself, with everything that root has: possible for a root engine alone. */
  everything: all(
    NO_ID_MAP,
    NO_MASKS,
    without('--cap-drop=', '--security-opt=', '--read-only', '--user='),
    plus('--privileged', '--user=0:0', '--read-only=false'),
  ),
} as const satisfies Readonly<Record<string, Edit>>;

export type Relaxation = keyof typeof relaxations;

/** docker gives a container no namespace of the host's while it has ids of its own. */
const HOST_IDS = plus('--userns=host');
const UNMASKED = all(NO_MASKS, plus('--security-opt=systempaths=unconfined'));

/** Those that docker has other words for. */
const DOCKER: Partial<Record<Relaxation, Edit>> = {
  // Whatever docker adds to its set, a process has a capability only where it is root.
  capabilities: all(relaxations.capabilities, relaxations.user),
  // docker adds no tmpfs: what these attacks meet is the image itself.
  'no tmpfs of the engine': without('--read-only'),
  masks: UNMASKED,
  network: all(relaxations.network, HOST_IDS),
  'process namespace': all(relaxations['process namespace'], HOST_IDS),
  // docker names another host only where it is told to.
  hosts: plus('--add-host=host.containers.internal:127.0.0.1'),
  'id map': all(NO_ID_MAP, HOST_IDS),
  // docker's client makes no terminal of an input that is none.
  terminal: all(without('--interactive'), plus('--tty')),
  // docker finds the node where the engine runs; under the path of the canary it is the harmless one.
  devices: plus('--volume=/dev/null:/dev/kvm', '--volume=/dev/null:/dev/mem'),
  // By --privileged docker gives every capability that there is, and fails where the root of the machine lacks one.
  everything: all(
    relaxations.capabilities,
    UNMASKED,
    without('--security-opt=seccomp=', '--security-opt=no-new-privileges', '--read-only'),
    plus(...ROOT_CAPABILITIES, '--security-opt=seccomp=unconfined', '--device-cgroup-rule=a *:* rwm'),
    relaxations.user,
    HOST_IDS,
  ),
};

/** `argv` of the engine's `run` without the defences in `off`. */
export const relaxed = (
  argv: readonly string[],
  off: readonly Relaxation[],
  { engine, world }: { readonly engine: EngineName; readonly world: World },
): string[] =>
  off.reduce<string[]>(
    (sum, name) => ((engine === 'docker' ? DOCKER[name] : undefined) ?? relaxations[name])(sum, world),
    [...argv],
  );
