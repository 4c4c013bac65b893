"""The pictures that this run has shown: sends each to the host, counts them, and keeps to what the host will take.

The host counts for itself and believes nothing of this; here the code learns at once what is too much. In a session
each call is a run.
"""

from __future__ import annotations

import binascii
from typing import Any, NamedTuple

from mcp._binding import current
from mcp._brief import cut
from mcp._picture_headers import header_of
from mcp._pictures import Room, Unfit, drawer_of
from mcp._session import session

# As the host's frames have it: pictures in one run, and the characters of base64 that they may come to.
MAX_PICTURES = 8
MAX_PICTURES_CHARS = 960 * 1024


class _Shown:
    """What this call of a session, or this run, has shown."""

    def __init__(self, call: int) -> None:
        self.call = call
        self.count = 0
        self.chars_left = MAX_PICTURES_CHARS


_latest = _Shown(0)
# Hashes of all of them: a session may show many.
_known: set[int] = set()


class Mark(NamedTuple):
    """The line that stands for a picture in the output, or that says why there is none."""

    text: str
    is_shown: bool


def show_picture(value: Any, again: bool = True) -> Mark | None:
    """Shows a value that is a picture; None for what is no picture. Whatever its drawing raises is told by the mark.

    With `again=False` one that has been shown already, just as it is now, is not sent a second time.
    """
    draw = drawer_of(value)
    if draw is None:
        return None
    if not current().link.is_mine:
        raise RuntimeError("pictures can be shown only in the main process of the run, not in a forked child")
    try:
        if is_full():
            raise Unfit(f"at most {MAX_PICTURES} are shown in one run")
        most = _of_this_call().chars_left // 4 * 3
        # Half of what is left: the first large picture leaves room for others.
        data = draw(Room(wanted=most // 2, most=most))
        if data is None:
            return None
        return Mark("" if hash(data) in _known and not again else _send(data), is_shown=True)
    except Unfit as reason:
        return _unshown(str(reason))
    except Exception as error:
        return _unshown(f"drawing it raised {type(error).__name__}: {cut(str(error), 200)}")


def _unshown(reason: str) -> Mark:
    return Mark(f"[a picture is not shown: {reason}]", is_shown=False)


def is_full() -> bool:
    """Whether no further picture will be shown."""
    return _of_this_call().count == MAX_PICTURES


def _of_this_call() -> _Shown:
    global _latest
    facts = session()
    call = 0 if facts is None else facts["call"]
    if call != _latest.call:
        _latest = _Shown(call)
    return _latest


def _send(data: bytes) -> str:
    shown = _of_this_call()
    header = header_of(data)
    assert header is not None
    text = binascii.b2a_base64(data, newline=False).decode("ascii")
    current().link.send({"type": "picture", "data": text})
    _known.add(hash(data))
    shown.chars_left -= len(text)
    shown.count += 1
    # The host writes the same line, and leaves its own out where this one stands in the output.
    return (
        f"[picture {shown.count}: {header.width}x{header.height} {header.kind}, {-(-len(data) // 1000)} KB]"
    )
