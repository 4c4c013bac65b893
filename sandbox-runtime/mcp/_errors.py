"""What goes wrong with servers and tools, in words that say the next step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
        return f"{self.server}.{self.tool}: {self.text}" if self.code == "E_TOOL_FAILED" else self.text


class UnknownServerError(MCPError, KeyError, AttributeError):
    """No such server, or one that this run did not load, and which has no attribute therefore."""

    __module__ = "mcp"


class UnknownToolError(MCPError, AttributeError):
    """The server has no such tool."""

    __module__ = "mcp"


def refusal(error: Mapping[str, Any]) -> MCPError:
    """The exception for a refusal from the host."""
    return MCPError(error["server"], error["tool"], error["message"], error["code"])


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """` Did you mean 'x'?`, or nothing when no candidate is close."""
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    import difflib

    close = difflib.get_close_matches(word.lower(), list(by_lower), 1, 0.6)
    return f" Did you mean {by_lower[close[0]]!r}?" if close else ""


def some_of(names: Iterable[str], at_most: int = MAX_NAMES_SHOWN) -> str:
    """The names, cut after `at_most` with a count of the rest."""
    every = list(names)
    rest = len(every) - at_most
    return ", ".join(every[:at_most]) + (f" and {rest} more" if rest > 0 else "")
