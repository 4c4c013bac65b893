"""Servers as objects with one async method per tool.

A proxy has no public attribute of its own: whatever a tool is called, `name`, `call` or `__init__`, that is what the
attribute means. Names that are no Python identifiers are reached as `mcp_x["real-name"]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mcp._binding import current
from mcp._call import call
from mcp._catalog import Server, Tool, count_of_tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# No `def`, because its signature and documentation are made only when somebody looks. What it lacks for being one, to
# inspect and pydoc, it says by the attributes that they look at.
class ToolFunction:
    __slots__ = ("_tool",)
    __module__ = "mcp.servers"
    __defaults__ = None
    __kwdefaults__ = None

    def __init__(self, tool: Tool) -> None:
        self._tool = tool

    # A tool may have a parameter of any name, `self` included.
    async def __call__(self, /, *args: Any, **arguments: Any) -> Any:
        if args:
            signature = self._tool.signature
            name = signature.first_parameter()
            example = f", for example {name}=…" if name else ""
            raise TypeError(
                f"{self.__name__}() takes keyword arguments only{example}. Signature: {signature}"
            )
        return await call(self._tool, arguments)

    @property
    def home(self) -> tuple[str, str]:
        """The module that it can be imported from, and its name there."""
        return f"mcp.servers.{current().catalog.server(self._tool.server).alias}", self._tool.alias

    def __get__(self, instance: object, owner: type | None = None) -> ToolFunction:
        # Makes it a routine to pydoc; there is no `self` to bind a tool to.
        return self

    @property
    def __name__(self) -> str:
        return self._tool.alias

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        from mcp._docs import tool_help

        return tool_help(self._tool)

    @property
    def __signature__(self) -> Any:
        return self._tool.signature.for_inspect()

    @property
    def __code__(self) -> Any:
        return ToolFunction.__call__.__code__

    def __repr__(self) -> str:
        return f"<tool {self._tool.signature}>"


def tool_function(tool: Tool) -> Callable[..., Any]:
    """An async function that calls the tool; help() and inspect.signature describe it."""
    return ToolFunction(tool)


class _Proxy:
    """What every server's object has: a copy of it is itself, and it does not leave its process."""

    __slots__ = ()

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: object) -> Any:
        return self

    def __reduce_ex__(self, protocol: object) -> Any:
        raise TypeError("an MCP server cannot be pickled; pass its name, and use mcp_servers[name] there")


# A loaded server: `await proxy.tool(argument=...)`, `proxy["real-name"]`, `dir(proxy)`, `list(proxy)`, `help(proxy)`.
class ServerProxy(_Proxy):
    __slots__ = ("_server",)
    __module__ = "mcp.servers"

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

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        from mcp._docs import server_help

        return server_help(_server_of(self))

    def __repr__(self) -> str:
        server = _server_of(self)
        return f"<MCP server {server.name!r}, {count_of_tools(len(server.tools))}>"


def _server_of(proxy: ServerProxy) -> Server:
    return object.__getattribute__(proxy, "_server")


# Stands for a configured server that this run did not load, and says how to load it; once loaded, it is that.
class MissingServer(_Proxy):
    __slots__ = ("_name",)
    __module__ = "mcp.servers"

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return getattr(ServerProxy(current().catalog.server(self._name)), name)

    def __getitem__(self, name: str) -> Any:
        return ServerProxy(current().catalog.server(self._name))[name]

    def __dir__(self) -> list[str]:
        loaded = current().catalog.find(self._name)
        return [] if loaded is None else dir(ServerProxy(loaded))

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        from mcp._docs import missing_help, server_help

        loaded = current().catalog.find(self._name)
        return missing_help(current().catalog.unknown(self._name)) if loaded is None else server_help(loaded)

    def __repr__(self) -> str:
        loaded = current().catalog.find(self._name)
        return f"<MCP server {self._name!r}, not loaded>" if loaded is None else repr(ServerProxy(loaded))


class ServerMap(dict[str, ServerProxy]):
    """Loaded servers by name; an alias is understood too, and an unknown name is explained."""

    def __missing__(self, name: str) -> ServerProxy:
        return self[current().catalog.server(name).name]
