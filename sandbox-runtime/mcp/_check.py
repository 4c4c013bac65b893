"""A call's arguments against the tool's schema, before anything leaves the sandbox.

Complains only of what is certain: a name that is missing or unknown, a value of another type than a plain JSON type,
a value outside an enum. All else is left to the server, which validates anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp._errors import did_you_mean, some_of
from mcp._signature import UNSET, Parameters

MAX_VALUE_CHARS = 40
# With one of these in it, a schema may mean something else than its other words say.
_DOUBT = ("$ref", "anyOf", "oneOf", "allOf", "not", "if")
_PYTHON_NAMES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}


def check_arguments(name: str, schema: object, arguments: Mapping[str, Any]) -> str | None:
    """What is wrong with a call of the tool `name`, as a sentence; None where nothing certainly is."""
    parameters = Parameters(schema)
    if not parameters.is_described or _is_doubtful(parameters.schema):
        return None
    if not parameters.takes_more:
        for given in arguments:
            if given not in parameters.properties:
                hint = did_you_mean(given, parameters.properties)
                return f"{name}() has no argument {given!r}.{hint}"
    missing = [
        wanted
        for wanted in parameters.required
        if wanted not in arguments and parameters.default(wanted) is UNSET
    ]
    if missing:
        return f"{name}() is missing {some_of(map(repr, missing))}."
    for given, value in arguments.items():
        complaint = _complaint(value, parameters.properties.get(given), given not in parameters.required)
        if complaint:
            return f"{name}(): {given} {complaint}"
    return None


def _complaint(value: object, details: object, is_optional: bool) -> str | None:
    if not isinstance(details, dict) or _is_doubtful(details):
        return None
    # A schema whose own default contradicts it is not to be taken at its word.
    if value is None and (details.get("default", UNSET) is None or details.get("nullable") is True):
        return None
    kind = _kind(value)
    wanted = details.get("type")
    allowed: list[Any] = wanted if isinstance(wanted, list) else [wanted]
    if kind is None:
        return None
    if all(isinstance(one, str) and one in _PYTHON_NAMES for one in allowed) and not any(
        _fits(value, kind, one) for one in allowed
    ):
        expected = " or ".join(_PYTHON_NAMES[one] for one in allowed)
        if value is None and is_optional:
            return f"is None; leave it out, or give it a value ({expected})."
        its_type = "" if value is None else f", {_with_article(_PYTHON_NAMES[kind])}"
        return f"is {_shown(value)}{its_type}; it must be {_with_article(expected)}."
    choices = [details["const"]] if "const" in details else details.get("enum")
    if isinstance(choices, list) and choices and not any(_same(value, choice) for choice in choices):
        hint = did_you_mean(value, filter(_is_text, choices)) if isinstance(value, str) else ""
        return f"is {_shown(value)}.{hint} It can be {some_of(map(repr, choices))}."
    return None


def _kind(value: object) -> str | None:
    """The JSON type of a value; None for what is no JSON, which fails when it is sent."""
    if value is None:
        return "null"
    for kinds, name in (
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        ((list, tuple), "array"),
        (dict, "object"),
    ):
        if isinstance(value, kinds):
            return name
    return None


def _fits(value: object, kind: str, wanted: str) -> bool:
    if kind == wanted or (kind == "integer" and wanted == "number"):
        return True
    # 5.0 is an integer to JSON Schema.
    return wanted == "integer" and isinstance(value, float) and value.is_integer()


def _same(value: object, choice: object) -> bool:
    """JSON's equality: True is not 1."""
    return value == choice and isinstance(value, bool) == isinstance(choice, bool)


def _is_doubtful(schema: Mapping[str, Any]) -> bool:
    return any(word in schema for word in _DOUBT)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _with_article(name: str) -> str:
    return name if name == "None" else f"{'an' if name.startswith('int') else 'a'} {name}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[: MAX_VALUE_CHARS - 1]}…"
