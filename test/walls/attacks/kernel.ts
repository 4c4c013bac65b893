// System calls that the seccomp profile denies. Most reach the kernel's own code with arguments that it would refuse,
// so that the control shows the call open and does no harm; where the kernel first asks for a capability, the control
// has it.

import { type Probe, py } from '../attack.js';
import type { Relaxation } from '../relaxations.js';
import { ONLY_ROOT, probesOf } from './define.js';

const GVISOR = 'the call is answered by the sandbox’s own kernel, which has no profile and knows few of them';
const probe = probesOf('kernel', { gvisor: GVISOR });

const OPEN: readonly Relaxation[] = ['seccomp'];
const WITH_CAPABILITIES: readonly Relaxation[] = ['seccomp', 'capabilities'];

/** One call: name, arguments as Python, sentence. */
type Row = readonly [name: string, args: string, tries: string];

const UNPRIVILEGED: readonly Row[] = [
  ['keyctl', '0, -3, 1', 'Asks for the session keyring.'],
  [
    'add_key',
    'b"user", b"walls", b"x", 1, -2',
    'Puts a key into a keyring, which is memory that no limit counts.',
  ],
  [
    'request_key',
    'b"user", b"walls-nothing", None, 0',
    'Asks the kernel for a key, which may start a helper.',
  ],
  ['ptrace', '0, 0, 0, 0', 'Lets itself be traced.'],
  ['kcmp', 'os.getpid(), os.getpid(), 0, 0, 1', 'Compares kernel pointers of processes.'],
  ['memfd_create', 'b"walls", 0', 'Makes a file that no file system limits.'],
  ['memfd_secret', '0', 'Makes memory that the host cannot see.'],
  ['shmget', '0x77616c, 4096, 0o1600', 'Makes a SysV segment.'],
  ['semget', '0x77616c, 1, 0o1600', 'Makes a SysV semaphore.'],
  ['msgget', '0x77616c, 0o1600', 'Makes a SysV queue.'],
  ['mq_open', 'b"walls", 0o102, 0o600, None', 'Makes a POSIX queue.'],
  ['io_uring_setup', '1, ctypes.create_string_buffer(256)', 'Makes an io_uring, whose work no filter sees.'],
  ['io_setup', '1, ctypes.byref(ctypes.c_long(0))', 'Makes a queue for asynchronous reads.'],
  ['bpf', '0, ctypes.create_string_buffer(8192), 8000', 'Speaks to the kernel’s virtual machine.'],
  ['perf_event_open', 'ctypes.create_string_buffer(128), 0, -1, -1, 0xffff', 'Opens a performance counter.'],
  ['userfaultfd', '1', 'Takes over page faults, with which races are won.'],
  ['personality', '0x0040000', 'Switches address randomisation off.'],
  ['open_tree', 'AT_FDCWD, b"/", 0', 'Opens a mount by the new interface.'],
  ['fsconfig', '-1, 0, None, None, 0', 'Configures a file system by the new interface.'],
  ['mount_setattr', '-1, b"", 0xffff, None, 0', 'Changes a mount’s attributes.'],
  [
    'open_by_handle_at',
    '-1, ctypes.create_string_buffer(64), 0',
    'Opens a file by its inode, past every folder.',
  ],
  ['quotactl', '0x800001 << 8 & 0xffffffff, None, 0, None', 'Speaks to the disk quotas.'],
  ['quotactl_fd', '-1, 0, 0, None', 'Speaks to the disk quotas by descriptor.'],
  ['swapon', 'b"/nothing", 0x7fffffff', 'Adds swap space.'],
  ['settimeofday', '(ctypes.c_long * 2)(0, -1), None', 'Sets the clock.'],
  ['clock_settime', '99, (ctypes.c_long * 2)(0, 0)', 'Sets a clock.'],
  ['iopl', '4', 'Asks for the I/O ports.'],
  ['ioperm', '0x7fffff, 1, 1', 'Asks for one I/O port.'],
  [
    'modify_ldt',
    '0, ctypes.create_string_buffer(64), 64',
    'Reads its descriptor table, the first step to editing it.',
  ],
  ['fanotify_init', '0x200, 0', 'Watches whole file systems.'],
  ['move_pages', '0, 0, None, None, None, 0', 'Moves pages between nodes.'],
];

const PRIVILEGED: readonly Row[] = [
  ['mount', 'b"walls", b"/tmp", b"tmpfs", 0, None', 'Mounts a file system.'],
  ['umount2', 'b"/tmp", 2', 'Unmounts one.'],
  ['pivot_root', 'b"/nothing", b"/nothing"', 'Changes the root of all processes.'],
  ['chroot', 'b"/tmp"', 'Changes its root.'],
  ['fsopen', 'b"tmpfs", 0', 'Opens a file system by the new interface.'],
  ['fsmount', '-1, 0, 0', 'Mounts by the new interface.'],
  ['move_mount', '-1, b"", -1, b"", 0', 'Moves a mount.'],
  ['fspick', '-1, b"", 0', 'Picks a mount to configure.'],
  ['sethostname', 'b"walls", 5', 'Renames the host.'],
  ['setdomainname', 'b"walls", 5', 'Renames the domain.'],
  ['reboot', '0, 0, 0, None', 'Asks for a restart, with a wrong magic number.'],
];

const HOST_PRIVILEGED: readonly Row[] = [
  ['syslog', '10, None, 0', 'Asks about the kernel’s log.'],
  ['init_module', 'None, 0, b""', 'Loads a module.'],
  ['finit_module', '-1, b"", 0', 'Loads a module by descriptor.'],
  ['delete_module', 'b"walls_nothing", 0', 'Unloads a module.'],
  ['kexec_load', '0, 0, None, 0x8000', 'Loads another kernel, with wrong flags.'],
  ['kexec_file_load', '-1, -1, 0, None, 0x8000', 'Loads another kernel by descriptor, with wrong flags.'],
  ['acct', 'b"/nothing/walls"', 'Switches process accounting.'],
  ['swapoff', 'b"/nothing"', 'Takes swap space away.'],
];

const rows = (list: readonly Row[], off: readonly Relaxation[], rootControl?: string): Probe[] =>
  list.map(([name, args, tries]) =>
    probe(name, tries, off, `return reach("${name}", ${args})`, rootControl ? { rootControl } : {}),
  );

const CLONED = py`
  pid = syscall("clone", FLAGS | signal.SIGCHLD, 0, 0, 0, 0)
  if pid == 0:
      os._exit(0)
  os.waitpid(pid, 0)
  return f"a child with namespaces of its own, flags {FLAGS:#x}"
`;

const namespaces: readonly Probe[] = [
  ...['NEWUSER', 'NEWUSER | CLONE_NEWNS', 'NEWUSER | CLONE_NEWNET', 'NEWUSER | CLONE_NEWPID'].map((flags) =>
    probe(
      `unshare ${flags.replaceAll('CLONE_', '')}`,
      'Makes namespaces of its own, in which it would have every capability.',
      OPEN,
      py`
        syscall("unshare", CLONE_${flags})
        return "CapEff " + status("CapEff")
      `,
    ),
  ),
  ...['NEWUSER', 'NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS'].map((flags) =>
    probe(
      `clone ${flags.replaceAll('CLONE_', '')}`,
      'Starts a child in namespaces of its own.',
      OPEN,
      `FLAGS = CLONE_${flags}\n${CLONED}`,
    ),
  ),
  probe(
    'clone3',
    'Starts a child in a user namespace by the call whose flags no filter can read.',
    OPEN,
    py`
      arguments = (ctypes.c_uint64 * 11)(CLONE_NEWUSER, 0, 0, 0, signal.SIGCHLD)
      pid = syscall("clone3", arguments, 88)
      if pid == 0:
          os._exit(0)
      os.waitpid(pid, 0)
      return "a child in a user namespace"
    `,
  ),
  probe(
    'mount in a user namespace',
    'Makes itself root in a namespace of its own and mounts there.',
    OPEN,
    py`
      syscall("unshare", CLONE_NEWUSER | CLONE_NEWNS)
      syscall("mount", b"walls", b"/tmp", b"tmpfs", 0, None)
      return "mounted as root of its own namespace"
    `,
  ),
  probe(
    'setns',
    'Enters a namespace by its file.',
    OPEN,
    'return reach("setns", os.open("/proc/self/ns/user", os.O_RDONLY), CLONE_NEWUSER)',
  ),
];

const others: readonly Probe[] = [
  probe(
    'ptrace attach',
    'Attaches to another process.',
    OPEN,
    py`
      pid = os.fork()
      if pid == 0:
          time.sleep(5)
          os._exit(0)
      try:
          syscall("ptrace", 16, pid, 0, 0)
          return "attached"
      finally:
          os.kill(pid, signal.SIGKILL)
    `,
  ),
  ...(['readv', 'writev'] as const).map((name) =>
    probe(
      `process_vm_${name}`,
      'Reaches into the memory of another process.',
      OPEN,
      py`
        block = ctypes.create_string_buffer(b"canary", 16)
        here = (ctypes.c_ulong * 2)(ctypes.addressof(ctypes.create_string_buffer(16)), 0)
        there = (ctypes.c_ulong * 2)(ctypes.addressof(block), 6)
        target = ctypes.create_string_buffer(16)
        here[0], here[1] = ctypes.addressof(target), 6
        syscall("process_vm_${name}", os.getpid(), here, 1, there, 1, 0)
        return "moved six bytes"
      `,
    ),
  ),
  probe(
    'pidfd_getfd',
    'Takes a descriptor out of another process.',
    OPEN,
    'return reach("pidfd_getfd", syscall("pidfd_open", os.getpid(), 0), 1, 0)',
  ),
  probe(
    'memfd program',
    'Runs a program from memory, past every noexec mount.',
    OPEN,
    py`
      fd = syscall("memfd_create", b"walls", 0)
      os.write(fd, open("/bin/true", "rb").read())
      code = os.waitstatus_to_exitcode(in_child(lambda: os.execv(f"/proc/self/fd/{fd}", ["true"])))
      return f"ran and ended with {code}"
    `,
  ),
  probe(
    'SysV memory beyond the limit',
    'Fills a SysV segment, which stays when its maker has gone.',
    OPEN,
    py`
      key = syscall("shmget", 0, 1 << 20, 0o1600)
      libc.shmat.restype = ctypes.c_void_p
      place = libc.shmat(key, None, 0)
      ctypes.memset(place, 1, 1 << 20)
      return "a megabyte"
    `,
  ),
  probe(
    'a 32-bit call',
    'Enters the kernel by int 0x80, whose numbers mean other calls than the filter’s.',
    OPEN,
    py`
      import mmap
      if not X86_64:
          raise Absent("no int 0x80 on this architecture")
      page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
      # mov eax, 20 (getpid); int 0x80; ret
      page.write(bytes.fromhex("b814000000cd80c3"))
      entry = ctypes.addressof(ctypes.c_char.from_buffer(page))
      pid = ctypes.CFUNCTYPE(ctypes.c_int)(entry)()
      if pid < 0:
          raise OSError(-pid, "int 0x80")
      return f"getpid gave {pid}"
    `,
  ),
  probe(
    'an x32 call',
    'Enters by the x32 numbers, which many filters forget.',
    OPEN,
    py`
      if not X86_64:
          raise Absent("no x32 on this architecture")
      rc = libc.syscall(ctypes.c_long(0x40000000 | 39))
      if rc == -1:
          raise OSError(ctypes.get_errno(), "x32")
      return f"getpid gave {rc}"
    `,
  ),
];

export const kernelAttacks: readonly Probe[] = [
  ...namespaces,
  ...others,
  ...rows(UNPRIVILEGED, OPEN),
  ...rows(PRIVILEGED, WITH_CAPABILITIES),
  ...rows(HOST_PRIVILEGED, ['everything'], ONLY_ROOT),
];
