"""Finds tools by words, within the loaded servers and without asking the host."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mcp._catalog import Server, Tool

# A word in a tool's name says more than one in its description, and a whole word more than a part of one.
NAME_WEIGHT = 4.0
SERVER_WEIGHT = 2.0
TEXT_WEIGHT = 1.0
PART_FACTOR = 0.5

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def search_tools(servers: Iterable[Server], query: str, limit: int) -> list[tuple[Tool, float]]:
    """The best tools with their scores, best first."""
    wanted = _words(query)
    scored = [(tool, _score(server, tool, wanted)) for server in servers for tool in server.tools]
    found = [(tool, score) for tool, score in scored if score > 0]
    return sorted(found, key=lambda pair: -pair[1])[:limit]


def _score(server: Server, tool: Tool, wanted: set[str]) -> float:
    properties = tool.input_schema.get("properties") if isinstance(tool.input_schema, dict) else None
    parameters = " ".join(properties) if isinstance(properties, dict) else ""
    fields = (
        (_words(tool.name), NAME_WEIGHT),
        (_words(f"{server.name} {server.description}"), SERVER_WEIGHT),
        (_words(f"{tool.description} {parameters}"), TEXT_WEIGHT),
    )
    return sum(weight * _match(word, words) for word in wanted for words, weight in fields)


def _match(word: str, words: set[str]) -> float:
    if word in words:
        return 1.0
    # Three letters, since shorter words are part of anything.
    is_part = len(word) >= 3 and any(word in other or (len(other) >= 3 and other in word) for other in words)
    return PART_FACTOR if is_part else 0.0


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}
