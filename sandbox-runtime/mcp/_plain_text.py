"""HTML as plain text: lines for blocks, tabs between the cells of a table, nothing of scripts and styles.

Relies on the standard library's parser, which takes any text for HTML. Linear in what it is given, and that is capped.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

# Of tags and text together: what an object says of itself, not a page.
MAX_HTML_CHARS = 400_000
_UNSEEN = ("script", "style", "head", "template", "svg")
_BLOCKS = frozenset(
    "address article aside blockquote br dd details div dl dt figure footer form h1 h2 h3 h4 h5 h6 header hr li main "
    "nav ol p pre section summary table tbody tfoot thead tr ul".split()
)
_CELLS = ("td", "th")


def plain_text(html: str) -> str:
    """What a reader would see of `html`, without its layout."""
    reader = _Reader()
    reader.feed(html[:MAX_HTML_CHARS])
    reader.close()
    lines = ("".join(reader.pieces)).split("\n")
    return "\n".join(
        line for line in (re.sub(r"[ \t]*\t[ \t]*", "\t", line).strip() for line in lines) if line
    )


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._unseen += 1
        elif tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif tag in _CELLS:
            self.pieces.append("\t")
        elif tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.pieces.append(re.sub(r"\s+", " ", data))
