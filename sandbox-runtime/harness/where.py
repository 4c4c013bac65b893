"""What the guest was doing when it was stopped: which lines of its own were under way. Only looks, from outside.

Runs on the channel's thread while the program goes on, so everything that it sees may change underfoot.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterator
from threading import main_thread
from types import FrameType

from harness.program import is_main

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_LINES = 30
MAX_LINE_CHARS = 200


# The working directory: the harness is started in it.
_OWN_FOLDER = os.path.join(os.getcwd(), "")


def where_lines() -> list[str]:
    """Of the program and its modules: the main thread's, outermost first, its asyncio tasks'; else other threads'."""
    frames = sys._current_frames()
    main = main_thread().ident
    stack = list(_outward(frames.pop(main) if main in frames else None))
    lines = _lines(reversed(stack))
    for loop in _running_loops(stack):
        for task in _tasks(loop):
            lines += _lines(_awaiting(task.get_coro()))
    if not lines:
        for frame in frames.values():
            lines += _lines(reversed(list(_outward(frame))))
    return list(dict.fromkeys(lines))[:MAX_LINES]


def _lines(frames: Iterator[FrameType]) -> list[str]:
    return [_line(frame) for frame in frames if _is_own(frame.f_code.co_filename)]


def _is_own(file: str) -> bool:
    return is_main(file) or file.startswith(_OWN_FOLDER)


def _line(frame: FrameType) -> str:
    # f_lineno is None between two lines of generated code.
    number = frame.f_lineno or frame.f_code.co_firstlineno
    file = frame.f_code.co_filename
    text = linecache.getline(file, number).strip()
    shown = file[len(_OWN_FOLDER) :] if file.startswith(_OWN_FOLDER) else file
    return f"{shown}:{number}: {text}"[:MAX_LINE_CHARS]


def _outward(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _running_loops(stack: list[FrameType]) -> list[Any]:
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return []
    owners = [frame.f_locals.get("self") for frame in stack if frame.f_code.co_name == "run_forever"]
    return [owner for owner in owners if isinstance(owner, asyncio.AbstractEventLoop)]


def _tasks(loop: Any) -> list[Any]:
    try:
        return sorted(sys.modules["asyncio"].all_tasks(loop), key=lambda task: task.get_name())
    except RuntimeError:
        # The set of tasks changed too often while it was copied.
        return []


def _awaiting(coroutine: Any) -> Iterator[FrameType]:
    """Frames of a suspended coroutine and of what it awaits, outermost first."""
    while coroutine is not None:
        for kind in ("cr", "gi", "ag"):
            frame = getattr(coroutine, f"{kind}_frame", None)
            if frame is not None:
                yield frame
                break
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)
