"""Functions that the agent keeps for later runs: saved by source, imported from `user_tools`.

The host keeps the text and never runs it; it is compiled here, in the sandbox of the run that imports it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from mcp._binding import current
from mcp._errors import MCPError, some_of
from mcp._values import AttrDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

USER_TOOLS = "user_tools"

# Names whose source is being run just now.
_loading: list[str] = []


class SavedTools(list[AttrDict]):
    """What saved_tools() lists; shown as a line for each."""

    def __repr__(self) -> str:
        lines = [_line(tool) for tool in self]
        return "\n".join(lines) or "No tool is saved. save_tool(func) keeps a function for later runs."

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def save_tool(func: Callable[..., Any], *, replace: bool = False) -> str:
    """Keeps a function (def or async def) for later runs; the imports of this run that it uses are kept with it.

    At most 8 in one run. A tool of this name that another run has saved stays, with an MCPError, unless `replace`.
    Other functions and data of this run are not: TypeError or ValueError says what cannot be kept.
    """
    from mcp._keep import keep

    binding = current()
    kept = keep(func, binding.names)
    params = {**kept._asdict(), "replace": bool(replace)}
    replaced = binding.link.request_sync("saved.put", params)["replaced"]
    what = "Saved, in place of an earlier one" if replaced else "Saved"
    return f"{what}. In a later run: from {USER_TOOLS} import {kept.name}"


def saved_tools() -> SavedTools:
    """The saved tools, each with `name`, `signature`, `description`, and when and by which `run` it was saved."""
    return SavedTools(AttrDict(tool) for tool in current().link.request_sync("saved.list", {}))


def load_saved(name: str) -> Any:
    """The function saved under `name`; MCPError where there is none."""
    import linecache

    if name in _loading:
        raise MCPError(
            None, None, f"The saved tools {some_of(_loading)} import each other.", "E_TOOL_UNKNOWN"
        )
    source: str = current().link.request_sync("saved.get", {"name": name})["source"]
    file = f"{USER_TOOLS}/{name}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace = {**current().names, "__name__": USER_TOOLS}
    # Annotations may name what only the run knew in which it was written.
    code = compile(source, file, "exec", annotations.compiler_flag, dont_inherit=True)
    _loading.append(name)
    try:
        exec(code, namespace)
    finally:
        _loading.remove(name)
    if name not in namespace:
        raise MCPError(None, None, f"The saved file {name}.py defines no {name}.", "E_TOOL_UNKNOWN")
    return namespace[name]


class UserTools(ModuleType):
    """The module `user_tools`: a name is fetched when it is first used."""

    def __init__(self) -> None:
        super().__init__(USER_TOOLS, "Functions saved with save_tool(func).")
        self.__path__ = []

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [tool.name for tool in saved_tools()]
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            function = load_saved(name)
        except MCPError as error:
            raise AttributeError(str(error)) from None
        setattr(self, name, function)
        return function

    def __dir__(self) -> list[str]:
        return [tool.name for tool in saved_tools()]


def _line(tool: AttrDict) -> str:
    shown: str = tool["signature"] or tool["name"]
    return f"{shown}  # {tool['description']}" if tool["description"] else shown
