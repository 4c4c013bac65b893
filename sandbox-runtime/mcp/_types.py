"""JSON Schema as Python types in one line: `str | None`, `list[str]`, `{id: int, tags?: list[str]}`.

Reads tolerantly: what it does not understand is Any. References lead nowhere but into the same schema, and however a
schema refers to itself, the work is bounded.
"""

from __future__ import annotations

import itertools
import keyword
from collections.abc import Iterator, Mapping
from typing import Any

MAX_CHOICES_SHOWN = 8
MAX_KEYS_SHOWN = 16
# Deep enough for any type that still reads as one line.
MAX_DEPTH = 4
# Of one parameter or result; a schema may refer to itself a thousand times in each of its choices.
MAX_LOOKS = 2_000

_PLAIN = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "object": "dict",
    "null": "None",
}


class TypeText(str):
    """A type as text; as an annotation it is shown without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


class Types:
    """Writes the types of one tool; `root` is where its references lead."""

    max_choices = MAX_CHOICES_SHOWN

    def __init__(self, root: object, max_depth: int = MAX_DEPTH) -> None:
        self._root = root
        self._max_depth = max_depth
        self._looks = 0

    def text(self, schema: object, name: str = "") -> str:
        """The type of what `schema` describes; `name` is what a class for it could be called."""
        self._looks = MAX_LOOKS
        return self._text(schema, self._max_depth, name)

    def _text(self, schema: object, depth: int, name: str) -> str:
        self._looks -= 1
        if not isinstance(schema, dict) or depth < 0 or self._looks < 0:
            return "Any"
        if isinstance(schema.get("$ref"), str):
            return self._text(resolve(schema["$ref"], self._root), depth - 1, name)
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if isinstance(schema.get("enum"), list):
            choices = [repr(choice) for choice in schema["enum"]]
            more = ["..."] if len(choices) > self.max_choices else []
            return f"Literal[{', '.join(choices[: self.max_choices] + more)}]" if choices else "Any"
        for word in ("anyOf", "oneOf"):
            if isinstance(schema.get(word), list):
                return union(self._text(choice, depth - 1, name) for choice in schema[word])
        parts = schema.get("allOf")
        if isinstance(parts, list) and len(parts) == 1:
            return self._text(parts[0], depth - 1, name)
        kind = schema.get("type")
        if isinstance(kind, list):
            return union(self._text({**schema, "type": one}, depth, name) for one in kind)
        return self._of_kind(kind, schema, depth, name)

    def _of_kind(self, kind: object, schema: Mapping[str, Any], depth: int, name: str) -> str:
        if kind == "array":
            item = self._text(schema.get("items"), depth - 1, f"{name}Item")
            return "list" if item == "Any" else f"list[{item}]"
        if kind == "object" and depth > 0:
            properties = schema.get("properties")
            if isinstance(properties, dict) and properties:
                required = schema.get("required")
                return self._object(properties, required if isinstance(required, list) else [], depth, name)
            if isinstance(schema.get("additionalProperties"), dict):
                return f"dict[str, {self._text(schema['additionalProperties'], depth - 1, f'{name}Value')}]"
        return _PLAIN.get(kind, "Any") if isinstance(kind, str) else "Any"

    def _object(self, properties: Mapping[str, Any], required: list[Any], depth: int, name: str) -> str:
        shown = [
            f"{key if key.isidentifier() else repr(key)}{'' if key in required else '?'}: "
            f"{self._text(properties[key], depth - 1, '')}"
            for key in itertools.islice(properties, MAX_KEYS_SHOWN)
        ]
        more = ["..."] if len(properties) > MAX_KEYS_SHOWN else []
        return f"{{{', '.join(shown + more)}}}"


def union(types: Iterator[str]) -> str:
    """The types as alternatives, each once, cut after MAX_CHOICES_SHOWN."""
    shown = dict.fromkeys(itertools.islice(types, MAX_CHOICES_SHOWN))
    more = " | ..." if next(types, None) is not None else ""
    return "Any" if not shown or "Any" in shown else " | ".join(shown) + more


def is_name(name: str) -> bool:
    """Whether Python takes it for the name of an argument, and passes it on as it is."""
    if not name.isidentifier() or keyword.iskeyword(name) or name == "__debug__":
        return False
    if name.isascii():
        return True
    import unicodedata

    # The compiler reads `ﬁ` as `fi`.
    return unicodedata.normalize("NFKC", name) == name


def resolve(reference: str, root: object) -> object:
    """What a reference within the same document points to; other documents are not looked for."""
    target = root
    for step in reference.split("/")[1:] if reference.startswith("#/") else [""]:
        target = target.get(step) if isinstance(target, dict) else None
    return target
