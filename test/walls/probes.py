"""What every probe of the attack table may use, and the loop that runs them: one forked process per probe.

Put in front of the probes by batch.ts; runs in a sandbox as the agent's code, and in the containers of the controls.
A probe returns what got through, or raises what held it. Standard library only.
"""

import ctypes
import errno
import json
import os
import select
import signal
import sys
import time

X86_64 = os.uname().machine == "x86_64"
# Name -> number on x86-64, and on arm64 where the call exists there.
NUMBERS = {
    "fork": (57, None), "ptrace": (101, 117), "syslog": (103, 116), "personality": (135, 92),
    "modify_ldt": (154, None), "pivot_root": (155, 41), "chroot": (161, 51), "acct": (163, 89),
    "settimeofday": (164, 170), "mount": (165, 40), "umount2": (166, 39), "swapon": (167, 224),
    "swapoff": (168, 225), "reboot": (169, 142), "sethostname": (170, 161), "setdomainname": (171, 162),
    "iopl": (172, None), "ioperm": (173, None), "init_module": (175, 105), "delete_module": (176, 106),
    "quotactl": (179, 60), "io_setup": (206, 0), "clock_settime": (227, 112), "mbind": (237, 235),
    "set_mempolicy": (238, 237), "mq_open": (240, 180), "kexec_load": (246, 104), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219), "unshare": (272, 97), "move_pages": (279, 239),
    "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186), "shmat": (30, 196), "clone": (56, 220),
    "perf_event_open": (298, 241), "fanotify_init": (300, 262), "open_by_handle_at": (304, 265),
    "setns": (308, 268), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "finit_module": (313, 273), "memfd_create": (319, 279), "kexec_file_load": (320, 294), "bpf": (321, 280),
    "execveat": (322, 281), "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "pidfd_open": (434, 434), "clone3": (435, 435), "pidfd_getfd": (438, 438),
    "socket": (41, 198), "socketpair": (53, 199), "setsockopt": (54, 208), "setpriority": (141, 140),
    "sched_setparam": (142, 118), "sched_setscheduler": (144, 119), "prctl": (157, 167),
    "sched_setaffinity": (203, 122), "ioprio_set": (251, 30), "prlimit64": (302, 261),
    "sched_setattr": (314, 274), "seccomp": (317, 277), "fcntl": (72, 25), "timer_create": (222, 107),
    "inotify_init": (253, None), "mmap": (9, 222), "inotify_init1": (294, 26),
    "mount_setattr": (442, 442), "quotactl_fd": (443, 443), "memfd_secret": (447, 447),
}  # fmt: skip
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
AT_FDCWD = -100

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


class Held(Exception):
    """What a probe raises where no system call failed and yet nothing got through."""


class Absent(Exception):
    """There is nothing to attack: this kernel or image does not have it."""


def syscall(name, *args):
    """The raw call; raises OSError."""
    number = NUMBERS[name][0 if X86_64 else 1]
    if number is None:
        raise Absent(f"no {name} on this architecture")
    words = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    rc = libc.syscall(ctypes.c_long(number), *words, *[ctypes.c_long(0)] * (6 - len(words)))
    if rc == -1:
        raise OSError(ctypes.get_errno(), name)
    return rc


def reach(name, *args):
    """Through when the kernel's own code answers, were it to complain of our arguments; held by EPERM and ENOSYS."""
    try:
        return f"{name} gave {syscall(name, *args)}"
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS):
            raise
        return f"{name} answered {errno.errorcode[error.errno]}"


def make(path):
    """Through when a file can be made in the directory `path`."""
    if not os.path.isdir(path):
        raise Absent(f"no directory {path}")
    name = os.path.join(path, f"walls-{os.getpid()}")
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    os.unlink(name)
    return f"made a file in {path}"


def write(path):
    """Through when no read-only mount stands before the file `path`; its mode is not counted as a wall."""
    if not os.path.lexists(path):
        raise Absent(f"no {path}")
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        raise OSError(errno.EROFS, path)
    return f"{path} is not read-only"


def see(path):
    """Through when `path` is there and is not covered by /dev/null, another file or an empty read-only directory."""
    if not os.path.lexists(path):
        raise Absent(f"no {path}")
    if os.path.isdir(path):
        if os.stat(path).st_dev != os.stat(os.path.dirname(path)).st_dev:
            raise Held(f"{path} is covered")
        return f"{path} lists {len(os.listdir(path))} entries"
    if os.stat(path).st_rdev == os.makedev(1, 3):
        raise Held(f"{path} is /dev/null")
    if os.stat(path).st_dev != os.stat("/proc").st_dev:
        raise Held(f"{path} is another file")
    return f"{path} is the kernel's own"


def status(field):
    """A line of /proc/self/status."""
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith(f"{field}:"):
                return line.split(":", 1)[1].strip()
    raise Absent(f"no {field} in /proc/self/status")


def in_child(deed):
    """The wait status of a child that did `deed`."""
    pid = os.fork()
    if pid == 0:
        try:
            deed()
        finally:
            os._exit(0)
    return os.waitpid(pid, 0)[1]


def program_copy(folder):
    """A copy of a small program in `folder`, executable by its mode."""
    path = os.path.join(folder, f"program-{os.getpid()}")
    with open("/bin/true", "rb") as source, open(path, "wb") as target:
        target.write(source.read())
    os.chmod(path, 0o755)
    return path


def _answer(source, host, endless):
    """What the probe came to, as (verdict, detail)."""
    names = dict(globals(), HOST=host)
    body = "def probe():\n" + "".join(f"    {line}\n" for line in source.splitlines())
    try:
        exec(compile(body, "probe", "exec"), names)
        said = names["probe"]()
        return ("THROUGH", str(said)) if said or endless else ("HELD", "nothing came of it")
    except Absent as error:
        return "ABSENT", str(error)
    except Held as error:
        return "HELD", str(error)
    except OSError as error:
        return "HELD", errno.errorcode.get(error.errno or 0, str(error))
    except (MemoryError, RecursionError) as error:
        return "HELD", type(error).__name__
    except RuntimeError as error:
        # Threads that the system refuses are no OSError.
        return ("HELD" if "thread" in str(error) else "BROKEN"), f"RuntimeError: {error}"
    except BaseException as error:
        return "BROKEN", f"{type(error).__name__}: {error}"


def _start(source, host, endless):
    """A process group of its own for one probe: (pid, what it answers through)."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.close(read_end)
        os.write(write_end, json.dumps(_answer(source, host, endless)).encode()[:60_000])
        os._exit(0)
    os.close(write_end)
    return pid, read_end


def _end(pid, read_end, until, endless):
    """Waits for a probe's answer and ends whatever it started."""
    ready = select.select([read_end], [], [], max(0.0, until - time.monotonic()))[0]
    said = os.read(read_end, 65_536) if ready else b""
    os.close(read_end)
    for target in (-pid, pid):
        try:
            os.kill(target, signal.SIGKILL)
        except OSError:
            pass
    ended = os.waitpid(pid, 0)[1]
    if said:
        return json.loads(said)
    if not ready:
        return ("THROUGH", "it went on and on") if endless else ("BROKEN", "the probe took too long")
    return "HELD", f"ended by {signal.Signals(os.WTERMSIG(ended)).name}" if os.WIFSIGNALED(ended) else "ended"


def run_probes(probes, host, seconds, at_once):
    """One line of JSON per probe on stdout: id, verdict, detail."""
    waiting = list(probes)
    while waiting:
        now, waiting = waiting[:at_once], waiting[at_once:]
        started = [(probe, *_start(probe["code"], host, probe["endless"])) for probe in now]
        until = time.monotonic() + seconds
        for probe, pid, read_end in started:
            verdict, detail = _end(pid, read_end, until, probe["endless"])
            line = {"probe": probe["id"], "verdict": verdict, "detail": detail[:300]}
            sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
