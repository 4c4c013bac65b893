// What can be read, written and run: the image is read-only, tmpfs are no place for programs, the kernel's files are
// masked, and of the host there is nothing.

import { type Probe, py } from '../attack.js';
import type { Relaxation } from '../relaxations.js';
import { probesOf } from './define.js';

const probe = probesOf('files');

const IMAGE: readonly Relaxation[] = ['read-only image', 'user'];
const IMAGE_FOLDERS = ['/', '/etc', '/usr/bin', '/usr/lib', '/root', '/home', '/opt', '/srv', '/var/lib'];
const WRITABLE = ['/tmp', '/workspace', '/dev/shm'] as const;
const EXECUTABLE: readonly Relaxation[] = ['tmpfs options', 'tmpfs of shm'];

const OWN_KERNEL = 'the sandbox’s kernel has files of its own there, which tell nothing of the host';
const MASKED = [
  '/proc/kcore',
  '/proc/keys',
  '/proc/timer_list',
  '/proc/sched_debug',
  '/proc/latency_stats',
  '/proc/timer_stats',
  '/proc/acpi',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/fs/cgroup',
  '/sys/class/net',
  '/sys/kernel',
  '/sys/devices',
  '/proc/stat',
  '/proc/bus',
  '/proc/config.gz',
  '/proc/diskstats',
  '/proc/driver',
  '/proc/fs',
  '/proc/iomem',
  '/proc/ioports',
  '/proc/irq',
  '/proc/key-users',
  '/proc/modules',
  '/proc/partitions',
  '/proc/pressure',
  '/proc/schedstat',
  '/proc/softirqs',
  '/proc/sys/kernel/random/boot_id',
  '/proc/tty',
  '/proc/zoneinfo',
]; // prettier-ignore
const READ_ONLY = [
  '/proc/sys/kernel/core_pattern',
  '/proc/sys/kernel/hostname',
  '/proc/sys/vm/drop_caches',
  '/proc/sysrq-trigger',
  '/proc/bus',
  '/proc/fs',
  '/proc/irq',
  '/proc/asound',
  '/proc/sys/net/ipv4/ip_forward',
]; // prettier-ignore

const writes: readonly Probe[] = [
  ...IMAGE_FOLDERS.map((folder) =>
    probe(
      `write ${folder}`,
      'Writes into the image.',
      [...IMAGE, 'capabilities'],
      `return make("${folder}")`,
    ),
  ),
  probe('write /run', 'Writes into /run.', ['no tmpfs of the engine', 'user'], 'return make("/run")'),
  probe('write /var/tmp', 'Writes into /var/tmp.', ['no tmpfs of the engine'], 'return make("/var/tmp")'),
  probe(
    'write the interpreter’s library',
    'Plants a module where Python looks for its own.',
    IMAGE,
    'return make(os.path.dirname(os.__file__))',
  ),
  probe('write /dev', 'Makes a file in /dev.', ['user', 'read-only image'], 'return make("/dev")'),
  probe('write the harness', 'Changes the harness.', ['read-only harness'], 'return make("/ipc")'),
  probe(
    'any other writable mount',
    'Looks through every mount for one more that can be written.',
    IMAGE,
    py`
      found = []
      for line in open("/proc/self/mountinfo"):
          place = line.split()[4]
          if place.startswith(("/tmp", "/workspace", "/dev/shm")) or not os.path.isdir(place):
              continue
          try:
              found.append(make(place))
          except OSError:
              continue
      if not found:
          raise Held("none")
      return "; ".join(found)
    `,
  ),
  ...READ_ONLY.map((path) =>
    probe(`write ${path}`, 'Writes to a kernel file.', ['masks'], `return write("${path}")`, {
      gvisor: OWN_KERNEL,
    }),
  ),
];

const locks = probe(
  'locks of the machine',
  'Takes a lock, and reads the list of all locks, in which it finds those of other programs, too.',
  ['masks'],
  py`
    import fcntl
    kept = open("/tmp/locked", "w")
    fcntl.flock(kept, fcntl.LOCK_EX)
    with open("/proc/locks") as file:
        lines = file.readlines()
    if not lines:
        raise Held("empty")
    return f"{len(lines)} locks"
  `,
  { gvisor: OWN_KERNEL },
);

const programs: readonly Probe[] = WRITABLE.flatMap((folder) => [
  probe(
    `run from ${folder}`,
    'Runs a program from where it may write.',
    EXECUTABLE,
    py`
      import subprocess
      return f"ended with {subprocess.run([program_copy('${folder}')]).returncode}"
    `,
  ),
  probe(
    `map code from ${folder}`,
    'Maps a file of its own as code, as loading a library does.',
    EXECUTABLE,
    py`
      import mmap
      with open(program_copy("${folder}"), "rb") as file:
          mmap.mmap(file.fileno(), 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
      return "mapped"
    `,
    { gvisor: 'its kernel does not look at noexec when it maps a file; running one is held there too' },
  ),
  probe(
    `script from ${folder}`,
    'Runs a script by its first line.',
    EXECUTABLE,
    py`
      import subprocess, sys
      path = "${folder}/script"
      open(path, "w").write(f"#!{sys.executable}\nraise SystemExit(0)\n")
      os.chmod(path, 0o755)
      return f"ended with {subprocess.run([path]).returncode}"
    `,
  ),
]);

const loader = probe(
  'run by the loader',
  'Has the dynamic loader run a program from a noexec mount.',
  EXECUTABLE,
  py`
    import glob, subprocess
    loaders = glob.glob("/lib64/ld-linux*") + glob.glob("/lib/ld-linux*") + glob.glob("/lib/ld-musl*")
    if not loaders:
        raise Absent("no loader")
    done = subprocess.run([loaders[0], program_copy("/tmp")], capture_output=True, text=True)
    if done.returncode:
        raise Held(done.stderr.strip())
    return "ran"
  `,
  { gvisor: 'its kernel does not look at noexec when it maps a file; running one is held there too' },
);

const kernelFiles: readonly Probe[] = MASKED.map((path) =>
  probe(
    `see ${path}`,
    'Looks into a kernel file that tells of the host.',
    ['masks'],
    `return see("${path}")`,
    {
      gvisor: OWN_KERNEL,
    },
  ),
);

const host: readonly Probe[] = [
  probe(
    'a host file by its path',
    'Opens a file of the host by its path.',
    ['host files'],
    'return open(HOST["folder"] + "/canary.txt").read()',
  ),
  probe(
    'a host file by dots',
    'Climbs out of its folder.',
    ['host files'],
    'return open("/workspace/" + "../" * 40 + HOST["folder"] + "/canary.txt").read()',
  ),
  probe(
    'a host file through process 1',
    'Goes through the root of another process.',
    ['host files'],
    'return open("/proc/1/root" + HOST["folder"] + "/canary.txt").read()',
    { gvisor: 'its kernel has no such link' },
  ),
  probe(
    'a folder of the host by a descriptor',
    'Looks for a descriptor that leads out, as the runtime once left one open.',
    ['descriptors'],
    py`
      for name in os.listdir("/proc/self/fd"):
          if int(name) > 2:
              try:
                  return open(f"/proc/self/fd/{name}/canary.txt").read()
              except OSError:
                  continue
      raise Held("none leads out")
    `,
    { gvisor: 'a descriptor of the host cannot be handed on to its kernel' },
  ),
  probe(
    'a descriptor too many',
    'Finds a descriptor open in a program that it starts.',
    ['descriptors'],
    py`
      import subprocess
      code = "import os; print(sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[3:-1])"
      said = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, close_fds=False)
      if said.stdout.strip() in ("[]", ""):
          raise Held("0, 1, 2")
      return said.stdout.strip()
    `,
    { gvisor: 'a descriptor of the host cannot be handed on to its kernel' },
  ),
  probe(
    'where it stands',
    'Stands in a folder outside of its root.',
    ['host files'],
    py`
      os.chdir(HOST["folder"])
      return os.getcwd()
    `,
  ),
  probe(
    'an engine’s socket',
    'Looks for sockets, an engine’s above all.',
    ['engine socket'],
    py`
      import stat
      found = []
      for top in ("/run", "/var/run", "/tmp", "/workspace", "/dev", "/home", "/root", "/ipc"):
          for folder, _, names in os.walk(top):
              for name in names:
                  try:
                      if stat.S_ISSOCK(os.lstat(os.path.join(folder, name)).st_mode):
                          found.append(os.path.join(folder, name))
                  except OSError:
                      continue
      if not found:
          raise Held("none")
      return " ".join(found)
    `,
    { gvisor: 'a socket of the host that is mounted is none to its kernel' },
  ),
  ...['/dev/kvm', '/dev/mem'].map((path) =>
    probe(
      `open ${path}`,
      'Opens a device of the host.',
      ['devices'],
      `os.open("${path}", os.O_RDWR)\nreturn "open"`,
      {
        gvisor: 'it passes no device on',
      },
    ),
  ),
  probe(
    'a device too many',
    'Finds a device besides the harmless ones.',
    ['devices'],
    py`
      harmless = {"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx"}
      found = []
      for name in os.listdir("/dev"):
          mode = os.lstat("/dev/" + name).st_mode
          if mode & 0o170000 in (0o20000, 0o60000) and name not in harmless:
              found.append(name)
      if not found:
          raise Held("none")
      return " ".join(found)
    `,
    { gvisor: 'it passes no device on' },
  ),
  probe(
    'a terminal',
    'Finds a terminal, into which it could type.',
    ['terminal'],
    'os.open("/dev/tty", os.O_RDWR) if os.isatty(1) else os.open("/dev/console", os.O_RDWR)\nreturn "a terminal"',
    { gvisor: 'terminals are its own' },
  ),
  probe(
    'the host’s names',
    'Reads names of other hosts from /etc/hosts.',
    ['hosts'],
    py`
      lines = [l for l in open("/etc/hosts") if l.strip() and not l.startswith("#")] if os.path.exists("/etc/hosts") else []
      others = [l for l in lines if "sandbox" in l or "host.containers.internal" in l]
      if not others:
          raise Held("none")
      return "".join(others)
    `,
  ),
];

export const fileAttacks: readonly Probe[] = [...writes, ...programs, loader, locks, ...kernelFiles, ...host];
