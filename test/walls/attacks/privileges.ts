// Who the code is: no capability in any set, no way to new ones, nobody on the host.

import { type Probe, py } from '../attack.js';
import type { Relaxation } from '../relaxations.js';
import { ONLY_ROOT, probesOf } from './define.js';

const probe = probesOf('privileges');
const CAPABLE: readonly Relaxation[] = ['capabilities'];

const heldSet = (name: string): Probe =>
  probe(
    `the set ${name}`,
    'Finds a capability in one of its sets.',
    CAPABLE,
    py`
      bits = status("${name}")
      if int(bits, 16) == 0:
          raise Held(bits)
      return bits
    `,
  );

export const privilegeAttacks: readonly Probe[] = [
  ...['CapEff', 'CapPrm', 'CapBnd', 'CapAmb', 'CapInh'].map(heldSet),
  probe('become root', 'Takes the user id 0.', CAPABLE, 'os.setuid(0)\nreturn f"uid {os.getuid()}"'),
  probe('another user', 'Takes another user’s id.', CAPABLE, 'os.setuid(1000)\nreturn f"uid {os.getuid()}"'),
  probe('become group root', 'Takes the group id 0.', CAPABLE, 'os.setgid(0)\nreturn f"gid {os.getgid()}"'),
  probe('more groups', 'Joins another group.', CAPABLE, 'os.setgroups([0, 6])\nreturn f"{os.getgroups()}"'),
  probe(
    'give a file away',
    'Makes a file root’s.',
    CAPABLE,
    'open("/tmp/gift", "w").close()\nos.chown("/tmp/gift", 0, 0)\nreturn "root owns it"',
  ),
  probe(
    'read root’s file',
    'Reads a file that only root may read.',
    CAPABLE,
    py`
      if not os.path.exists("/etc/shadow"):
          raise Absent("no /etc/shadow")
      return f"{len(open('/etc/shadow').read())} characters"
    `,
  ),
  probe(
    'a raw socket',
    'Opens a raw socket.',
    ['capabilities', 'seccomp'],
    'import socket\nsocket.socket(socket.AF_INET, socket.SOCK_RAW, 1)\nreturn "open"',
    { gvisor: 'its network is switched off' },
  ),
  probe(
    'a packet socket',
    'Opens a packet socket.',
    ['capabilities', 'seccomp'],
    'import socket\nsocket.socket(socket.AF_PACKET, socket.SOCK_RAW, 768)\nreturn "open"',
    { gvisor: 'its network is switched off' },
  ),
  probe(
    'an interface',
    'Changes an interface.',
    CAPABLE,
    py`
      import fcntl, socket, struct
      with socket.socket() as any_socket:
          fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0))
      return "lo is down"
    `,
    { gvisor: 'its network is switched off' },
  ),
  probe(
    'a capability on a file',
    'Writes a capability onto a program.',
    ['capabilities', 'user'],
    py`
      import struct
      path = program_copy("/tmp")
      os.setxattr(path, "security.capability", struct.pack("<5I", 0x02000001, 1 << 21, 0, 0, 0))
      return "written"
    `,
    { gvisor: 'its file systems keep no capabilities' },
  ),
  probe(
    'a device node',
    'Makes a device node.',
    ['everything'],
    'os.mknod("/tmp/walls-null", 0o20666, os.makedev(1, 3))\nreturn "made"',
    { rootControl: ONLY_ROOT, gvisor: 'a node in its kernel leads to devices of its own' },
  ),
  probe(
    'new privileges',
    'Runs with a way to gain privileges by starting a program.',
    ['no new privileges'],
    py`
      if status("NoNewPrivs") == "1":
          raise Held("NoNewPrivs 1")
      return "NoNewPrivs 0"
    `,
  ),
  probe(
    'no filter',
    'Runs without a system call filter.',
    ['seccomp'],
    py`
      if status("Seccomp") == "2":
          raise Held("Seccomp 2")
      return "Seccomp " + status("Seccomp")
    `,
    { gvisor: 'the filter stands around the sandbox’s kernel and is not seen inside' },
  ),
  ...['/tmp', '/workspace', '/dev/shm'].map((folder) =>
    probe(
      `setuid in ${folder}`,
      'Has a place where a setuid program would count.',
      ['tmpfs options', 'tmpfs of shm'],
      py`
        if os.statvfs("${folder}").f_flag & os.ST_NOSUID:
            raise Held("nosuid")
        path = program_copy("${folder}")
        os.chmod(path, 0o6755)
        return oct(os.stat(path).st_mode)
      `,
      { gvisor: 'its kernel does not tell of nosuid' },
    ),
  ),
  probe(
    'root inside',
    'Is user or group 0 inside.',
    ['user'],
    py`
      ids = {*os.getresuid(), *os.getresgid(), *os.getgroups()}
      if 0 in ids:
          return f"ids {sorted(ids)}"
      raise Held(f"ids {sorted(ids)}")
    `,
  ),
  ...(['uid', 'gid'] as const).map((kind) =>
    probe(
      `the ${kind} map`,
      'Has an id inside that is root or the user outside.',
      ['id map'],
      py`
        rows = [tuple(map(int, line.split())) for line in open("/proc/self/${kind}_map")]
        # An engine of a user has 0 or the user's own id where a row begins; what lies within is from its range.
        if any(outside in (0, HOST["uid"]) for _, outside, _ in rows):
            return f"{rows}"
        raise Held(f"{rows}")
      `,
      { gvisor: 'its kernel shows a map of its own' },
    ),
  ),
];
