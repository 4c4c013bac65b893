// What our seccomp profiles change in the engine's default, one group with one reason each. Data only: read by
// scripts/generate-seccomp.mjs. Errors are ENOSYS where a C library or a program then takes another way, as it does on
// a kernel without the call, and EPERM where the answer is no.

/**
 * Calls that are refused. `compat` says which of them the looser profile leaves open: what debuggers, databases and
 * old programs ask for. Nothing that leads to a namespace, a mount, a key or a part of the kernel for experts.
 */
export const DENIED = [
  {
    reason: 'Namespaces: in a user namespace of its own a container without capabilities has them all.',
    error: 'EPERM',
    names: ['unshare', 'setns'],
  },
  {
    reason: 'clone3: its flags lie in memory, where no filter reads them. C libraries fall back to clone.',
    error: 'ENOSYS',
    names: ['clone3'],
  },
  {
    reason: 'Mounts, by the old calls or the new: a container is made of them.',
    error: 'EPERM',
    names: [
      ...['mount', 'umount', 'umount2', 'pivot_root', 'chroot', 'fsopen', 'fsconfig', 'fsmount', 'fspick'],
      ...['move_mount', 'open_tree', 'open_tree_attr', 'mount_setattr', 'statmount', 'listmount'],
      ...['swapon', 'swapoff', 'quotactl', 'quotactl_fd'],
    ],
  },
  {
    reason: 'File handles: a file opened by its number on the disk is opened past every mount.',
    error: 'EPERM',
    names: ['name_to_handle_at', 'open_by_handle_at'],
  },
  {
    reason: 'Keyrings belong to a user id and not to a container: two of them could meet there.',
    error: 'EPERM',
    names: ['add_key', 'request_key', 'keyctl'],
  },
  {
    reason: 'Other processes: reading and steering them is for debuggers; the supervisor is one of them.',
    error: 'EPERM',
    names: [
      ...['ptrace', 'process_vm_readv', 'process_vm_writev', 'process_madvise', 'process_mrelease'],
      ...['pidfd_getfd', 'kcmp'],
    ],
    compat: ['ptrace', 'process_vm_readv', 'process_vm_writev', 'pidfd_getfd', 'kcmp'],
  },
  {
    reason: 'Memory files can be executed, as nothing in a writable mount can, and no tmpfs bounds them.',
    error: 'ENOSYS',
    names: ['memfd_secret'],
  },
  {
    reason: 'System V IPC: memory that belongs to no process. multiprocessing uses /dev/shm.',
    error: 'ENOSYS',
    names: [
      ...[
        'shmget',
        'shmat',
        'shmdt',
        'shmctl',
        'semget',
        'semop',
        'semtimedop',
        'semtimedop_time64',
        'semctl',
      ],
      ...['msgget', 'msgsnd', 'msgrcv', 'msgctl', 'ipc'],
    ],
    compat: [
      ...[
        'shmget',
        'shmat',
        'shmdt',
        'shmctl',
        'semget',
        'semop',
        'semtimedop',
        'semtimedop_time64',
        'semctl',
      ],
      ...['msgget', 'msgsnd', 'msgrcv', 'msgctl', 'ipc'],
    ],
  },
  {
    reason: 'POSIX queues: kernel memory that no process shows.',
    error: 'ENOSYS',
    names: [
      ...['mq_open', 'mq_unlink', 'mq_timedsend', 'mq_timedsend_time64', 'mq_timedreceive'],
      ...['mq_timedreceive_time64', 'mq_notify', 'mq_getsetattr'],
    ],
  },
  {
    reason: 'io_uring does what other calls do without making them, unseen by every filter.',
    error: 'ENOSYS',
    names: ['io_uring_setup', 'io_uring_enter', 'io_uring_register'],
  },
  {
    reason: 'Kernel aio: for databases.',
    error: 'ENOSYS',
    names: [
      ...['io_setup', 'io_destroy', 'io_submit', 'io_cancel', 'io_getevents', 'io_pgetevents'],
      'io_pgetevents_time64',
    ],
    compat: ['io_setup', 'io_destroy', 'io_submit', 'io_cancel', 'io_getevents'],
  },
  {
    reason:
      'Watches of files: they tell what other sandboxes do with files that all see, and are counted for whoever runs the engine. Programs take ENOSYS for a kernel without them, and look again from time to time.',
    error: 'ENOSYS',
    names: ['inotify_init', 'inotify_init1', 'inotify_add_watch', 'inotify_rm_watch'],
  },
  {
    reason:
      "Filters of a program's own: the kernel compiles each into memory that no limit counts and all of the host share. Programs take ENOSYS for a kernel without filters.",
    error: 'ENOSYS',
    names: ['seccomp'],
  },
  {
    reason: 'Programs for the kernel and views into it: large, and often broken.',
    error: 'EPERM',
    names: [
      ...['bpf', 'perf_event_open', 'userfaultfd', 'syslog', 'lookup_dcookie'],
      ...['fanotify_init', 'fanotify_mark'],
    ],
  },
  {
    reason: 'The machine: its clock, name, modules, ports, power and accounts.',
    error: 'EPERM',
    names: [
      ...['acct', 'clock_settime', 'clock_settime64', 'settimeofday', 'stime', 'delete_module'],
      ...['finit_module', 'init_module', 'query_module', 'ioperm', 'iopl', 'kexec_file_load', 'kexec_load'],
      ...['reboot', 'setdomainname', 'sethostname', 'vhangup'],
    ],
  },
  {
    reason: 'Left over from older programs and other machines; two of them carry other calls inside.',
    error: 'ENOSYS',
    names: ['modify_ldt', 'remap_file_pages', 'vmsplice', 'syscall', 'socketcall'],
  },
];

// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET of linux/sched.h; NEWTIME is for unshare only.
const NAMESPACE_FLAGS = [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000];
const AF = { UNIX: 1, INET: 2, INET6: 10, NETLINK: 16 };
const SOCK = { STREAM: 1, DGRAM: 2, RAW: 3 };
const IPPROTO = { DEFAULT: 0, TCP: 6, UDP: 17 };
/** DCCP, L2TP, SCTP, UDP-Lite, MPTCP. */
const LOADED_PROTOCOLS = [33, 115, 132, 136, 262];
const NETLINK_ROUTE = 0;
/** The lower half of an argument. The kernel reads an `int` there, and a filter sees all 64 bits of the register. */
const INT = 0xffffffff;
/** Of a socket's type; the bits above it are SOCK_NONBLOCK and SOCK_CLOEXEC. */
const SOCK_TYPE = 0xf;

const isAbove = (index, value) => ({ index, value, op: 'SCMP_CMP_GT' });
/** True where `argument & mask` is `value`. */
const isMasked = (index, mask, value) => ({ index, value: mask, valueTwo: value, op: 'SCMP_CMP_MASKED_EQ' });
/**
 * True where the kernel reads `value` as the argument's int. A rule that compares all 64 bits is passed by the value with
 * one more bit set above the int (CVE-2019-10063), so no rule here compares them.
 */
const int = (index, value) => isMasked(index, INT, value);

const ALL_NAMESPACE_FLAGS = NAMESPACE_FLAGS.reduce((sum, flag) => sum + flag);
// There the two first arguments of clone are the other way round.
const S390 = { arches: ['s390', 's390x'] };

/** No kernel numbers its processes higher (PID_MAX_LIMIT is 2 to the power of this). */
const PID_BITS = 22;
/**
 * Conditions of which at least one is true for every number of a process but 1: it is 0, or a bit above the lowest is set.
 * (Filters have no comparison for "another int than", and two conditions on one argument mean "or".)
 */
const notOne = (index) => [
  int(index, 0),
  ...Array.from({ length: PID_BITS - 1 }, (_, at) => 2 ** (at + 1)).map((bit) => isMasked(index, bit, bit)),
];

/** `size` numbers from `first` on, as one comparison: size is a power of two, and first a multiple of it. */
const block = (first, size = 1) => ({ first, size });
const inBlock = (index, { first, size }) => isMasked(index, INT - (size - 1), first);

/**
 * Options of sockets that are allowed, by level, in blocks: every rule costs a container some of its start. Whoever adds
 * a block reads what each of its numbers does (include/uapi of the kernel).
 */
const SOCKET_OPTIONS = {
  // SOL_SOCKET. Not here: the sizes of buffers (7, 8), programs (26, 50 to 52), and what came after 2020.
  1: [
    ...[block(0, 4), block(4, 2), block(6), block(9), block(10, 2), block(12, 4), block(16, 8), block(24, 2)],
    ...[block(27), block(28, 4), block(32, 16), block(48, 2), block(56, 8), block(64, 4), block(76)],
  ],
  // IPPROTO_IP: type of service, time to live, path MTU, errors, multicast membership. Not here: 40 and above, filters of
  // multicast and tables of packets.
  0: [block(0, 16), block(16, 8), block(24), block(32, 8), block(48, 4)],
  // IPPROTO_TCP. Not here: 31, which loads a protocol of its own on top (kTLS), 13 and 14, which load algorithms and keys.
  6: [block(0, 8), block(8, 4), block(12), block(16, 4), block(23), block(24, 2), block(30), block(36, 2)],
  // IPPROTO_UDP: corking and segmentation. Not here: what makes a tunnel of it (100).
  17: [block(1), block(103), block(104)],
  // IPPROTO_IPV6. Not here: 32, labels of flows, which are memory.
  41: [
    block(1),
    block(16, 8),
    block(24, 2),
    block(26),
    block(33),
    block(48, 4),
    block(52),
    block(66, 2),
    block(70),
    block(72),
  ],
  // SOL_NETLINK: groups, and how the kernel answers.
  270: [block(0, 4), block(8, 4), block(12)],
};
/** SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF and _EBPF. */
const ATTACH = [26, 50, 51, 52];
/** SO_SNDBUF and SO_RCVBUF. */
const BUFFER_SIZES = [7, 8];
const SOL_SOCKET = 1;

/**
 * Options of prctl that programs use: signals, dumps and names of oneself, what the processor does, and what is asked
 * about. Not here: PR_SET_SECCOMP (22), and PR_SET_MM (35), which restores checkpoints.
 */
const PRCTL = [
  ...[
    block(0, 16),
    block(16, 4),
    block(20, 2),
    block(23),
    block(24, 8),
    block(32, 2),
    block(34),
    block(36, 4),
  ],
  ...[block(40, 4), block(47), block(50, 2), block(52, 4), block(56), block(60, 2), block(63), block(64, 4)],
  // PR_SET_VMA names anonymous memory, PR_SET_PTRACER is Yama's.
  ...[block(0x53564d41), block(0x59616d61)],
];
const PR_SET_SECCOMP = 22;
/**
 * Commands of fcntl: descriptors, flags, locks, signals (0 to 17), locks of open files (36 to 38), and of 1024 and above
 * copies, sizes of pipes, seals and hints. Not here: F_SETLEASE (1024), F_GETLEASE and F_NOTIFY (1026).
 */
const FCNTL = [
  block(0, 16),
  block(16, 2),
  block(36, 2),
  block(38),
  block(1027),
  block(1028, 4),
  block(1032, 8),
];
const NO_FCNTL = [1024, 1025, 1026];
/** Bits of the flags of mmap (3) and memfd_create (1) by which memory is made of the machine's huge pages. */
const MAP_HUGETLB = 0x40000;
const MFD_HUGETLB = 0x4;
/** Whom setpriority and ioprio_set mean; a process group or a user would take the first process in. */
const PRIO_PROCESS = 0;
const IOPRIO_WHO_PROCESS = 1;

const FIRST_PROCESS =
  'Any process but the first, which is the supervisor: it has the same user, so that the kernel would let its limits, its processors and its priority be changed.';

/** Calls that are allowed with some arguments only. What no rule of theirs meets is ENOSYS. The rules do not overlap. */
/** @type {readonly any[]} */
export const LIMITED = [
  {
    reason: 'clone makes processes and threads, and no namespace.',
    names: ['clone'],
    rules: [
      { allow: [isMasked(0, ALL_NAMESPACE_FLAGS, 0)], excludes: S390 },
      ...NAMESPACE_FLAGS.map((flag) => ({ error: 'EPERM', when: [isMasked(0, flag, flag)], excludes: S390 })),
      { allow: [isMasked(1, ALL_NAMESPACE_FLAGS, 0)], includes: S390 },
    ],
  },
  {
    reason:
      'Sockets: unix, TCP and UDP, and the netlink that lists interfaces. vsock reaches the hypervisor, alg the ciphers of the kernel, and asking for another protocol (SCTP, DCCP, L2TP, MPTCP) loads its module into the kernel.',
    names: ['socket'],
    rules: [
      { allow: [int(0, AF.UNIX)] },
      ...[AF.INET, AF.INET6].flatMap((family) => [
        ...[IPPROTO.DEFAULT, IPPROTO.TCP].map((protocol) => ({
          allow: [int(0, family), isMasked(1, SOCK_TYPE, SOCK.STREAM), int(2, protocol)],
        })),
        ...[IPPROTO.DEFAULT, IPPROTO.UDP].map((protocol) => ({
          allow: [int(0, family), isMasked(1, SOCK_TYPE, SOCK.DGRAM), int(2, protocol)],
        })),
      ]),
      // What the kernel says to whoever lacks the capability, or the protocol.
      ...[AF.INET, AF.INET6].flatMap((family) => [
        { error: 'EPERM', when: [int(0, family), isMasked(1, SOCK_TYPE, SOCK.RAW)] },
        ...LOADED_PROTOCOLS.map((protocol) => ({
          error: 'EPROTONOSUPPORT',
          when: [int(0, family), int(2, protocol)],
        })),
      ]),
      { allow: [int(0, AF.NETLINK), int(2, NETLINK_ROUTE)] },
      { error: 'EPROTONOSUPPORT', when: [int(0, AF.NETLINK), isAbove(2, NETLINK_ROUTE)] },
      { error: 'EAFNOSUPPORT', when: [isAbove(0, AF.NETLINK)] },
    ],
  },
  {
    reason: 'Pairs of unix sockets: no other family has any, and asking for one may load a module.',
    names: ['socketpair'],
    rules: [{ allow: [int(0, AF.UNIX)] }],
  },
  {
    reason:
      'Options of sockets. A program attached to a socket is compiled into memory that no limit counts; larger buffers are not given, which is what the kernel says as well when it gives less than was asked for.',
    names: ['setsockopt'],
    rules: [
      ...Object.entries(SOCKET_OPTIONS).flatMap(([level, options]) =>
        options.map((option) => ({ allow: [int(1, Number(level)), inBlock(2, option)] })),
      ),
      ...ATTACH.map((option) => ({ error: 'EPERM', when: [int(1, SOL_SOCKET), int(2, option)] })),
      ...BUFFER_SIZES.map((option) => ({ error: 'NONE', when: [int(1, SOL_SOCKET), int(2, option)] })),
    ],
  },
  {
    reason: 'prctl without filters of system calls, which are compiled like those of sockets.',
    names: ['prctl'],
    rules: [
      ...PRCTL.map((option) => ({ allow: [inBlock(0, option)] })),
      { error: 'EINVAL', when: [int(0, PR_SET_SECCOMP)] },
    ],
  },
  {
    reason:
      'Huge pages are a store of the machine, set aside for its own programs, and no limit of a container counts them. Programs take ENOMEM for an empty store.',
    names: ['mmap', 'mmap2'],
    rules: [
      { allow: [isMasked(3, MAP_HUGETLB, 0)], excludes: S390 },
      { error: 'ENOMEM', when: [isMasked(3, MAP_HUGETLB, MAP_HUGETLB)], excludes: S390 },
      // Its arguments lie in memory there.
      { allow: [], includes: S390 },
    ],
  },
  {
    reason: 'Memory files can be executed, as nothing in a writable mount can, and no tmpfs bounds them.',
    names: ['memfd_create'],
    rules: [],
    compat: [{ allow: [isMasked(1, MFD_HUGETLB, 0)] }],
  },
  {
    reason:
      'fcntl without leases, which hold up other programs that open the file, and without word of what happens in a folder.',
    names: ['fcntl', 'fcntl64'],
    rules: [
      ...FCNTL.map((command) => ({ allow: [inBlock(1, command)] })),
      ...NO_FCNTL.map((command) => ({ error: 'EINVAL', when: [int(1, command)] })),
    ],
  },
  {
    reason: FIRST_PROCESS,
    names: ['prlimit64', 'sched_setscheduler', 'sched_setparam', 'sched_setaffinity', 'sched_setattr'],
    rules: [...notOne(0).map((condition) => ({ allow: [condition] })), { error: 'EPERM', when: [int(0, 1)] }],
  },
  {
    reason: FIRST_PROCESS,
    names: ['setpriority'],
    rules: [
      ...notOne(1).map((condition) => ({ allow: [int(0, PRIO_PROCESS), condition] })),
      { error: 'EPERM', when: [int(0, PRIO_PROCESS), int(1, 1)] },
      ...[1, 2].map((which) => ({ error: 'EPERM', when: [int(0, which)] })),
    ],
  },
  {
    reason: FIRST_PROCESS,
    names: ['ioprio_set'],
    rules: [
      ...notOne(1).map((condition) => ({ allow: [int(0, IOPRIO_WHO_PROCESS), condition] })),
      { error: 'EPERM', when: [int(0, IOPRIO_WHO_PROCESS), int(1, 1)] },
      ...[2, 3].map((which) => ({ error: 'EPERM', when: [int(0, which)] })),
    ],
  },
  {
    reason: 'personality may be asked and set to what it is; another one switches address randomisation off.',
    names: ['personality'],
    rules: [{ allow: [int(0, 0)] }, { allow: [int(0, 0xffffffff)] }],
    // Debuggers set ADDR_NO_RANDOMIZE.
    compat: [{ allow: [int(0, 0x0040000)] }],
  },
];
