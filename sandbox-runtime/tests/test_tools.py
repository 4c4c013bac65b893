"""What a tool answered as Python: unwrapped results, without a process."""

from __future__ import annotations

import base64
import copy
import json
import pickle
import unittest
from typing import Any

from mcp._errors import MCPError
from mcp._values import AttrDict, Blob, attributed, unwrap


def text(*parts: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": part} for part in parts]}


class UnwrapTest(unittest.TestCase):
    def check(self, result: dict[str, Any], wanted: object) -> None:
        value = unwrap("s", "t", result)
        self.assertEqual((value, type(value)), (wanted, type(wanted)))

    def test_text_and_json(self) -> None:
        self.check(text("plain"), "plain")
        self.check(text('{"a": 1}'), AttrDict(a=1))
        self.check(text(" [1, 2] "), [1, 2])
        self.check(text("12"), 12)
        self.check(text("1.10"), "1.10")
        self.check(text("true"), True)
        self.check(text("NaN"), "NaN")
        self.check(text("[NaN]"), "[NaN]")
        self.check(text("[1, 2"), "[1, 2")
        self.check(text("[" * 100_000), "[" * 100_000)
        self.check(text("one", '{"b": 2}'), ["one", AttrDict(b=2)])
        self.check({"content": []}, None)
        self.check({}, None)

    def test_structured_content_wins(self) -> None:
        self.check({**text("ignored"), "structuredContent": {"a": [{"b": 1}]}}, AttrDict(a=[{"b": 1}]))
        self.check({**text("5"), "structuredContent": None}, 5)

    def test_blobs(self) -> None:
        data = base64.b64encode(b"\x89PNG").decode()
        blob = unwrap("s", "t", {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]})
        self.assertEqual(
            (blob, blob.media_type, repr(blob)), (b"\x89PNG", "image/png", "<Blob image/png, 4 bytes>")
        )
        self.assertEqual(pickle.loads(pickle.dumps(blob)).media_type, "image/png")
        resource = {"type": "resource", "resource": {"uri": "u", "blob": data}}
        self.assertIsInstance(unwrap("s", "t", {"content": [resource]}), Blob)
        self.check({"content": [{"type": "resource", "resource": {"uri": "u", "text": "hi"}}]}, "hi")
        self.check({"content": [{"type": "image", "data": "***"}]}, AttrDict(type="image", data="***"))
        self.check(
            {"content": [{"type": "resource_link", "uri": "u"}]}, AttrDict(type="resource_link", uri="u")
        )

    def test_errors(self) -> None:
        with self.assertRaises(MCPError) as caught:
            unwrap("s", "t", {**text("bad", "worse"), "isError": True})
        self.assertEqual((str(caught.exception), caught.exception.text), ("s.t: bad\nworse", "bad\nworse"))
        self.assertEqual(str(pickle.loads(pickle.dumps(caught.exception))), "s.t: bad\nworse")


class AttrDictTest(unittest.TestCase):
    def test_attributes(self) -> None:
        value = attributed({"a": {"b": [{"c": 1}]}})
        self.assertEqual((value.a.b[0].c, value["a"]["b"]), (1, [{"c": 1}]))
        value.d = 2
        self.assertEqual(value["d"], 2)
        del value.d
        self.assertNotIn("d", value)
        self.assertFalse(hasattr(value, "zzz"))
        with self.assertRaisesRegex(AttributeError, "Did you mean 'title'"):
            getattr(attributed({"title": 1}), "titel")  # noqa: B009

    def test_is_an_ordinary_dict_elsewhere(self) -> None:
        value = attributed({"a": {"b": 1}})
        self.assertEqual(json.dumps(value), '{"a": {"b": 1}}')
        self.assertEqual(copy.deepcopy(value).a.b, 1)
        self.assertEqual(pickle.loads(pickle.dumps(value)).a.b, 1)
        self.assertEqual({**value}, {"a": {"b": 1}})


if __name__ == "__main__":
    unittest.main()
