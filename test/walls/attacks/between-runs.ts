// Two runs at the same time: what one leaves, the other must not find. The control does both in one container, so that
// all that is taken away is the wall between the two.

import { type Pair, py } from '../attack.js';
import type { Relaxation } from '../relaxations.js';

const pair = (
  id: string,
  tries: string,
  off: readonly Relaxation[],
  leave: string,
  look: string,
  more: Pick<Pair, 'gvisor'> = {},
): Pair => ({
  kind: 'pair',
  id: `between-runs.${id}`,
  group: 'between runs',
  tries,
  off,
  leave,
  look,
  ...more,
});

const file = (folder: string): Pair =>
  pair(
    `a file in ${folder}`,
    `Finds a file that another run has left in ${folder}.`,
    [],
    `open("${folder}/from-another-run", "w").write("token")`,
    `return open("${folder}/from-another-run").read()`,
  );

/** A call that the filter may refuse to both; then nothing is left, and nothing found. */
const tolerant = (code: string): string => py`
  try:
      ${code}
  except OSError:
      pass
`;

export const pairAttacks: readonly Pair[] = [
  file('/tmp'),
  file('/workspace'),
  file('/dev/shm'),
  pair(
    'a SysV segment',
    'Finds a SysV segment of another run.',
    ['seccomp'],
    tolerant('syscall("shmget", 0x77616c, 4096, 0o1666)'),
    'return f"segment {syscall(\'shmget\', 0x77616c, 0, 0)}"',
  ),
  pair(
    'a SysV queue',
    'Finds a SysV queue of another run.',
    ['seccomp'],
    tolerant('syscall("msgget", 0x77616c, 0o1666)'),
    'return f"queue {syscall(\'msgget\', 0x77616c, 0)}"',
  ),
  pair(
    'a POSIX queue',
    'Finds a POSIX queue of another run.',
    ['seccomp'],
    tolerant('syscall("mq_open", b"between", 0o102, 0o666, None)'),
    "return f\"queue {syscall('mq_open', b'between', 0, 0, None)}\"",
  ),
  pair(
    'a key',
    'Finds a key of another run in a keyring of its user.',
    ['seccomp'],
    tolerant('syscall("add_key", b"user", b"between", b"x", 1, -4)'),
    "return f\"key {syscall('keyctl', 10, -4, b'user', b'between', 0)}\"",
    { gvisor: 'its kernel keeps keys for each process' },
  ),
  pair(
    'descriptors under way',
    'Finds that no descriptor can be sent any more, since another run has sent as many as one user may.',
    [],
    py`
      import array, socket
      left = []
      try:
          while len(left) < 100:
              left.append(socket.socketpair())
              for _ in range(20):
                  left[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 200))])
      except OSError:
          pass
    `,
    py`
      import array, socket
      one, other = socket.socketpair()
      try:
          one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])
      except OSError as error:
          return str(error)
      raise Held("one was sent")
    `,
    { gvisor: 'its kernel has descriptors of its own' },
  ),
  pair(
    'an abstract socket',
    'Connects to a socket of another run that has no file.',
    [],
    'import socket\nleft = socket.socket(socket.AF_UNIX)\nleft.bind("\\0between")\nleft.listen()',
    'import socket\nsocket.socket(socket.AF_UNIX).connect("\\0between")\nreturn "connected"',
  ),
  pair(
    'a port',
    'Connects to a port of another run.',
    [],
    'import socket\nleft = socket.socket()\nleft.bind(("127.0.0.1", 7777))\nleft.listen()',
    'import socket\nsocket.create_connection(("127.0.0.1", 7777), 2)\nreturn "connected"',
  ),
  pair(
    'a process',
    'Finds a process of another run by its name.',
    [],
    'import subprocess\nleft = subprocess.Popen(["sleep", "3.1416"])',
    py`
      for name in os.listdir("/proc"):
          if name.isdigit() and b"3.1416" in open(f"/proc/{name}/cmdline", "rb").read():
              return f"process {name}"
      raise Held("not there")
    `,
  ),
];
