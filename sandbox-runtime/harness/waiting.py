"""An interpreter of another language that is started while the sandbox waits, and is given its program when that comes.

The supervisor starts it beside the guest, so that it is a child of the first process and leads a group of its own, as a
guest that becomes the program does. The guest hands over, or ends it where the program has to be started as always.
Relies on a script of ours in the interpreter, which says when it waits, reads its program, and says that it has it.
Until then nothing of the program has run, so whatever goes wrong costs the time of a start and no more.
"""

from __future__ import annotations

import fcntl
import os
import select
import stat
from binascii import a2b_base64
from collections.abc import Mapping, Sequence
from json import dumps

from harness import HARNESS_FAILED
from harness.first_process import end_guest
from harness.launch import FRAMES_OUT, HOST_IN, STAND_INS, Bequest, be_as_fresh, found_on_path
from harness.streams import FIRST_PRIVATE_FD, Streams, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    class Plan(TypedDict):
        """What the record of a language says of it (src/settings/languages/records.ts)."""

        argv: list[str]
        # What the last step of a program begins with that it can run; it is told the words behind.
        runs: list[str]
        # A file that it opens when it starts, and removes before it says that it waits.
        opens: str | None
        # Words in sources by which a program may tell it from one that has just started.
        unless: list[str]
        # Whether it can take a standard input, and speak with the host.
        speaks: bool


# Where it finds the pipe of its program, and the one for its own words.
PROGRAM_IN, WORDS_OUT = 5, 6
# One that is still starting is waited for: less than a start of its own would take, unless it hangs.
STARTS_WITHIN_S = 1


class Waiting:
    """`pid` of the interpreter, and the guest's ends of both pipes."""

    def __init__(self, plan: Plan, pid: int, program_fd: int, words_fd: int) -> None:
        self.plan = plan
        self.pid = pid
        self.program_fd = program_fd
        self.words_fd = words_fd

    def suits(self, run: Mapping[str, Any], bequest: Bequest | None, has_input: bool) -> bool:
        """Whether it waits, and can run this program; where not, it is gone.

        To be asked before there are files of the run.
        """
        if self._can_run(run, bequest, has_input) and self._is_ready():
            return True
        self._end()
        if self.plan["opens"] is not None:
            _remove(self.plan["opens"])
        return False

    def take(self, run: Mapping[str, Any], bequest: Bequest | None) -> bool:
        """Whether it has taken the program; where not, it is gone.

        The files of the run are there, and its standard input is ours.
        """
        if self._hand_over(self._words_of(run), bequest):
            return True
        self._end()
        return False

    def forget(self) -> None:
        """Closes the pipes, for a process that has no part in it."""
        os.close(self.program_fd)
        os.close(self.words_fd)

    def _can_run(self, run: Mapping[str, Any], bequest: Bequest | None, has_input: bool) -> bool:
        program = run["program"]
        steps = program["ways"][0]["steps"]
        # Variables are read by an interpreter when it starts.
        if program.get("env") or program.get("cwd") is not None:
            return False
        if len(steps) != 1 or steps[0][: len(self.plan["runs"])] != self.plan["runs"]:
            return False
        if not self.plan["speaks"] and (bequest is not None or has_input):
            return False
        unless = [word.encode() for word in self.plan["unless"]]
        contents = (a2b_base64(file["data"]) for file in run["files"])
        if any(word in content for content in contents for word in unless):
            return False
        return not any("\0" in word for word in self._words_of(run))

    def _words_of(self, run: Mapping[str, Any]) -> list[str]:
        return run["program"]["ways"][0]["steps"][0][len(self.plan["runs"]) :]

    def _is_ready(self) -> bool:
        readable, _, _ = select.select([self.words_fd], [], [], STARTS_WITHIN_S)
        return bool(readable) and os.read(self.words_fd, 1) != b""

    def _hand_over(self, words: Sequence[str], bequest: Bequest | None) -> bool:
        source = f"/proc/{os.getpid()}/fd/0" if _has_input() else ""
        known = ""
        early = b""
        if bequest is not None:
            known = dumps({key: bequest.run[key] for key in ("loaded", "discovered")})
            early = bequest.early
        told = (str(len(words)), *words, source, known)
        try:
            write_all(self.program_fd, b"".join(word.encode() + b"\0" for word in told) + early)
        except (BrokenPipeError, UnicodeError):
            return False
        os.close(self.program_fd)
        return os.read(self.words_fd, 1) != b""

    def _end(self) -> None:
        end_guest(self.pid)
        # Until it has let go of everything: what it takes is the program's.
        while os.read(self.words_fd, 16):
            pass


def start_waiting(plan: Plan, outputs: tuple[int, int], streams: Streams) -> Waiting | None:
    """Starts it with these as its stdout and stderr; None where the image lacks it, or gives programs another PATH."""
    path = found_on_path(plan["argv"][0])
    if path is None or os.path.isdir(STAND_INS):
        return None
    program_read, program_write = os.pipe()
    words_read, words_write = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        for fd in (program_read, program_write, words_read, words_write):
            os.close(fd)
        return None
    if pid == 0:
        try:
            os.setpgid(0, 0)
            ends = {1: outputs[0], 2: outputs[1], PROGRAM_IN: program_read, WORDS_OUT: words_write}
            if plan["speaks"]:
                ends |= {HOST_IN: streams.host_in, FRAMES_OUT: streams.guest_out}
            _become(plan, path, ends)
        finally:
            os._exit(HARNESS_FAILED)
    os.close(program_read)
    os.close(words_write)
    return Waiting(plan, pid, program_write, words_read)


def prefer_as_victim() -> None:
    """Where memory runs out the kernel shall end this process and not the supervisor, which can then say so."""
    try:
        with open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")
    except OSError:
        pass


def _become(plan: Plan, path: str, ends: Mapping[int, int]) -> None:
    prefer_as_victim()
    if plan["opens"] is not None:
        with open(plan["opens"], "x") as file:
            file.write("\n")
    # Out of the way first: one's place may be another's.
    copies = {
        target: fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, FIRST_PRIVATE_FD) for target, end in ends.items()
    }
    for target, copy in copies.items():
        os.dup2(copy, target)
    be_as_fresh()
    os.execve(path, plan["argv"], os.environ)


def _has_input() -> bool:
    return stat.S_ISREG(os.fstat(0).st_mode)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
