"""JSON Schema as signatures, parameter lines, stubs, and the check of a call against it; without a process."""

from __future__ import annotations

import ast
import inspect
import unittest
from collections.abc import Mapping
from typing import Any

from mcp._catalog import Server
from mcp._check import check_arguments
from mcp._docs import ToolDocs, first_sentence, tool_docs
from mcp._signature import MAX_LINE_CHARS, Signature
from mcp._stubs import server_stub
from mcp._types import is_name
from tests.host import server, tool
from tests.test_calls import PARAMETERS


def signature(properties: Any, **schema: Any) -> str:
    return str(Signature("f", {"type": "object", "properties": properties, **schema}))


def nested(levels: int) -> Mapping[str, Any]:
    inner = nested(levels - 1) if levels else {"type": "string"}
    return {"type": "object", "properties": {"a": inner, "b": inner}, "required": ["a"]}


LOOP = {"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}] * 3000}}}
ODD = (
    None,
    5,
    {},
    {"properties": 3, "required": "x"},
    {"properties": {"a": {"enum": []}, "b": {"anyOf": []}, "c": {"type": 5}, "d": [], "e": {"allOf": [{}]}}},
    {"properties": {"class": {}, "my-arg": {"type": "string"}, "": {}, "a\nb": {"default": "\u202e"}}},
    {
        "properties": {"a": {"$ref": "http://127.0.0.1:9/x"}, "b": {"$ref": "#/properties"}},
        "required": ["z", 1],
    },
    LOOP,
    nested(12),
)


class SignatureTest(unittest.TestCase):
    def check(self, properties: Any, wanted: str, **schema: Any) -> None:
        self.assertEqual(signature(properties, **schema), wanted)

    def test_types(self) -> None:
        self.check({}, "f()")
        self.check(
            {"a": {"type": "string"}, "b": {"type": "integer"}}, "f(*, b: int, a: str = ...)", required=["b"]
        )
        self.check({"a": {"type": "array", "items": {"type": "number"}}}, "f(*, a: list[float] = ...)")
        self.check({"a": {"type": ["string", "null"], "default": None}}, "f(*, a: str | None = None)")
        self.check(
            {"a": {"enum": ["x", "y"]}, "b": {"const": 1}},
            "f(*, a: Literal['x', 'y'] = ..., b: Literal[1] = ...)",
        )
        self.check({"a": {"anyOf": [{"type": "boolean"}, {"type": "object"}]}}, "f(*, a: bool | dict = ...)")
        self.check({"a": {"$ref": "#/$defs/A"}}, "f(*, a: str = ...)", **{"$defs": {"A": {"type": "string"}}})
        self.check(
            {"a": {"$ref": "#/$defs/A"}}, "f(*, a: Any = ...)", **{"$defs": {"A": {"$ref": "#/$defs/A"}}}
        )
        self.check({"my-arg": {"type": "string"}, "a": {}}, "f(*, a: Any = ..., **{'my-arg'?: str})")
        self.check({"a": True}, "f(*, a: Any = ..., **more)", additionalProperties=True)

    def test_shapes(self) -> None:
        member = {"type": "object", "properties": {"id": {"type": "integer"}, "x-y": {}}, "required": ["id"]}
        self.check(
            {"a": {"type": "array", "items": member}}, "f(*, a: list[{id: int, 'x-y'?: Any}])", required=["a"]
        )
        self.check(
            {"a": {"type": "object", "additionalProperties": {"type": "string"}}},
            "f(*, a: dict[str, str])",
            required=["a"],
        )
        self.assertEqual(str(Signature("f", None, member)), "f(**more) -> {id: int, 'x-y'?: Any}")
        seen = Signature("f", {"properties": {}}, {"type": "string"}, is_observed=True)
        self.assertEqual(str(seen), "f() -> observed str")

    def test_a_long_line_loses_depth_first(self) -> None:
        properties = {f"parameter_{number}": nested(3) for number in range(5)}
        line = signature(properties)
        self.assertLessEqual(len(line), MAX_LINE_CHARS)
        for name in properties:
            self.assertIn(f"{name}: ", line)
        self.assertEqual(len(signature({f"parameter_{n}": {} for n in range(100)})), MAX_LINE_CHARS)

    def test_parameter_lines(self) -> None:
        item = {"type": "object", "properties": {"id": {"type": "integer", "description": "Which\n one"}}}
        schema = {
            "properties": {
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 9,
                    "default": 3,
                    "description": "How many.",
                },
                "my-items": {"type": "array", "items": item},
                "state": {"enum": ["open", "closed"], "description": "d" * 1000},
            },
            "required": ["state"],
        }
        state, limit, items, inner = Signature("f", schema).parameter_lines()
        self.assertTrue(state.startswith("state: Literal['open', 'closed']  # ddd"))
        self.assertLess(len(state), 350)
        self.assertEqual(limit, "limit: int = 3  # minimum 1, maximum 9; How many.")
        self.assertEqual(items, "'my-items': list[{id?: int}] = ...")
        self.assertEqual(inner, "  id: int = ...  # Which one")

    def test_odd_schemas_are_shown_and_let_through(self) -> None:
        for schema in ODD:
            with self.subTest(schema=str(schema)[:80]):
                made = Signature("f", schema, schema)
                self.assertLessEqual(len(str(made)), MAX_LINE_CHARS)
                self.assertNotIn("\n", str(made))
                self.assertNotIn("\u202e", str(made))
                made.parameter_lines()
                made.for_inspect()

    def test_first_sentence(self) -> None:
        for text, wanted in {
            "Create an issue. It must be new.": "Create an issue.",
            "Uses e.g. GitHub. Then more": "Uses e.g. GitHub.",
            "One\nline.\n\nMore": "One line.",
            "Version 1. 2 is not read": "Version 1. 2 is not read",
            "": "",
        }.items():
            self.assertEqual(first_sentence(text), wanted)
        self.assertEqual(len(first_sentence("word " * 100)), 160)


class CheckTest(unittest.TestCase):
    SCHEMA: Mapping[str, Any] = {
        "properties": {
            "title": {"type": "string"},
            "count": {"type": "integer"},
            "ratio": {"type": "number"},
            "flag": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "extra": {"type": "object"},
            "state": {"type": "string", "enum": ["open", "closed"]},
            "maybe": {"type": ["string", "null"]},
            "level": {"enum": [1, 2, "max"]},
            "sloppy": {"type": "string", "default": None},
            "open_api": {"type": "string", "nullable": True},
            "either": {"anyOf": [{"type": "string"}]},
            "unknown": {"type": "file"},
        },
        "required": ["title"],
    }

    def complaint(self, **arguments: Any) -> str | None:
        return check_arguments("f", self.SCHEMA, {"title": "t", **arguments})

    def test_names(self) -> None:
        self.assertEqual(self.complaint(titel=1), "f() has no argument 'titel'. Did you mean 'title'?")
        self.assertEqual(check_arguments("f", self.SCHEMA, {}), "f() is missing 'title'.")
        base = {"properties": {"title": {}}, "required": ["title"]}
        for more in (
            {"additionalProperties": True},
            {"additionalProperties": {"type": "string"}},
            {"patternProperties": {"^x": {}}},
        ):
            self.assertIsNone(check_arguments("f", {**base, **more}, {"title": 1, "x": 2}))
        self.assertIsNone(check_arguments("f", {**base, "anyOf": []}, {}))
        self.assertIsNone(check_arguments("f", {"properties": {"a": {"default": 1}}, "required": ["a"]}, {}))
        for schema in ODD[:4]:
            self.assertIsNone(check_arguments("f", schema, {"anything": 1}))

    def test_certainly_wrong_values(self) -> None:
        for arguments, wanted in (
            ({"title": 5}, "f(): title is 5, an int; it must be a str."),
            ({"title": None}, "f(): title is None; it must be a str."),
            ({"count": "5"}, "f(): count is '5', a str; it must be an int."),
            ({"count": True}, "f(): count is True, a bool; it must be an int."),
            ({"count": 1.5}, "f(): count is 1.5, a float; it must be an int."),
            ({"ratio": False}, "f(): ratio is False, a bool; it must be a float."),
            ({"flag": 1}, "f(): flag is 1, an int; it must be a bool."),
            ({"tags": "one"}, "f(): tags is 'one', a str; it must be a list."),
            ({"tags": None}, "f(): tags is None; leave it out, or give it a value (list)."),
            ({"extra": []}, "f(): extra is [], a list; it must be a dict."),
            ({"maybe": 1}, "f(): maybe is 1, an int; it must be a str or None."),
            ({"state": "opne"}, "f(): state is 'opne'. Did you mean 'open'? It can be 'open', 'closed'."),
            ({"level": True}, "f(): level is True. It can be 1, 2, 'max'."),
        ):
            self.assertEqual(self.complaint(**arguments), wanted)

    def test_doubt_is_left_to_the_server(self) -> None:
        class Text(str):
            pass

        for arguments in (
            {"title": Text("t")},
            {"count": 5.0},
            {"ratio": 1},
            {"tags": ("a",)},
            {"tags": [1]},
            {"maybe": None},
            {"level": 2.0},
            {"sloppy": None},
            {"open_api": None},
            {"either": 5},
            {"unknown": 5},
            # No JSON: the complaint about that is the encoder's.
            {"title": b"bytes"},
            {"tags": {1, 2}},
        ):
            self.assertIsNone(self.complaint(**arguments), arguments)


class StubTest(unittest.TestCase):
    def stub(self, *tools: Any) -> str:
        text = str(server_stub(Server(server("s", *tools))))
        ast.parse(text)
        return text

    def test_objects_are_classes(self) -> None:
        item = {"type": "object", "properties": {"old": {"type": "string"}, "n": {}}, "required": ["old"]}
        schema = {"type": "object", "properties": {"edits": {"type": "array", "items": item}, "my-arg": {}}}
        text = self.stub(
            tool(
                "edit",
                schema,
                description='Says """quotes""". More.',
                output={"type": "array", "items": item},
            ),
            tool("again", schema, observed=item),
        )
        self.assertEqual(
            text.count("class EditEditsItem(TypedDict):\n    old: str\n    n: NotRequired[Any]"), 1
        )
        self.assertIn(
            "async def edit(*, edits: list[EditEditsItem] = ..., **more: Any) -> list[EditEditsItem]:", text
        )
        self.assertIn("'my-arg': Any", text)
        self.assertIn("The result is what was observed.", text)

    def test_parameters_of_any_name_are_usable_as_they_are_shown(self) -> None:
        schema = {"type": "object", "properties": {name: {"type": "integer"} for name in PARAMETERS}}
        more = {**schema, "additionalProperties": True}
        one = Server(server("s", tool("t", schema, output=schema), tool("u", more)))
        stub = str(server_stub(one))
        # Without what only type checkers need, it is executed.
        names: dict[str, Any] = {}
        exec(stub.replace(", NotRequired", ""), {"NotRequired": list}, names)
        for name in ("t", "u"):
            inspect.signature(names[name]).bind(**dict.fromkeys(PARAMETERS, 1))
            self.assertTrue(set(names[name].__kwdefaults__) <= set(PARAMETERS))
        result = next(made for key, made in names.items() if key == "TResult")
        self.assertEqual(list(result.__annotations__), list(PARAMETERS))
        for name in PARAMETERS:
            shown = str(Signature("f", {"properties": {name: {"type": "integer"}}}))
            if is_name(name):
                compile(f"async def {shown}: pass", "", "exec")
            else:
                self.assertEqual(shown, f"f(**{{{name!r}?: int}})")
        self.assertEqual(
            str(Signature("f", {"properties": {"more": {}}, "additionalProperties": True})),
            "f(*, more: Any = ..., **more_)",
        )

    def test_odd_schemas_are_valid_python(self) -> None:
        odd = [tool(f"t{number}", schema, output=schema) for number, schema in enumerate(ODD)]
        names = [
            tool(name, nested(1), description=f"{name} \\ \"\"\" '''", output=nested(2))
            for name in ("any", "typed_dict", "_1st", "class_", "__")
        ]
        self.stub(*odd, *names)
        self.stub()
        keys = {"type": "object", "properties": {"from": {}, "a b": {"type": "string"}, '"': {}}}
        self.stub(tool("k", keys, output=keys))


class DocsTest(unittest.TestCase):
    def test_lines_are_cut_with_a_count(self) -> None:
        many = Server(server("s", *(tool(f"tool_{n}", description="d" * 150) for n in range(500))))
        shown = repr(tool_docs("s", many.tools, "summary"))
        self.assertLess(len(shown), 12_200)
        self.assertRegex(shown.split("\n")[-1], r"^… and 4\d\d more: ")
        self.assertEqual(repr(ToolDocs()), "(no tools)")

    def test_full(self) -> None:
        schema = {"type": "object", "properties": {"q": {"type": "string", "description": "Words."}}}
        one = Server(server("s", tool("a-b", schema, "a_b", "Finds.\n\nSlowly.", output={"type": "string"})))
        (entry,) = tool_docs("s", one.tools, "full")
        self.assertEqual(
            repr(entry),
            "a_b(*, q: str = ...) -> str\n    Finds.\n\n    Slowly.\n\n"
            "    The tool 'a-b' of the MCP server 's'.\n\n"
            "    Parameters:\n      q: str = ...  # Words.\n\n    Returns: str",
        )
        self.assertEqual(entry.inputSchema.properties.q.type, "string")


if __name__ == "__main__":
    unittest.main()
