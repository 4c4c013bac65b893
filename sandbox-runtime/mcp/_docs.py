"""Documentation entries: what query_tool_docs and search_tool_docs return, and what help() says.

Entries are dicts, but what is shown of them are lines: a signature and a sentence for each tool. Schemas are given to
whoever asks for them, and shown to nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mcp._catalog import Server, Tool, count_of_tools, how_to_load
from mcp._errors import UnknownServerError, some_of
from mcp._values import AttrDict, attributed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DETAILS = ("summary", "full")
MAX_SENTENCE_CHARS = 160
# What the host gives at once.
MAX_FOUND = 100
# Of servers that a search does not know.
MAX_UNKNOWN_SHOWN = 8
# For the user: how the bridge learns what a server has.
LEARN = "the user runs `mcp-sandbox-bridge servers refresh`"
# Of the lines together: some sixty tools. More of them is a search's work.
MAX_SHOWN_CHARS = 12_000
SEARCH = "name one, or use runtime.search_tool_docs_sync(words)"


class Shown(AttrDict):
    """A dict that is shown as a text of its own."""

    __slots__ = ("_text",)

    def __init__(self, text: str, **fields: Any) -> None:
        super().__init__(fields)
        # Past AttrDict, to which every attribute is a key.
        object.__setattr__(self, "_text", text)

    def __repr__(self) -> str:
        return self._text

    def __reduce__(self) -> tuple[Any, ...]:
        return AttrDict, (dict(self),)


class ToolDoc(Shown):
    """One tool: `server`, `tool` (its real name), `signature`, `description`; with detail="full" the schemas too.

    str() and repr() are its line, or all of its documentation. `alias` and `call` are attributes, but no keys.
    """

    __slots__ = ("_alias", "_prefix")

    def __init__(self, text: str, alias: str, prefix: str, **fields: Any) -> None:
        super().__init__(text, **fields)
        object.__setattr__(self, "_alias", alias)
        object.__setattr__(self, "_prefix", prefix)

    @property
    def alias(self) -> str:
        """Its Python name."""
        return self._alias

    @property
    def call(self) -> str:
        """How it is called, without its arguments."""
        return f"await {self._prefix}{self._alias}(...)"


class ToolDocs(list[ToolDoc]):
    """Documentation entries, shown as lines that are cut with a count; a note stands above them."""

    def __init__(self, entries: Iterable[ToolDoc] = (), note: str = "") -> None:
        super().__init__(entries)
        self._note = note

    def __repr__(self) -> str:
        lines = capped([repr(entry) for entry in self]) or ["(no tools)"]
        return "\n".join([self._note, *lines] if self._note else lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def check_detail(detail: str) -> None:
    """ValueError for anything but DETAILS."""
    if detail not in DETAILS:
        raise ValueError(f"detail is {detail!r}; it can be {' or '.join(map(repr, DETAILS))}")


def check_limit(limit: int) -> None:
    """ValueError for anything but a number of results."""
    if not isinstance(limit, int) or not 1 <= limit <= MAX_FOUND:
        raise ValueError(f"limit is {limit!r}; it can be 1 to {MAX_FOUND}")


def tool_docs(alias: str, tools: Iterable[Tool], detail: str) -> ToolDocs:
    """Entries for tools of the server with this alias."""
    return ToolDocs(_tool_doc(f"mcp_{alias}.", tool, detail, with_prefix=False) for tool in tools)


def unloaded_docs(brief: Mapping[str, Any], tools: Iterable[Tool], detail: str) -> ToolDocs:
    """Entries for tools of a server that is not loaded: each says how to load it."""
    load = how_to_load(brief)
    docs = ToolDocs(tool_docs(brief["alias"], tools, detail), f"# Not loaded. {load}")
    for entry in docs:
        entry["load"] = load
    return docs


class Found:
    """What a search has found; `alias` is the server's, `load` says how to load it where it is not."""

    def __init__(self, alias: str, load: str | None, tool: Tool, score: float) -> None:
        self.alias = alias
        self.load = load
        self.tool = tool
        self.score = score


def found_docs(hits: Iterable[Found], detail: str, left_out: str = "") -> ToolDocs:
    """Search results; their lines can be pasted once the server is loaded, and each says how where it is not.

    `left_out` says what was not searched.
    """
    docs = [_found_doc(hit, detail) for hit in hits]
    loads = {doc.server: doc.load for doc in docs if "load" in doc}
    notes = [f"{server} is not loaded. {load}" for server, load in loads.items()]
    return ToolDocs(docs, "\n".join(f"# {note}" for note in [*notes, left_out] if note))


def never_started(briefs: Iterable[Mapping[str, Any]]) -> str:
    """What a search of all servers leaves out, since nobody knows it, and how to have it; or nothing."""
    names = [str(brief["name"]) for brief in briefs if brief["tools"] is None and "problem" not in brief]
    if not names:
        return ""
    return (
        f"Not searched, because their tools are unknown until they have started: {some_of(names, MAX_UNKNOWN_SHOWN)}. "
        f'A run with servers=["*"] starts them, or {LEARN}.'
    )


def _found_doc(hit: Found, detail: str) -> ToolDoc:
    entry = _tool_doc(f"mcp_{hit.alias}.", hit.tool, detail, with_prefix=True)
    entry["score"] = hit.score
    if hit.load is not None:
        entry["load"] = hit.load
    return entry


def _tool_doc(prefix: str, tool: Tool, detail: str, *, with_prefix: bool) -> ToolDoc:
    signature = str(tool.signature)
    description = tool.description.strip() if detail == "full" else first_sentence(tool.description)
    shown = (prefix if with_prefix else "") + signature
    fields = {"server": tool.server, "tool": tool.name, "signature": signature, "description": description}
    if tool.changed is not None:
        fields["changed"] = tool.changed
    if detail != "full":
        return ToolDoc(_line(shown, _marked(tool, description)), tool.alias, prefix, **fields)
    entry = ToolDoc(f"{shown}\n{_indented(tool_help(tool))}", tool.alias, prefix, **fields)
    entry["parameters"] = tool.signature.parameter_lines()
    entry["inputSchema"] = attributed(tool.input_schema)
    entry["outputSchema"] = attributed(tool.output_schema)
    if tool.observed is not None:
        entry["observed"] = attributed(tool.observed)
    return entry


def tool_line(tool: Tool) -> str:
    """A tool as one line: signature and first sentence."""
    return _line(str(tool.signature), _marked(tool, first_sentence(tool.description)))


def _marked(tool: Tool, sentence: str) -> str:
    return sentence if tool.changed is None else f"[CHANGED since first seen] {sentence}".strip()


def _line(signature: str, sentence: str) -> str:
    return f"{signature}  # {sentence}" if sentence else signature


def tool_help(tool: Tool) -> str:
    """The whole description, a line for each parameter, the result, and what is not as it was first seen."""
    signature = tool.signature
    parameters = signature.parameter_lines()
    returned = signature.returns().replace(" -> ", "Returns: ", 1)
    named = [] if tool.name == tool.alias else [f"The tool {tool.name!r} of the MCP server {tool.server!r}."]
    listed = ["\n".join(["Parameters:", *(f"  {line}" for line in parameters)])] if parameters else []
    # Ahead of the description, which may be what somebody has slipped in.
    changed = [] if tool.changed is None else [f"CHANGED: {tool.changed}"]
    parts = (*changed, tool.description.strip(), *named, *listed, returned)
    return "\n\n".join(part for part in parts if part)


def server_help(server: Server) -> str:
    """What the server is, and a line for each of its tools."""
    call = f"Call: value = await mcp_{server.alias}.<tool>(argument=...)"
    parts = (server.description.strip(), call, "\n".join(capped([tool_line(tool) for tool in server.tools])))
    return "\n\n".join(part for part in parts if part)


def missing_help(error: UnknownServerError) -> str:
    """How to load the server that is not there, and how to see its tools."""
    return f"{error}\n\nruntime.describe_server({error.server!r}) shows what is known of it."


def server_entry(server: Server) -> AttrDict:
    """A loaded server with its tools; shown as help() shows it."""
    return Shown(
        server_help(server),
        name=server.name,
        alias=server.alias,
        description=server.description,
        loaded=True,
        version=server.version,
        instructions=server.instructions,
        tools=[_listed(tool) for tool in server.tools],
    )


def unloaded_entry(brief: Mapping[str, Any], tools: Sequence[Tool] | None) -> AttrDict:
    """A server that is not loaded, and its tools where they are known."""
    load = how_to_load(brief)
    if tools is None:
        count = f"its tools are not known yet: it has never been started; {LEARN}"
    else:
        count = count_of_tools(len(tools))
    lines = [] if tools is None else capped([tool_line(tool) for tool in tools])
    head = f"MCP server {brief['name']!r}, not loaded; {count}"
    parts = (head, brief["description"].strip(), load, "\n".join(lines))
    return Shown(
        "\n\n".join(part for part in parts if part),
        **{**brief, "load": load, "tools": None if tools is None else [_listed(tool) for tool in tools]},
    )


def _listed(tool: Tool) -> AttrDict:
    return AttrDict(
        name=tool.name,
        alias=tool.alias,
        description=tool.description,
        input_schema=attributed(tool.input_schema),
    )


def capped(lines: list[str], advice: str = SEARCH) -> list[str]:
    """The lines up to MAX_SHOWN_CHARS characters, and how many more there are, with how to see them."""
    room = MAX_SHOWN_CHARS
    for index, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0 and index > 0:
            rest = len(lines) - index
            return [*lines[:index], f"… and {rest} more: {advice}"]
    return lines


def first_sentence(text: str) -> str:
    """Up to a full stop before a new sentence, or the first paragraph; at most MAX_SENTENCE_CHARS characters."""
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    end = -1
    while True:
        end = paragraph.find(". ", end + 1)
        # "e.g. Xyz" and "i.e. Xyz" go on: a lone letter before a full stop is an abbreviation's.
        if end < 2 or (paragraph[end - 2].isalnum() and paragraph[end + 2 : end + 3].isupper()):
            break
    sentence = paragraph if end < 2 else paragraph[: end + 1]
    return (
        sentence if len(sentence) <= MAX_SENTENCE_CHARS else f"{sentence[: MAX_SENTENCE_CHARS - 1].rstrip()}…"
    )


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.split("\n"))
