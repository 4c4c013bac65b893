"""A server's tools as a `.pyi` file: valid Python, for reading and for type checkers.

Objects become classes of their own (TypedDict), so that their members can be documented and named.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

from mcp._catalog import Server, Tool
from mcp._docs import first_sentence
from mcp._signature import MAX_DEFAULT_CHARS, Parameters, more_name
from mcp._types import Types, is_name
from mcp._values import PlainText

MAX_KEYS = 100
# A server that describes the world in its schemas ends here; the rest of its objects are plain dicts.
MAX_CLASSES = 300
MAX_DEPTH = 6


IMPORTED = ("Any", "Literal", "NotRequired", "TypedDict")


def server_stub(server: Server) -> PlainText:
    """The whole file."""
    classes = _Classes()
    functions = [_function(tool, classes) for tool in server.tools]
    head = (
        f"# Tools of the MCP server {server.name!r}: await mcp_{server.alias}.<tool>(argument=...)\n"
        f"from typing import {', '.join(IMPORTED)}\n"
    )
    return PlainText("\n".join([head, *classes.sources.values(), *functions]))


class _Classes:
    """The TypedDicts of one file: name to source. Objects with equal members are of one class."""

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def declare(self, wanted: str, members: Mapping[str, str]) -> str:
        """The name of the class with these members, name to type."""
        key = repr(members)
        if key not in self._names:
            numbered = (wanted if number == 1 else f"{wanted}{number}" for number in itertools.count(1))
            name = next(name for name in numbered if name not in self.sources and name not in IMPORTED)
            self._names[key] = name
            self.sources[name] = _class_source(name, members)
        return self._names[key]


def _class_source(name: str, members: Mapping[str, str]) -> str:
    # In a class Python makes another name of what begins like that.
    if all(is_name(key) and not key.startswith("__") for key in members):
        lines = [f"    {key}: {kind}" for key, kind in members.items()]
        return "\n".join([f"class {name}(TypedDict):", *lines, ""])
    listed = ", ".join(f"{key!r}: {kind}" for key, kind in members.items())
    return f'{name} = TypedDict("{name}", {{{listed}}})\n'


class _StubTypes(Types):
    max_choices = MAX_KEYS

    def __init__(self, root: object, classes: _Classes) -> None:
        super().__init__(root, MAX_DEPTH)
        self._classes = classes

    def _object(self, properties: Mapping[str, Any], required: list[Any], depth: int, name: str) -> str:
        if len(properties) > MAX_KEYS or len(self._classes.sources) >= MAX_CLASSES:
            return "dict[str, Any]"
        members: dict[str, str] = {}
        for key, details in properties.items():
            kind = self._text(details, depth - 1, name + camel_case(key))
            members[key] = kind if key in required else f"NotRequired[{kind}]"
        return self._classes.declare(name, members)


def _function(tool: Tool, classes: _Classes) -> str:
    parameters = Parameters(tool.input_schema)
    types = _StubTypes(parameters.schema, classes)
    base = camel_case(tool.alias)
    kinds = {
        name: types.text(parameters.properties.get(name), base + camel_case(name)) for name in parameters
    }
    plain = [f"{name}: {kind}{_default(parameters, name)}" for name, kind in kinds.items() if is_name(name)]
    odd = [f"{name!r}: {kind}" for name, kind in kinds.items() if not is_name(name)]
    more = [more_name(kinds)] if odd or parameters.takes_more else []
    shown = ", ".join([*(["*", *plain] if plain else []), *(f"**{name}: Any" for name in more)])
    output = tool.observed if tool.output_schema is None else tool.output_schema
    returned = "Any" if output is None else _StubTypes(output, classes).text(output, f"{base}Result")
    notes = [
        first_sentence(tool.description),
        f"Also, as **{{name: value}}: {', '.join(odd)}." if odd else "",
        "The result is what was observed."
        if tool.output_schema is None and tool.observed is not None
        else "",
    ]
    doc = " ".join(note for note in notes if note)
    return f"async def {tool.alias}({shown}) -> {returned}:\n    {_docstring(doc) if doc else '...'}\n"


def _default(parameters: Parameters, name: str) -> str:
    if name in parameters.required:
        return ""
    text = repr(parameters.default(name))
    return f" = {text if len(text) <= MAX_DEFAULT_CHARS else '...'}"


def _docstring(text: str) -> str:
    # repr() never contains a quote of its own kind or a line break that is not escaped.
    return f'"""{text}"""' if '"' not in text and "\\" not in text and text.isprintable() else repr(text)


def camel_case(name: str) -> str:
    """`create_issue` as `CreateIssue`; what is no ASCII letter or digit separates words."""
    words = re.findall(r"[A-Za-z0-9]+", name)
    joined = "".join(word[0].upper() + word[1:] for word in words)
    return joined if joined[:1].isalpha() else f"X{joined}"
