"""What a tool answered as Python: unwrapped results, without a process."""

from __future__ import annotations

import base64
import copy
import json
import pickle
import unittest
from typing import Any

from mcp._errors import MCPError, did_you_mean
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

    def test_data_in_every_dress(self) -> None:
        data = b"\x89PNG\r\n\x1a\n" + bytes(8) + b"\0\0\0\2\0\0\0\3" + bytes(range(256)) + b"\xfb\xff\xfe"
        plain = base64.b64encode(data).decode()
        safe = base64.urlsafe_b64encode(data).decode()
        lines = base64.encodebytes(data).decode()
        dresses = {
            "plain": plain,
            "lines": lines,
            "lines of Windows": lines.replace("\n", "\r\n"),
            "no padding": plain.rstrip("="),
            "URL-safe": safe,
            "URL-safe without padding": safe.rstrip("="),
            "address": f"data:image/png;base64,{plain}",
            "address in capitals": f"DATA:image/png;charset=x;BASE64,{plain}",
            "address with lines": f" data:image/png;base64,\n{lines}",
            "address without a type": f"data:;base64,{plain}",
            "escaped address": f"data:image/png;base64,{plain.replace('+', '%2B').replace('/', '%2F')}",
        }
        self.assertTrue(plain.endswith("=") and "+" in plain and "/" in plain)
        for name, dress in dresses.items():
            block = {"type": "image", "data": dress}
            for blocks in ([{**block, "mimeType": "image/png"}], [block]):
                blob = unwrap("s", "t", {"content": blocks})
                self.assertEqual((blob, blob.media_type), (data, "image/png"), name)
            resource = {"type": "resource", "resource": {"uri": "u", "blob": dress}}
            self.assertEqual(unwrap("s", "t", {"content": [resource]}), data, name)
        svg = {"type": "image", "data": "data:image/svg+xml,%3Csvg/%3E"}
        drawn = unwrap("s", "t", {"content": [svg]})
        self.assertEqual((drawn, drawn.media_type), (b"<svg/>", "image/svg+xml"))
        for bad in ("***", "abcde", "data:image/png;base64,*", 7, None):
            self.check({"content": [{"type": "image", "data": bad}]}, AttrDict(type="image", data=bad))

    def test_content_that_is_no_list(self) -> None:
        self.check({"content": "plain"}, "plain")
        self.check({"content": '{"a": 1}'}, AttrDict(a=1))
        self.check({"content": ""}, "")
        self.check({"content": {"type": "text", "text": "one"}}, "one")
        self.check({"content": {"odd": 1}}, AttrDict(odd=1))
        self.check({"content": ["a", "b"]}, ["a", "b"])
        self.check({"content": "ignored", "structuredContent": {"a": 1}}, AttrDict(a=1))
        self.check({"content": None}, None)
        self.check({"toolResult": {"a": 1}, "_meta": {}}, AttrDict(toolResult=AttrDict(a=1)))
        self.check({"resultType": "complete", "isError": False}, None)
        for content, shown in ((7, "7"), (True, "true")):
            with self.assertRaisesRegex(MCPError, f"content that MCP does not know: {shown}"):
                unwrap("s", "t", {"content": content})

    def test_errors_are_heard_however_they_are_said(self) -> None:
        for result, words in (
            ({"content": "bad"}, "s.t: bad"),
            ({"content": {"type": "text", "text": "bad"}}, "s.t: bad"),
            ({"content": ["bad", {"type": "text", "text": "worse"}]}, "s.t: bad\nworse"),
            (
                {"content": [], "structuredContent": {"why": "bad"}},
                's.t: {"structuredContent": {"why": "bad"}}',
            ),
            ({"content": 7}, 's.t: {"content": 7}'),
            ({"error": "bad"}, 's.t: {"error": "bad"}'),
            ({"content": []}, "s.t: the tool failed without saying why"),
        ):
            with self.assertRaises(MCPError) as caught:
                unwrap("s", "t", {**result, "isError": True})
            self.assertEqual(str(caught.exception), words)

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


class NearNamesTest(unittest.TestCase):
    def test_a_name_that_is_far_is_not_taken_for_one_that_is_meant(self) -> None:
        for word, other in (("send_email", "read_mail"), ("delete_file", "read_file"), ("query", "queue")):
            self.assertEqual(did_you_mean(word, [other]), "")
        self.assertEqual(did_you_mean("creat_isue", ["create_issue"]), " Did you mean 'create_issue'?")


if __name__ == "__main__":
    unittest.main()
