"""What goes wrong with servers and tools, in words that say the next step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_NAMES_SHOWN = 20


class MCPError(Exception):
    """A tool or a server failed or refused.

    `server` and `tool` are None where the call named none; `text` is the failure in its own words; `code` is stable.
    """

    __module__ = "mcp"

    def __init__(self, server: str | None, tool: str | None, text: str, code: str = "E_TOOL_FAILED") -> None:
        super().__init__(server, tool, text, code)
        self.server = server
        self.tool = tool
        self.text = text
        self.code = code

    def __str__(self) -> str:
        # A tool's own words rarely say whose they are; the other messages do.
        return (
            f"{shown_tool(self.server, self.tool)}: {self.text}"
            if self.code == "E_TOOL_FAILED"
            else self.text
        )


class UnknownServerError(MCPError, KeyError, AttributeError):
    """No such server, or one that this run did not load, and which has no attribute therefore."""

    __module__ = "mcp"


class UnknownToolError(MCPError, AttributeError):
    """The server has no such tool."""

    __module__ = "mcp"


def refusal(error: Mapping[str, Any]) -> MCPError:
    """The exception for a refusal from the host."""
    return MCPError(error["server"], error["tool"], error["message"], error["code"])


def shown_name(name: str) -> str:
    """`name` exactly, and so that no other one looks like it: what does not show is an escape."""
    if name.isascii() and name.isprintable() and "\\" not in name:
        return name
    import unicodedata

    alike = unicodedata.normalize("NFKC", name) != name
    return "".join(_shown(character, alike) for character in name)


def _shown(character: str, alike: bool) -> str:
    if character == "\\":
        return "\\\\"
    if character.isprintable() and (character.isascii() or not alike):
        return character
    point = ord(character)
    return (
        f"\\x{point:02x}" if point <= 0xFF else f"\\u{point:04x}" if point <= 0xFFFF else f"\\u{{{point:x}}}"
    )


def shown_tool(server: str | None, tool: str | None) -> str:
    """A tool with its server; a dot of the server's own name has a backslash ahead of it."""
    return f"{shown_name(str(server)).replace('.', chr(92) + '.')}.{shown_name(str(tool))}"


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """` Did you mean 'x'?`, or nothing when no candidate is close."""
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    import difflib

    # At 0.6 `delete_file` is near `read_file`, at 0.74 `send_email` is near `read_mail`.
    close = difflib.get_close_matches(word.lower(), list(by_lower), 1, 0.75)
    return f" Did you mean {by_lower[close[0]]!r}?" if close else ""


def some_of(names: Iterable[str], at_most: int = MAX_NAMES_SHOWN) -> str:
    """The names, cut after `at_most` with a count of the rest."""
    every = list(names)
    rest = len(every) - at_most
    return ", ".join(every[:at_most]) + (f" and {rest} more" if rest > 0 else "")
