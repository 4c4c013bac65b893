"""The program on its way from the supervisor, which read and compiled it, to the guest, which has been waiting for it,
and ahead of it the pieces of its standard input, which only the guest keeps.

Relies on both being the same interpreter, so that marshal carries code objects as they are, without compiling twice.
The guest gets its own end of the pipe; nothing ever comes back this way.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable, Mapping
from io import FileIO
from marshal import dumps, loads
from os import close

from harness.program import Program
from harness.streams import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# In front of each message: how long it is.
LENGTH_BYTES = 8


class Handover:
    """`program` is None for one of another language; `early` is what came in behind the run frame, unread."""

    def __init__(self, program: Program | None, run: dict[str, Any], early: bytes) -> None:
        self.program = program
        self.run = run
        self.early = early


def hand_input(fd: int, frame: Mapping[str, Any]) -> None:
    """Writes a piece of input. A guest that has died meanwhile is no error here: its end is told like any other."""
    _write(fd, (frame["data"], frame["folder"]))


def hand_over(fd: int, handover: Handover) -> None:
    """Writes the program, and closes `fd`. A guest that has died is no error, as above."""
    _write(fd, _parts(handover))
    close(fd)


def message_of(handover: Handover) -> bytes:
    """What hand_over() writes, for a supervisor that does not wait until it is read and has more to hand over."""
    content = dumps(_parts(handover))
    return len(content).to_bytes(LENGTH_BYTES, "big") + content


def take_over(source: FileIO, on_input: Callable[[bytes, str | None], None] | None = None) -> Handover | None:
    """Waits for the other end; None when there is nothing to run. `on_input` gets each piece, and its folder.

    `source` is unbuffered, so that whatever is not read yet can be waited for in the kernel.
    """
    while length := _read(source, LENGTH_BYTES):
        message = loads(_read(source, int.from_bytes(length, "big")))
        if len(message) == 2:
            assert on_input is not None
            data, folder = message
            on_input(a2b_base64(data), folder)
            continue
        program, run, early = message
        return Handover(program and Program(*program), run, early)
    return None


def _parts(handover: Handover) -> tuple[Any, ...]:
    return handover.program and handover.program.parted(), handover.run, handover.early


def _read(source: FileIO, size: int) -> bytes:
    """So many bytes; none at the end of the stream."""
    pieces = []
    while size > 0 and (piece := source.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _write(fd: int, message: tuple[Any, ...]) -> None:
    content = dumps(message)
    try:
        write_all(fd, len(content).to_bytes(LENGTH_BYTES, "big"))
        write_all(fd, content)
    except BrokenPipeError:
        pass
