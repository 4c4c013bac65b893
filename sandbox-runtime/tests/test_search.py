"""Searches in the documentation of tools: both forms ask the host, and the one that blocks never waits for itself."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Mapping
from typing import Any

from tests.host import Frame, Host, Refuse, Silent, brief, run, server, structured, tool

ISSUE = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
GITHUB = server("git-hub", tool("create_issue", ISSUE), tool("echo"), alias="git_hub")
FORMS = ("await runtime.search_tool_docs", "runtime.search_tool_docs_sync")


def hit(server: str, name: str, loaded: bool, score: float) -> Frame:
    """A ToolHit."""
    doc = tool(name, ISSUE, description="Says it.")
    alias = server.replace("-", "_")
    return {"server": server, "alias": alias, "loaded": loaded, "score": score, "tool": doc}


def hits(params: Mapping[str, Any]) -> list[Frame]:
    """Finds one tool, whose name is the query."""
    return [hit("git-hub", params["query"], True, 1)]


class SearchTest(unittest.TestCase):
    """What a search gives."""

    def test_of_servers_that_are_not_loaded(self) -> None:
        found = [
            hit("my-slack", "post", False, 3),
            hit("git-hub", "create_issue", True, 2),
            hit("my-slack", "send", False, 1),
        ]
        load = 'To load it, pass servers=["my-slack"] in the call.'
        lines = [
            f"# my-slack is not loaded. {load}",
            "# Not searched, because their tools are unknown until they have started: slack. "
            'A run with servers=["*"] starts them, or the user runs `mcp-sandbox-bridge servers refresh`.',
            "mcp_my_slack.post(*, title: str)  # Says it.",
            "mcp_git_hub.create_issue(*, title: str)  # Says it.",
            "mcp_my_slack.send(*, title: str)  # Says it.",
        ]
        entries = [
            ["my-slack", "post", "post(*, title: str)", 3, load],
            ["git-hub", "create_issue", "create_issue(*, title: str)", 2, None],
            ["my-slack", "send", "send(*, title: str)", 1, load],
        ]
        for search in FORMS:
            with self.subTest(search):
                code = (
                    f"r = {search}('x', limit=3)\nprint(r)\n"
                    "[[d.server, d.tool, d.signature, d.score, d.get('load')] for d in r]"
                )
                answer = {"docs.search": lambda p: found if p == {"query": "x", "limit": 3} else []}
                host = run(code, [GITHUB], [brief("slack")], answer)
                self.assertEqual(host.value, entries)
                self.assertEqual(host.stdout, "\n".join(lines) + "\n")

    def test_it_says_what_it_has_left_out(self) -> None:
        many = [brief(f"s{i}") for i in range(20)]
        known = brief("slack", tools=3)
        broken = {**brief("dead"), "problem": "it exited."}
        for search in FORMS:

            def shown(*briefs: Frame, search: str = search) -> str:
                nothing = {"docs.search": lambda _: []}
                return run(f"{search}('x')", [GITHUB], list(briefs), nothing).one("result")["repr"]

            with self.subTest(search):
                self.assertIn(
                    "until they have started: s0, s1, s2, s3, s4, s5, s6, s7 and 12 more.", shown(*many)
                )
                self.assertEqual(shown(known, broken), "(no tools)")

    def test_how_many_it_may_give(self) -> None:
        for search in FORMS:
            for limit in (0, 101, "'5'", 1.5):
                error = run(f"{search}('x', limit={limit})", [GITHUB]).one("raised")["error"]
                self.assertEqual(error["message"], f"limit is {limit}; it can be 1 to 100")

    def test_a_refusal_is_an_exception(self) -> None:
        def refuse(_: Mapping[str, Any]) -> Any:
            raise Refuse("no")

        for search in FORMS:
            error = run(f"{search}('x')", [GITHUB], handlers={"docs.search": refuse}).one("raised")["error"]
            self.assertEqual((error["type"], error["message"]), ("MCPError", "no"))


class BlockingSearchTest(unittest.TestCase):
    """The form that cannot await, wherever it is called: each of these would hang if it waited for its own thread."""

    def check(self, code: str, value: object, handler: Callable[[Mapping[str, Any]], Any] = hits) -> None:
        echo = {"tools.call": lambda p: structured(p["arguments"])}
        host = run(code, [GITHUB], handlers={**echo, "docs.search": handler})
        self.assertEqual(
            [frame["value"] for frame in host.of_type("result")], [value], (host.frames, host.stderr)
        )

    def test_in_a_running_loop(self) -> None:
        self.check(
            "import asyncio\nawait asyncio.sleep(0)\nasyncio.get_running_loop()\n"
            "[d.tool for q in 'abc' for d in runtime.search_tool_docs_sync(q)]",
            ["a", "b", "c"],
        )
        self.check(
            "import asyncio\nasync def main():\n    return runtime.search_tool_docs_sync('a')[0].tool\n"
            "asyncio.run(main())",
            "a",
        )

    def test_without_a_loop(self) -> None:
        self.check("runtime.search_tool_docs_sync('a')[0].tool", "a")

    def test_in_threads(self) -> None:
        search = "lambda i: runtime.search_tool_docs_sync(f'q{i}')[0].tool"
        wanted = [f"q{i}" for i in range(200)]
        self.check(
            "from concurrent.futures import ThreadPoolExecutor\n"
            f"with ThreadPoolExecutor(20) as pool: r = list(pool.map({search}, range(200)))\nr",
            wanted,
        )
        self.check(
            f"import asyncio\nawait asyncio.gather(*(asyncio.to_thread({search}, i) for i in range(200)))",
            wanted,
        )

    def test_while_a_module_is_being_imported(self) -> None:
        helper = "from mcp import runtime\nfound = runtime.search_tool_docs_sync('a')[0].tool\n"
        code = f"open('helper.py', 'w').write({helper!r})\nimport helper\nhelper.found"
        self.check(code, "a")

    def test_in_a_callback_of_the_loop_and_in_an_exit_handler(self) -> None:
        self.check(
            "import asyncio\nloop = asyncio.get_running_loop()\ndone = loop.create_future()\n"
            "loop.call_soon(lambda: done.set_result(runtime.search_tool_docs_sync('a')[0].tool))\nawait done",
            "a",
        )
        code = "import atexit\natexit.register(lambda: print(runtime.search_tool_docs_sync('a')[0].tool))\n1"
        self.assertEqual(run(code, [GITHUB], handlers={"docs.search": hits}).stdout, "a\n")

    def test_after_a_flood_of_calls_whose_loop_it_holds_up(self) -> None:
        # More of answers than any pipe holds, all of them ahead of the search's own.
        filler = "x" * 4_000
        self.check(
            "import asyncio\n"
            "calls = [asyncio.ensure_future(mcp_git_hub.echo(i=i)) for i in range(1000)]\n"
            "await asyncio.sleep(0)\nfound = runtime.search_tool_docs_sync('a')[0].tool\n"
            "[found, [r.i for r in await asyncio.gather(*calls)] == list(range(1000))]",
            ["a", True],
        )
        self.check(
            "import asyncio\n"
            f"calls = [asyncio.ensure_future(mcp_git_hub.echo(i=i, x='{filler}')) for i in range(1000)]\n"
            "await asyncio.sleep(0)\nfound = runtime.search_tool_docs_sync('a')[0].tool\n"
            "[found, sum(len(r.x) for r in await asyncio.gather(*calls))]",
            ["a", 4_000_000],
        )

    def test_ahead_of_calls_that_are_answered_later(self) -> None:
        def silent(_: Mapping[str, Any]) -> Any:
            raise Silent

        with Host() as host:
            host.handlers.update({"tools.call": silent, "docs.search": hits})
            host.start(
                "import asyncio\ncall = asyncio.ensure_future(mcp_git_hub.echo())\nawait asyncio.sleep(0)\n"
                "print(runtime.search_tool_docs_sync('a')[0].tool, flush=True)\nawait call",
                [GITHUB],
            )
            host.wait_for(lambda h: h.stdout == "a\n")
            call = host.of_type("call")[0]
            host.send({"type": "reply", "id": call["id"], "value": structured(1)})
            self.assertEqual(host.finish().value, 1)

    def test_a_loop_in_another_thread_goes_on_meanwhile(self) -> None:
        """The search is answered only when that loop's call has been."""
        with Host() as host:

            def echo(params: Mapping[str, Any]) -> Any:
                return structured(params["arguments"])

            def silent(_: Mapping[str, Any]) -> Any:
                raise Silent

            host.handlers.update({"tools.call": echo, "docs.search": silent})
            host.start(
                "import asyncio, threading\n"
                "def other():\n    print(asyncio.run(mcp_git_hub.echo(i=7)).i, flush=True)\n"
                "thread = threading.Thread(target=other)\nthread.start()\n"
                "found = runtime.search_tool_docs_sync('a')[0].tool\nthread.join()\nfound",
                [GITHUB],
            )
            # The other thread's output and the question, in whatever order they come.
            host.wait_for(lambda h: h.stdout == "7\n" and len(h.of_type("call")) == 2)
            search = next(call for call in host.of_type("call") if call["method"] == "docs.search")
            host.send({"type": "reply", "id": search["id"], "value": hits({"query": "a"})})
            self.assertEqual(host.finish().value, "a")

    def test_a_forked_child_is_told_that_it_cannot(self) -> None:
        code = (
            "import os, sys\nr, w = os.pipe()\nif os.fork() == 0:\n"
            "    try:\n        runtime.search_tool_docs_sync('a')\n"
            "    except RuntimeError as error:\n        os.write(w, str(error).encode())\n    os._exit(0)\n"
            "os.wait()\nos.read(r, 1000).decode()"
        )
        self.check(
            code,
            "MCP calls work only in the main process of the run, not in a forked child or another process that it has "
            "started; make the call there, and pass its result to the other process",
        )


if __name__ == "__main__":
    unittest.main()
