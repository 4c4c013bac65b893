// Taking more than one's share: processes, memory, space, time. A run that does is stopped, and the next one is well.

import { coldSandboxes } from '../../support/time.js';
import { type Answer, type Deed, type DeedControl, type Probe, py } from '../attack.js';
import type { Relaxation } from '../relaxations.js';
import { probesOf } from './define.js';

const probe = probesOf('resources');

type Options = Partial<Pick<Deed, 'gvisor' | 'timeout'>>;

/** The same code in both: in the sandbox it must not come to its end and print THROUGH. */
function stopped(
  id: string,
  tries: string,
  off: readonly Relaxation[],
  code: string,
  more: Options = {},
): Deed {
  return {
    kind: 'deed',
    id: `resources.${id}`,
    group: 'resources',
    tries,
    program: `${IMPORTS}\n\ndef deed():\n${code.replace(/^/gm, '    ')}\n\nprint("THROUGH", deed())`,
    verdict: ({ text }) => (/^THROUGH (.*)/m.exec(text) ?? [])[0],
    control: { in: 'probe', off, code: `${IMPORTS}\n${code}` },
    timeout: 100,
    ...more,
  };
}

const IMPORTS = 'import ctypes, mmap, os, signal, sys, threading, time';

const DEADLINE_SECONDS = 1;
/** What is here to be filled is filled by then, in the control. */
const FILLED_SECONDS = Math.max(5, Math.ceil(coldSandboxes(15) / 1000));

/** By itself it would not end at all. */
const isStopped = ({ payload, text }: Answer): string | undefined =>
  payload.status === 'timeout' ? undefined : `it ended with ${payload.status}: ${text.slice(0, 200)}`;

/** Code that would go on for ever: in the sandbox its deadline ends it, in the control nothing does. */
function endless(id: string, tries: string, code: string, control = code): Deed {
  return {
    kind: 'deed',
    id: `resources.${id}`,
    group: 'resources',
    tries,
    program: `${IMPORTS}\n${code}`,
    timeout: DEADLINE_SECONDS,
    verdict: isStopped,
    control: { in: 'probe', off: [], code: `${IMPORTS}\n${control}`, endless: true },
  };
}

const MB = 1 << 20;

const memory: readonly Deed[] = [
  stopped(
    'memory',
    'Fills 400 MB of its own memory.',
    ['memory limit'],
    'kept = [b"x" * (8 << 20) for _ in range(50)]\nreturn f"{len(kept) * 8} MB"',
  ),
  stopped(
    'shared memory',
    'Fills 400 MB that it shares with nobody.',
    ['memory limit'],
    py`
      kept = mmap.mmap(-1, 400 << 20)
      for at in range(0, 400 << 20, 4096):
          kept[at] = 1
      return "400 MB"
    `,
  ),
  stopped(
    'memory of many',
    'Fills 40 MB in each of ten processes.',
    ['memory limit'],
    py`
      ready, go = os.pipe()
      children = []
      for _ in range(10):
          pid = os.fork()
          if pid == 0:
              kept = b"x" * (40 << 20)
              os.write(go, b"x")
              time.sleep(100)
              os._exit(0)
          children.append(pid)
      count = 0
      end = time.monotonic() + ${FILLED_SECONDS}
      import select
      while count < 10 and select.select([ready], [], [], max(0, end - time.monotonic()))[0]:
          count += len(os.read(ready, 100))
      # All at once: one that was killed for memory may have filled its own before.
      alive = sum(os.waitpid(pid, os.WNOHANG) == (0, 0) for pid in children)
      if count < 10 or alive < 10:
          raise MemoryError(f"{count} of 10, {alive} alive")
      return "400 MB"
    `,
  ),
  stopped(
    'memory without a name',
    'Fills 400 MB of a file that is in no file system.',
    ['memory limit', 'seccomp', 'size limit'],
    py`
      fd = os.memfd_create("walls")
      for _ in range(400):
          os.write(fd, bytes(1 << 20))
      return "400 MB"
    `,
  ),
  stopped(
    'files without content',
    'Makes 250,000 empty files, each of which costs the kernel memory.',
    ['memory limit'],
    py`
      for number in range(250_000):
          os.close(os.open(f"/workspace/{number}", os.O_CREAT | os.O_WRONLY))
      return "250,000 files"
    `,
    { gvisor: 'its kernel keeps them in its own memory' },
  ),
];

/** In each of six processes, `make` adds to `kept` until it is refused; then all are held. Each has 1,024 descriptors. */
const inManyProcesses = (make: string): string => py`
  import select, socket
  def fill(end):
      end.setblocking(False)
      try:
          while True:
              end.send(b"x" * 16384)
      except OSError:
          return
  ready, told = os.pipe()
  for _ in range(6):
      if os.fork() == 0:
          kept = []
          try:
              while len(kept) < 500:
${make.replace(/^/gm, '                  ')}
              os.write(told, b"x")
          finally:
              time.sleep(100)
              os._exit(0)
  count, until = 0, time.monotonic() + ${FILLED_SECONDS}
  while count < 6 and select.select([ready], [], [], max(0, until - time.monotonic()))[0]:
      count += len(os.read(ready, 100))
  if count < 6:
      raise MemoryError(f"{count} of 6")
  time.sleep(0.3)
  return "3,000 sockets"
`;

/** Memory of the kernel that shows in no process. A control group of version 1 counts none of TCP, UDP and netlink. */
const buffers: readonly Deed[] = [
  stopped(
    'connections with itself',
    'Fills the buffers of 1,500 TCP connections that nobody reads.',
    ['memory limit'],
    inManyProcesses(py`
      if not kept:
          server = socket.create_server(("127.0.0.1", 0))
      one = socket.create_connection(server.getsockname())
      kept += [one, server.accept()[0]]
      fill(one)
    `),
  ),
  stopped(
    'datagrams to itself',
    'Fills 3,000 UDP sockets with datagrams that nobody reads.',
    ['memory limit'],
    inManyProcesses(py`
      end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
      end.bind(("127.0.0.1", 0))
      for _ in range(10):
          end.sendto(b"x" * 16384, end.getsockname())
      kept.append(end)
    `),
  ),
  stopped(
    'unread answers of the kernel',
    'Asks the kernel for its interfaces by 1,500 sockets and reads none of the answers.',
    ['memory limit'],
    inManyProcesses(py`
      end = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
      end.setblocking(False)
      try:
          for _ in range(50):
              end.send(bytes.fromhex("20000000120001000000000000000000000000000100000000000000" + "00000000"))
      except OSError:
          pass
      # Each takes a while to be filled, so there are half as many.
      kept += [end, None]
    `),
  ),
  stopped(
    'unix sockets',
    'Fills the buffers of 1,500 pairs of unix sockets that nobody reads.',
    ['memory limit'],
    inManyProcesses('pair = socket.socketpair()\nkept += pair\nfill(pair[0])\nfill(pair[1])'),
  ),
  stopped(
    'page tables',
    'Has 400 MB of page tables made, for pages that are only read.',
    ['memory limit'],
    py`
      import ctypes.util
      libc = ctypes.CDLL(None)
      libc.mmap.restype = ctypes.c_void_p
      size = 200 << 30
      for _ in range(2):
          if os.fork():
              continue
          place = libc.mmap(None, ctypes.c_size_t(size), 1, 0x4022, -1, ctypes.c_long(0))
          libc.madvise(ctypes.c_void_p(place), ctypes.c_size_t(size), 15)
          for at in range(place, place + (100_000 << 20), 2 << 20):
              ctypes.string_at(at, 1)
          os._exit(7)
      for _ in range(2):
          if os.waitstatus_to_exitcode(os.wait()[1]) != 7:
              raise MemoryError("a process was ended")
      return "400 MB"
    `,
  ),
].map((deed) => ({ ...deed, gvisor: 'its kernel keeps buffers and tables in its own memory' }));

const processes: readonly Deed[] = [
  stopped(
    'processes',
    'Starts 200 processes.',
    ['process limit'],
    py`
      for _ in range(200):
          if os.fork() == 0:
              time.sleep(100)
              os._exit(0)
      return "200 processes"
    `,
  ),
  stopped(
    'a fork bomb',
    'Has every process start another, seven times over.',
    ['process limit'],
    py`
      import select
      first, (ready, go) = os.getpid(), os.pipe()
      try:
          for _ in range(7):
              os.fork()
      except OSError:
          pass
      os.write(go, b"x")
      if os.getpid() != first:
          time.sleep(100)
          os._exit(0)
      count = 0
      while select.select([ready], [], [], ${FILLED_SECONDS / 2})[0]:
          count += len(os.read(ready, 1000))
      if count < 128:
          raise BlockingIOError(11, f"{count} processes")
      return f"{count} processes"
    `,
  ),
  stopped(
    'threads',
    'Starts 200 threads.',
    // Their stacks count as data where the limit of memory is one of data too.
    ['process limit', 'memory limit'],
    py`
      for _ in range(200):
          threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
      return "200 threads"
    `,
  ),
];

const fill = (folder: string, megabytes: number, off: readonly Relaxation[]): Probe =>
  probe(
    `fill ${folder}`,
    `Writes ${megabytes} MB into ${folder}.`,
    off,
    py`
      path = "${folder}/fill"
      try:
          with open(path, "wb") as file:
              for _ in range(${megabytes}):
                  file.write(bytes(${MB}))
          return "${megabytes} MB"
      finally:
          os.unlink(path)
    `,
  );

const space: readonly Probe[] = [
  fill('/tmp', 80, ['tmpfs size']),
  fill('/workspace', 140, ['tmpfs size', 'memory limit', 'size limit']),
  fill('/dev/shm', 40, ['tmpfs of shm']),
  ...['/tmp', '/workspace'].map((folder) =>
    probe(
      `reserve in ${folder}`,
      'Reserves 300 MB without writing them.',
      ['tmpfs size', 'memory limit', 'size limit'],
      py`
        path = "${folder}/reserve"
        try:
            with open(path, "wb") as file:
                os.posix_fallocate(file.fileno(), 0, 300 << 20)
            return "300 MB"
        finally:
            os.unlink(path)
      `,
    ),
  ),
];

const STOP_DEAF = py`
  for number in range(1, 65):
      try:
          signal.signal(number, signal.SIG_IGN)
      except (OSError, ValueError):
          pass
  while True:
      pass
`;

const time: readonly Deed[] = [
  endless('a busy loop', 'Counts for ever.', 'while True:\n    pass'),
  endless('a deaf loop', 'Ignores every signal and counts for ever.', STOP_DEAF),
  endless(
    'every core',
    'Keeps every core busy.',
    'for _ in range(3):\n    if os.fork() == 0:\n        break\nwhile True:\n    pass',
  ),
  endless('a sleep', 'Sleeps for ever.', 'time.sleep(10_000)'),
  endless(
    'a regular expression',
    'Is lost in C code that holds the interpreter.',
    'import re\nre.match("(a+)+$", "a" * 64 + "b")',
  ),
  endless(
    'a huge number',
    'Has a huge number written in digits.',
    'getattr(sys, "set_int_max_str_digits", len)(0)\nstr(7 ** 30_000_000)',
  ),
  endless(
    'a repr that hangs',
    'Ends with a value that cannot be shown.',
    'class Value:\n    def __repr__(self):\n        time.sleep(10_000)\nValue()',
    'class Value:\n    def __repr__(self):\n        time.sleep(10_000)\nrepr(Value())',
  ),
  endless(
    'an object that hangs at its end',
    'Has an object that never finishes to be deleted.',
    'class Value:\n    def __del__(self):\n        time.sleep(10_000)\nvalue = Value()\ndel value',
  ),
  endless(
    'an exit that hangs',
    'Never finishes to exit.',
    'import atexit\natexit.register(time.sleep, 10_000)',
    'import atexit\natexit.register(time.sleep, 10_000)\natexit._run_exitfuncs()',
  ),
  endless(
    'a thread that hangs',
    'Leaves a thread that never ends.',
    'threading.Thread(target=time.sleep, args=(10_000,)).start()',
    'thread = threading.Thread(target=time.sleep, args=(10_000,))\nthread.start()\nthread.join()',
  ),
  endless(
    'stopping itself',
    'Stops its own process, so that it hears nobody.',
    'os.kill(os.getpid(), signal.SIGSTOP)',
  ),
  endless(
    'a loop in an exception',
    'Fails with an exception whose text is never finished.',
    'class Bad(Exception):\n    def __str__(self):\n        time.sleep(10_000)\nraise Bad()',
    'class Bad(Exception):\n    def __str__(self):\n        time.sleep(10_000)\nstr(Bad())',
  ),
];

const HELD_OPEN = py`
  read_end, write_end = os.pipe()
  if os.fork() == 0:
      os.close(read_end)
      if os.fork() == 0:
          os.setsid()
          time.sleep(100)
      os._exit(0)
  os.close(write_end)
  return "" if select.select([read_end], [], [], 1.5)[0] else "the pipe is still open"
`;

/** Whatever holds its answer up has it end at its deadline. */
const endsWith =
  (...wanted: readonly string[]) =>
  ({ payload }: Answer) =>
    wanted.includes(payload.status) ? undefined : `it ended with ${payload.status}`;

const KILLED: DeedControl = {
  in: 'probe',
  off: [],
  code: py`
    pid = os.fork()
    if pid == 0:
        time.sleep(100)
        os._exit(0)
    if os.fork() == 0:
        os.kill(pid, signal.SIGKILL)
        os._exit(0)
    return f"wait status {os.waitpid(pid, 0)[1]}"
  `,
};

const ends = (
  id: string,
  tries: string,
  program: string,
  verdict: Deed['verdict'],
  control: DeedControl,
): Deed => ({
  kind: 'deed',
  id: `resources.${id}`,
  group: 'resources',
  tries,
  program: `${IMPORTS}\n${program}`,
  verdict,
  control,
  timeout: 60,
});

const endings: readonly Deed[] = [
  ends(
    'a daemon that holds the output',
    'Leaves a process that keeps the output open.',
    'if os.fork() == 0:\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(60)\n    os._exit(0)\nprint("done")',
    endsWith('success'),
    { in: 'probe', off: [], code: HELD_OPEN },
  ),
  ends(
    'killing everything',
    'Kills every process that it can.',
    'os.kill(-1, signal.SIGKILL)\nos.kill(os.getpid(), signal.SIGKILL)',
    endsWith('error'),
    KILLED,
  ),
  ends('killing itself', 'Kills itself.', 'os.kill(os.getpid(), signal.SIGKILL)', endsWith('error'), KILLED),
  ends(
    'killing process 1',
    'Kills the first process.',
    'os.kill(1, signal.SIGKILL)\ntime.sleep(0.2)',
    endsWith('success'),
    KILLED,
  ),
  ends(
    'stopping process 1',
    'Stops the first process.',
    'os.kill(1, signal.SIGSTOP)\ntime.sleep(0.2)',
    endsWith('success'),
    KILLED,
  ),
  ends(
    'ending process 1',
    'Asks the first process to end.',
    'os.kill(1, signal.SIGTERM)\ntime.sleep(100)',
    endsWith('error'),
    KILLED,
  ),
  ends('a crash', 'Crashes the interpreter.', 'ctypes.string_at(0)', endsWith('error'), {
    in: 'probe',
    off: [],
    code: 'return f"wait status {in_child(lambda: ctypes.string_at(0))}"',
  }),
  {
    ...ends(
      'bottomless recursion',
      'Recurses without a limit.',
      'sys.setrecursionlimit(10 ** 9)\nf = lambda: f()\nf()',
      endsWith('error', 'timeout'),
      {
        in: 'probe',
        off: [],
        endless: true,
        code: py`
          def deed():
              sys.setrecursionlimit(10 ** 9)
              f = lambda: f()
              f()
          return f"wait status {in_child(deed)}"
        `,
      },
    ),
    timeout: 3,
  },
];

const TOO_MANY =
  'its processes are processes of the host as well, and the control has room for no 200 of them';
const FIRST = 'its kernel lets the first process be ended and stopped, with which only that run ends';
const LISTED: Readonly<Record<string, string>> = {
  'resources.processes': TOO_MANY,
  'resources.a fork bomb': TOO_MANY,
  'resources.threads': TOO_MANY,
  'resources.killing process 1': FIRST,
  'resources.stopping process 1': FIRST,
  'resources.bottomless recursion': 'it takes the whole control with it',
};

const withListed = (deed: Deed): Deed => {
  const gvisor = LISTED[deed.id];
  return gvisor === undefined ? deed : { ...deed, gvisor };
};

export const resourceAttacks: readonly (Probe | Deed)[] = [
  ...space,
  ...[...memory, ...buffers, ...processes, ...time, ...endings].map(withListed),
];
