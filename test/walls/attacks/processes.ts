// Other processes, the host's name and environment, and limits on what one process may be given.

import { type Probe, py } from '../attack.js';
import { probesOf } from './define.js';

const probe = probesOf('processes');
const NO_SHARED_PIDS = 'it has process ids of its own in any case, so that no control gets through';

export const processAttacks: readonly Probe[] = [
  probe(
    'see a host process',
    'Looks for a process of the host by its name.',
    ['process namespace'],
    py`
      for name in os.listdir("/proc"):
          try:
              if name.isdigit() and HOST["token"].encode() in open(f"/proc/{name}/cmdline", "rb").read().split(b"\0")[0]:
                  return f"process {name}"
          except OSError:
              continue
      raise Held("not there")
    `,
    { gvisor: NO_SHARED_PIDS },
  ),
  probe(
    'signal a host process',
    'Asks whether a process of the host can be signalled.',
    ['process namespace'],
    py`
      try:
          os.kill(HOST["pid"], 0)
      except PermissionError:
          return "it is there, and only its owner stands in the way"
      return "signalled"
    `,
    { gvisor: NO_SHARED_PIDS },
  ),
  probe(
    'priority of a host process',
    'Asks for the priority of a process of the host.',
    ['process namespace'],
    'return f"priority {os.getpriority(os.PRIO_PROCESS, HOST[\'pid\'])}"',
    { gvisor: NO_SHARED_PIDS },
  ),
  probe(
    'files of a host process',
    'Reads about a process of the host.',
    ['process namespace'],
    'return open(f"/proc/{HOST[\'pid\']}/status").read().splitlines()[0]',
    { gvisor: NO_SHARED_PIDS },
  ),
  probe(
    'processes of others in sight',
    'Looks for processes that the first one of its sandbox has not started.',
    ['process namespace'],
    py`
      def stat(pid):
          try:
              with open(f"/proc/{pid}/stat") as file:
                  name, rest = file.read().partition("(")[2].rpartition(")")[::2]
                  return name, int(rest.split()[1])
          except OSError:
              return None, 0
      stats = {int(name): stat(name) for name in os.listdir("/proc") if name.isdigit()}
      # The sandbox's first process and all that it forks have one name, which nothing above it has.
      first = os.getpid()
      while stats.get(stats[first][1], (None, 0))[0] == stats[first][0]:
          first = stats[first][1]
      def is_own(pid):
          while pid in stats and pid != first:
              pid = stats[pid][1]
          return pid == first
      others = [pid for pid, (name, _) in stats.items() if name is not None and not is_own(pid)]
      if not others:
          raise Held(f"{len(stats)} processes, all its own")
      return f"{len(others)} processes of others"
    `,
    { gvisor: NO_SHARED_PIDS },
  ),
  probe(
    'the host’s environment',
    'Looks for a variable of the host in every environment that it can read.',
    ['environment'],
    py`
      import glob
      for path in glob.glob("/proc/[0-9]*/environ"):
          try:
              if HOST["token"].encode() in open(path, "rb").read():
                  return path
          except OSError:
              continue
      raise Held("not there")
    `,
  ),
  ...(['WALLS_TOKEN', 'HTTPS_PROXY', 'SSH_AUTH_SOCK'] as const).map((name) =>
    probe(
      `the variable ${name}`,
      'Reads a variable of the host.',
      ['environment'],
      py`
        if "${name}" in os.environ:
            return os.environ["${name}"]
        raise Held("unset")
      `,
    ),
  ),
  probe(
    'the host’s name',
    'Learns what the host is called.',
    ['host name'],
    py`
      name = os.uname().nodename
      if name == "sandbox":
          raise Held(name)
      return name
    `,
    { gvisor: 'its kernel has a name of its own' },
  ),
  probe(
    'a memory image',
    'Crashes, to have its memory written to wherever the host collects crashes.',
    ['core limit'],
    py`
      import resource
      if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
          raise Held("RLIMIT_CORE 0")
      resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, resource.getrlimit(resource.RLIMIT_CORE)[1]))
      return "a core of " + str(resource.getrlimit(resource.RLIMIT_CORE)[0])
    `,
    { gvisor: 'its kernel writes no cores' },
  ),
  probe(
    'timers of the engine’s user',
    'Makes 1,000 timers, which are counted for whoever runs the engine, too.',
    ['signal limit'],
    py`
      made = ctypes.c_int()
      silent = (ctypes.c_int * 16)(0, 0, 0, 1)
      for _ in range(1000):
          syscall("timer_create", 1, silent, ctypes.byref(made))
      return "1,000 timers"
    `,
    { gvisor: 'its kernel counts timers of its own' },
  ),
  probe(
    'a terminal',
    'Makes a terminal; all containers of a machine have some 3,000 together.',
    ['masks'],
    'return f"descriptors {os.openpty()}"',
    { gvisor: 'its kernel has terminals of its own' },
  ),
  probe(
    'more descriptors',
    'Opens 2,000 descriptors after raising the limit as far as it goes.',
    ['file limit'],
    py`
      import resource
      top = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
      resource.setrlimit(resource.RLIMIT_NOFILE, (top, top))
      kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(2000)]
      return f"{len(kept)} descriptors"
    `,
  ),
  probe(
    'many sockets',
    'Opens 2,000 sockets.',
    ['file limit'],
    py`
      import resource, socket
      top = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
      resource.setrlimit(resource.RLIMIT_NOFILE, (top, top))
      kept = [socket.socket() for _ in range(2000)]
      return f"{len(kept)} sockets"
    `,
  ),
  probe(
    'many event queues',
    'Opens 2,000 event queues.',
    ['file limit'],
    py`
      import resource
      top = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
      resource.setrlimit(resource.RLIMIT_NOFILE, (top, top))
      kept = [select.epoll() for _ in range(2000)]
      return f"{len(kept)} queues"
    `,
  ),
];
