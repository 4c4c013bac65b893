"""The program on its way from the supervisor, which read and compiled it, to the guest, which has been waiting for it.

Relies on both being the same interpreter, so that marshal carries code objects as they are, without compiling twice.
The guest gets its own end of the pipe; nothing ever comes back this way.
"""

from __future__ import annotations

import marshal
import os
from typing import Any, NamedTuple

from harness.program import Program
from harness.wire import write_all

READ_BYTES = 1024 * 1024


class Handover(NamedTuple):
    """`program` is None for one of another language; `early` is what came in behind the run frame, unread."""

    program: Program | None
    run: dict[str, Any]
    early: bytes


def hand_over(fd: int, handover: Handover) -> None:
    """Writes and closes `fd`. A guest that has died meanwhile is no error here: its end is told like any other."""
    program, run, early = handover
    try:
        write_all(fd, marshal.dumps((program and tuple(program), run, early)))
    except BrokenPipeError:
        pass
    os.close(fd)


def take_over(fd: int) -> Handover | None:
    """Waits for the other end; None when there is nothing to run."""
    chunks = []
    while chunk := os.read(fd, READ_BYTES):
        chunks.append(chunk)
    os.close(fd)
    if not chunks:
        return None
    program, run, early = marshal.loads(b"".join(chunks))
    return Handover(program and Program(*program), run, early)
