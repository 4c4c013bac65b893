// The machines that test-host.mjs boots, as data: one Debian release each, with what a user gets who installs podman
// there. Changing a list makes a new disk.

/** The kernel of every machine, also of later releases: qemu 7.2 cannot run newer ones without hardware's help. */
export const KERNEL_SUITE = 'bookworm';

/** A systemd user session, and what Debian's podman needs or recommends for rootless containers without a network. */
const SESSION = ['systemd-sysv', 'libpam-systemd', 'dbus-user-session'];
const PODMAN = ['podman', 'crun', 'uidmap', 'catatonit'];
/** What the copied Node is linked with. */
const NODE_LIBRARIES = ['libstdc++6'];

const COMMON = [...SESSION, ...PODMAN, ...NODE_LIBRARIES, 'udev', 'kmod', 'procps'];

/** By release. */
export const SUITES = {
  bookworm: { packages: [...COMMON, 'linux-image-cloud-amd64', 'initramfs-tools'] },
  trixie: { packages: COMMON },
};

/** Who works there: an ordinary user with the usual range of subordinate ids. */
export const USER = { name: 'user', id: 1000, home: '/home/user', firstSubId: 100_000, subIds: 65_536 };

/** Where the second disk is mounted. */
export const JOB_DIR = '/job';
/** The serial line that carries the report; the first one is the console. */
export const REPORT_TTY = 'ttyS1';
