"""The container's three stdio streams, moved to where no guest can write to them by accident.

Relies on POSIX descriptors. After take_streams() descriptors 0, 1 and 2 lead to /dev/null, so neither a stray print
nor a subprocess can be taken for a frame. The greeting waits for this file, which therefore imports next to nothing.
"""

from __future__ import annotations

import fcntl
import os
from os import write
from select import select

# Far above what programs number by hand, far below the usual limit of 1024 open files.
FIRST_PRIVATE_FD = 100
# The most that the kernel grants without privileges; a guest that prints in bursts then rarely waits for us.
PIPE_BYTES = 1024 * 1024


class Streams:
    """Descriptors of the streams as the container was started with them; none survives an exec."""

    def __init__(self, host_in: int, guest_out: int, supervisor_out: int) -> None:
        self.host_in = host_in
        self.guest_out = guest_out
        self.supervisor_out = supervisor_out


def take_streams() -> Streams:
    """Moves 0, 1 and 2 to private descriptors and puts /dev/null in their place."""
    private = Streams(*(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_PRIVATE_FD) for fd in (0, 1, 2)))
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    return private


def output_pipe() -> tuple[int, int]:
    """A pipe (read end, write end) as large as the kernel allows."""
    read_end, write_end = os.pipe()
    # Linux only, and Python names it since 3.10; a pipe of the usual size is slower, not wrong.
    set_size = getattr(fcntl, "F_SETPIPE_SZ", 1031)
    try:
        fcntl.fcntl(write_end, set_size, PIPE_BYTES)
    except OSError:
        pass
    return read_end, write_end


def write_all(fd: int, data: bytes) -> None:
    """Writes every byte; waits where the descriptor is non-blocking, as one shared with an engine's client may be."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[write(fd, rest) :]
        except BlockingIOError:
            select([], [fd], [])
