"""repr() of what is too long to show, cut between its items with a count, and never in the middle of a token.

Walks the builtin containers itself, as far as there is room; anything else is the value's own repr(), cut at its end.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any

# Some 5,000 tokens: more of one value is for a file, or for code that picks what matters.
MAX_SHOWN_CHARS = 20_000
# Of an integer that is converted to text: some 10 ms.
MAX_DIGITS = 50_000
# Python's own limit is no lower.
MIN_LIMIT = 640
# A member this short is shown whole, even where the room ends within it.
_NEVER_CUT_CHARS = 200
_BRACKETS = {
    list.__repr__: ("[", "]"),
    tuple.__repr__: ("(", ")"),
    dict.__repr__: ("{", "}"),
    set.__repr__: ("{", "}"),
    frozenset.__repr__: ("frozenset({", "})"),
}


def brief_repr(value: object, room: int = MAX_SHOWN_CHARS) -> str:
    """`room` characters of it, little more; what is missing is counted."""
    method = type(value).__repr__
    if method in _BRACKETS:
        return _brief_items(value, *_BRACKETS[method], room)
    if method is str.__repr__ or method is bytes.__repr__:
        return _brief_text(value, room)
    if method is int.__repr__:
        return _brief_integer(value, room)
    return cut(repr(value), room)


def cut(text: str, room: int = MAX_SHOWN_CHARS) -> str:
    """The first `room` characters, and how many more there are."""
    return text if len(text) <= room else f"{text[:room]}… {len(text) - room:,} more characters"


def _brief_integer(value: Any, room: int) -> str:
    """Python converts no more than 4,300 digits of itself, since it takes long; of what is shown it does not."""
    digits = int(int.bit_length(value) * 0.30103) + 1
    lift = getattr(sys, "set_int_max_str_digits", None)
    if digits > MAX_DIGITS:
        return f"<an int of about {digits:,} digits>"
    if digits < MIN_LIMIT or lift is None:
        return cut(repr(value), room)
    limit = sys.get_int_max_str_digits()
    lift(0)
    try:
        return cut(repr(value), room)
    finally:
        lift(limit)


def _brief_text(value: Any, room: int) -> str:
    more = len(value) - room
    unit = "characters" if isinstance(value, str) else "bytes"
    return repr(value) if more <= 0 else f"{value[:room]!r}… {more:,} more {unit}"


def _brief_items(value: Any, opening: str, closing: str, room: int) -> str:
    size = len(value)
    if size == 0:
        return repr(value)
    parts: list[str] = []
    left = room
    for key, item in _items(value):
        if left <= 0:
            missing = size - len(parts)
            parts.append(f"… {missing:,} more item{'' if missing == 1 else 's'}")
            break
        part = key + brief_repr(item, _room_of(item, left, is_only=size == 1))
        left -= len(part) + len(", ")
        parts.append(part)
    if size == 1 and opening == "(":
        closing = ",)"
    return f"{opening}{', '.join(parts)}{closing}"


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    """The members, each with what is written before it."""
    if type(value).__repr__ is dict.__repr__:
        return ((f"{brief_repr(key, _NEVER_CUT_CHARS)}: ", item) for key, item in dict.items(value))
    return zip(itertools.repeat(""), value)


def _room_of(item: object, left: int, is_only: bool) -> int:
    """A collection gets half of what is left, so that one long member does not hide the others."""
    if type(item).__repr__ not in _BRACKETS:
        return max(left, _NEVER_CUT_CHARS)
    # Less than all, so that a list which holds itself comes to an end.
    return left * 9 // 10 if is_only else left // 2
