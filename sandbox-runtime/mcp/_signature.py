"""A tool's parameters as Python shows them, and the check of a call against them before it leaves the sandbox.

Reads JSON Schema tolerantly: what it does not understand it leaves to the server, which validates anyway.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcp._errors import did_you_mean

if TYPE_CHECKING:
    import inspect

MAX_CHOICES_SHOWN = 8
MAX_DEFAULT_CHARS = 40
# Deep enough for any type that still reads as one line.
MAX_TYPE_DEPTH = 4

_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "object": "dict",
    "null": "None",
}
_OPEN = ("$ref", "anyOf", "oneOf", "allOf", "patternProperties", "if", "not")


class Signature:
    """Of one tool, by its alias. str() is `name(*, title: str, body: str = ...)`, required parameters first."""

    def __init__(self, name: str, schema: object) -> None:
        self._name = name
        self._schema: Mapping[str, Any] = schema if isinstance(schema, dict) else {}
        properties = self._schema.get("properties")
        self._is_described = isinstance(properties, dict)
        self._properties: Mapping[str, Any] = properties if isinstance(properties, dict) else {}
        required = self._schema.get("required")
        names = required if isinstance(required, list) else []
        self._required = [name for name in names if isinstance(name, str)]

    def __str__(self) -> str:
        shown = [self._parameter(name) for name in self._in_order()]
        if self._takes_more():
            shown.append("**more")
        star = "*, " if any(not part.startswith("**") for part in shown) else ""
        return f"{self._name}({star}{', '.join(shown)})"

    def check(self, arguments: Mapping[str, Any]) -> None:
        """TypeError for a missing or unknown argument, where the schema says enough to know."""
        if not self._is_described or any(word in self._schema for word in _OPEN):
            return
        if not self._takes_more():
            for name in arguments:
                if name not in self._properties:
                    hint = did_you_mean(name, self._properties)
                    raise TypeError(f"{self._name}() has no argument {name!r}.{hint} Signature: {self}")
        missing = [name for name in self._required if name not in arguments and not self._has_default(name)]
        if missing:
            raise TypeError(f"{self._name}() misses {', '.join(map(repr, missing))}. Signature: {self}")

    def for_inspect(self) -> inspect.Signature | None:
        """What help() and inspect.signature show; None where a name is no Python identifier."""
        import inspect

        names = self._in_order()
        if not all(_is_name(name) for name in names):
            return None
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters = [
            inspect.Parameter(
                name,
                kind,
                default=inspect.Parameter.empty if name in self._required else ...,
                annotation=self._type(name),
            )
            for name in names
        ]
        if self._takes_more() and "more" not in names:
            parameters.append(inspect.Parameter("more", inspect.Parameter.VAR_KEYWORD))
        return inspect.Signature(parameters)

    def _in_order(self) -> list[str]:
        required = list(dict.fromkeys(self._required))
        return required + [name for name in self._properties if name not in required]

    def _takes_more(self) -> bool:
        allowed = self._schema.get("additionalProperties", not self._is_described)
        return allowed is not False or "patternProperties" in self._schema

    def _has_default(self, name: str) -> bool:
        details = self._properties.get(name)
        return isinstance(details, dict) and "default" in details

    def _parameter(self, name: str) -> str:
        text = f"{name}: {self._type(name)}" if _is_name(name) else f"**{{{name!r}: {self._type(name)}}}"
        if name in self._required:
            return text
        default = repr(self._properties[name]["default"]) if self._has_default(name) else "..."
        return f"{text} = {default if len(default) <= MAX_DEFAULT_CHARS else '...'}"

    def _type(self, name: str) -> str:
        return _type_text(self._properties.get(name), self._schema, MAX_TYPE_DEPTH)


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _type_text(schema: object, root: Mapping[str, Any], depth: int) -> str:
    if not isinstance(schema, dict) or depth == 0:
        return "Any"
    if isinstance(schema.get("$ref"), str):
        return _type_text(_resolve(schema["$ref"], root), root, depth - 1)
    if "const" in schema:
        return f"Literal[{schema['const']!r}]"
    if isinstance(schema.get("enum"), list):
        choices = [repr(choice) for choice in schema["enum"]]
        more = ", ..." if len(choices) > MAX_CHOICES_SHOWN else ""
        return f"Literal[{', '.join(choices[:MAX_CHOICES_SHOWN])}{more}]"
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            return _union(_type_text(choice, root, depth - 1) for choice in schema[word])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union(_type_text({**schema, "type": one}, root, depth - 1) for one in kind)
    if kind == "array":
        return f"list[{_type_text(schema['items'], root, depth - 1)}]" if "items" in schema else "list"
    return _TYPES.get(kind, "Any") if isinstance(kind, str) else "Any"


def _union(types: Any) -> str:
    return " | ".join(dict.fromkeys(types)) or "Any"


def _resolve(reference: str, root: Mapping[str, Any]) -> object:
    """What a reference within the same document points to; other documents are not looked for."""
    target: object = root
    for step in reference.split("/")[1:] if reference.startswith("#/") else [""]:
        target = target.get(step) if isinstance(target, dict) else None
    return target
