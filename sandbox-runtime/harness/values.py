"""The value of the last expression, as the `result` frame carries it: JSON where it is JSON, and always a text.

Relies on nothing but the value's own repr(), which may be hostile. Never raises and never sends more than it says.
What is no plain data (pictures, tables, objects) is looked at by mcp._display, which is loaded only then.
"""

from __future__ import annotations

import math

from harness.failure import clip, message_of
from mcp._values import AttrDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The text is cut where a model has seen enough of it; this only holds off objects that do not know when to stop.
MAX_REPR_CHARS = 100_000
# "Sane": more than this is for a file or for print, not for a result that a model reads.
MAX_JSON_CHARS = 1_000_000
MAX_JSON_NODES = 100_000
MAX_JSON_DEPTH = 100
# Longer texts are cut between their items, by mcp._brief. Most results are far below, and do not load it.
SHORT_CHARS = 20_000
# Why a repr() failed: what a person reads.
MAX_REASON_CHARS = 300

_PLAIN = frozenset(
    (bool, int, float, complex, str, bytes, bytearray, range, list, tuple, dict, set, frozenset, AttrDict)
)


class _NotJson(Exception):
    pass


def describe_result(value: object) -> dict[str, Any]:
    """The `result` frame of `value`. A value that is a picture has been shown when this returns."""
    if value is None:
        return {"type": "result", "value": None, "repr": "", "exact": True}
    text, data = _shown(value)
    rendering = _Rendering()
    try:
        rendered, exact = rendering.render(data, 0), rendering.exact
    except BaseException:
        rendered, exact = None, False
    return {
        "type": "result",
        "value": rendered,
        "repr": safe_repr(value, rendering.is_too_much) if text is None else clip(text, MAX_REPR_CHARS),
        "exact": exact,
    }


def safe_repr(value: object, is_long: bool = False) -> str:
    """repr(), cut between items where it is long; an object whose repr() fails is described instead."""
    try:
        text = "" if is_long else str.__str__(repr(value))
        if not is_long and len(text) <= SHORT_CHARS:
            return text
    except BaseException:
        # An integer has more digits than Python converts, for one.
        pass
    try:
        from mcp._brief import brief_repr

        return clip(str.__str__(brief_repr(value)), MAX_REPR_CHARS)
    except BaseException as error:
        said = clip(message_of(error), MAX_REASON_CHARS)
        reason = f"{_type_name(error)}: {said}" if said else _type_name(error)
        return f"<{_type_name(value)} object whose repr() raised {reason}>"


def _type_name(value: object) -> str:
    """Of the true type, whatever its metaclass says."""
    return vars(type)["__qualname__"].__get__(type(value))


def _shown(value: object) -> tuple[str | None, object]:
    """The text for a value that may be a picture or a table, None where repr() has to do; and its plain data."""
    try:
        if type(value) in _PLAIN:
            return None, value
        from mcp._display import result_of

        text, data = result_of(value)
        return str.__str__(text), data
    except BaseException:
        return None, value


class _Rendering:
    """One pass over a value with a budget; `exact` stays true while JSON says all that Python said."""

    def __init__(self) -> None:
        self.exact = True
        self.is_too_much = False
        self._nodes = MAX_JSON_NODES
        self._chars = MAX_JSON_CHARS

    def render(self, value: object, depth: int) -> Any:
        self._nodes -= 1
        if self._nodes < 0:
            self.is_too_much = True
        if self.is_too_much or depth > MAX_JSON_DEPTH:
            raise _NotJson
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            return self._integer(value)
        if isinstance(value, float):
            return self._float(value)
        if isinstance(value, (list, tuple)):
            self.exact = self.exact and isinstance(value, list)
            return [self.render(item, depth + 1) for item in list(value)]
        if isinstance(value, dict):
            return {self._key(key): self.render(item, depth + 1) for key, item in list(value.items())}
        raise _NotJson

    def _text(self, value: str) -> str:
        self._chars -= len(value)
        if self._chars < 0:
            self.is_too_much = True
            raise _NotJson
        self.exact = self.exact and type(value) is str
        return str.__str__(value)

    def _integer(self, value: int) -> int:
        # Converting more digits than this is refused by Python itself, 3.11 and later.
        if int.bit_length(value) > 14_000:
            raise _NotJson
        self.exact = self.exact and type(value) is int
        return int.__int__(value)

    def _float(self, value: float) -> float:
        if not math.isfinite(value):
            raise _NotJson
        self.exact = self.exact and type(value) is float
        return float.__float__(value)

    def _key(self, key: object) -> str:
        if isinstance(key, str):
            return self._text(key)
        if isinstance(key, (int, float)):
            self.exact = False
            return self._text(repr(key))
        raise _NotJson
