"""Resources and prompts as code gets them: values that can be used at once, and lists that read as lines."""

from __future__ import annotations

import unittest
from collections.abc import Mapping
from typing import Any

from tests.host import Host, Refuse, brief, run, server, tool

FILES = server("files-1", tool("open"), alias="files_1")
LISTED = {
    "resources": [
        {
            "uri": "file:///a.txt",
            "name": "a",
            "description": "The first. And more.",
            "mimeType": "text/plain",
            "size": 12,
            "annotations": {"priority": 0.5},
        },
        {"uri": "x:evil\nline"},
    ],
    "templates": [{"uriTemplate": "file:///{path}", "name": "any", "title": "Any file"}],
    "problems": ["resources/list does not end: stopped after 100 pages"],
}


class _Case(unittest.TestCase):
    def run_code(self, code: str, method: str, answer: Any) -> Host:
        self.asked: list[Mapping[str, Any]] = []

        def handler(params: Mapping[str, Any]) -> Any:
            self.asked.append(params)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return run(code, [FILES], [brief("slack")], {method: handler})

    def check(self, code: str, method: str, answer: Any, value: object) -> None:
        host = self.run_code(code, method, answer)
        self.assertEqual([f["value"] for f in host.of_type("result")], [value], (host.frames, host.stderr))


class ResourcesTest(_Case):
    def read(self, code: str, contents: Any, value: object) -> None:
        self.check(code, "resources.read", {"contents": contents}, value)

    def test_list(self) -> None:
        code = (
            "r = await runtime.list_resources('files_1')\n"
            "[r[0].uri, r[0]['size'], r[0].annotations.priority, r.templates[0].uriTemplate, len(r)]"
        )
        self.check(code, "resources.list", LISTED, ["file:///a.txt", 12, 0.5, "file:///{path}", 2])
        self.assertEqual(self.asked, [{"server": "files-1"}])

    def test_list_reads_as_lines(self) -> None:
        host = self.run_code("await runtime.list_resources('files-1')", "resources.list", LISTED)
        self.assertEqual(
            host.of_type("result")[0]["repr"].split("\n"),
            [
                "file:///a.txt  # text/plain, 12 bytes, The first.",
                "'x:evil\\nline'",
                "Templates, to be filled in:",
                "file:///{path}  # Any file",
                "(resources/list does not end: stopped after 100 pages)",
            ],
        )
        nothing = {"resources": [], "templates": [], "problems": []}
        host = self.run_code("print(await runtime.list_resources('files-1'))", "resources.list", nothing)
        self.assertEqual(host.stdout, "(no resources)\n")

    def test_one_text_is_a_str(self) -> None:
        content = {"uri": "u:1", "mimeType": "application/json", "text": '{"a": 1}'}
        code = "r = await runtime.read_resource('files_1', 'u:1')\n[r == '{\"a\": 1}', r.uri, r.media_type, str(r)]"
        self.read(code, [content], [True, "u:1", "application/json", '{"a": 1}'])
        self.assertEqual(self.asked, [{"server": "files-1", "uri": "u:1"}])
        self.read("await runtime.read_resource('files-1', 'u:1')", [content], '{"a": 1}')

    def test_one_blob_is_bytes(self) -> None:
        content = {"uri": "u:1", "mimeType": "image/png", "blob": "iVBORw=="}
        code = "r = await runtime.read_resource('files-1', 'u:1')\n[list(r), r.media_type, r.uri, repr(r)]"
        wanted = [[137, 80, 78, 71], "image/png", "u:1", "<Blob image/png, 4 bytes>"]
        self.read(code, [content], wanted)

    def test_several_are_a_list(self) -> None:
        contents = [
            {"uri": "u:1", "text": "one"},
            {"uri": "u:2", "blob": "!"},
            {"uri": "u:3", "hologram": 3},
            7,
        ]
        code = "r = await runtime.read_resource('files-1', 'u:')\n[r[0], r[0].uri, r[1].blob, r[2].hologram, r[3]]"
        self.read(code, contents, ["one", "u:1", "!", 3, 7])
        self.read("await runtime.read_resource('files-1', 'u:')", [], [])

    def test_by_entry_or_link(self) -> None:
        link = "{'type': 'resource_link', 'uri': 'u:1', 'name': 'x'}"
        self.read(f"await runtime.read_resource('files-1', {link})", [{"uri": "u:1", "text": "one"}], "one")
        self.assertEqual(self.asked, [{"server": "files-1", "uri": "u:1"}])
        for wrong in ("7", "{'uriTemplate': 'u:{x}'}"):
            host = self.run_code(f"await runtime.read_resource('files-1', {wrong})", "resources.read", None)
            self.assertEqual(host.of_type("raised")[0]["error"]["type"], "TypeError")

    def test_errors_name_server_and_uri(self) -> None:
        refused = Refuse("Resource 'u:1' of server 'files-1': not found", "E_RESOURCE_FAILED")
        code = (
            "try:\n await runtime.read_resource('files-1', 'u:1')\n"
            "except runtime.MCPError as e:\n r = [str(e), e.server, e.tool, e.code]\nr"
        )
        wanted = ["Resource 'u:1' of server 'files-1': not found", "files-1", None, "E_RESOURCE_FAILED"]
        self.check(code, "resources.read", refused, wanted)
        odd = "Resource 'u:1' of server 'files-1' came in a form that MCP does not know."
        self.check(code, "resources.read", {"contents": 3}, [odd, "files-1", None, "E_RESOURCE_FAILED"])
        host = self.run_code("await runtime.list_resources('slack')", "resources.list", LISTED)
        self.assertIn('servers=["slack"]', host.of_type("raised")[0]["error"]["message"])
        self.assertEqual(self.asked, [])


class PromptsTest(_Case):
    def get(self, code: str, messages: Any, value: object) -> None:
        self.check(code, "prompts.get", {"description": "Reviews", "messages": messages}, value)

    def test_list(self) -> None:
        arguments = [{"name": "code", "required": True}, {"name": "language"}, 7]
        listed = {
            "prompts": [{"name": "review", "description": "Reviews code.", "arguments": arguments}],
            "problems": [],
        }
        host = self.run_code("await runtime.list_prompts('files_1')", "prompts.list", listed)
        result = host.of_type("result")[0]
        self.assertEqual(result["repr"], "review(code, language=...)  # Reviews code.")
        self.assertEqual(result["value"][0]["arguments"], arguments)

    def test_one_text_is_a_str(self) -> None:
        messages = [{"role": "user", "content": {"type": "text", "text": "[1]"}}]
        self.get("await runtime.get_prompt('files_1', 'p', {'a': 'b'}, n=3, no=None)", messages, "[1]")
        self.assertEqual(
            self.asked, [{"server": "files-1", "prompt": "p", "arguments": {"a": "b", "n": "3"}}]
        )
        self.get("await runtime.get_prompt('files-1', 'p', name='x', server='y')", messages, "[1]")
        self.assertEqual(self.asked[0]["arguments"], {"name": "x", "server": "y"})

    def test_messages(self) -> None:
        messages = [
            {"role": "user", "content": {"type": "text", "text": "look"}},
            {"role": "user", "content": {"type": "resource", "resource": {"uri": "u", "text": "it"}}},
            {
                "role": "assistant",
                "content": [{"type": "image", "data": "iVBORw==", "mimeType": "image/png"}],
            },
            7,
        ]
        code = (
            "p = await runtime.get_prompt('files-1', 'p')\n"
            "[p.description, p[0].role, p[0].content, p[1].content, p[2].content[0].media_type, p[3].content]"
        )
        self.get(code, messages, ["Reviews", "user", "look", "it", "image/png", 7])

    def test_arguments_are_texts(self) -> None:
        for wrong in ("object()", "float('nan')"):
            host = self.run_code(f"await runtime.get_prompt('files-1', 'p', a={wrong})", "prompts.get", None)
            self.assertEqual(host.of_type("raised")[0]["error"]["type"], "TypeError")
            self.assertIn("'a'", host.of_type("raised")[0]["error"]["message"])


if __name__ == "__main__":
    unittest.main()
