"""Documentation entries: what query_tool_docs and search_tool_docs return, as plain dicts."""

from __future__ import annotations

from mcp._catalog import Catalog, Server, Tool, how_to_load
from mcp._values import AttrDict, attributed

DETAILS = ("summary", "full")
MAX_SUMMARY_CHARS = 240


def check_detail(detail: str) -> None:
    """ValueError for anything but DETAILS."""
    if detail not in DETAILS:
        raise ValueError(f"detail is {detail!r}; it can be {' or '.join(map(repr, DETAILS))}")


def tool_entry(alias: str, tool: Tool, detail: str) -> AttrDict:
    """One tool of the server with this alias; `full` adds the schemas and the whole description."""
    description = tool.description.strip()
    entry = AttrDict(
        server=tool.server,
        tool=tool.name,
        alias=tool.alias,
        call=f"await mcp_{alias}.{tool.alias}(...)",
        signature=str(tool.signature),
        description=description if detail == "full" else _summary(description),
    )
    if detail == "full":
        entry["parameters"] = attributed(tool.input_schema)
        entry["outputSchema"] = attributed(tool.output_schema)
    return entry


def server_entry(server: Server) -> AttrDict:
    """A loaded server with its tools."""
    return AttrDict(
        name=server.name,
        alias=server.alias,
        description=server.description,
        loaded=True,
        version=server.version,
        instructions=server.instructions,
        tools=[
            AttrDict(
                name=tool.name,
                alias=tool.alias,
                description=tool.description,
                input_schema=attributed(tool.input_schema),
            )
            for tool in server.tools
        ],
    )


def found_entry(catalog: Catalog, server: str, tool: str, score: float, detail: str) -> AttrDict:
    """A search result; for a server that is not loaded it says how to load it instead of how to call it."""
    loaded = catalog.find(server)
    known = loaded.find_alias(tool) if loaded is not None else None
    if loaded is None or known is None:
        return AttrDict(server=server, tool=tool, load=how_to_load(server), score=score)
    entry = tool_entry(loaded.alias, known, detail)
    entry["score"] = score
    return entry


def _summary(description: str) -> str:
    first = description.partition("\n\n")[0].replace("\n", " ")
    return first if len(first) <= MAX_SUMMARY_CHARS else f"{first[: MAX_SUMMARY_CHARS - 1]}…"
