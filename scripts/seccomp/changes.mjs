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
    reason: 'Mounts, by the old calls or the new: the cage is made of them.',
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
    names: ['memfd_create', 'memfd_secret'],
    compat: ['memfd_create'],
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
const FAMILY = { AF_UNIX: 1, AF_INET: 2, AF_INET6: 10, AF_NETLINK: 16 };
const NETLINK_ROUTE = 0;

const equal = (index, value) => ({ index, value, op: 'SCMP_CMP_EQ' });
const above = (index, value) => ({ index, value, op: 'SCMP_CMP_GT' });
/** True where `argument & mask` is `value`. */
const masked = (index, mask, value) => ({ index, value: mask, valueTwo: value, op: 'SCMP_CMP_MASKED_EQ' });

const ALL_NAMESPACE_FLAGS = NAMESPACE_FLAGS.reduce((sum, flag) => sum + flag);
// There the two first arguments of clone are the other way round.
const S390 = { arches: ['s390', 's390x'] };

/** Calls that are allowed with some arguments only. What no rule of theirs meets is ENOSYS. The rules do not overlap. */
export const LIMITED = [
  {
    reason: 'clone makes processes and threads, and no namespace.',
    names: ['clone'],
    rules: [
      { allow: [masked(0, ALL_NAMESPACE_FLAGS, 0)], excludes: S390 },
      ...NAMESPACE_FLAGS.map((flag) => ({ error: 'EPERM', when: [masked(0, flag, flag)], excludes: S390 })),
      { allow: [masked(1, ALL_NAMESPACE_FLAGS, 0)], includes: S390 },
    ],
  },
  {
    reason:
      'Sockets: unix, IPv4, IPv6 and the netlink that lists interfaces. vsock reaches the hypervisor, alg the ciphers of the kernel.',
    names: ['socket'],
    rules: [
      ...[FAMILY.AF_UNIX, FAMILY.AF_INET, FAMILY.AF_INET6].map((family) => ({ allow: [equal(0, family)] })),
      { allow: [equal(0, FAMILY.AF_NETLINK), equal(2, NETLINK_ROUTE)] },
      { error: 'EPROTONOSUPPORT', when: [equal(0, FAMILY.AF_NETLINK), above(2, NETLINK_ROUTE)] },
      { error: 'EAFNOSUPPORT', when: [above(0, FAMILY.AF_NETLINK)] },
    ],
  },
  {
    reason: 'personality may be asked and set to what it is; another one switches address randomisation off.',
    names: ['personality'],
    rules: [{ allow: [equal(0, 0)] }, { allow: [equal(0, 0xffffffff)] }],
    // Debuggers set ADDR_NO_RANDOMIZE.
    compat: [{ allow: [equal(0, 0x0040000)] }],
  },
];
