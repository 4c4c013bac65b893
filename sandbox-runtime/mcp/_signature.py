"""A tool's parameters and result as Python shows them: one line, a line for each parameter, an inspect.Signature.

Relies on _types for what a schema means. Made when somebody looks, not when a server is loaded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mcp._types import MAX_DEPTH, Types, TypeText, is_name

if TYPE_CHECKING:
    import inspect

# A line that a reader still takes in at a glance; types lose depth before it becomes longer.
MAX_LINE_CHARS = 400
MAX_DEFAULT_CHARS = 40
MAX_PARAMETER_CHARS = 300
MAX_PARAMETER_LINES = 100
# Parameters of an object's own are explained as well, those of its members no more.
MAX_PARAMETER_LEVEL = 2
# What may be said about a value besides its type, by the schema's own words.
_BOUNDS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "format", "pattern")


class Unset:
    """Stands for the default of an optional parameter, which the server knows."""

    def __repr__(self) -> str:
        return "..."


UNSET = Unset()


class Parameters:
    """The properties of an object's schema, in the order of a signature: the required ones first."""

    def __init__(self, schema: object) -> None:
        self.schema: Mapping[str, Any] = schema if isinstance(schema, dict) else {}
        properties = self.schema.get("properties")
        self.is_described = isinstance(properties, dict)
        self.properties: Mapping[str, Any] = properties if isinstance(properties, dict) else {}
        required = self.schema.get("required")
        names = required if isinstance(required, list) else []
        self.required = list(dict.fromkeys(name for name in names if isinstance(name, str)))

    def __iter__(self) -> Iterator[str]:
        yield from self.required
        yield from (name for name in self.properties if name not in self.required)

    @property
    def takes_more(self) -> bool:
        """Whether the server takes what it does not name."""
        allowed = self.schema.get("additionalProperties", not self.is_described)
        return allowed is not False or "patternProperties" in self.schema

    def default(self, name: str) -> object:
        """UNSET where the schema gives none."""
        details = self.properties.get(name)
        return details.get("default", UNSET) if isinstance(details, dict) else UNSET


class Signature:
    """Of one tool, by its alias. str() is `name(*, title: str, body: str = ...) -> {id: int}`."""

    def __init__(
        self, name: str, schema: object, output: object = None, *, is_observed: bool = False
    ) -> None:
        """`output` is the schema of the result, None where nothing is known; `is_observed` if no server said so."""
        self._name = name
        self._parameters = Parameters(schema)
        self._output = output
        self._is_observed = is_observed

    def __str__(self) -> str:
        """At most MAX_LINE_CHARS characters."""
        line = ""
        for depth in (MAX_DEPTH, 2, 1):
            line = f"{self._name}({self._shown_parameters(depth)}){self.returns(depth)}"
            if len(line) <= MAX_LINE_CHARS:
                return line
        return f"{line[: MAX_LINE_CHARS - 1]}…"

    def returns(self, max_depth: int = MAX_DEPTH) -> str:
        """` -> type` with `observed` where it was seen in answers only; empty where nothing is known."""
        if self._output is None:
            return ""
        seen = "observed " if self._is_observed else ""
        return f" -> {seen}{Types(self._output, max_depth).text(self._output)}"

    def parameter_lines(self) -> list[str]:
        """`name: type = default  # description` of each parameter, an object's members indented below it."""
        types = Types(self._parameters.schema)
        lines = list(_lines(self._parameters, types, "", 1))
        rest = len(lines) - MAX_PARAMETER_LINES
        return lines[:MAX_PARAMETER_LINES] + ([f"… and {rest} more"] if rest > 0 else [])

    def first_parameter(self) -> str | None:
        """The name that a lone positional argument was probably meant for."""
        return next((name for name in self._parameters if is_name(name)), None)

    def for_inspect(self) -> inspect.Signature:
        """What inspect.signature shows; a name that is no Python identifier is among the `**more`."""
        import inspect

        kinds = inspect.Parameter
        types = Types(self._parameters.schema)
        shown = [name for name in self._parameters if is_name(name)]
        parameters = [
            kinds(
                name,
                kinds.KEYWORD_ONLY,
                default=kinds.empty if name in self._parameters.required else self._parameters.default(name),
                annotation=TypeText(types.text(self._parameters.properties.get(name))),
            )
            for name in shown
        ]
        is_complete = len(shown) == len(list(self._parameters)) and not self._parameters.takes_more
        if not is_complete:
            parameters.append(kinds(more_name(shown), kinds.VAR_KEYWORD))
        returned = self.returns()
        empty = inspect.Signature.empty
        return inspect.Signature(
            parameters, return_annotation=TypeText(returned[len(" -> ") :]) if returned else empty
        )

    def _shown_parameters(self, depth: int) -> str:
        types = Types(self._parameters.schema, depth)
        plain = [self._parameter(name, types) for name in self._parameters if is_name(name)]
        odd = [
            f"{name!r}{'' if name in self._parameters.required else '?'}: "
            f"{types.text(self._parameters.properties.get(name))}"
            for name in self._parameters
            if not is_name(name)
        ]
        return ", ".join(
            [
                *(["*", *plain] if plain else []),
                *([f"**{{{', '.join(odd)}}}"] if odd else []),
                *([f"**{more_name(list(self._parameters))}"] if self._parameters.takes_more else []),
            ]
        )

    def _parameter(self, name: str, types: Types) -> str:
        text = f"{name}: {types.text(self._parameters.properties.get(name))}"
        return text if name in self._parameters.required else text + _default(self._parameters, name)


def more_name(taken: Collection[str]) -> str:
    """What all other parameters are called where they are shown together."""
    name = "more"
    while name in taken:
        name += "_"
    return name


def _default(parameters: Parameters, name: str) -> str:
    default = repr(parameters.default(name))
    return f" = {default if len(default) <= MAX_DEFAULT_CHARS else '...'}"


def _lines(parameters: Parameters, types: Types, indent: str, level: int) -> Iterator[str]:
    for name in parameters:
        details = parameters.properties.get(name)
        text = f"{name if is_name(name) else repr(name)}: {types.text(details)}"
        if name not in parameters.required:
            text += _default(parameters, name)
        about = "; ".join(part for part in (_bounds(details), _description(details)) if part)
        yield f"{indent}{text}{f'  # {about}' if about else ''}"
        if level < MAX_PARAMETER_LEVEL and isinstance(details, dict):
            # The members of a list's items are what a reader looks for as much as those of an object.
            yield from _lines(Parameters(details.get("items", details)), types, f"{indent}  ", level + 1)


def _bounds(details: object) -> str:
    if not isinstance(details, dict):
        return ""
    said = [f"{word} {details[word]}" for word in _BOUNDS if isinstance(details.get(word), (int, float, str))]
    return ", ".join(said)[:MAX_PARAMETER_CHARS]


def _description(details: object) -> str:
    text = details.get("description") if isinstance(details, dict) else None
    plain = " ".join(text.split()) if isinstance(text, str) else ""
    return plain if len(plain) <= MAX_PARAMETER_CHARS else f"{plain[: MAX_PARAMETER_CHARS - 1]}…"
