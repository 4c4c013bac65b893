"""The attempts on the walls. Each is a function that answers with one line; `answers` makes those that are asked for.

Each runs in a process of its own with a time limit, so that one that changes its process, or hangs, spoils none of the
others. An OSError is answered with its name, so EPERM needs no code. Answers that begin with `?` mean that the attempt
itself broke. No attempt changes anything, even where it succeeds: it asks, or sets a value to what it is already.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

# Of one attempt. All attempts together take about a quarter of a second.
ATTEMPT_SECONDS = 3
MOST_ANSWERED_BYTES = 2000

# Numbers of the kernel's interface.
CLONE_NEWUSER = 0x1000_0000
CAPABILITY_VERSION_3 = 0x2008_0522
PR_SET_SECCOMP = 22
PR_CAPBSET_READ = 23
PR_GET_NO_NEW_PRIVS = 39
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_IS_SET = 1
SOL_SOCKET = 1
SO_ATTACH_FILTER = 26
SO_ATTACH_BPF = 50
RLIMIT_NOFILE = 7

libc = ctypes.CDLL(None, use_errno=True)


def answers(asked: list[tuple[str, str, dict[str, Any]]]) -> dict[str, str]:
    """By control. Each that is asked for: its control, the name of its function here, what that is given."""
    return {control: apart(globals()[name], given) for control, name, given in asked}


def apart(attempt: Callable[..., str], given: dict[str, Any]) -> str:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        os.write(writing, answer(attempt, given).encode()[:MOST_ANSWERED_BYTES])
        os._exit(0)
    os.close(writing)
    is_ready = select.select([reading], [], [], ATTEMPT_SECONDS)[0]
    said = os.read(reading, MOST_ANSWERED_BYTES).decode() if is_ready else "?no answer in time"
    os.close(reading)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return said or "?it died"


def answer(attempt: Callable[..., str], given: dict[str, Any]) -> str:
    try:
        return attempt(**given)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "EUNKNOWN")
    except BaseException as error:
        return f"?{type(error).__name__}: {error}"


def call(result: int) -> str:
    return "succeeded" if result == 0 else errno.errorcode.get(ctypes.get_errno(), "failed")


def raw(number: int, *arguments: Any) -> None:
    """A call by its number: an int is given as all 64 bits of its register."""
    libc.syscall.restype = ctypes.c_long
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    if libc.syscall(ctypes.c_long(number), *words) == -1:
        raise OSError(ctypes.get_errno(), "")


def number_of(x86: int, arm: int) -> int:
    return arm if os.uname().machine == "aarch64" else x86


def listed(items: Iterable[str]) -> str:
    return " ".join(sorted(items)) or "none"


def lines_of(path: str) -> list[str]:
    with open(path) as file:
        return file.readlines()


def through(attempts: Iterable[tuple[str, Callable[[], Any]]]) -> str:
    """Which of them raise none of these errors, and so have got through."""
    found: list[str] = []
    for name, attempt in attempts:
        try:
            attempt()
            found.append(name)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EPROTONOSUPPORT):
                found.append(f"{name} ({errno.errorcode[error.errno or 0]})")
    return listed(found)


def user_namespace() -> str:
    return call(libc.unshare(CLONE_NEWUSER))


def mount() -> str:
    return call(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))


def capabilities() -> str:
    header, data = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(header, data):
        raise OSError(ctypes.get_errno(), "capget")
    sets = {
        name: data[n] | data[n + 3] << 32 for n, name in enumerate(("effective", "permitted", "inheritable"))
    }
    numbers = range(64)
    sets["bounding"] = sum(1 << n for n in numbers if libc.prctl(PR_CAPBSET_READ, n, 0, 0, 0) == 1)
    sets["ambient"] = sum(
        1 << n for n in numbers if libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, n, 0, 0) == 1
    )
    return listed(f"{name}={held:x}" for name, held in sets.items() if held)


def new_privileges() -> str:
    return "never" if libc.prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 else "possible"


def seccomp() -> str:
    found = re.search(r"^Seccomp:\s*(\S+)", "".join(lines_of("/proc/self/status")), re.M)
    if found is None:
        raise LookupError("this kernel does not say it")
    return {"0": "off", "1": "strict", "2": "a filter"}.get(found[1], "unknown")


def user() -> str:
    uids, gids = set(os.getresuid()), set(os.getresgid())
    more = set(os.getgroups()) - gids
    ids = listed(map(str, uids)) + ":" + listed(map(str, gids))
    return ids + ("" if not more else " and groups " + listed(map(str, more)))


def writable_places() -> str:
    places = {"/", "/var/tmp", "/usr/bin", "/proc/sys/kernel", "/sys/fs/cgroup"}
    places |= {os.path.join("/", name) for name in os.listdir("/")}
    places |= {line.split()[4] for line in lines_of("/proc/self/mountinfo")}
    found: set[str] = set()
    for named in places:
        place = named if os.path.isdir(named) else os.path.dirname(named)
        probe = os.path.join(place, ".probe")
        try:
            fd = os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except OSError:
            continue
        os.close(fd)
        os.unlink(probe)
        found.add(os.path.realpath(place))
    return listed(found)


def sizes(places: list[str]) -> str:
    seen: list[str] = []
    for place in places:
        of = os.statvfs(place)
        seen.append(f"{place} {of.f_blocks * of.f_frsize // (1 << 20)}")
    return ", ".join(seen) + " MB"


def programs(places: list[str]) -> str:
    ran: list[str] = []
    for place in places:
        copy = os.path.join(place, ".probe-program")
        try:
            shutil.copyfile(os.path.realpath(sys.executable), copy)
            os.chmod(copy, 0o700)
            argv = [copy, "-I", "-S", "-c", ""]
            subprocess.run(argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            ran.append(place)
        except PermissionError:
            pass
        finally:
            try:
                os.unlink(copy)
            except OSError:
                pass
    return "ran in " + listed(ran) if ran else "refused in all"


def descriptors_of_a_child() -> str:
    # What the program itself has opened to look is gone again.
    code = (
        "import os\n"
        'fds = os.listdir("/proc/self/fd")\n'
        'print(*sorted(int(f) for f in fds if os.path.exists("/proc/self/fd/" + f)))'
    )
    argv = [sys.executable, "-I", "-S", "-c", code]
    return subprocess.run(argv, close_fds=False, capture_output=True, text=True).stdout.strip()


def network_interfaces() -> str:
    return listed(name for _, name in socket.if_nameindex())


def connections(addresses: list[str]) -> str:
    found: list[str] = []
    for address in addresses:
        host, port = address.split(":")
        try:
            socket.create_connection((host, int(port)), 0.5).close()
            found.append(host)
        except OSError:
            pass
    return listed(found)


def abstract_sockets(names: list[str]) -> str:
    refusal = None
    for name in names:
        try:
            socket.socket(socket.AF_UNIX).connect("\0" + name)
            return "connected"
        except OSError as error:
            refusal = errno.errorcode[error.errno or 0]
    if refusal is None:
        raise LookupError("there is no name to connect to")
    return refusal


def mounts(own: list[str], zones: str) -> str:
    """All but those of the engine: `own`, and the copy of a time zone that it mounts below `zones`."""
    found: set[str] = set()
    for line in lines_of("/proc/self/mountinfo"):
        place, flags = line.split()[4:6]
        if place == "/" or place in own or place.startswith(zones):
            continue
        if place.split("/")[1] not in ("proc", "sys", "dev"):
            found.add(f"{place} ({flags.split(',')[0]})")
    return listed(found)


def sys_folder() -> str:
    return listed(os.listdir("/sys"))


def kernel_files() -> str:
    found: list[str] = []
    for path in ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/kmsg"):
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            if os.read(fd, 1):
                found.append(path)
            os.close(fd)
        except OSError:
            pass
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches"):
        try:
            os.close(os.open(path, os.O_WRONLY))
            found.append(path)
        except OSError:
            pass
    return listed(found)


def devices(usual: list[str]) -> str:
    found: list[str] = []
    for folder, _, files in os.walk("/dev"):
        for name in files:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if not (stat.S_ISBLK(mode) or stat.S_ISCHR(mode)) or path[5:] in usual:
                continue
            # Not opened: of some devices that alone is an act.
            if os.access(path, os.R_OK):
                found.append(path)
    return listed(found)


def processes() -> str:
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                status = "".join(lines_of(f"/proc/{name}/status"))
            except OSError:
                continue
            found = re.search(r"PPid:\s*(\d+)", status)
            if found is None:
                raise LookupError("this kernel does not say whose child a process is")
            parents[int(name)] = int(found[1])
    strangers = [pid for pid, parent in parents.items() if pid != 1 and parent not in parents]
    with open("/proc/1/cmdline", "rb") as words:
        ours = b"/ipc/entrypoint.py" in words.read().split(b"\0")
    return "not seen" if ours and not strangers else f"{len(strangers) + (not ours)} seen"


def environment() -> str:
    return listed(os.environ)


def host_name() -> str:
    return socket.gethostname()


def time_zone() -> str:
    return "UTC" if time.localtime().tm_gmtoff == 0 else time.tzname[0]


def core_dumps() -> str:
    pid = os.fork()
    if pid == 0:
        os.kill(os.getpid(), signal.SIGSEGV)
    state = os.waitpid(pid, 0)[1]
    return "dumped" if os.WCOREDUMP(state) else "none"


def open_files(limit: int) -> str:
    last = -1
    try:
        for _ in range(limit + 8):
            last = os.dup(0)
    except OSError as error:
        return f"{errno.errorcode[error.errno or 0]} at {last + 1}"
    return f"{last + 1} open"


def kernel_programs() -> str:
    program = ctypes.create_string_buffer((0x7FFF0000_00000006).to_bytes(8, sys.byteorder))
    code = (1).to_bytes(8, sys.byteorder) + ctypes.addressof(program).to_bytes(8, sys.byteorder)
    end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    # A bit that a filter may overlook.
    high = 1 << 32

    def attach(level: int, option: int) -> None:
        raw(number_of(54, 208), end.fileno(), level, option, code, len(code))

    def prctl() -> None:
        try:
            raw(number_of(157, 167), PR_SET_SECCOMP | high, 2, None)
        except OSError as error:
            # A kernel that has it would have looked for the program.
            raise OSError(errno.EPERM if error.errno == errno.EINVAL else error.errno, "") from None

    return through(
        [
            ("filter", lambda: attach(SOL_SOCKET, SO_ATTACH_FILTER)),
            ("filter, high bit", lambda: attach(SOL_SOCKET, SO_ATTACH_FILTER | high)),
            ("filter, level with high bit", lambda: attach(SOL_SOCKET | high, SO_ATTACH_FILTER)),
            ("program", lambda: attach(SOL_SOCKET, SO_ATTACH_BPF)),
            ("program, high bit", lambda: attach(SOL_SOCKET, SO_ATTACH_BPF | high)),
            ("seccomp", lambda: raw(number_of(317, 277), 1, 0, code)),
            ("prctl", prctl),
        ]
    )


def first_process() -> str:
    limits = ctypes.create_string_buffer(16)
    return through(
        [
            ("memory", lambda: os.close(os.open("/proc/1/mem", os.O_RDWR))),
            ("descriptors", lambda: os.listdir("/proc/1/fd")),
            ("environment", lambda: os.close(os.open("/proc/1/environ", os.O_RDONLY))),
            ("limits", lambda: raw(number_of(302, 261), 1, RLIMIT_NOFILE, None, limits)),
            ("processors", lambda: raw(number_of(203, 122), 1 | 1 << 32, 0, None)),
            ("priority", lambda: os.setpriority(os.PRIO_PROCESS, 1, os.getpriority(os.PRIO_PROCESS, 1))),
        ]
    )


def streams() -> str:
    sockets: list[str] = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if stat.S_ISSOCK(os.stat(f"/proc/self/fd/{name}").st_mode):
                sockets.append(name)
        except OSError:
            pass
    return listed(f"{name} is a socket" for name in sockets)


def connection_buffers() -> str:
    server = socket.create_server(("127.0.0.1", 0))
    one = socket.create_connection(server.getsockname())
    # Held, and not read.
    _other, _ = server.accept()
    one.setblocking(False)
    taken = 0
    try:
        while taken < 64 << 20:
            taken += one.send(b"x" * 65536)
    except BlockingIOError:
        pass
    return f"{taken} bytes"
