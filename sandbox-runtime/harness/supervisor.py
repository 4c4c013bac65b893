"""PID 1 of the container: greets, forks the guest, takes one run, forwards the guest's output, and says how it ended.

Relies on being single-threaded when it forks. Never runs guest code itself and never answers for the guest: it
reports the same way after a normal end, os._exit, a segmentation fault or an out-of-memory kill.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
import sys
import traceback
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

from harness.failure import describe_failure
from harness.frames import HARNESS_VERSION, PROTOCOL_VERSION
from harness.guest import be_guest
from harness.handover import Handover, hand_over
from harness.output import Output
from harness.program import NOT_COMPILABLE, compile_program
from harness.streams import Streams, output_pipe
from harness.wire import LineReader, decode, encode, write_all

# What the first lines of most programs import. Loaded only while the host has nothing for us: a waiting sandbox then
# has them for free, and a sandbox that is needed at once does not wait for them.
LIKELY_IMPORTS = (
    "base64 collections csv dataclasses datetime hashlib io itertools math pathlib random statistics string "
    "subprocess textwrap typing urllib.parse uuid decimal enum glob shutil tempfile xml.etree.ElementTree"
).split()

# After a read smaller than the first, output may gather for the second: 10^6 small writes become some hundred
# frames, at the price of a delay that nobody sees.
SMALL_READ_BYTES = 4096
GATHER_MS = 2

# poll() reports a hang-up whatever it is asked for.
HANG_UP_ONLY = 0


class _Guest(NamedTuple):
    """The forked process, the pipe on which it waits for its program, and its output."""

    pid: int
    program_fd: int
    outputs: list[Output]


def supervise(streams: Streams, preimport: Sequence[str] = ()) -> NoReturn:
    """The whole life of the container; returns by os._exit only. `preimport` is loaded while the host is silent."""
    hello = {
        "type": "hello",
        "protocol": PROTOCOL_VERSION,
        "harness": HARNESS_VERSION,
        "python": ".".join(map(str, sys.version_info[:3])),
    }
    _send(streams, hello)
    _import_while_idle(streams.host_in, (*preimport, *LIKELY_IMPORTS))
    # What is done for the first time takes several times as long; the run is to find it done.
    compile_program("print(1)\n2")
    # The guest's collector then need not walk (and copy, after the fork) what we have loaded.
    gc.freeze()
    ended, wakeup = _wake_on_signals()
    guest = _fork_guest(streams, (ended, wakeup))
    hand_over(guest.program_fd, _receive_run(streams))
    status, usage = _forward_until_end(guest, ended, streams.host_in)
    for output in guest.outputs:
        output.drain()
    report = {
        "type": "exited",
        "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "signal": _signal_name(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else None,
        "cpuSeconds": round(usage.ru_utime + usage.ru_stime, 6),
        "maxRssKb": usage.ru_maxrss,
    }
    _send(streams, report)
    os._exit(0)


def _fork_guest(streams: Streams, private: Sequence[int]) -> _Guest:
    """Forks before there is a program, so that a run need not wait for it; `private` is closed in the guest."""
    program_read, program_write = os.pipe()
    stdout_read, stdout_write = output_pipe()
    stderr_read, stderr_write = output_pipe()
    guests = (program_read, stdout_write, stderr_write)
    ours = (program_write, stdout_read, stderr_read)
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(stdout_write, 1)
            os.dup2(stderr_write, 2)
            _forget_signals()
            for fd in (*private, *ours, stdout_write, stderr_write, streams.supervisor_out):
                os.close(fd)
            be_guest(program_read, streams.host_in, streams.guest_out)
        except BaseException:
            os.write(2, traceback.format_exc().encode("ascii", "backslashreplace"))
        os._exit(70)
    for fd in (*guests, streams.guest_out):
        os.close(fd)
    outputs = [
        Output("stdout", stdout_read, streams.supervisor_out),
        Output("stderr", stderr_read, streams.supervisor_out),
    ]
    return _Guest(pid, program_write, outputs)


def _receive_run(streams: Streams) -> Handover:
    """Waits for the run and compiles it; does not return for code that is no Python, nor when the host has gone."""
    reader = LineReader(streams.host_in)
    line = reader.read_line()
    if line is None:
        os._exit(0)
    run = decode(line)
    if run.pop("type") != "run":
        raise ValueError("the first frame from the host was not `run`")
    try:
        program = compile_program(run.pop("code"))
    except NOT_COMPILABLE as error:
        # Without its traceback, which is that of the compiler.
        _send(streams, {"type": "refused", "error": describe_failure(error.with_traceback(None))})
        os._exit(0)
    return Handover(program, run, reader.unread())


def _send(streams: Streams, frame: dict[str, Any]) -> None:
    write_all(streams.supervisor_out, encode(frame))


def _import_while_idle(host_in: int, names: Iterable[str]) -> None:
    for name in names:
        if select.select([host_in], [], [], 0)[0]:
            return
        try:
            importlib.import_module(name)
        except Exception:
            # The image may lack one, or it may fail to load; the guest will hear of it if it asks.
            continue


def _wake_on_signals() -> tuple[int, int]:
    """A pipe whose read end becomes readable when a child ends. SIGTERM ends everything, which PID 1 would ignore."""
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(128 + signal.SIGTERM))
    return read_end, write_end


def _forget_signals() -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _forward_until_end(guest: _Guest, ended: int, host_in: int) -> tuple[int, Any]:
    """Forwards output until the guest's own process is gone; returns its wait status and resource usage.

    What the host sends is the guest's to read. That the host has gone is seen here, since a guest may be deaf to it.
    """
    by_fd = {output.fd: output for output in guest.outputs}
    everything = select.poll()
    for fd in (ended, *by_fd):
        everything.register(fd, select.POLLIN)
    everything.register(host_in, HANG_UP_ONLY)
    only_the_end = select.poll()
    only_the_end.register(ended, select.POLLIN)
    while True:
        bytes_read = 0
        for fd, _ in everything.poll():
            if fd == ended:
                os.read(ended, 4096)
                death = _reap(guest.pid)
                if death is not None:
                    return death
                continue
            if fd == host_in:
                os.kill(guest.pid, signal.SIGKILL)
                os._exit(0)
            size = by_fd[fd].pump()
            if size == 0:
                everything.unregister(fd)
            bytes_read += size
        if 0 < bytes_read < SMALL_READ_BYTES:
            only_the_end.poll(GATHER_MS)


def _reap(guest: int) -> tuple[int, Any] | None:
    """Collects every child that has ended, orphans of the guest included; tells of the guest's own end."""
    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == 0:
            return None
        if pid == guest:
            return status, usage


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"
