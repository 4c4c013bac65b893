"""Makes the package serve one run, or the calls of a session; called by the harness before the guest's code."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import ModuleType

from mcp import _imports, runtime
from mcp._binding import Binding, current, set_current
from mcp._catalog import Catalog, bound_names
from mcp._proxy import MissingServer, ServerMap, ServerProxy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcp._binding import Link


def bind(
    link: Link, loaded: Sequence[Mapping[str, Any]], discovered: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any]:
    """Returns the names that the run's code finds bound."""
    names = _made(link, loaded, discovered)
    _imports.install()
    _imports.when_imported(_imports.PYPLOT, _adopt_pyplot)
    return names


def rebind(
    namespace: dict[str, Any],
    link: Link,
    loaded: Sequence[Mapping[str, Any]],
    discovered: Sequence[Mapping[str, Any]],
) -> None:
    """The same for a later call of a session; what earlier code has made of a name in `namespace` is its own."""
    before = current().names
    names = _made(link, loaded, discovered)
    for name, value in names.items():
        if name not in namespace or namespace[name] is before.get(name):
            namespace[name] = value


def _adopt_pyplot(pyplot: ModuleType) -> None:
    """Gives it a show() that works without a screen."""
    from mcp._figures import adopt

    adopt(pyplot)


def _made(
    link: Link, loaded: Sequence[Mapping[str, Any]], discovered: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    catalog = Catalog(loaded, discovered)
    proxies = {server.name: ServerProxy(server) for server in catalog.servers}
    names: dict[str, Any] = {
        bound: MissingServer(brief["name"])
        for brief in discovered
        if brief["name"] not in proxies
        for bound in bound_names(brief["name"], brief["alias"])
    }
    for server in catalog.servers:
        names.update(dict.fromkeys(bound_names(server.name, server.alias), proxies[server.name]))
    names["mcp"] = sys.modules["mcp"]
    names["runtime"] = runtime
    names["mcp_servers"] = ServerMap(proxies)
    names["LOADED_MCP_SERVERS"] = tuple(proxies)
    names["save_tool"] = runtime.save_tool
    set_current(Binding(link, catalog, names))
    return names
