"""Frames as bytes: one JSON object per line, read and written on plain descriptors.

Relies on the constants generated from the bridge's own definition, and on nothing that code could replace. Reading
keeps a list of chunks and joins once per line, so a line of 40 MB costs linear time. Never validates: the host is
trusted, and the host validates us.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from json import JSONDecoder, JSONEncoder
from json.encoder import c_make_encoder, encode_basestring_ascii  # type: ignore[attr-defined]
from os import read
from select import select

from harness.frames import MAX_DEPTH, MAX_FRAME_BYTES, MAX_VALUES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What a pipe holds by default; reading more at once only allocates more.
READ_BYTES = 65_536

_encoder = JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
# What the methods of both look up when they are called may be others by then.
_refuse = _encoder.default
_scan = JSONDecoder().scan_once  # type: ignore[attr-defined]
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NOT_A_BRACKET = re.compile(r"[^\[\]{}]+")
# Every escape is matched, so that the letters after an escaped backslash are not taken for one; a pair counts as one.
_ESCAPE = re.compile(r"\\(?:ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|ud[89a-f][0-9a-f]{2}|.)")


def encode(frame: Mapping[str, Any], exact: bool = False) -> bytes:
    """One line, newline included, in pure ASCII; lone surrogates become U+FFFD, since other languages refuse them.

    With `exact` they are a ValueError: what is asked of somebody is not changed on its way.
    """
    text = "".join(_chunks(frame))
    if "\\ud" in text:
        text = _ESCAPE.sub(_refuse_lone_surrogate if exact else _replace_lone_surrogate, text)
    return text.encode("ascii") + b"\n"


def encode_bounded(frame: Mapping[str, Any], exact: bool = False) -> bytes:
    """encode(), for a frame that carries the guest's own data: ValueError where the host would end the run for it."""
    try:
        line = encode(frame, exact)
    except RecursionError:
        raise ValueError(f"data nested deeper than {MAX_DEPTH} levels cannot be sent") from None
    if len(line) > MAX_FRAME_BYTES:
        raise ValueError(f"{len(line)} bytes of JSON exceed the limit of {MAX_FRAME_BYTES} for one message")
    opened = line.count(b"[") + line.count(b"{")
    if opened > MAX_DEPTH and depth_of(line.decode("ascii")) > MAX_DEPTH:
        raise ValueError(f"data nested deeper than {MAX_DEPTH} levels cannot be sent")
    # Counted with what stands in strings first, since that is a hundred times faster and nearly always enough.
    if opened + line.count(b",") >= MAX_VALUES:
        values = values_in(line.decode("ascii"))
        if values > MAX_VALUES:
            raise ValueError(f"more than {MAX_VALUES} values, some {values}, cannot be sent in one message")
    return line


def decode(line: bytes) -> dict[str, Any]:
    """The frame that a line holds; integers of any size stay exact."""
    try:
        frame, _ = _scan(str(line, "utf-8", "surrogatepass"), 0)
    except StopIteration as at:
        raise ValueError(f"no JSON at {at}") from None
    return frame


def _chunks(frame: Mapping[str, Any]) -> Any:
    if c_make_encoder is None:
        return _encoder.iterencode(frame)
    make = c_make_encoder({}, _refuse, encode_basestring_ascii, None, ":", ",", False, False, False)
    return make(frame, 0)


def depth_of(text: str) -> int:
    """The deepest nesting of arrays and objects in well-formed JSON text."""
    depth = deepest = 0
    for bracket in _NOT_A_BRACKET.sub("", _STRING.sub("", text)):
        if bracket in "[{":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
    return deepest


def values_in(text: str) -> int:
    """How many values the host counts in well-formed JSON text: one, one per comma, one per array or object."""
    bare = _STRING.sub("", text)
    return 1 + bare.count(",") + bare.count("[") + bare.count("{")


def _replace_lone_surrogate(escape: re.Match[str]) -> str:
    return "\\ufffd" if len(escape.group()) == 6 else escape.group()


def _refuse_lone_surrogate(escape: re.Match[str]) -> str:
    if len(escape.group()) == 6:
        raise ValueError(f"a text holds a lone surrogate, '{escape.group()}', which no other program reads")
    return escape.group()


def _read_some(fd: int) -> bytes:
    while True:
        try:
            return read(fd, READ_BYTES)
        except BlockingIOError:
            select([fd], [], [])


class LineReader:
    """Lines from a descriptor, several at a time, as they come."""

    def __init__(self, fd: int, early: bytes = b"") -> None:
        """`early` is what somebody else has read of it and not used."""
        self._fd = fd
        self._lines = early.split(b"\n")
        self._partial = [self._lines.pop()]

    def read_lines(self) -> list[bytes]:
        """Waits for at least one whole line; an empty list is the end of the stream."""
        if self._lines:
            early, self._lines = self._lines, []
            return early
        while True:
            chunk = _read_some(self._fd)
            if not chunk:
                return []
            if b"\n" not in chunk:
                self._partial.append(chunk)
                continue
            first, *rest = chunk.split(b"\n")
            lines = [b"".join([*self._partial, first]), *rest]
            self._partial = [lines.pop()]
            return lines

    def early_lines(self) -> list[bytes]:
        """Whole lines that are there already; waits for none."""
        early, self._lines = self._lines, []
        return early

    def read_line(self) -> bytes | None:
        """The first line, alone; None is the end of the stream. The rest of what was read is for unread()."""
        lines = self.read_lines()
        if not lines:
            return None
        first, *self._lines = lines
        return first

    def unread(self) -> bytes:
        """What was read of the stream and handed out to nobody."""
        return b"\n".join([*self._lines, b"".join(self._partial)])
