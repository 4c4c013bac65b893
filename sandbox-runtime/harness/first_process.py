"""What PID 1 does in a run as in a session: has code checked, tells the host of it, and ends the guest and sees it end.

Relies on nothing that the guest says.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Mapping, Sequence

from harness.artifacts import Stamps, send_artifacts
from harness.failure import describe_failure
from harness.inputs import RESULTS_FOLDER
from harness.output import Output
from harness.program import MAIN_FILE, NOT_COMPILABLE, Program, compile_program, shorten_line
from harness.streams import Streams, write_all
from harness.wire import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# After a read smaller than the first, output may gather for the second: 10^6 small writes become some hundred
# frames, at the price of a delay that nobody sees.
SMALL_READ_BYTES = 4096
GATHER_MS = 2

# They end everything while there is no program, and the program while there is one.
END_SIGNALS = (signal.SIGTERM, signal.SIGINT)

# poll() reports a hang-up whatever it is asked for.
HANG_UP_ONLY = 0

# Where the container's own control group says how many processes the kernel has killed for memory: version 2, then 1.
GROUP_FILES = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")

# How long the container outlives a guest that was killed, for the host to look whether memory was the reason: with the
# last process the kernel forgets it. A host that has looked closes the stream, which ends the wait.
LOOK_MS = 500


class Guest:
    """The forked process; the pipe on which it waits for its program, and the one by which it takes its leave.

    What the host sends to the guest of a session goes by `passed_fd`; that of a run reads the host's own stream.
    `waiting` is the interpreter that was started ahead; a guest that has given it its program takes its leave.
    """

    def __init__(
        self,
        pid: int,
        program_fd: int,
        passed_fd: int,
        leave_fd: int,
        farewell: bytes,
        outputs: list[Output],
        waiting: int | None = None,
    ) -> None:
        self.pid = pid
        self.program_fd = program_fd
        self.passed_fd = passed_fd
        self.leave_fd = leave_fd
        self.farewell = farewell
        self.outputs = outputs
        self.waiting = waiting


def check(
    frame: Mapping[str, Any], streams: Streams, name: str = MAIN_FILE
) -> tuple[Program | None, dict[str, Any] | None]:
    """Says what became of the code of a `check`. Nothing of it is run here, and the guest hears nothing of it.

    Returns the program, and the run that came with it where that begins now: of code that names no tool, about which
    the host has nothing to say. Code without a file is called `name`.
    """
    file = frame["file"]
    try:
        # A script's name is its whole path, as it is for an interpreter that is given a file.
        path = None if file is None else os.path.abspath(file)
        program, named = compile_program(frame["code"], path, name)
    except NOT_COMPILABLE as error:
        shorten_line(error)
        # Without its traceback, which is that of the compiler.
        send(streams, {"type": "refused", "error": describe_failure(error.with_traceback(None))})
        return None, None
    # Before it is handed over: whatever the code says in our name comes later.
    send(streams, {"type": "checked", "named": [vars(tool) for tool in named]})
    return program, None if named else frame["run"]


def send(streams: Streams, frame: Mapping[str, Any]) -> None:
    """Writes one frame of ours."""
    write_all(streams.supervisor_out, encode(frame))


def tell_end(streams: Streams, code: int | None, deadly_signal: int | None, before: Stamps | None) -> None:
    """What the guest has left, but for what is as it was `before`, and how its process has ended."""
    end_of_guest = {
        "code": code,
        "signal": None if deadly_signal is None else _signal_name(deadly_signal),
    }
    send_left(streams, end_of_guest, before)
    send(streams, {"type": "exited", **end_of_guest, "memoryKills": memory_kills()})


def send_left(streams: Streams, end: Mapping[str, Any], before: Stamps | None) -> Stamps:
    """Sends what the code has left in its folder for results; returns what is there now, for the next time."""
    if not _has_artifacts():
        return {}
    # The host stops its clock: what the files take is not the code's time.
    send(streams, {"type": "ended", **end})
    return send_artifacts(RESULTS_FOLDER, streams.supervisor_out, before)


def memory_kills(files: Sequence[str] = GROUP_FILES) -> int | None:
    """For a host that cannot see the group, since its engine runs elsewhere; None where we do not see it either."""
    for file in files:
        try:
            with open(file, encoding="ascii") as group:
                return sum(int(line.split()[1]) for line in group if line.startswith("oom_kill "))
        except (OSError, ValueError, IndexError):
            continue
    return None


def _has_artifacts() -> bool:
    """False for a folder for results that was removed, is empty, or is as we made it: nearly every run."""
    try:
        # One name is enough to know.
        with os.scandir(RESULTS_FOLDER) as entries:
            return next(entries, None) is not None
    except FileNotFoundError:
        return False
    except OSError:
        # Something else in its place, which is told as such.
        return True


def await_hang_up(host_in: int) -> None:
    """Returns when the host has closed the stream, or after LOOK_MS."""
    host = select.poll()
    host.register(host_in, HANG_UP_ONLY)
    host.poll(LOOK_MS)


def end_guest(guest: int) -> None:
    """Kills the guest and what it has started, but for what has left its group, which ends with the container."""
    # It may not have come to make its group yet.
    for kill in (os.kill, os.killpg):
        try:
            kill(guest, signal.SIGKILL)
        except ProcessLookupError:
            continue


def reap(guest: int) -> int | None:
    """Collects every child that has ended, orphans of the guest included; the guest's status if it is among them."""
    return reap_all().get(guest)


def reap_all() -> dict[int, int]:
    """The same, with the status of each."""
    statuses: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return statuses
        if pid == 0:
            return statuses
        statuses[pid] = status


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"
