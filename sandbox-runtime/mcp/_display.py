"""How a value is shown: as a picture where it is one, else as the text that a notebook would print.

Imports nothing of the libraries whose values it knows. Loaded by the runs that need it, since plain data does not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mcp._brief import brief_repr, cut
from mcp._picture_headers import header_of
from mcp._shown_pictures import show_picture
from mcp._tables import plain_rows, table_text
from mcp._values import Blob


class Shown(NamedTuple):
    """The text that stands for a value, empty where a picture says it all; and what there is of it as plain data."""

    text: str
    data: Any


def display(*objects: object) -> None:
    """Shows each as a notebook would: figures, images and what draws itself as pictures, tables and the rest as text.

    Bytes of a PNG, JPEG, GIF or WebP are a picture too. Texts are printed as they are. Works from code that runs in the
    run's own process only.
    """
    for value in objects:
        print(_line_of(value))


def result_of(value: object) -> Shown:
    """The last expression's value. Raises what its own methods raise, but not what its drawing does: the text tells."""
    mark = show_picture(value)
    if mark is None:
        return Shown(text_of(value), plain_rows(value))
    return Shown("" if mark.is_shown else f"{brief_repr(value)}\n{mark.text}", value)


def text_of(value: object) -> str:
    """A table for what is one, the value's own repr() where it has one, else what it says as Markdown or HTML."""
    table = table_text(value)
    if table is not None:
        return table
    if type(value).__repr__ is object.__repr__:
        described = _described(value)
        if described is not None:
            return cut(described)
    return brief_repr(value)


def _line_of(value: Any) -> str:
    if type(value) is str:
        return value
    header = header_of(value) if type(value) is bytes else None
    mark = show_picture(value if header is None else Blob(value, f"image/{header.kind}"))
    if mark is None:
        return text_of(value)
    return mark.text if mark.is_shown else f"{brief_repr(value)}\n{mark.text}"


def _described(value: object) -> str | None:
    """Of an object whose repr() would be its address."""
    for name in ("_repr_markdown_", "_repr_html_"):
        method = getattr(type(value), name, None)
        said = None if method is None else method(value)
        # Either may come with metadata.
        text = said[0] if isinstance(said, tuple) and said else said
        if isinstance(text, str) and text.strip():
            return text if name == "_repr_markdown_" else _plain(text)
    if getattr(type(value), "_repr_svg_", None) is not None:
        return f"{brief_repr(value)} (it draws itself as SVG, which models are not shown)"
    return None


def _plain(html: str) -> str:
    from mcp._plain_text import plain_text

    return plain_text(html)
