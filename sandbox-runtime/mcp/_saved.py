"""Functions that the agent keeps for later runs: saved by source, imported from `user_tools`.

The host keeps the text and never runs it; it is compiled here, in the sandbox of the run that imports it.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from types import ModuleType
from typing import Any

from mcp._binding import current
from mcp._errors import MCPError

USER_TOOLS = "user_tools"


def save_tool(func: Callable[..., Any]) -> str:
    """Keeps a function (plain or async) for later runs; it must import what it needs inside its own body."""
    import inspect
    import textwrap

    if not inspect.isfunction(func) or func.__name__ == "<lambda>":
        raise TypeError("save_tool() takes a function made with def or async def")
    try:
        source = textwrap.dedent(inspect.getsource(func))
    except (OSError, TypeError):
        raise ValueError(f"the source of {func.__name__}() cannot be found") from None
    description = (inspect.getdoc(func) or "").partition("\n")[0]
    params = {"name": func.__name__, "source": source, "description": description}
    current().link.request_sync("saved.put", params)
    return f"Saved. In a later run: from {USER_TOOLS} import {func.__name__}"


def saved_tools() -> list[dict[str, Any]]:
    """The saved tools, each with `name` and `description`."""
    return current().link.request_sync("saved.list", {})


def load_saved(name: str) -> Any:
    """The function saved under `name`; MCPError where there is none."""
    source: str = current().link.request_sync("saved.get", {"name": name})["source"]
    file = f"{USER_TOOLS}/{name}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace = {**current().names, "__name__": USER_TOOLS}
    exec(compile(source, file, "exec", dont_inherit=True), namespace)
    return namespace[name]


class UserTools(ModuleType):
    """The module `user_tools`: a name is fetched when it is first used."""

    def __init__(self) -> None:
        super().__init__(USER_TOOLS, "Functions saved with mcp.runtime.save_tool.")
        self.__path__ = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            function = load_saved(name)
        except MCPError as error:
            raise AttributeError(str(error)) from None
        setattr(self, name, function)
        return function
