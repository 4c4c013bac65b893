// The machines that test-host.mjs boots, as data: one Debian release each, with what a user gets who installs podman
// there. Changing a list makes a new disk.

/** The kernel of every machine, also of later releases: qemu 7.2 cannot run newer ones without hardware's help. */
export const KERNEL_SUITE = 'bookworm';

/** A systemd user session, and what Debian's podman needs or recommends for rootless containers without a network. */
const SESSION = ['systemd-sysv', 'libpam-systemd', 'dbus-user-session'];
const PODMAN = ['podman', 'crun', 'uidmap', 'catatonit'];
/** What the copied Node is linked with. */
const NODE_LIBRARIES = ['libstdc++6'];

/** The way in, for a bridge outside that uses the machine's engine. */
const LOGIN = ['openssh-server'];

const COMMON = [...SESSION, ...PODMAN, ...NODE_LIBRARIES, ...LOGIN, 'udev', 'kmod', 'procps'];

/** By release. */
export const SUITES = {
  bookworm: { packages: [...COMMON, 'linux-image-cloud-amd64', 'initramfs-tools'] },
  trixie: { packages: COMMON },
};

/**
 * The machine that gives podman no user namespace. It has its release's own kernel, since AppArmor mediates user
 * namespaces only from 6.7 on, and its user may be root, to follow the remedies.
 */
export const NAMESPACES = {
  suite: 'trixie',
  packages: [...COMMON, 'linux-image-cloud-amd64', 'initramfs-tools', 'apparmor', 'sudo'],
  /** What the kernel starts instead of systemd. */
  init: '/usr/local/sbin/namespace-init',
};

/** What runs that kernel: qemu 7.2 of Debian 12 cannot. */
export const NEWER_QEMU = { suite: 'trixie', packages: ['qemu-system-x86', 'seabios'] };

/** Who works there: an ordinary user with the usual range of subordinate ids. */
export const USER = { name: 'user', id: 1000, home: '/home/user', firstSubId: 100_000, subIds: 65_536 };

/** Where the user's podman listens, once podman.socket is started. */
export const ENGINE_SOCKET = `/run/user/${USER.id}/podman/podman.sock`;

/** Where the second disk is mounted. */
export const JOB_DIR = '/job';
/** Who may log in over ssh; on the second disk of a machine that has no job of its own. */
export const KEYS_FILE = `${JOB_DIR}/authorized_keys`;
/** Our image as the engine saves it; on the second disk too. */
export const IMAGE_FILE = `${JOB_DIR}/image.tar`;
/** What a machine with a job of its own runs. */
export const JOB_PROGRAM = `${JOB_DIR}/app/host/job.mjs`;
/** What the machine without user namespaces runs. */
export const NAMESPACE_PROGRAM = `${JOB_DIR}/app/host/namespace-job.mjs`;
/** As qemu's user-mode network gives it out. */
export const ADDRESS = '10.0.2.15';
/** The serial line that carries the report; the first one is the console. */
export const REPORT_TTY = 'ttyS1';
