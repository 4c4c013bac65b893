// The walls that keep a guest from the kernel's memory, from the first process and from the host's network. No attempt
// changes anything, even where it succeeds: it asks, or sets a value to what it is already.

import { underGvisor, type Wall } from './wall.js';

const none = (seen: string): boolean => seen === 'none';
const always = (words: string) => (): string => words;

/** `attempts` are Python's tuples of a name and a function; what raises none of these errors has got through. */
const through = (attempts: string): string => `through = []
for name, attempt in [
${attempts.replaceAll(/^/gm, '    ')}
]:
    try:
        attempt()
        through.append(name)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EPROTONOSUPPORT):
            through.append(f"{name} ({errno.errorcode[error.errno]})")
return listed(through)`;

/** A raw call: an int is given as all 64 bits of its register. */
const RAW = `libc.syscall.restype = ctypes.c_long
def raw(number, *arguments):
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    if libc.syscall(ctypes.c_long(number), *words) == -1: raise OSError(ctypes.get_errno(), "")
arm = os.uname().machine == "aarch64"
`;

/** Bytes that a connection with itself takes before it is full: two buffers of this size, and what is rounded up. */
const MAX_CONNECTION_BYTES = 1 << 20;

export const KERNEL_WALLS: readonly Wall[] = [
  {
    control: 'programs in the kernel',
    required: true,
    requested: always('not compiled'),
    how: 'attached to a socket by each option, also with bits that a filter may overlook',
    python:
      () => `${RAW}program = ctypes.create_string_buffer((0x7FFF0000_00000006).to_bytes(8, sys.byteorder))
code = (1).to_bytes(8, sys.byteorder) + ctypes.addressof(program).to_bytes(8, sys.byteorder)
end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
high = 1 << 32
def attach(level, option):
    raw(208 if arm else 54, end.fileno(), level, option, code, len(code))
def prctl():
    try:
        raw(167 if arm else 157, 22 | high, 2, None)
    except OSError as error:
        # A kernel that has it would have looked for the program.
        raise OSError(errno.EPERM if error.errno == errno.EINVAL else error.errno, "")
${through(`("filter", lambda: attach(1, 26)),
("filter, high bit", lambda: attach(1, 26 | high)),
("filter, level with high bit", lambda: attach(1 | high, 26)),
("program", lambda: attach(1, 50)),
("program, high bit", lambda: attach(1, 50 | high)),
("seccomp", lambda: raw(277 if arm else 317, 1, 0, code)),
("prctl", prctl),`)}`,
    held: none,
    unseen: underGvisor,
    remedy:
      'Use the seccomp profile that comes with the bridge: such programs use up memory that all of the host share.',
  },
  {
    control: 'the first process',
    required: true,
    requested: always('out of reach'),
    how: 'its memory, descriptors, limits, processors and priority',
    python: () =>
      `${RAW}${through(`("memory", lambda: os.close(os.open("/proc/1/mem", os.O_RDWR))),
("descriptors", lambda: os.listdir("/proc/1/fd")),
("environment", lambda: os.close(os.open("/proc/1/environ", os.O_RDONLY))),
("limits", lambda: raw(261 if arm else 302, 1, 7, None, ctypes.create_string_buffer(16))),
("processors", lambda: raw(122 if arm else 203, 1 | 1 << 32, 0, None)),
("priority", lambda: os.setpriority(os.PRIO_PROCESS, 1, os.getpriority(os.PRIO_PROCESS, 1))),`)}`,
    held: none,
    unseen: underGvisor,
  },
  {
    control: 'streams of the host',
    required: true,
    requested: always('pipes'),
    how: 'what each inherited descriptor is',
    python: () => `sockets = []
for name in os.listdir("/proc/self/fd"):
    try:
        if stat.S_ISSOCK(os.stat(f"/proc/self/fd/{name}").st_mode): sockets.append(name)
    except OSError:
        pass
return listed(f"{name} is a socket" for name in sockets)`,
    held: none,
  },
  {
    control: 'buffers of a connection',
    required: true,
    requested: ({ spec }) => `at most ${spec.sysctls['net.ipv4.tcp_wmem']?.split(' ').at(-1)} bytes each`,
    how: 'one with itself, filled and not read',
    python: () => `server = socket.create_server(("127.0.0.1", 0))
one = socket.create_connection(server.getsockname())
other, _ = server.accept()
one.setblocking(False)
taken = 0
try:
    while taken < 64 << 20: taken += one.send(b"x" * 65536)
except BlockingIOError:
    pass
return f"{taken} bytes"`,
    held: (seen) => Number.parseInt(seen, 10) < MAX_CONNECTION_BYTES,
    unseen: underGvisor,
  },
];
