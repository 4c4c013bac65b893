"""The guest's own sys.stdin, stdout and stderr, over descriptors 0, 1 and 2, and what is told on them.

Relies on 1 and 2 being the supervisor's pipes. Holds what it needs itself, whatever the code puts in their place.
"""

from __future__ import annotations

import io
import sys
from traceback import format_exception

from harness.streams import write_all


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
