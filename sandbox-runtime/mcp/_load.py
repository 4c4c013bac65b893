"""A server that comes while the code runs: from then on it is where the others have been from the start."""

from __future__ import annotations

import sys

from mcp._binding import current
from mcp._catalog import bound_names
from mcp._proxy import MissingServer, ServerProxy

LOADED = "LOADED_MCP_SERVERS"


async def load_server(name: str) -> ServerProxy:
    """By name or alias; one that is loaded is given as it is. MCPError when the host refuses."""
    if not isinstance(name, str):
        several = "several at once: await asyncio.gather(*map(runtime.load_server, names))"
        raise TypeError(f"name is a {type(name).__name__}; it must be the name of one server. For {several}")
    catalog = current().catalog
    loaded = catalog.find(name)
    if loaded is None:
        brief = catalog.brief(name)
        if brief is None:
            raise catalog.unknown(name)
        doc = await current().link.request("servers.load", {"server": brief["name"]})
        # Another task may have asked for the same one.
        loaded = catalog.find(brief["name"])
        if loaded is None:
            loaded = catalog.add(doc)
            _publish(bound_names(loaded.name, loaded.alias), ServerProxy(loaded), loaded.name)
    return current().names["mcp_servers"][loaded.name]


def _publish(words: list[str], proxy: ServerProxy, name: str) -> None:
    """Binds the names that a run finds bound, but for those that the code has taken for its own."""
    names = current().names
    before = names[LOADED]
    names["mcp_servers"][name] = proxy
    bound = {**dict.fromkeys(words, proxy), LOADED: (*before, name)}
    main = vars(sys.modules["__main__"])
    for key, value in bound.items():
        if key not in main or main[key] is before or isinstance(main[key], MissingServer):
            main[key] = value
    names.update(bound)
