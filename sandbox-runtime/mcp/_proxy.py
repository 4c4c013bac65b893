"""Servers as objects with one async method per tool.

A proxy has no public attribute of its own: whatever a tool is called, `name`, `call` or `__init__`, that is what the
attribute means. Names that are no Python identifiers are reached as `mcp_x["real-name"]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mcp._binding import current
from mcp._call import call
from mcp._catalog import Server, Tool


def tool_function(tool: Tool) -> Callable[..., Any]:
    """An async function that calls the tool; help() and inspect.signature describe it."""

    async def function(*args: Any, **arguments: Any) -> Any:
        if args:
            raise TypeError(f"{tool.alias}() takes keyword arguments only. Signature: {tool.signature}")
        return await call(tool, arguments)

    function.__name__ = function.__qualname__ = tool.alias
    function.__module__ = "mcp.servers"
    function.__doc__ = tool.description
    signature = tool.signature.for_inspect()
    if signature is not None:
        vars(function)["__signature__"] = signature
    return function


class ServerProxy:
    """A loaded server. `await proxy.tool(argument=...)`, `proxy["real-name"]`, `dir(proxy)`, `list(proxy)`."""

    __slots__ = ("_server",)

    def __init__(self, server: Server) -> None:
        object.__setattr__(self, "_server", server)

    def __getattribute__(self, name: str) -> Any:
        server = _server_of(self)
        tool = server.find_alias(name)
        if tool is not None:
            return tool_function(tool)
        if name.startswith("__") and name.endswith("__"):
            return object.__getattribute__(self, name)
        raise server.unknown(name)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return tool_function(_server_of(self).tool(name))

    def __iter__(self) -> Iterator[str]:
        return iter([tool.alias for tool in _server_of(self).tools])

    def __dir__(self) -> list[str]:
        return list(self)

    def __repr__(self) -> str:
        server = _server_of(self)
        return f"<MCP server {server.name!r}, {len(server.tools)} tools>"


def _server_of(proxy: ServerProxy) -> Server:
    return object.__getattribute__(proxy, "_server")


class MissingServer:
    """Stands for a configured server that this run did not load, and says how to load it."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        raise current().catalog.unknown(self._name)

    def __getitem__(self, name: str) -> Any:
        raise current().catalog.unknown(self._name)

    def __repr__(self) -> str:
        return f"<MCP server {self._name!r}, not loaded>"


class ServerMap(dict[str, ServerProxy]):
    """Loaded servers by name; an alias is understood too, and an unknown name is explained."""

    def __missing__(self, name: str) -> ServerProxy:
        return self[current().catalog.server(name).name]
