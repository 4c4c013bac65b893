// The walls as a table: what is asked for, the attempt in Python, and when what it says means that the wall held. All
// attempts go into one sandbox, each in a process of its own; each answers with one line.

import { isGvisor } from '../../engine/machine/oci-runtime.js';
import { engineNameOf } from '../../engine/machine/place.js';
import { WRITABLE } from '../../sandbox/spec/spec.js';
import type { ProbedSandbox } from './control.js';
import { KERNEL_WALLS } from './kernel-walls.js';
import { underGvisor, type Wall } from './wall.js';

/** The controls whose attempts would be noticed on the host. */
export const CANARY_CONTROLS = {
  tcp: 'connections to the host',
  abstract: 'abstract sockets of the host',
} as const;

/** Nobody named a user, so each container may have an id of its own. */
const isAnybody = ({ settings }: ProbedSandbox): boolean =>
  !settings.explicitlySet.has('MCP_BRIDGE_CONTAINER_USER');
const ERRNO = /^E[A-Z0-9]+$/;
const refused = (seen: string): boolean => ERRNO.test(seen);
const none = (seen: string): boolean => seen === 'none';
const always = (words: string) => (): string => words;
/** A list in Python's own notation; JSON of strings is that. */
const python = (values: readonly string[]): string => JSON.stringify(values);

// Numbers of the kernel's interface.
const CLONE_NEWUSER = 0x1000_0000;
const CAPABILITY_VERSION_3 = 0x2008_0522;
const [PR_CAPBSET_READ, PR_GET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET] = [23, 39, 47, 1];
const byPodman = ({ choice }: ProbedSandbox): string | undefined =>
  engineNameOf(choice.binary) === 'docker' ? 'docker has no flag for it' : undefined;

const PLACES = [...WRITABLE].sort();
const sizes = ({ spec }: ProbedSandbox): string =>
  [...spec.tmpfs.map(({ target, sizeMb }) => `${target} ${sizeMb}`), `/dev/shm ${spec.shmMb}`]
    .sort()
    .join(', ');
const ulimit = ({ spec }: ProbedSandbox, wanted: string): number =>
  spec.ulimits.find(({ name }) => name === wanted)?.limit ?? Number.NaN;

/**
 * Files that engines put into every container: their own, with no word of the host but its resolvers. The image's
 * lists of users and groups are copied there, with a line for a user that the image does not know.
 */
const ENGINE_FILES = [
  '/etc/passwd',
  '/etc/group',
  '/etc/hosts',
  '/etc/hostname',
  '/etc/resolv.conf',
  '/run/.containerenv',
  '/run/secrets',
];
/** Where /etc/localtime leads: the engine says the time zone by a copy of its own that it mounts there. */
const ZONES = '/usr/share/zoneinfo/';
/** Variables that every program has, so that sharing the name says nothing. */
const COMMON_NAMES = [
  'PATH',
  'HOME',
  'LANG',
  'LC_ALL',
  'TERM',
  'HOSTNAME',
  'TZ',
  'TMPDIR',
  'PWD',
  'SHLVL',
  '_',
];
/** A name is as long as it is said to be, and Node before libuv 1.47 says the whole field. */
const abstractSpellings = (name: string): string[] => [name, name.padEnd(SUN_PATH_BYTES - 1, '\0')];
const SUN_PATH_BYTES = 108;

const inCommon = (seen: string, { hostEnvNames, spec }: ProbedSandbox): string[] => {
  const harmless = [...COMMON_NAMES, ...Object.keys(spec.env)];
  return seen.split(' ').filter((name) => hostEnvNames.includes(name) && !harmless.includes(name));
};
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty', 'console', 'ptmx', 'pts/ptmx'];
/** Made by gVisor's kernel, and served by it. */
const GVISOR_DEVICES = ['fuse', 'net/tun'];
const usualDevices = ({ choice }: ProbedSandbox): string[] =>
  isGvisor(choice.ociRuntime) ? [...DEVICES, ...GVISOR_DEVICES] : DEVICES;

/** As `listed` says it inside: where the image holds our files, nothing is mounted. */
const mountsIn = ({ mounts }: ProbedSandbox['spec']): string =>
  mounts.length === 0 ? 'none' : mounts.map(({ target }) => `${target} (ro)`).join(' ');

export const WALLS: readonly Wall[] = [
  {
    control: 'user namespace',
    required: true,
    requested: always('cannot be made'),
    how: 'unshare(CLONE_NEWUSER)',
    python: () => `return call(libc.unshare(${CLONE_NEWUSER}))`,
    held: refused,
    unseen: underGvisor,
    remedy:
      'Use the seccomp profile that comes with the bridge: a new namespace has every capability in itself.',
  },
  {
    control: 'mount',
    required: true,
    requested: always('refused'),
    how: 'mount a tmpfs on /tmp',
    python: () => 'return call(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))',
    held: refused,
  },
  {
    control: 'capabilities',
    required: true,
    requested: always('none'),
    how: 'all five sets, by capget and prctl',
    python: () =>
      `header, data = (ctypes.c_uint32 * 2)(${CAPABILITY_VERSION_3}, 0), (ctypes.c_uint32 * 6)()
if libc.capget(header, data): raise OSError(ctypes.get_errno(), "capget")
sets = {name: data[n] | data[n + 3] << 32 for n, name in enumerate(("effective", "permitted", "inheritable"))}
sets["bounding"] = sum(1 << n for n in range(64) if libc.prctl(${PR_CAPBSET_READ}, n, 0, 0, 0) == 1)
sets["ambient"] = sum(1 << n for n in range(64) if libc.prctl(${PR_CAP_AMBIENT}, ${PR_CAP_AMBIENT_IS_SET}, n, 0, 0) == 1)
return listed(f"{name}={held:x}" for name, held in sets.items() if held)`,
    held: none,
  },
  {
    control: 'new privileges',
    required: true,
    requested: always('never'),
    how: 'prctl(PR_GET_NO_NEW_PRIVS)',
    python: () => `return "never" if libc.prctl(${PR_GET_NO_NEW_PRIVS}, 0, 0, 0, 0) == 1 else "possible"`,
    held: (seen) => seen === 'never',
  },
  {
    control: 'seccomp',
    required: true,
    requested: ({ settings }) => `a filter (${settings.seccomp})`,
    how: 'Seccomp in /proc/self/status',
    python: () => 'return {"0": "off", "1": "strict", "2": "a filter"}.get(status("Seccomp"), "unknown")',
    held: (seen) => seen === 'a filter',
    unseen: underGvisor,
  },
  {
    control: 'user',
    required: true,
    requested: (probed) => (isAnybody(probed) ? 'anybody but root' : probed.spec.user),
    how: 'getresuid, getresgid, getgroups',
    python: () =>
      'uids, gids = set(os.getresuid()), set(os.getresgid())\nmore = set(os.getgroups()) - gids\nreturn listed(map(str, uids)) + ":" + listed(map(str, gids)) + ("" if not more else " and groups " + listed(map(str, more)))',
    held: (seen, probed) => (isAnybody(probed) ? /^([1-9]\d*):\1$/.test(seen) : seen === probed.spec.user),
  },
  {
    control: 'writable places',
    required: true,
    requested: always(PLACES.join(' ')),
    how: 'a file made on every mount and in all of /',
    python: () =>
      `places = {"/", "/var/tmp", "/usr/bin", "/proc/sys/kernel", "/sys/fs/cgroup"} | {os.path.join("/", n) for n in os.listdir("/")}
for line in open("/proc/self/mountinfo"):
    places.add(line.split()[4])
found = set()
for place in places:
    if not os.path.isdir(place): place = os.path.dirname(place)
    try:
        fd = os.open(os.path.join(place, ".probe"), os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except OSError:
        continue
    os.close(fd); os.unlink(os.path.join(place, ".probe")); found.add(os.path.realpath(place))
return listed(found)`,
    held: (seen) => seen === PLACES.join(' '),
  },
  {
    control: 'size of the writable places',
    required: true,
    requested: (probed) => `${sizes(probed)} MB`,
    how: 'statvfs',
    python: () =>
      `seen = []
for place in ${python(PLACES)}:
    of = os.statvfs(place)
    seen.append(f"{place} {of.f_blocks * of.f_frsize // (1 << 20)}")
return ", ".join(seen) + " MB"`,
    held: (seen, probed) => seen === `${sizes(probed)} MB`,
    unseen: underGvisor,
  },
  {
    control: 'programs in the writable places',
    required: true,
    requested: always('do not run'),
    how: 'a copy of a program executed in each',
    python: () =>
      `ran = []
for place in ${python(PLACES)}:
    copy = os.path.join(place, ".probe-program")
    try:
        shutil.copyfile(os.path.realpath(sys.executable), copy)
        os.chmod(copy, 0o700)
        subprocess.run([copy, "-I", "-S", "-c", ""], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ran.append(place)
    except PermissionError:
        pass
    finally:
        try: os.unlink(copy)
        except OSError: pass
return "ran in " + listed(ran) if ran else "refused in all"`,
    held: (seen) => seen === 'refused in all',
  },
  {
    control: 'descriptors of a child',
    required: true,
    requested: always('0 1 2'),
    how: 'listed by a program that inherits all',
    python: () =>
      `code = 'import os\\nfds = os.listdir("/proc/self/fd")\\nprint(*sorted(int(f) for f in fds if os.path.exists("/proc/self/fd/" + f)))'
return subprocess.run([sys.executable, "-I", "-S", "-c", code], close_fds=False, capture_output=True, text=True).stdout.strip()`,
    held: (seen) => seen === '0 1 2',
  },
  {
    control: 'network interfaces',
    required: true,
    requested: always('lo'),
    how: 'if_nameindex',
    python: () => 'return listed(name for _, name in socket.if_nameindex())',
    held: (seen) => seen === 'lo' || none(seen),
  },
  {
    control: CANARY_CONTROLS.tcp,
    required: true,
    requested: always('none'),
    how: "to a listener on all the host's addresses",
    python: ({ addresses }) =>
      `through = []
for address in ${python(addresses)}:
    host, port = address.split(":")
    try:
        socket.create_connection((host, int(port)), 0.5).close()
        through.append(host)
    except OSError:
        pass
return listed(through)`,
    held: none,
  },
  {
    control: CANARY_CONTROLS.abstract,
    required: true,
    requested: always('out of reach'),
    how: 'to a listener of the host',
    python: ({ abstractName }) => `
for name in ${python(abstractName === undefined ? [] : abstractSpellings(abstractName))}:
    try:
        socket.socket(socket.AF_UNIX).connect("\\0" + name)
        return "connected"
    except OSError as error:
        refusal = errno.errorcode[error.errno]
return refusal`,
    held: refused,
    unseen: () => (process.platform === 'linux' ? undefined : 'this machine has none'),
  },
  {
    control: 'mounts of the host',
    required: true,
    requested: ({ spec }) => mountsIn(spec),
    how: "/proc/self/mountinfo, less the engine's own",
    python: () =>
      `own = set(${python([...ENGINE_FILES, ...PLACES])})
found = set()
for line in open("/proc/self/mountinfo"):
    place, flags = line.split()[4:6]
    if place == "/" or place in own or place.startswith("${ZONES}") or place.split("/")[1] in ("proc", "sys", "dev"): continue
    found.add(f"{place} ({flags.split(',')[0]})")
return listed(found)`,
    held: (seen, { spec }) => seen === mountsIn(spec),
    unseen: underGvisor,
  },
  {
    control: '/sys',
    required: false,
    requested: always('empty'),
    how: 'listed',
    python: () => 'return listed(os.listdir("/sys"))',
    held: none,
    unseen: (probed) => byPodman(probed) ?? underGvisor(probed),
  },
  {
    control: 'kernel files in /proc',
    required: true,
    requested: always('out of reach'),
    how: 'kcore and others read, core_pattern and others opened',
    python: () =>
      `through = []
for path in ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/kmsg"):
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        if os.read(fd, 1): through.append(path)
        os.close(fd)
    except OSError:
        pass
for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches"):
    try:
        os.close(os.open(path, os.O_WRONLY)); through.append(path)
    except OSError:
        pass
return listed(through)`,
    held: none,
  },
  {
    control: 'devices',
    required: true,
    requested: always('none of the host'),
    how: '/dev walked, access asked to all but the usual',
    python: (_canaries, probed) =>
      `through = []
for folder, _, files in os.walk("/dev"):
    for name in files:
        path = os.path.join(folder, name)
        mode = os.lstat(path).st_mode
        if not (stat.S_ISBLK(mode) or stat.S_ISCHR(mode)) or path[5:] in ${python(usualDevices(probed))}: continue
        # Not opened: of some devices that alone is an act.
        if os.access(path, os.R_OK): through.append(path)
return listed(through)`,
    held: none,
  },
  {
    control: 'processes of others',
    required: true,
    requested: always('not seen'),
    how: 'all of /proc descends from the first',
    python: () =>
      `parents = {}
for name in os.listdir("/proc"):
    if name.isdigit():
        try: parents[int(name)] = int(re.search(r"PPid:\\s*(\\d+)", open(f"/proc/{name}/status").read())[1])
        except OSError: pass
strangers = [pid for pid, parent in parents.items() if pid != 1 and parent not in parents]
ours = b"/ipc/entrypoint.py" in open("/proc/1/cmdline", "rb").read().split(b"\\0")
return "not seen" if ours and not strangers else f"{len(strangers) + (not ours)} seen"`,
    held: (seen) => seen === 'not seen',
  },
  {
    control: "the host's environment",
    required: true,
    requested: always('none of its variables'),
    how: "names in common with the bridge's own",
    python: () => 'return listed(os.environ)',
    held: (seen, probed) => inCommon(seen, probed).length === 0,
    shown: (seen, probed) => inCommon(seen, probed).join(' ') || 'none',
  },
  {
    control: 'host name',
    required: false,
    requested: ({ spec }) => spec.hostname,
    how: 'gethostname',
    python: () => 'return socket.gethostname()',
    held: (seen, { spec }) => seen === spec.hostname,
  },
  {
    control: 'time zone',
    required: false,
    requested: always('UTC'),
    how: 'the local clock against UTC',
    python: () => 'return "UTC" if time.localtime().tm_gmtoff == 0 else time.tzname[0]',
    held: (seen) => seen === 'UTC',
  },
  {
    control: 'core dumps',
    required: true,
    requested: always('none'),
    how: 'a child that crashes',
    python: () =>
      'pid = os.fork()\nif pid == 0: os.kill(os.getpid(), signal.SIGSEGV)\nstate = os.waitpid(pid, 0)[1]\nreturn "dumped" if os.WCOREDUMP(state) else "none"',
    held: none,
  },
  {
    control: 'open files',
    required: true,
    requested: (probed) => `${ulimit(probed, 'nofile')}`,
    how: 'opened until refused',
    python: (_canaries, probed) =>
      `last = -1
try:
    for _ in range(${ulimit(probed, 'nofile')} + 8): last = os.dup(0)
except OSError as error:
    return f"{errno.errorcode[error.errno]} at {last + 1}"
return f"{last + 1} open"`,
    held: (seen) => /^EMFILE at \d+$/.test(seen),
  },
  ...KERNEL_WALLS,
];
