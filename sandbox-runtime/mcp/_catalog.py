"""Servers and tools as the host described them. Plain data and look-ups; calls nothing."""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence

from mcp._errors import UnknownServerError, UnknownToolError, did_you_mean, some_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcp._signature import Signature


def bound_names(name: str, alias: str) -> list[str]:
    """The names under which code finds a server: by its alias, and as `mcp_class` where it is called `class`.

    A keyword alone is no identifier, so its alias has an underscore more; behind `mcp_` it needs none.
    """
    word = name.lower()
    names = [f"mcp_{alias}"]
    return [*names, f"mcp_{word}"] if keyword.iskeyword(word) else names


class Tool:
    """One tool; `alias` is its Python name, unique within its server."""

    def __init__(self, server: str, doc: Mapping[str, Any]) -> None:
        self.server = server
        self.name: str = doc["name"]
        self.alias: str = doc["alias"]
        self.description: str = doc["description"]
        self.input_schema: Any = doc["inputSchema"]
        self.output_schema: Any = doc["outputSchema"]
        # The shape of its answers so far, where it has no schema for them.
        self.observed: Any = doc["observed"]
        self.changed: str | None = doc["changed"]

    @property
    def signature(self) -> Signature:
        """Made anew each time: most tools of a run are never looked at."""
        from mcp._signature import Signature

        is_observed = self.output_schema is None
        output = self.observed if is_observed else self.output_schema
        return Signature(self.alias, self.input_schema, output, is_observed=is_observed)

    def check(self, arguments: Mapping[str, Any]) -> None:
        """TypeError for a call that cannot be right."""
        from mcp._check import check_arguments

        complaint = check_arguments(self.alias, self.input_schema, arguments)
        if complaint is not None:
            raise TypeError(f"{complaint} Signature: {self.signature}")


class Server:
    """A loaded server, whole."""

    def __init__(self, doc: Mapping[str, Any]) -> None:
        self.name: str = doc["name"]
        self.alias: str = doc["alias"]
        self.description: str = doc["description"]
        self.version: str | None = doc["version"]
        self.instructions: str | None = doc["instructions"]
        self.tools = [Tool(self.name, tool) for tool in doc["tools"]]
        self._by_alias = {tool.alias: tool for tool in self.tools}
        self._by_name = {tool.name: tool for tool in self.tools}

    def find_alias(self, word: str) -> Tool | None:
        """A tool by alias, else by its real name."""
        return self._by_alias.get(word) or self._by_name.get(word)

    def tool(self, word: str) -> Tool:
        """A tool by its real name, else by alias; UnknownToolError otherwise."""
        found = self._by_name.get(word) or self._by_alias.get(word)
        if found is None:
            raise self.unknown(word)
        return found

    def unknown(self, word: str) -> UnknownToolError:
        """The error for a tool that is not there."""
        hint = did_you_mean(word, [*self._by_alias, *self._by_name])
        text = f"Server {self.name!r} has no tool {word!r}.{hint} Its tools: {some_of(self._by_alias)}"
        return UnknownToolError(self.name, word, text, "E_TOOL_UNKNOWN")


class Catalog:
    """The loaded servers, and what else the user has configured."""

    def __init__(self, loaded: Sequence[Mapping[str, Any]], discovered: Sequence[Mapping[str, Any]]) -> None:
        self.servers = [Server(doc) for doc in loaded]
        self.discovered = list(discovered)
        self._by_name = {server.name: server for server in self.servers}
        self._by_alias = {server.alias: server for server in self.servers}

    def add(self, doc: Mapping[str, Any]) -> Server:
        """One more loaded server."""
        server = Server(doc)
        self.servers.append(server)
        self._by_name[server.name] = server
        self._by_alias[server.alias] = server
        self.discovered = [
            {**brief, "loaded": True} if brief["name"] == server.name else brief for brief in self.discovered
        ]
        return server

    def find(self, word: str) -> Server | None:
        """A loaded server by name, else by alias."""
        return self._by_name.get(word) or self._by_alias.get(word)

    def server(self, word: str) -> Server:
        """A loaded server by name or alias; UnknownServerError otherwise."""
        found = self.find(word)
        if found is None:
            raise self.unknown(word)
        return found

    def brief(self, word: str) -> Mapping[str, Any] | None:
        """A configured server, loaded or not, by name or alias."""
        return next((brief for brief in self.discovered if word in (brief["name"], brief["alias"])), None)

    def real_name(self, word: str) -> str:
        """What the host calls the server with this name or alias."""
        brief = self.brief(word)
        return word if brief is None else str(brief["name"])

    def unknown(self, word: str) -> UnknownServerError:
        """The error for a server that is not loaded: how to load it, or what there is instead."""
        brief = self.brief(word)
        if brief is not None:
            problem = brief.get("problem")
            if problem is not None:
                text = f"Server {word!r} is not available: {problem}"
                return UnknownServerError(word, None, text, "E_SERVER_UNAVAILABLE")
            text = f"Server {word!r} is not available. {how_to_load(brief)}"
            return UnknownServerError(word, None, text, "E_SERVER_NOT_LOADED")
        names = [str(brief["name"]) for brief in self.discovered]
        text = f"Server {word!r} is not available.{did_you_mean(word, names)} "
        if names:
            text += f"Configured servers: {some_of(names)}. {how_to_load(self.discovered[0], example=True)}"
        else:
            text += "No MCP server is configured."
        return UnknownServerError(word, None, text, "E_SERVER_UNKNOWN")


def count_of_tools(count: int) -> str:
    """`1 tool`, `2 tools`."""
    return f"{count} tool{'' if count == 1 else 's'}"


def how_to_load(brief: Mapping[str, Any], *, example: bool = False) -> str:
    """The sentence that says how a run gets a server, also where code may ask for it itself."""
    name = brief["name"]
    lead = "To load one, pass for example" if example else "To load it, pass"
    inside = f', or await runtime.load_server("{name}")' if brief.get("onDemand") else ""
    return f'{lead} servers=["{name}"] in the call{inside}.'
