// How each system installs a container engine, with what it needs to run as an ordinary user. Data only: what is run
// of it, and whether, is install-packages.ts's affair.

import { existsSync } from 'node:fs';
import { release, userInfo } from 'node:os';
import { readText } from '../../base/files/read-text.js';
import { findProgram } from '../../base/process/start-of.js';
import type { DiscoverContext } from '../../hosts/discovery/discover.js';
import { subordinateIds } from '../doctor/findings.js';

/** Parts that have to be there, each as one or more packages. */
export type SystemNeed =
  | 'engine'
  | 'ids'
  | 'runtime'
  | 'network'
  | 'storage'
  | 'init'
  | 'session'
  | 'builder';

export type System = {
  /** Name of the system as a person calls it. */
  readonly title: string;
  /** Run before an installation, such as a refresh of the lists of packages. */
  readonly update?: readonly string[];
  /** The packages come after it. */
  readonly install: readonly string[];
  readonly remove: readonly string[];
  /** Whether both take root. */
  readonly asRoot: boolean;
  /** Undefined where one package brings everything. */
  readonly packages?: Readonly<Partial<Record<SystemNeed, readonly string[]>>>;
  readonly engine: readonly string[];
  /** Commands that the user runs afterwards, once. */
  readonly afterwards: readonly (readonly string[])[];
  readonly note?: string;
};

const APT = ['apt-get', 'install', '--no-install-recommends', '-y'] as const;
const MACHINE = [
  ['podman', 'machine', 'init'],
  ['podman', 'machine', 'start'],
] as const;

/** podman 5 carries the traffic of rootless containers by passt, older ones by slirp4netns. */
const carrier = (isNewer: boolean) => (isNewer ? ['passt'] : ['slirp4netns']);

const linux = (
  title: string,
  commands: Pick<System, 'install' | 'remove'> & Pick<Partial<System>, 'update'>,
  packages: Readonly<Partial<Record<SystemNeed, readonly string[]>>>,
): System => ({ title, ...commands, asRoot: true, engine: ['podman'], packages, afterwards: [] });

/** Systems by a name of /etc/os-release; the first that an ID or ID_LIKE names is taken. */
const LINUXES: Readonly<
  Record<string, (release: { readonly id: string; readonly version: number }) => System>
> = {
  debian: ({ id, version }) =>
    linux(
      'Debian or Ubuntu',
      { update: ['apt-get', 'update'], install: APT, remove: ['apt-get', 'remove', '-y'] },
      {
        ids: ['uidmap'],
        // crun of Debian 12 refuses a machine with both versions of control groups.
        runtime: ['runc'],
        network: carrier((id === 'debian' && version >= 13) || (id === 'ubuntu' && version >= 25)),
        storage: ['fuse-overlayfs'],
        init: ['catatonit'],
        // Without dbus-user-session systemd makes no session for a user, and delegates no control groups.
        session: ['dbus-user-session'],
        builder: ['mmdebstrap'],
      },
    ),
  fedora: ({ id }) =>
    linux(
      'Fedora or RHEL',
      { install: ['dnf', 'install', '-y'], remove: ['dnf', 'remove', '-y'] },
      {
        ids: ['shadow-utils'],
        runtime: ['crun'],
        network: carrier(id === 'fedora'),
        storage: ['fuse-overlayfs'],
        init: ['catatonit'],
      },
    ),
  arch: () =>
    linux(
      'Arch Linux',
      { install: ['pacman', '-S', '--needed', '--noconfirm'], remove: ['pacman', '-R', '--noconfirm'] },
      {
        ids: ['shadow'],
        runtime: ['crun'],
        network: carrier(true),
        storage: ['fuse-overlayfs'],
        init: ['catatonit'],
      },
    ),
  suse: () =>
    linux(
      'openSUSE or SLES',
      {
        install: ['zypper', '--non-interactive', 'install'],
        remove: ['zypper', '--non-interactive', 'remove'],
      },
      {
        ids: ['shadow'],
        runtime: ['runc'],
        network: carrier(false),
        storage: ['fuse-overlayfs'],
        init: ['catatonit'],
      },
    ),
  alpine: () =>
    linux(
      'Alpine Linux',
      { install: ['apk', 'add'], remove: ['apk', 'del'] },
      {
        ids: ['shadow', 'shadow-subids'],
        runtime: ['crun'],
        network: carrier(false),
        storage: ['fuse-overlayfs'],
        init: ['catatonit'],
      },
    ),
};

const ALSO_CALLED: Readonly<Record<string, string>> = {
  ubuntu: 'debian',
  rhel: 'fedora',
  centos: 'fedora',
  opensuse: 'suse',
  sles: 'suse',
  archlinux: 'arch',
};

const MACOS: System = {
  title: 'macOS',
  install: ['brew', 'install'],
  remove: ['brew', 'uninstall'],
  asRoot: false,
  engine: ['podman'],
  afterwards: MACHINE,
  note: 'brew is the package manager of https://brew.sh; podman runs containers in a virtual machine of its own.',
};

const WINDOWS: System = {
  title: 'Windows',
  install: ['winget', 'install', '--exact', '--id'],
  remove: ['winget', 'uninstall', '--exact', '--id'],
  asRoot: false,
  engine: ['RedHat.Podman'],
  afterwards: MACHINE,
  note: 'podman needs WSL 2 here: where it is missing, run `wsl --install` first, as an administrator, and start Windows again.',
};

/**
 * The system that this is; undefined for one whose package manager we do not know.
 *
 * @param osRelease the text of /etc/os-release, empty where there is none
 */
export function systemOf(platform: NodeJS.Platform, osRelease: string): System | undefined {
  if (platform === 'darwin') return MACOS;
  if (platform === 'win32') return WINDOWS;
  if (platform !== 'linux') return undefined;
  const fields = new Map(
    osRelease.split('\n').map((line) => {
      const [name = '', ...value] = line.split('=');
      return [
        name.trim(),
        value
          .join('=')
          .trim()
          .replace(/^(["'])(.*)\1$/, '$2'),
      ] as const;
    }),
  );
  const id = fields.get('ID') ?? '';
  const version = Number.parseFloat(fields.get('VERSION_ID') ?? '') || 0;
  for (const name of [id, ...(fields.get('ID_LIKE') ?? '').split(' ')]) {
    // openSUSE's own are called opensuse-leap and opensuse-tumbleweed.
    const plain = name.replace(/-.*/, '');
    const make = LINUXES[ALSO_CALLED[plain] ?? plain];
    if (make !== undefined) return make({ id, version });
  }
  return undefined;
}

// Facts that the steps ask of this machine, as values and two functions, so that a test can play any machine.

export type SetupMachine = {
  /** How the machine installs programs; undefined where we do not know. */
  readonly system: System | undefined;
  readonly isRoot: boolean;
  readonly username: string;
  /** Release of the kernel, such as 6.1.0-18-amd64. */
  readonly kernel: string;
  readonly hasSystemd: boolean;
  /** Whether both versions of control groups are mounted, which crun of Debian 12 refuses. */
  readonly hasBothCgroups: boolean;
  /** Path of a program, also of one that only root's PATH has. */
  readonly find: (program: string) => string | undefined;
  /** How many ids /etc/subuid or /etc/subgid gives to the user. */
  readonly idsIn: (file: string) => number;
};

/** Folders of root's PATH: on Debian an ordinary user's PATH lacks those where runc lies. */
const ROOTS_FOLDERS = ':/usr/local/sbin:/usr/sbin:/sbin';

export function thisMachine({ env, host }: DiscoverContext): SetupMachine {
  const withRoots =
    host.platform === 'win32' ? env : { ...env, PATH: `${env['PATH'] ?? ''}${ROOTS_FOLDERS}` };
  return {
    system: systemOf(host.platform, readText('/etc/os-release') ?? ''),
    isRoot: host.uid === 0,
    username: userInfo().username,
    kernel: release(),
    hasSystemd: existsSync('/run/systemd/system'),
    hasBothCgroups: existsSync('/sys/fs/cgroup/unified'),
    find: (program) => findProgram(program, withRoots),
    idsIn: subordinateIds,
  };
}
