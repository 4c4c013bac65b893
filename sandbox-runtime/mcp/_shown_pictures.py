"""The pictures that this run has shown: sends each to the host, counts them, and keeps to what the host will take.

The host counts for itself and believes nothing of this; here the code learns at once what is too much.
"""

from __future__ import annotations

import binascii
from typing import Any, NamedTuple

from mcp._binding import current
from mcp._brief import cut
from mcp._picture_headers import header_of
from mcp._pictures import Room, Unfit, drawer_of

# As the host's frames have it: pictures in one run, and the characters of base64 that they may come to.
MAX_PICTURES = 8
MAX_PICTURES_CHARS = 960 * 1024

_shown: set[bytes] = set()
_chars_left = MAX_PICTURES_CHARS
_count = 0


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
        most = _chars_left // 4 * 3
        # Half of what is left: the first large picture leaves room for others.
        data = draw(Room(wanted=most // 2, most=most))
        if data is None:
            return None
        return Mark("" if data in _shown and not again else _send(data), is_shown=True)
    except Unfit as reason:
        return _unshown(str(reason))
    except Exception as error:
        return _unshown(f"drawing it raised {type(error).__name__}: {cut(str(error), 200)}")


def _unshown(reason: str) -> Mark:
    return Mark(f"[a picture is not shown: {reason}]", is_shown=False)


def is_full() -> bool:
    """Whether no further picture will be shown."""
    return _count == MAX_PICTURES


def _send(data: bytes) -> str:
    global _chars_left, _count
    header = header_of(data)
    assert header is not None
    text = binascii.b2a_base64(data, newline=False).decode("ascii")
    current().link.send({"type": "picture", "data": text})
    _shown.add(data)
    _chars_left -= len(text)
    _count += 1
    # The host writes the same line, and leaves its own out where this one stands in the output.
    return f"[picture {_count}: {header.width}x{header.height} {header.kind}, {-(-len(data) // 1000)} KB]"
