// Memory of the kernel that a program without privileges can make. Each attack asks whether the call is open, with an
// amount that harms nobody: a machine whose filters use up their memory starts no container any more until it is
// restarted. What whole buffers of sockets come to is tried by the attacks on resources.

import { type Probe, py } from '../attack.js';
import { probesOf } from './define.js';

const GVISOR = 'the call is answered by the sandbox’s own kernel, whose memory is the container’s';
const probe = probesOf('kernel', { gvisor: GVISOR });

/** A filter of one instruction, which returns 0. */
const FILTER = py`
  import struct, socket
  program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))
  filter = struct.pack("HL", 1, ctypes.addressof(program))
  end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
`;

/** Value that the kernel reads as the int `value` while a rule that compares 64 bits reads another. */
const HIGH = '(1 << 32)';

const attach = (id: string, tries: string, level: string, option: string): Probe =>
  probe(
    id,
    tries,
    ['seccomp'],
    `${FILTER}\nsyscall("setsockopt", end.fileno(), ${level}, ${option}, filter, len(filter))\nreturn "attached"`,
  );

const filters: readonly Probe[] = [
  attach('a filter on a socket', 'Has a filter compiled for a socket.', '1', '26'),
  attach(
    'a filter on a socket, option with a high bit',
    'Has a filter compiled, by an option with a bit that the kernel does not read.',
    '1',
    `26 | ${HIGH}`,
  ),
  attach(
    'a filter on a socket, level with a high bit',
    'Has a filter compiled, by a level with a bit that the kernel does not read.',
    `1 | ${HIGH}`,
    '26',
  ),
  ...[50, 51, 52].flatMap((option) =>
    [String(option), `${option} | ${HIGH}`].map((spelling) =>
      probe(
        `a program on a socket, option ${spelling.replace(HIGH, '2^32')}`,
        'Attaches a program of the kernel to a socket.',
        ['seccomp'],
        py`
          import socket
          end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
          return reach("setsockopt", end.fileno(), 1, ${spelling}, b"\0" * 16, 16)
        `,
      ),
    ),
  ),
  ...['22', `22 | ${HIGH}`].map((spelling) =>
    probe(
      `a filter by prctl ${spelling.replace(HIGH, '2^32')}`,
      'Has a filter of its own system calls compiled.',
      ['seccomp'],
      `${FILTER}\nsyscall("prctl", ${spelling}, 2, filter, 0, 0)\nreturn "filtered"`.replace(
        '"HBBI", 6, 0, 0, 0',
        '"HBBI", 6, 0, 0, 0x7fff0000',
      ),
    ),
  ),
  probe(
    'a filter by seccomp',
    'Has a filter of its own system calls compiled.',
    ['seccomp'],
    `${FILTER}\nsyscall("seccomp", 1, 0, filter)\nreturn "filtered"`.replace(
      '"HBBI", 6, 0, 0, 0',
      '"HBBI", 6, 0, 0, 0x7fff0000',
    ),
  ),
];

const WATCH = (command: string): string => py`
  kept = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
  return f"{syscall('fcntl', kept, ${command}, 1)}"
`;

const watches: readonly Probe[] = [
  ...['inotify_init', 'inotify_init1'].map((call) =>
    probe(
      `watches of files by ${call}`,
      'Watches what happens to files; each watcher is counted for whoever runs the engine.',
      ['seccomp'],
      `return f"{syscall('${call}', 0)}"`,
    ),
  ),
  ...['1026', `1026 | ${HIGH}`].map((command) =>
    probe(
      `word of what happens in a folder, command ${command.replace(HIGH, '2^32')}`,
      'Asks to be told what happens in a folder that other sandboxes see, too.',
      ['seccomp'],
      WATCH(command),
    ),
  ),
  ...['1024', `1024 | ${HIGH}`].map((command) =>
    probe(
      `a lease, command ${command.replace(HIGH, '2^32')}`,
      'Takes a lease on a file, which holds up whoever opens it.',
      ['seccomp'],
      py`
        kept = os.open("/tmp/lease", os.O_RDWR | os.O_CREAT, 0o600)
        return f"{syscall('fcntl', kept, ${command}, 1)}"
      `,
    ),
  ),
];

const hugePages = probe(
  'huge pages',
  'Asks for memory out of the store of huge pages that the machine has set aside for its own programs.',
  ['seccomp'],
  py`
    try:
        return f"{syscall('mmap', 0, 4096, 3, 0x22 | 0x40000 | 63 << 26, -1, 0)}"
    except OSError as error:
        # Pages of a size that no machine has, so that nothing is taken: the kernel has been asked.
        if error.errno == errno.EINVAL:
            return "asked"
        raise
  `,
);

const ABSENT = '[errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT, errno.EAFNOSUPPORT]';

/** The profile answers as a kernel does that has no such protocol, so only a kernel that has it can show the way open. */
const protocol = (id: string, family: string, kind: number, number: number, call = 'socket'): Probe =>
  probe(
    id,
    'Asks for a protocol that the kernel would load a module for.',
    ['seccomp'],
    py`
      pair = (ctypes.c_int * 2)()
      arguments = (${family}, ${kind}, ${number}, pair) if "${call}" == "socketpair" else (${family}, ${kind}, ${number})
      return reach("${call}", *arguments)
    `,
    {
      control: py`
        pair = (ctypes.c_int * 2)()
        arguments = (${family}, ${kind}, ${number}, pair) if "${call}" == "socketpair" else (${family}, ${kind}, ${number})
        try:
            return f"{syscall('${call}', *arguments)}"
        except OSError as error:
            # Whether it has the module or not, the kernel has looked for it.
            if error.errno in ${ABSENT} + [errno.EOPNOTSUPP]:
                return f"looked for, {errno.errorcode[error.errno]}"
            raise
      `,
    },
  );

const HELD_BY_ERROR = /return reach\((.*)\)$/m;
/** An error that the kernel could have given as well counts as held where the profile is what gives it. */
const refused = (one: Probe): Probe => ({
  ...one,
  code: one.code.replace(HELD_BY_ERROR, 'return str(syscall($1))'),
});

const protocols: readonly Probe[] = [
  protocol('SCTP', '2', 1, 132),
  protocol('SCTP by its own type', '2', 5, 132),
  protocol('SCTP, family with a high bit', `2 | ${HIGH}`, 1, 132),
  protocol('DCCP', '2', 6, 33),
  protocol('L2TP', '2', 2, 115),
  protocol('MPTCP', '2', 1, 262),
  protocol('UDP-Lite', '10', 2, 136),
  protocol('TIPC as a pair', '30', 2, 0, 'socketpair'),
  protocol('SCTP as a pair', '2', 5, 132, 'socketpair'),
].map(refused);

const kernelTls = probe(
  'kernel TLS',
  'Has the kernel load its TLS on top of a connection.',
  ['seccomp'],
  py`
    import socket
    end = socket.socket()
    try:
        syscall("setsockopt", end.fileno(), 6, 31, b"tls\0", 4)
        return "loaded"
    except OSError as error:
        # Not connected, or not built: the kernel has been asked.
        if error.errno in (errno.ENOTCONN, errno.ENOENT):
            return f"asked, {errno.errorcode[error.errno]}"
        raise
  `,
);

const largerBuffers = ['7', '8', `7 | ${HIGH}`].map((option) =>
  probe(
    `larger buffers, option ${option.replace(HIGH, '2^32')}`,
    'Asks for a larger buffer of a socket than the usual one.',
    ['seccomp'],
    py`
      import socket
      one, other = socket.socketpair()
      before = one.getsockopt(1, ${option.replace(` | ${HIGH}`, '')})
      syscall("setsockopt", one.fileno(), 1, ${option}, (16 << 20).to_bytes(4, "little"), 4)
      after = one.getsockopt(1, ${option.replace(` | ${HIGH}`, '')})
      if after <= before:
          raise Held(f"{after} bytes as before")
      return f"{after} bytes in place of {before}"
    `,
  ),
);

export const kernelMemoryAttacks: readonly Probe[] = [
  ...filters,
  ...watches,
  hugePages,
  ...protocols,
  kernelTls,
  ...largerBuffers,
];
