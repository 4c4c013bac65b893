"""The value of the last expression, as the `result` frame carries it: JSON where it is JSON, and always a text.

Relies on nothing but the value's own repr(), which may be hostile. Never raises and never sends more than it says.
"""

from __future__ import annotations

import math
from typing import Any

from harness.failure import clip

MAX_REPR_CHARS = 100_000
# "Sane": more than this is for a file or for print, not for a result that a model reads.
MAX_JSON_CHARS = 1_000_000
MAX_JSON_NODES = 100_000
MAX_JSON_DEPTH = 100


class _NotJson(Exception):
    pass


def describe_result(value: object) -> dict[str, Any]:
    """The `result` frame of `value`."""
    if value is None:
        return {"type": "result", "value": None, "repr": "", "exact": True}
    rendering = _Rendering()
    try:
        rendered = rendering.render(value, 0)
    except (_NotJson, RecursionError):
        return {"type": "result", "value": None, "repr": safe_repr(value), "exact": False}
    return {"type": "result", "value": rendered, "repr": safe_repr(value), "exact": rendering.exact}


def safe_repr(value: object) -> str:
    """repr(), capped; an object whose repr() fails is described instead."""
    try:
        return clip(repr(value), MAX_REPR_CHARS)
    except BaseException as error:
        return f"<{type(value).__qualname__} object whose repr() raised {type(error).__name__}>"


class _Rendering:
    """One pass over a value with a budget; `exact` stays true while JSON says all that Python said."""

    def __init__(self) -> None:
        self.exact = True
        self._nodes = MAX_JSON_NODES
        self._chars = MAX_JSON_CHARS

    def render(self, value: object, depth: int) -> Any:
        self._nodes -= 1
        if self._nodes < 0 or depth > MAX_JSON_DEPTH:
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
