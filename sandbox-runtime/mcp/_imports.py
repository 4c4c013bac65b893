"""Modules that exist only for import statements: mcp.servers.<server>, and user_tools with the saved tools.

Other modules can be met here on their way in: matplotlib.pyplot, and what the harness wants to meet.

A name that is missing there is looked for as a submodule by Python's own import system; that is where the finder
gets to explain what is wrong, since Python would only say "cannot import name".
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from mcp._binding import current
from mcp._catalog import Server
from mcp._errors import MCPError
from mcp._proxy import tool_function
from mcp._saved import USER_TOOLS, UserTools, load_saved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PYPLOT = "matplotlib.pyplot"

# What is done with a module when it has been imported.
_adopters: dict[str, Callable[[ModuleType], None]] = {}


class ServerModule(ModuleType):
    """A server as a module: its tools are its names."""

    def __init__(self, name: str, server: Server) -> None:
        super().__init__(name, f"Tools of the MCP server {server.name!r}.")
        self.__all__ = [tool.alias for tool in server.tools]
        self.__path__ = []
        self._server = server

    def __getattr__(self, name: str) -> Any:
        tool = self._server.find_alias(name)
        if tool is None:
            raise self._server.unknown(name)
        return tool_function(tool)

    def __dir__(self) -> list[str]:
        return list(self.__all__)


class _Made:
    """Loads a module that is there already."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, spec: ModuleSpec) -> Any:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        pass


class _Finder:
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == USER_TOOLS:
            return _spec(UserTools())
        if fullname in _adopters:
            return _adopting(PathFinder.find_spec(fullname, path, target), _adopters[fullname])
        parent, _, name = fullname.rpartition(".")
        try:
            if parent == USER_TOOLS:
                load_saved(name)
            elif parent == "mcp.servers":
                return _spec(ServerModule(fullname, current().catalog.server(name)))
            elif parent.startswith("mcp.servers."):
                current().catalog.server(parent.rpartition(".")[2]).tool(name)
        except MCPError as error:
            # Without the module's name: Python drops an error that names what `from x import y` looks for.
            raise ModuleNotFoundError(str(error)) from None
        return None


def _spec(module: ModuleType) -> ModuleSpec | None:
    return ModuleSpec(module.__name__, _Made(module), is_package=True)  # type: ignore[arg-type]


def _adopting(spec: ModuleSpec | None, adopt: Callable[[ModuleType], None]) -> ModuleSpec | None:
    loader: Any = None if spec is None else spec.loader
    if loader is not None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            adopt(module)

        loader.exec_module = exec_module
    return spec


def install() -> None:
    """Ahead of the others: a file of the guest's cannot take these names."""
    sys.meta_path.insert(0, _Finder())


def when_imported(name: str, adopt: Callable[[ModuleType], None]) -> None:
    """Has `adopt` called with the module of this name, now or when it is there."""
    _adopters[name] = adopt
    if name in sys.modules:
        adopt(sys.modules[name])
