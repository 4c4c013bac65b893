"""Calls over the channel: concurrent, exact, cancellable, and refused in words that help."""

from __future__ import annotations

import json
import unittest
from collections.abc import Mapping
from typing import Any

from harness.frames import MAX_DEPTH, MAX_FRAME_BYTES
from tests.host import Host, Refuse, Silent, brief, run, server, structured, text_result, tool

ISSUE = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "body": {"type": "string", "default": ""}},
    "required": ["title"],
}
GITHUB = server(
    "github",
    tool("create_issue", ISSUE),
    tool("a-b", alias="a_b"),
    tool("echo"),
    tool("class", alias="class_"),
)
ODD = server(
    "odd-server",
    tool("__proto__"),
    tool("__init__"),
    tool("name"),
    tool("call"),
    tool("_server"),
    alias="odd_server",
)
STRANGE = server(
    "io.desk", tool("delete_all\rlist", alias="one"), tool("a\\b\u200b", alias="two"), alias="io_desk"
)

# What a parameter may be called: like one of ours, like a word of Python, like nothing that Python knows.
PARAMETERS = (
    *(
        "self",
        "cls",
        "args",
        "kwargs",
        "arguments",
        "tool",
        "server",
        "name",
        "timeout",
        "more",
        "_tool",
        "instance",
    ),
    *("class", "from", "None", "await", "match", "print", "__debug__", "__x", "__class__", "__init__", "_"),
    *("a-b", "a b", "", "1x", "$ref", "a.b", "*", "**", '"', "'", "\\", "\n", "ü", "\ufb01", "\u212a", "名"),
)


def echo(params: Mapping[str, Any]) -> Any:
    return structured({"tool": params["tool"], **params["arguments"]})


def hang(_: Mapping[str, Any]) -> Any:
    raise Silent


class CallTest(unittest.TestCase):
    def run_code(self, code: str, handler: Any = echo) -> Host:
        return run(
            code, [GITHUB, ODD], [brief("slack"), brief("other-one", "other_one")], {"tools.call": handler}
        )

    def check(self, code: str, value: object, handler: Any = echo) -> None:
        host = self.run_code(code, handler)
        self.assertEqual(
            [frame["value"] for frame in host.of_type("result")], [value], (host.frames, host.stderr)
        )

    def raised(self, code: str, handler: Any = echo) -> tuple[str, str]:
        host = self.run_code(code, handler)
        error = host.one("raised")["error"]
        self.assertNotIn("sandbox-runtime", "\n".join(error["traceback"]))
        return error["type"], error["message"]

    def test_a_server_called_by_a_keyword(self) -> None:
        echo = {"tools.call": lambda params: structured(params["server"])}
        servers = [server("class", tool("get"), alias="class_")]
        code = "(await mcp_class.get(), await mcp_class_.get(), mcp_class is mcp_servers['class'])"
        host = run(code, servers, handlers=echo)
        self.assertEqual(host.value, ["class", "class", True], (host.frames, host.stderr))
        host = run("mcp_import.get", [], [brief("Import", alias="import_")])
        self.assertIn('servers=["Import"]', host.one("raised")["error"]["message"])

    def test_access_patterns(self) -> None:
        wanted = {"tool": "create_issue", "title": "t"}
        for code in (
            "await mcp_github.create_issue(title='t')",
            "await mcp_servers['github'].create_issue(title='t')",
            "from mcp.servers.github import create_issue\nawait create_issue(title='t')",
            "import mcp.servers.github as gh\nawait gh.create_issue(title='t')",
            "from mcp.servers import github\nawait github.create_issue(title='t')",
            "from mcp.servers.github import *\nawait create_issue(title='t')",
            "await runtime.call_tool('github', 'create_issue', {'title': 't'})",
            "from mcp.runtime import call_tool\nawait call_tool('github', 'create_issue', {'title': 't'})",
            "import mcp.runtime\nawait mcp.runtime.call_tool('github', 'create_issue', {'title': 't'})",
            "import asyncio\nasyncio.run(mcp_github.create_issue(title='t'))",
            "mcp_github.create_issue(title='t')",
            "return await mcp_github['create_issue'](title='t')",
        ):
            self.check(code, wanted)

    def test_odd_names(self) -> None:
        self.check("(await mcp_github['a-b']()).tool", "a-b")
        self.check("(await mcp_github.a_b()).tool", "a-b")
        self.check("(await getattr(mcp_github, 'a-b')()).tool", "a-b")
        self.check("(await mcp_github.class_()).tool", "class")
        self.check("(await mcp_servers['odd-server'].name()).tool", "name")
        for name in ("__proto__", "__init__", "name", "call", "_server"):
            self.check(f"(await mcp_odd_server.{name}()).tool", name)
        self.check("from mcp.servers.odd_server import __proto__\n(await __proto__()).tool", "__proto__")
        self.check(
            "[dir(mcp_github), list(mcp_github)]",
            [["a_b", "class_", "create_issue", "echo"], ["create_issue", "a_b", "echo", "class_"]],
        )

    def test_parameters_of_any_name(self) -> None:
        schemas = {
            "open": {"type": "object"},
            "closed": {
                "properties": {name: {"type": "integer"} for name in PARAMETERS},
                "additionalProperties": False,
            },
            "all": {"properties": {name: {} for name in PARAMETERS}, "required": list(PARAMETERS)},
        }
        servers = [server("x", *(tool(name, schema) for name, schema in schemas.items()))]
        code = f"""
        import functools, inspect
        from mcp._types import is_name
        from mcp.servers.x import closed
        names = {PARAMETERS!r}
        got = []
        for name in names:
            for f in (mcp_x.open, closed, mcp_servers["x"]["closed"], functools.partial(mcp_x.closed)):
                inspect.signature(f).bind(**{{name: 1}})
                got.append(await f(**{{name: 1}}) == {{name: 1}})
            got.append(await runtime.call_tool("x", "closed", {{name: 1}}) == {{name: 1}})
            if is_name(name):
                got.append(await eval(f"mcp_x.closed({{name}}=1)") == {{name: 1}})
                got.append(await eval(f"mcp_x.open({{name}}=1)") == {{name: 1}})
        got.append(await mcp_x.all(**dict.fromkeys(names, 1)) == dict.fromkeys(names, 1))
        (len(got), all(got), [name for name in names if is_name(name)])
        """
        host = run(code, servers, handlers={"tools.call": lambda params: structured(params["arguments"])})
        words = [name for name in PARAMETERS if name.isidentifier()]
        plain = [
            w for w in words if w not in ("class", "from", "None", "await", "__debug__", "\ufb01", "\u212a")
        ]
        self.assertEqual(host.value, [5 * len(PARAMETERS) + 2 * len(plain) + 1, True, plain], host.frames)

    def test_bound_names(self) -> None:
        self.check(
            "[list(LOADED_MCP_SERVERS), mcp.runtime is runtime, sorted(mcp_servers)]",
            [["github", "odd-server"], True, ["github", "odd-server"]],
        )
        self.check(
            "import inspect\nstr(inspect.signature(mcp_github.create_issue))",
            "(*, title: str, body: str = '')",
        )

    def test_a_hundred_calls_are_in_flight_at_once(self) -> None:
        with Host() as host:
            host.handlers["tools.call"] = hang
            host.start(
                "import asyncio\n"
                "r = await asyncio.gather(*(mcp_github.echo(i=i) for i in range(100)))\n[x.i for x in r]",
                [GITHUB],
            )
            host.wait_for(lambda h: len(h.of_type("call")) == 100)
            replies = [
                json.dumps({"type": "reply", "id": call["id"], "value": echo(call["params"])})
                for call in reversed(host.of_type("call"))
            ]
            host.send_line("\n".join(replies).encode())
            self.assertEqual(host.finish().value, list(range(100)))

    def test_calls_from_threads_and_their_own_loops(self) -> None:
        code = (
            "import asyncio\nfrom concurrent.futures import ThreadPoolExecutor\n"
            "def work(i): return asyncio.run(mcp_github.echo(i=i)).i\n"
            "with ThreadPoolExecutor(8) as pool: r = list(pool.map(work, range(40)))\nr"
        )
        self.check(code, list(range(40)))

    def test_cancelled_call_is_abandoned(self) -> None:
        host = self.run_code(
            "import asyncio\ntry:\n    await asyncio.wait_for(mcp_github.echo(), 0.05)\n"
            "except asyncio.TimeoutError:\n    x = 1\nx",
            hang,
        )
        self.assertEqual(host.value, 1)
        self.assertEqual(host.one("abandon")["id"], host.one("call")["id"])

    def test_late_and_unknown_answers_are_dropped(self) -> None:
        with Host() as host:
            host.start("import asyncio\nprint('go')\nawait asyncio.sleep(0.1)\n5", [GITHUB])
            host.wait_for(lambda h: "go" in h.stdout)
            host.send({"type": "reply", "id": 77, "value": 1})
            self.assertEqual(host.finish().value, 5)

    def test_forked_child_cannot_call(self) -> None:
        code = (
            "import os, asyncio\npid = os.fork()\nif pid == 0:\n    try:\n        asyncio.run(mcp_github.echo())\n"
            "    except RuntimeError as e:\n        print(e)\n"
            "    os._exit(0)\nos.waitpid(pid, 0)\nawait mcp_github.echo(a=1)"
        )
        host = self.run_code(code)
        self.assertIn("main process", host.stdout)
        self.assertEqual(len(host.of_type("call")), 1)

    def test_exact_numbers_both_ways(self) -> None:
        code = (
            "r = await mcp_github.echo(big=2**53 + 1, huge=10**30, f=0.1, one=1.0)\n"
            "assert type(r.one) is float\n[r.big, r.huge, r.f]"
        )
        self.check(code, [2**53 + 1, 10**30, 0.1])

    def test_surrogates_in_arguments(self) -> None:
        self.check("(await mcp_github.echo(s='\\U0001f600 \\\\ud800')).s", "\U0001f600 \\ud800")
        for bad in ("'a\\ud800'", "['\\udcff']", "{'\\udc80': 1}", "{'x': ['\\ud83d', '\\ude00']}"):
            kind, message = self.raised(f"await mcp_github.echo(ok='\\U0001f600', bad={bad})")
            self.assertEqual(kind, "ValueError", bad)
            self.assertIn("argument 'bad'", message)
            self.assertRegex(message, r"lone surrogate, '\\ud", bad)
        self.assertIn("lone surrogate", self.raised("await mcp_github.echo(**{'\\ud800': 1})")[1])
        self.assertEqual(self.raised("await runtime.search_tool_docs('\\ud800')")[0], "ValueError")

    def test_two_megabytes(self) -> None:
        self.check(
            "r = await mcp_github.echo(rows=[{'i': i, 's': 'x' * 40} for i in range(30_000)])\nr.rows[29_999].i",
            29_999,
        )

    def test_what_is_not_json_is_named(self) -> None:
        for value, words in (
            ("float('nan')", "NaN"),
            ("b'x'", "base64"),
            ("{1, 2}", "set"),
            ("object()", "object"),
        ):
            kind, message = self.raised(
                f"await mcp_github.echo(ok=1, bad=[{value}] if {value!r} == '' else {value})"
            )
            self.assertIn(kind, ("TypeError", "ValueError"))
            self.assertIn("'bad'", message)
            self.assertIn(words, message)
        kind, message = self.raised("x = []\nx.append(x)\nawait mcp_github.echo(bad=x)")
        self.assertEqual(kind, "ValueError")

    def test_too_deep_or_too_long_is_refused_here(self) -> None:
        deep = f"x = 1\nfor _ in range({MAX_DEPTH}): x = [x]\nawait mcp_github.echo(x=x)"
        self.assertIn("nested deeper", self.raised(deep)[1])
        self.assertIn(
            "nested deeper",
            self.raised("x = 1\nfor _ in range(100_000): x = [x]\nawait mcp_github.echo(x=x)")[1],
        )
        self.assertIn("exceed the limit", self.raised(f"await mcp_github.echo(x='y' * {MAX_FRAME_BYTES})")[1])
        self.check(f"await mcp_github.echo(x='[' * {MAX_DEPTH * 2})\n1", 1)

    def test_tool_failure(self) -> None:
        def fail(_: Mapping[str, Any]) -> Any:
            return text_result("title is taken", isError=True)

        code = (
            "try:\n    await mcp_github.create_issue(title='t')\nexcept mcp.MCPError as e:\n"
            "    r = [e.server, e.tool, e.text, e.code, str(e)]\nr"
        )
        message = "github.create_issue: title is taken"
        self.check(code, ["github", "create_issue", "title is taken", "E_TOOL_FAILED", message], fail)
        self.check("(await runtime.call_tool_raw('github', 'create_issue')).isError", True, fail)

    def test_the_name_of_a_tool_that_failed_is_shown_exactly(self) -> None:
        def fail(_: Mapping[str, Any]) -> Any:
            return text_result("no", isError=True)

        code = (
            "r = []\nfor f in (mcp_io_desk.one, mcp_io_desk.two):\n"
            "    try:\n        await f()\n    except mcp.MCPError as e:\n        r += [e.tool, str(e)]\nr"
        )
        host = run(code, [STRANGE], [], {"tools.call": fail})
        self.assertEqual(
            host.one("result")["value"],
            [
                "delete_all\rlist",
                "io\\.desk.delete_all\\x0dlist: no",
                "a\\b\u200b",
                "io\\.desk.a\\\\b\\u200b: no",
            ],
        )

    def test_refusal(self) -> None:
        def refuse(_: Mapping[str, Any]) -> Any:
            raise Refuse("not today")

        self.check(
            "try:\n    await mcp_github.echo()\nexcept runtime.MCPError as e:\n    r = [e.code, str(e), e.tool]\nr",
            ["E_DENIED", "not today", "echo"],
            refuse,
        )

    def test_an_answer_that_cannot_be_read_fails_its_own_call(self) -> None:
        with Host() as host:
            host.handlers["tools.call"] = hang
            host.start(
                "try:\n    await mcp_github.echo()\nexcept ValueError as e:\n    r = str(e)\nr", [GITHUB]
            )
            host.wait_for(lambda h: bool(h.of_type("call")))
            host.send_line(b'{"type":"reply","id":1,"value":{' + b"nonsense")
            self.assertIn("cannot be read", host.finish().value)

    def test_misuse_is_explained(self) -> None:
        kind, message = self.raised("await mcp_github.create_issue('t')")
        self.assertEqual(kind, "TypeError")
        self.assertIn("create_issue(*, title: str, body: str = '')", message)
        self.assertIn("Did you mean 'title'?", self.raised("await mcp_github.create_issue(titel='t')")[1])
        self.assertIn("is missing 'title'", self.raised("await mcp_github.create_issue()")[1])
        self.assertIn(
            "Did you mean 'title'?",
            self.raised("await runtime.call_tool('github', 'create_issue', {'titel': 1})")[1],
        )
        kind, message = self.raised("mcp_github.create_isue")
        self.assertEqual(kind, "mcp.UnknownToolError" if "." in kind else "UnknownToolError")
        self.assertIn("Did you mean 'create_issue'?", message)
        self.assertIn("Did you mean 'create_issue'?", self.raised("mcp_github['create_isue']")[1])
        self.assertIn(
            "Did you mean 'create_issue'?", self.raised("from mcp.servers.github import create_isue")[1]
        )
        self.assertIn("must be a dict", self.raised("await runtime.call_tool('github', 'echo', [1])")[1])

    def test_servers_that_are_not_loaded_are_explained(self) -> None:
        advice = "Server 'slack' is not available. To load it, pass servers=[\"slack\"] in the call."
        for code in (
            "await mcp_slack.post()",
            "mcp_servers['slack']",
            "await runtime.call_tool('slack', 'post')",
            "from mcp.servers.slack import post",
            "import mcp.servers.slack",
            "runtime.query_tool_docs_sync('slack')",
        ):
            self.assertEqual(self.raised(code)[1], advice, code)
        self.assertIn('servers=["other-one"]', self.raised("mcp_other_one.x")[1])
        self.assertIn("Did you mean 'github'?", self.raised("mcp_servers['githb']")[1])
        self.assertIn("Configured servers: github, odd-server, slack", self.raised("mcp_servers['zzz']")[1])
        self.check("try:\n    mcp_servers['zzz']\nexcept KeyError:\n    r = 1\nr", 1)
        self.check("try:\n    import mcp.servers.zzz\nexcept ImportError:\n    r = 1\nr", 1)
        self.check("hasattr(mcp_github, 'nope')", False)


if __name__ == "__main__":
    unittest.main()
