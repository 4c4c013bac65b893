"""Data frames, series and arrays as text of bounded size, and frames as rows of plain data.

Looks only at what the program has loaded itself: nothing here imports pandas or numpy, and without them nothing is a
table. Relies on their own formatting for how a number or a date looks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from mcp._brief import MAX_SHOWN_CHARS, cut

# (rows, columns) shown: as much of a frame as fits, its head and its tail.
_SIZES = ((60, 30), (30, 20), (10, 8))
_MAX_CELL_CHARS = 60
# More cells than this make no short text, and turning them into objects would be felt.
_MAX_PLAIN_CELLS = 20_000


def is_a(value: object, module: str, name: str) -> bool:
    """Whether `value` is an instance of a class that the program has loaded. Looks at the true type only."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and issubclass(type(value), kind)


def table_text(value: Any) -> str | None:
    """The table that `value` is; None where it is none."""
    if is_a(value, "pandas", "DataFrame"):
        return _frame_text(value)
    if is_a(value, "pandas", "Series"):
        return _series_text(value)
    if is_a(value, "numpy", "ndarray"):
        return _array_text(value)
    return None


def plain_rows(value: Any) -> Any:
    """A frame as a list of dicts where these say all that it says, but for its types; anything else as it is.

    Frames with an index of their own, or with columns that are not named by different texts, stay what they are.
    """
    if not is_a(value, "pandas", "DataFrame") or value.shape[0] * value.shape[1] > _MAX_PLAIN_CELLS:
        return value
    names = list(value.columns)
    if not names or len(set(names)) < len(names) or any(type(name) is not str for name in names):
        return value
    index = value.index
    if type(index).__name__ != "RangeIndex" or (index.start, index.step, index.name) != (0, 1, None):
        return value
    return value.to_dict("records")


def _frame_text(frame: Any) -> str:
    rows, columns = frame.shape
    size = f"\n[{rows:,} rows x {columns:,} columns]"

    def text(max_rows: int, max_columns: int) -> tuple[str, str]:
        shown = frame.to_string(
            max_rows=max_rows, min_rows=max_rows // 2, max_cols=max_columns, max_colwidth=_MAX_CELL_CHARS
        )
        return shown, size if rows > max_rows or columns > max_columns else ""

    return _fitting(text)


def _series_text(series: Any) -> str:
    size = f"\n[{len(series):,} values]"

    def text(max_rows: int, _: int) -> tuple[str, str]:
        shown = series.to_string(max_rows=max_rows, min_rows=max_rows // 2, name=True, dtype=True)
        # No argument of to_string() bounds a cell of a series.
        lines = [cut(line, 2 * _MAX_CELL_CHARS) for line in shown.split("\n")]
        return "\n".join(lines), size if len(series) > max_rows else ""

    return _fitting(text)


def _array_text(array: Any) -> str:
    text = repr(array)
    # numpy itself cuts arrays of more than a thousand values, and says the shape since 2.2.
    if "..." in text and "shape=" not in text:
        text += f"  # shape {array.shape}, {array.dtype}"
    return cut(text)


def _fitting(text: Callable[[int, int], tuple[str, str]]) -> str:
    """As much as there is room for; `text` makes it of so many rows and columns, with what is to be said of the cut."""
    *larger, smallest = _SIZES
    for size in larger:
        shown, note = text(*size)
        if len(shown) <= MAX_SHOWN_CHARS:
            return shown + note
    shown, note = text(*smallest)
    return cut(shown) + note
