// The ways in which a machine gives podman no user namespace, as data: what makes it so, what the bridge has to name then,
// and who follows the remedy. `made` and `undone` are lines for root's shell.

const PROFILE = '/etc/apparmor.d/no-namespaces';
/**
 * Everything but `userns,`. It has the flag without which podman works under no profile: in its new mount namespace it starts itself
 * again by /proc/self/exe, whose path leads nowhere there. It fits the program less exactly than a profile for its very path, which then goes before it.
 */
const RULES = ['file', 'capability', 'network', 'signal', 'ptrace', 'unix', 'mount', 'umount', 'pivot_root'];
const TEXT = [
  'abi <abi/4.0>,',
  'profile no-namespaces /usr/bin/podma[m-o] flags=(attach_disconnected) {',
  ...['mqueue', 'io_uring', 'dbus', ...RULES].map((rule) => `  allow ${rule},`),
  '}',
];
const quoted = TEXT.map((line) => `'${line}'`).join(' ');
const DENIED = `printf '%s\\n' ${quoted} > ${PROFILE} && apparmor_parser -r ${PROFILE}`;
const ALLOWED = `apparmor_parser -R ${PROFILE}; rm ${PROFILE}`;

/**
 * `remedy` is `said` where the command in the bridge's own words is run as it stands, `profile` where those words name a
 * file that only the kernel's log knows, and `ubuntu` where the command is the one that is said where Ubuntu's switch is set:
 * Debian's kernel lacks that switch, so that its being set is played elsewhere, and only the command is tried here.
 */
export const SITUATIONS = [
  {
    name: 'an AppArmor profile without userns',
    made: DENIED,
    undone: ALLOWED,
    names: ['cannot clone: Permission denied', 'AppArmor is active here', 'userns_create'],
    remedy: 'profile',
  },
  {
    name: 'the same, and the profile that is said on Ubuntu',
    made: DENIED,
    undone: ALLOWED,
    names: ['AppArmor'],
    remedy: 'ubuntu',
  },
  {
    name: 'kernel.unprivileged_userns_clone',
    made: 'sysctl -w kernel.unprivileged_userns_clone=0',
    undone: 'sysctl -w kernel.unprivileged_userns_clone=1',
    names: ['cannot clone: Operation not permitted', 'kernel.unprivileged_userns_clone is 0'],
    remedy: 'said',
  },
  {
    name: 'user.max_user_namespaces',
    made: 'sysctl -w user.max_user_namespaces=0',
    undone: 'sysctl -w user.max_user_namespaces=10000',
    names: ['cannot clone: No space left on device', 'user.max_user_namespaces is 0'],
    remedy: 'said',
  },
];

/** The first command of a remedy; root's shell runs it without asking. */
export const commandIn = (remedy) => /`([^`]+)`/.exec(remedy)?.[1];
