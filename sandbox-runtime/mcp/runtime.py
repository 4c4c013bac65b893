"""What the agent's code can ask about servers and tools, and the way to call them by name.

Loaded servers are answered from what came with the run; for others the host is asked, which may refuse. Every
function that asks the host has an async form, and a sync form where it is useful before there is an event loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mcp import _session
from mcp._binding import current
from mcp._call import call, call_raw
from mcp._catalog import Tool, how_to_load
from mcp._docs import (
    Found,
    ToolDocs,
    check_detail,
    check_limit,
    found_docs,
    never_started,
    server_entry,
    tool_docs,
    unloaded_docs,
    unloaded_entry,
)
from mcp._errors import MCPError, some_of
from mcp._saved import save_tool, saved_tools
from mcp._values import AttrDict, PlainText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcp._resources import Prompts, Resources

__all__ = [
    "MCPError",
    "call_tool",
    "call_tool_raw",
    "capability_summary",
    "data",
    "describe_server",
    "discovered_servers",
    "display",
    "get_prompt",
    "keep_running",
    "list_loaded_server_metadata",
    "list_prompts",
    "list_resources",
    "list_servers",
    "list_servers_sync",
    "list_tools",
    "list_tools_sync",
    "load_server",
    "progress",
    "query_tool_docs",
    "query_tool_docs_sync",
    "read_resource",
    "save_tool",
    "saved_tools",
    "search_tool_docs",
    "search_tool_docs_sync",
    "stubs",
]

MAX_SUMMARY_CHARS = 1500


def discovered_servers(detailed: bool = False) -> tuple[Any, ...]:
    """Every configured server, loaded or not: names, or dicts with name, alias, description, loaded and tools.

    `tools` is how many it has, None where it has never been started.
    """
    briefs = current().catalog.discovered
    return (
        tuple(AttrDict(brief) for brief in briefs) if detailed else tuple(brief["name"] for brief in briefs)
    )


async def list_servers() -> tuple[str, ...]:
    """Names of the loaded servers."""
    return list_servers_sync()


def list_servers_sync() -> tuple[str, ...]:
    """Names of the loaded servers."""
    return tuple(server.name for server in current().catalog.servers)


async def list_tools(server: str) -> list[str]:
    """Python names of a server's tools: `await mcp_<alias>.<name>(...)`.

    Of a server that is not loaded they are those that it had when it was last started.
    """
    catalog = current().catalog
    loaded = catalog.find(server)
    if loaded is None:
        params = {"server": catalog.real_name(server)}
        return [doc["alias"] for doc in await current().link.request("tools.list", params)]
    return [tool.alias for tool in loaded.tools]


def list_tools_sync(server: str | None = None) -> list[str]:
    """Python names of a loaded server's tools; without a server, `mcp_<alias>.<name>` of all that are loaded."""
    catalog = current().catalog
    if server is None:
        return [f"mcp_{one.alias}.{tool.alias}" for one in catalog.servers for tool in one.tools]
    return [tool.alias for tool in catalog.server(server).tools]


async def query_tool_docs(server: str, tool: str | None = None, detail: str = "summary") -> ToolDocs:
    """Documentation of one tool or of all: a line for each, also of servers that are not loaded.

    The entries are dicts (`server`, `tool`, `signature`, `description`); `detail="full"` adds `parameters`, a line for
    each, and the raw `inputSchema` and `outputSchema`. `load` says how to load a server that is not loaded, `changed`
    what its server has changed of a tool since it was first seen.
    """
    check_detail(detail)
    catalog = current().catalog
    if catalog.find(server) is not None:
        return query_tool_docs_sync(server, tool, detail)
    docs = await current().link.request("docs.get", {"server": catalog.real_name(server), "tool": tool})
    brief = catalog.brief(server) or {"name": server, "alias": server}
    return unloaded_docs(brief, [Tool(brief["name"], doc) for doc in docs], detail)


def query_tool_docs_sync(server: str, tool: str | None = None, detail: str = "summary") -> ToolDocs:
    """As query_tool_docs, for a loaded server."""
    check_detail(detail)
    loaded = current().catalog.server(server)
    tools = loaded.tools if tool is None else [loaded.tool(tool)]
    return tool_docs(loaded.alias, tools, detail)


async def search_tool_docs(query: str, *, limit: int = 5, detail: str = "summary") -> ToolDocs:
    """The tools of all known servers that fit the words best, loaded or not. Entries as of query_tool_docs.

    Each has a `score`; one of a server that is not loaded has `load`, which says how to load it.
    """
    question = _question(query, limit, detail)
    return _found(await current().link.request("docs.search", question), detail)


def search_tool_docs_sync(query: str, *, limit: int = 5, detail: str = "summary") -> ToolDocs:
    """As search_tool_docs, for code that cannot await."""
    question = _question(query, limit, detail)
    return _found(current().link.request_sync("docs.search", question), detail)


def _question(query: str, limit: int, detail: str) -> dict[str, Any]:
    check_detail(detail)
    check_limit(limit)
    return {"query": query, "limit": limit}


def _found(hits: Iterable[Mapping[str, Any]], detail: str) -> ToolDocs:
    catalog = current().catalog
    found = []
    for hit in hits:
        brief = catalog.brief(hit["server"]) or {"name": hit["server"]}
        load = None if hit["loaded"] else how_to_load(brief)
        found.append(Found(hit["alias"], load, Tool(hit["server"], hit["tool"]), hit["score"]))
    return found_docs(found, detail, never_started(catalog.discovered))


def stubs(server: str) -> PlainText:
    """A loaded server's tools as a `.pyi` file: typed functions, TypedDicts for objects. print() shows it."""
    from mcp._stubs import server_stub

    return server_stub(current().catalog.server(server))


def describe_server(name: str) -> AttrDict:
    """A server by name or alias: its description and tools, and how to load it where it is not loaded."""
    catalog = current().catalog
    loaded = catalog.find(name)
    if loaded is not None:
        return server_entry(loaded)
    brief = catalog.brief(name)
    if brief is None:
        raise catalog.unknown(name)
    if brief["tools"] is None:
        return unloaded_entry(brief, None)
    docs = current().link.request_sync("docs.get", {"server": brief["name"], "tool": None})
    return unloaded_entry(brief, [Tool(brief["name"], doc) for doc in docs])


def list_loaded_server_metadata() -> tuple[AttrDict, ...]:
    """describe_server() of every loaded server."""
    return tuple(server_entry(server) for server in current().catalog.servers)


async def load_server(name: str) -> Any:
    """Loads one more server for the rest of this run, where the user allows it; mcp_<alias>, which it also returns."""
    from mcp import _load

    return await _load.load_server(name)


async def call_tool(server: str, tool: str, arguments: Mapping[str, Any] | None = None) -> Any:
    """Calls a tool by real name or alias; the value as `await mcp_<alias>.<tool>(...)` gives it."""
    return await call(current().catalog.server(server).tool(tool), _checked(arguments))


async def call_tool_raw(server: str, tool: str, arguments: Mapping[str, Any] | None = None) -> Any:
    """The tool's whole CallToolResult; nothing is checked, and `isError` does not raise."""
    loaded = current().catalog.server(server)
    return await call_raw(loaded.name, loaded.tool(tool).name, _checked(arguments))


async def list_resources(server: str) -> Resources:
    """What a loaded server offers for reading: dicts with `uri`, `name`, `title`, `description`, `mimeType`, `size`.

    `.templates` of the list has those whose URI is to be filled in.
    """
    from mcp import _resources

    return await _resources.list_resources(server)


async def read_resource(server: str, uri: str | Mapping[str, Any]) -> Any:
    """The resource's text, or its bytes with a `media_type`; a list where the server gives several.

    `uri` may also be an entry of list_resources() or a link from a tool's answer.
    """
    from mcp import _resources

    return await _resources.read_resource(server, uri)


async def list_prompts(server: str) -> Prompts:
    """A loaded server's prompts: dicts with `name`, `title`, `description`, `arguments`."""
    from mcp import _resources

    return await _resources.list_prompts(server)


async def get_prompt(
    server: str, name: str, /, arguments: Mapping[str, Any] | None = None, **named: Any
) -> Any:
    """A prompt filled in: its text, or where it is more than one text a list of dicts with `role` and `content`.

    Arguments come as a dict or by name.
    """
    from mcp import _resources

    return await _resources.get_prompt(server, name, {**_checked(arguments), **named})


def data() -> Any:
    """The user's folders that code sees: a list of dicts with `path`, `writable`, `entries`, `bytes` and `more`.

    `entries` and `bytes` are those of the folder itself, without what lies deeper; `more` says that only the first
    10,000 were counted.
    """
    from mcp import _data

    return _data.folders()


def progress(done: float, total: float | None = None, message: str | None = None) -> None:
    """Tells the user how far the code is, such as progress(3, 10, "pages"); in a loop, call it as often as you like.

    Callable from any function and thread, also where nothing can be awaited; tells nothing in a forked child.
    """
    try:
        from mcp._progress import report
    except ImportError:
        # The handler of a signal that has interrupted the first report while it loads this: the next report tells.
        return
    report(done, total, message)


def keep_running(on: bool = True) -> None:
    """In a session: threads and tasks go on after this call, until its `timeout` is over."""
    _session.keep_running(on)


def __getattr__(name: str) -> Any:
    """`runtime.session`: name, handle, call, age, limits and whether it may keep running; None outside of a session."""
    if name == "session":
        return _session.session()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def display(*objects: object) -> None:
    """Shows each as a notebook would: figures, images and what has a `_repr_png_` as pictures, the rest as text.

    A text is printed as it is, a data frame as a table, bytes of a PNG, JPEG, GIF or WebP are a picture.
    """
    from mcp import _display

    _display.display(*objects)


def capability_summary() -> str:
    """What this sandbox can do, in less than MAX_SUMMARY_CHARS characters."""
    catalog = current().catalog
    loaded = [f"mcp_{server.alias} ({len(server.tools)} tools)" for server in catalog.servers]
    absent = [brief for brief in catalog.discovered if catalog.find(str(brief["name"])) is None]
    others = [str(brief["name"]) for brief in absent]
    text = (
        "CPython in a fresh container: standard library, no network, /tmp and /workspace writable.\n"
        "Top-level await works; the last expression is the result.\n"
        "Tools: value = await mcp_<alias>.<tool>(argument=...); a failure raises MCPError (runtime.MCPError).\n"
        "Pictures are shown to you: plt.show(), figures left open, runtime.display(figure_or_image).\n"
        "Many at once: await asyncio.gather(...). Dict results also read by attribute: issue.id.\n"
        "Look up (mcp.runtime): list_tools(server), query_tool_docs(server, tool=None, detail='summary'|'full') for "
        "signatures, search_tool_docs(query, limit=5), describe_server(name), discovered_servers(detailed=False), "
        "stubs(server) for a .pyi, call_tool(server, tool, arguments), call_tool_raw; *_sync forms exist for looking "
        "things up; help(mcp_<alias>.<tool>) and help(mcp_<alias>) print.\n"
        "Resources and prompts, to be awaited: list_resources(server), read_resource(server, uri), "
        "list_prompts(server), get_prompt(server, name, x=...).\n"
        "Long work: runtime.progress(done, total, message) tells the user how far it is.\n"
        "Keep a function for later runs: save_tool(func); then: from user_tools import name; runtime.saved_tools().\n"
        f"Loaded: {some_of(loaded) or 'none'}.\n"
    )
    if others:
        load = how_to_load(absent[0], example=True)
        text += f"{load} Not loaded: {some_of(others)}.\n"
    return PlainText(text if len(text) < MAX_SUMMARY_CHARS else f"{text[: MAX_SUMMARY_CHARS - 2]}…")


def _checked(arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise TypeError(
            f"arguments is a {type(arguments).__name__}; it must be a dict of argument names to values"
        )
    return dict(arguments)
