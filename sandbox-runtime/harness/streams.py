"""The container's three stdio streams, moved to where no guest can write to them by accident.

Relies on POSIX descriptors. After take_streams() descriptors 0, 1 and 2 lead to /dev/null, so neither a stray print
nor a subprocess can be taken for a frame.
"""

from __future__ import annotations

import fcntl
import io
import os
import sys
from traceback import format_exception
from typing import NamedTuple

from harness.wire import write_all

# Far above what programs number by hand, far below the usual limit of 1024 open files.
FIRST_PRIVATE_FD = 100
# The most that the kernel grants without privileges; a guest that prints in bursts then rarely waits for us.
PIPE_BYTES = 1024 * 1024


class Streams(NamedTuple):
    """Descriptors of the streams as the container was started with them; none survives an exec."""

    host_in: int
    guest_out: int
    supervisor_out: int


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


def install_stdio() -> None:
    """Rebuilds sys.stdin, stdout and stderr over 0, 1 and 2.

    Unbuffered, as with `python -u`: what was printed is out, whatever kills the process next. A lone surrogate is
    printed as its escape instead of raising UnicodeEncodeError, and what is read and not UTF-8 becomes one, as with
    `python -X utf8`.
    """
    source = io.FileIO(0, closefd=False)
    source.name = "<stdin>"
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BufferedReader(source), "utf-8", "surrogateescape")
    sys.stdout = sys.__stdout__ = _writer(1, "<stdout>")
    sys.stderr = sys.__stderr__ = _writer(2, "<stderr>")


def mend_stdio() -> None:
    """Puts a new stream in the place of one that takes nothing any more. What else the code has put there stays."""
    for fd, name in ((1, "stdout"), (2, "stderr")):
        for attribute in (name, f"__{name}__"):
            if not _is_open(getattr(sys, attribute, None)):
                setattr(sys, attribute, _writer(fd, f"<{name}>"))


def flush_stdio() -> None:
    """What the interpreter flushes at its end. A stream that cannot be flushed holds nothing back."""
    for stream in (getattr(sys, "stdout", None), getattr(sys, "stderr", None)):
        try:
            flush = stream.flush  # type: ignore[union-attr]
        except BaseException:
            continue
        try:
            if _is_open(stream):
                flush()
        except BaseException as error:
            complain_of(error)


def complain(text: str) -> None:
    """On the code's own sys.stderr, and where that does not take it, on what was there before."""
    try:
        sys.stderr.write(text)
    except BaseException:
        try:
            write_all(2, text.encode("utf-8", "backslashreplace"))
        except OSError:
            # The code has closed that, too.
            pass


def complain_of(error: BaseException) -> None:
    """With its traceback."""
    try:
        text = "".join(format_exception(type(error), error, error.__traceback__))
    except BaseException:
        text = f"{type(error).__name__}\n"
    complain(text)


def _is_open(stream: object) -> bool:
    """Whether a stream could take something. One without a word about it can, but None cannot."""
    try:
        return stream is not None and not stream.closed  # type: ignore[attr-defined]
    except AttributeError:
        return True
    except BaseException:
        # Another layer was taken from below it.
        return False


def _writer(fd: int, name: str) -> io.TextIOWrapper:
    raw = io.FileIO(fd, "w", closefd=False)
    raw.name = name
    # A raw file below a text layer is what CPython itself makes for -u; the annotation asks for more than it needs.
    return io.TextIOWrapper(raw, "utf-8", "backslashreplace", write_through=True)  # type: ignore[arg-type]
