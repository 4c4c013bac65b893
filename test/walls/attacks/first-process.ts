// The supervisor, which is the container's first process and has the guest's own user: writing into it, reading it,
// tracing it, and steering it. The control is a container whose first process is a plain Python.

import { type Probe, py } from '../attack.js';
import type { Relaxation } from '../relaxations.js';
import { probesOf } from './define.js';

const probe = probesOf('processes');
const OWN_KERNEL =
  'its kernel answers such calls by rules of its own, and its first process runs in it as well';
/** What protects it is in the harness alone, and no control has the harness. */
const HARNESS: readonly Relaxation[] = [];
const PROFILE: readonly Relaxation[] = ['seccomp'];
const HIGH = '(1 << 32)';

const files: readonly Probe[] = [
  probe(
    'the first process’s memory, written',
    'Opens the memory of the first process for writing.',
    HARNESS,
    'os.close(os.open("/proc/1/mem", os.O_RDWR))\nreturn "open"',
  ),
  probe(
    'the first process’s memory, read',
    'Reads from the memory of the first process.',
    HARNESS,
    py`
      with open("/proc/1/maps") as maps:
          start = int(maps.readline().split("-")[0], 16)
      memory = os.open("/proc/1/mem", os.O_RDONLY)
      return f"{len(os.pread(memory, 16, start))} bytes"
    `,
  ),
  probe(
    'where the first process is',
    'Reads at which instruction the first process waits.',
    HARNESS,
    'return open("/proc/1/syscall").read()',
  ),
  probe(
    'the first process’s descriptors',
    'Lists what the first process has open.',
    HARNESS,
    'return f"{len(os.listdir(\'/proc/1/fd\'))} descriptors"',
  ),
  probe(
    'the first process’s streams',
    'Opens a descriptor of the first process, through which it could speak in its name.',
    HARNESS,
    py`
      for number in range(256):
          try:
              os.close(os.open(f"/proc/1/fd/{number}", os.O_WRONLY | os.O_NONBLOCK))
              return f"opened {number}"
          except FileNotFoundError:
              continue
          except OSError as error:
              # A socket cannot be opened in this way, and an end that nobody reads not either.
              if error.errno == errno.ENXIO:
                  return f"{number} is there"
              raise
      raise Held("none")
    `,
  ),
  probe(
    'the first process’s environment',
    'Reads the environment of the first process.',
    HARNESS,
    "return f\"{len(open('/proc/1/environ', 'rb').read())} bytes\"",
  ),
  probe(
    'the first process as a victim',
    'Has the kernel prefer the first process where memory runs out.',
    HARNESS,
    'with open("/proc/1/oom_score_adj", "w") as score:\n    score.write("1000")\nreturn "preferred"',
  ),
  probe(
    'the first process’s page tables',
    'Has the kernel walk through all pages of the first process.',
    HARNESS,
    'os.close(os.open("/proc/1/clear_refs", os.O_WRONLY))\nreturn "open"',
  ),
].map((one) => ({ ...one, gvisor: OWN_KERNEL }));

const steering = (id: string, tries: string, call: string): Probe =>
  probe(id, tries, PROFILE, `return str(syscall(${call}))`, { gvisor: OWN_KERNEL });

/** struct rlimit64 with more than anybody needs, so that the control is none the worse. */
const LIMIT = '(ctypes.c_uint64 * 2)(512, 512)';
const PARAM = '(ctypes.c_int * 1)(0)';
const ATTR = '(ctypes.c_uint32 * 14)(56, 0, 0, 0, 19)';
const EVERY_CPU = '(ctypes.c_ubyte * 128)(*[255] * 128)';

const steered: readonly Probe[] = ['1', `1 | ${HIGH}`].flatMap((pid) => {
  const how = pid === '1' ? '' : ', number with a high bit';
  return [
    steering(
      `limits of the first process${how}`,
      'Sets a limit of the first process.',
      `"prlimit64", ${pid}, 7, ${LIMIT}, None`,
    ),
    steering(
      `processors of the first process${how}`,
      'Binds the first process to processors.',
      `"sched_setaffinity", ${pid}, 128, ${EVERY_CPU}`,
    ),
    steering(
      `class of the first process${how}`,
      'Gives the first process another scheduling class.',
      `"sched_setscheduler", ${pid}, 3, ${PARAM}`,
    ),
    steering(
      `parameters of the first process${how}`,
      'Sets the first process’s scheduling parameters.',
      `"sched_setparam", ${pid}, ${PARAM}`,
    ),
    steering(
      `attributes of the first process${how}`,
      'Sets the first process’s scheduling attributes.',
      `"sched_setattr", ${pid}, ${ATTR}, 0`,
    ),
    steering(
      `priority of the first process${how}`,
      'Lowers the first process’s priority.',
      `"setpriority", 0, ${pid}, 19`,
    ),
    steering(
      `disk priority of the first process${how}`,
      'Lowers the first process’s priority at the disk.',
      `"ioprio_set", 1, ${pid}, 3 << 13`,
    ),
  ];
});

const together: readonly Probe[] = [
  steering('priority of a group', 'Lowers the priority of a whole group.', '"setpriority", 1, 0, 10'),
  steering(
    'priority of a user',
    'Lowers the priority of all processes of its user.',
    '"setpriority", 2, os.getuid(), 10',
  ),
  steering(
    'priority of a user, with a high bit',
    'The same, by a number that only a filter reads in whole.',
    `"setpriority", 2 | ${HIGH}, os.getuid(), 10`,
  ),
  steering(
    'disk priority of a user',
    'Lowers the disk priority of all processes of its user.',
    '"ioprio_set", 3, os.getuid(), 3 << 13',
  ),
  probe(
    'ptrace on the first process',
    'Attaches to the first process.',
    PROFILE,
    'return f"{syscall(\'ptrace\', 0x4206, 1, 0, 0)}"',
    { gvisor: OWN_KERNEL },
  ),
  probe(
    'memory of the first process by process_vm_readv',
    'Reads the first process by the call for that.',
    PROFILE,
    py`
      with open("/proc/1/maps") as maps:
          start = int(maps.readline().split("-")[0], 16)
      target = ctypes.create_string_buffer(16)
      here = (ctypes.c_ulong * 2)(ctypes.addressof(target), 16)
      there = (ctypes.c_ulong * 2)(start, 16)
      return f"{syscall('process_vm_readv', 1, here, 1, there, 1, 0)} bytes"
    `,
    { gvisor: OWN_KERNEL },
  ),
  probe(
    'a descriptor of the first process',
    'Takes a descriptor out of the first process.',
    PROFILE,
    "return f\"{syscall('pidfd_getfd', syscall('pidfd_open', 1, 0), 0, 0)}\"",
    { gvisor: OWN_KERNEL },
  ),
];

export const firstProcessAttacks: readonly Probe[] = [...files, ...steered, ...together];
