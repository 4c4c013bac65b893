"""PID 1 of the container after its greeting: forks the guest, checks code, takes one run, forwards its output, says how
it ended.

Relies on being single-threaded when it forks. Never runs guest code itself and never answers for the guest: it
reports the same way after a normal end, os._exit, a segmentation fault or an out-of-memory kill.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
from collections.abc import Container, Sequence
from contextlib import nullcontext

from harness import HARNESS_FAILED
from harness.failure import clip, describe_failure, harness_failure
from harness.first_process import (
    END_SIGNALS,
    GATHER_MS,
    HANG_UP_ONLY,
    SMALL_READ_BYTES,
    Guest,
    await_hang_up,
    check,
    end_guest,
    reap_all,
    send,
    tell_end,
)
from harness.guest import be_guest, get_ready
from harness.handover import Handover, hand_input, hand_over
from harness.later import loaded_later
from harness.output import Output
from harness.program import compile_program
from harness.protect import close_to_others, open_to_itself
from harness.session import Session
from harness.streams import Streams, output_pipe, write_all
from harness.waiting import start_waiting
from harness.wire import LineReader, decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from harness.waiting import Plan

# What the first lines of most programs, and of our own later steps, import. Loaded only while the host has nothing for
# us: a waiting sandbox then has them for free, and a sandbox that is needed at once does not wait for them.
LIKELY_IMPORTS = (
    "asyncio concurrent.futures textwrap base64 dataclasses datetime "
    "itertools math random string subprocess typing enum mcp._check"
).split()

# A host that wants a sandbox at once speaks within this long of the greeting; what is loaded then would be in its way.
IDLE_AFTER_S = 0.05

# What is told of a module that does not load: more than a person reads.
MAX_REASON_CHARS = 500


def supervise(
    streams: Streams, ahead: Sequence[list[str]], preimport: Sequence[str], waits: Plan | None
) -> NoReturn:
    """The whole life of the container; returns by os._exit only.

    `preimport` is loaded while the host is silent, and the interpreter that `waits` is started if it still is then. The
    guest runs the commands `ahead` before it takes a program.
    """
    close_to_others()
    # Programs of an interpreter that waits use nothing of what Python's do.
    _import_while_idle(streams, preimport if waits else (*preimport, *LIKELY_IMPORTS), preimport)
    if not _has_spoken(streams):
        # Makes the patterns that look for tools, which only a program that names our package needs.
        compile_program("import mcp")
    get_ready()
    # The guest's collector then need not walk (and copy, after the fork) what we have loaded.
    gc.freeze()
    gc.enable()
    ended, wakeup = _wake_on_signals()
    guest = _fork_guest(streams, ahead, (ended, wakeup), None if _has_spoken(streams) else waits)
    if not _has_spoken(streams):
        # What is done for the first time takes several times as long; the run is to find it done. Not before the fork:
        # memory that two processes share is copied for the one that writes to it first.
        compile_program("print(1)\n2")
    handover = _receive_run(streams, guest.program_fd)
    if "session" in handover.run:
        Session(streams, guest, ended).serve(handover)
    os.close(guest.passed_fd)
    # A program that cannot call anything does not read what the host sends either.
    is_deaf = handover.program is None and not handover.run["loaded"]
    # All that such a one can be told is to stop, and that may have come in with the run.
    is_stopped = is_deaf and handover.early != b""
    if is_stopped:
        _end_all(guest, ())
    if guest.waiting is not None and any([output.discard() for output in guest.outputs]):
        # One that has something to say is not well; whatever is started in its place says it again.
        end_guest(guest.waiting)
    hand_over(guest.program_fd, handover)
    # Up to ten megabytes of files, which the program may need itself.
    del handover
    end = _forward_until_end(guest, ended, streams.host_in, is_deaf and not is_stopped)
    code, deadly_signal, was_stopped = end
    for output in guest.outputs:
        output.drain()
    tell_end(streams, code, deadly_signal, None)
    if deadly_signal == signal.SIGKILL and not (is_stopped or was_stopped):
        await_hang_up(streams.host_in)
    os._exit(0)


def _fork_guest(
    streams: Streams, ahead: Sequence[list[str]], private: Sequence[int], waits: Plan | None
) -> Guest:
    """Forks before there is a program, so that a run need not wait for it; `private` is closed in the guest."""
    program_read, program_write = os.pipe()
    passed_read, passed_write = os.pipe()
    leave_read, leave_write = os.pipe()
    farewell = os.urandom(8)
    stdout_read, stdout_write = output_pipe()
    stderr_read, stderr_write = output_pipe()
    guests = (program_read, passed_read, leave_write, stdout_write, stderr_write)
    ours = (program_write, passed_write, leave_read, stdout_read, stderr_read)
    waiting = None if waits is None else start_waiting(waits, (stdout_write, stderr_write), streams)
    pid = os.fork()
    if pid == 0:
        try:
            # A group of its own: `kill 0` of a script is none of ours, and all of it is ended at once.
            os.setpgid(0, 0)
            os.dup2(stdout_write, 1)
            os.dup2(stderr_write, 2)
            _forget_signals()
            for fd in (*private, *ours, stdout_write, stderr_write, streams.supervisor_out):
                os.close(fd)
            # Not before it has let go of what only the supervisor may use.
            open_to_itself()
            ins = (streams.host_in, passed_read)
            be_guest(ahead, program_read, (leave_write, farewell), ins, streams.guest_out, waiting)
        except BaseException as error:
            write_all(streams.guest_out, encode(harness_failure(error)))
        finally:
            os._exit(HARNESS_FAILED)
    for fd in (*guests, streams.guest_out):
        os.close(fd)
    if waiting is not None:
        waiting.forget()
    outputs = [
        Output("stdout", stdout_read, streams.supervisor_out),
        Output("stderr", stderr_read, streams.supervisor_out),
    ]
    return Guest(
        pid,
        program_write,
        passed_write,
        leave_read,
        farewell,
        outputs,
        None if waiting is None else waiting.pid,
    )


def _receive_run(streams: Streams, program_fd: int) -> Handover:
    """Compiles what the host wants checked, as often as it does, and hands input on, until the host says `run`.

    Ends when the host has gone, or wants no run any more for which it has sent input.
    """
    reader = LineReader(streams.host_in)
    program = None
    has_begun = False
    while line := reader.read_line():
        frame = decode(line)
        kind = frame.pop("type")
        if kind == "check":
            program, run = check(frame, streams)
            if run is not None:
                return Handover(program, run, reader.unread())
        elif kind == "run" and frame["program"] is not None and frame["program"]["ways"]:
            return Handover(None, frame, reader.unread())
        elif kind == "run" and program is not None:
            return Handover(program, frame, reader.unread())
        elif kind == "input":
            hand_input(program_fd, frame)
            has_begun = True
        elif kind == "stop" and has_begun:
            break
        else:
            raise ValueError(f"a frame `{kind}` from the host, which had no program checked")
    os._exit(0)


def _has_spoken(streams: Streams, within_s: float = 0) -> bool:
    """Whether there is something of the host to read."""
    return bool(select.select([streams.host_in], [], [], within_s)[0])


def _import_while_idle(streams: Streams, names: Sequence[str], preimport: Sequence[str]) -> None:
    """Loads these modules, until the host speaks; says which of the wanted do not load."""
    if _has_spoken(streams, IDLE_AFTER_S):
        return
    for name in names:
        if _has_spoken(streams):
            return
        try:
            with nullcontext() if name in preimport else loaded_later():
                importlib.import_module(name)
        except BaseException as error:
            # Whatever it raises, sys.exit included, is no end of ours; the guest gets its own when it asks.
            if name in preimport:
                failure = describe_failure(error)
                reason = f"{failure['type']}: {clip(failure['message'], MAX_REASON_CHARS)}"
                send(streams, {"type": "unloaded", "module": name, "error": reason})


def _wake_on_signals() -> tuple[int, int]:
    """A pipe whose read end becomes readable when a child ends, or when we are told to: which PID 1 would ignore."""
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in END_SIGNALS:
        signal.signal(number, lambda number, _: os._exit(128 + number))
    return read_end, write_end


def _forget_signals() -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _forward_until_end(
    guest: Guest, ended: int, host_in: int, is_deaf: bool
) -> tuple[int | None, int | None, bool]:
    """Forwards output until the guest's own process has ended; returns its exit code or its signal, and whether it
    was ended because the host said so.

    A guest that takes its leave is not waited for: the kernel needs a millisecond to take it down, and the container's
    end, which is next, does that too.

    What the host sends is the guest's to read, but for one that `is_deaf`. That the host has gone is seen here,
    whatever the guest reads. A guest that has given its program to the interpreter that waited is none from then on.
    """
    program, heir = guest.pid, guest.waiting
    statuses: dict[int, int] = {}
    by_fd = {output.fd: output for output in guest.outputs}
    everything = select.poll()
    for fd in (ended, guest.leave_fd, *by_fd):
        everything.register(fd, select.POLLIN)
    everything.register(host_in, select.POLLIN if is_deaf else HANG_UP_ONLY)
    only_the_end = select.poll()
    for fd in (ended, guest.leave_fd):
        only_the_end.register(fd, select.POLLIN)
    for number in END_SIGNALS:
        # The pipe tells of them.
        signal.signal(number, lambda *_: None)
    was_stopped = False
    while True:
        bytes_read = 0
        for fd, happened in everything.poll():
            if fd == ended:
                # Most likely the program has sent it, and its end is to be told like any other.
                if not set(END_SIGNALS).isdisjoint(os.read(ended, 4096)):
                    _end_all(guest, statuses)
                statuses.update(reap_all())
                if (
                    program in statuses
                    and heir is not None
                    and _took_leave(guest, os.read(guest.leave_fd, 4096))
                ):
                    program, heir = heir, None
                if program in statuses:
                    return (*_end_of(statuses[program]), was_stopped)
                continue
            if fd == guest.leave_fd:
                note = os.read(fd, 4096)
                # Code that writes to descriptors that it does not know has not taken its leave.
                if _took_leave(guest, note):
                    if heir is None:
                        return note[-1], None, was_stopped
                    program, heir = heir, None
                    if program in statuses:
                        return (*_end_of(statuses[program]), was_stopped)
                if not note:
                    everything.unregister(fd)
                    only_the_end.unregister(fd)
                continue
            if fd == host_in:
                _end_all(guest, statuses)
                if happened & ~select.POLLIN:
                    os._exit(0)
                # Its end follows, and what it has left is sent.
                was_stopped = True
                everything.modify(host_in, HANG_UP_ONLY)
                continue
            size = by_fd[fd].pump()
            if size == 0:
                everything.unregister(fd)
            bytes_read += size
        if 0 < bytes_read < SMALL_READ_BYTES:
            only_the_end.poll(GATHER_MS)


def _took_leave(guest: Guest, note: bytes) -> bool:
    return note[:-1] == guest.farewell


def _end_of(status: int) -> tuple[int | None, int | None]:
    """The exit code or the signal."""
    code = os.waitstatus_to_exitcode(status)
    return (code, None) if code >= 0 else (None, -code)


def _end_all(guest: Guest, gone: Container[int]) -> None:
    """Ends whoever has the program, or may get it, and what they have started."""
    for pid in (guest.pid, guest.waiting):
        if pid is not None and pid not in gone:
            end_guest(pid)
