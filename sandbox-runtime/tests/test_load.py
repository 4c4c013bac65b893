"""Servers that the code asks for while it runs."""

from __future__ import annotations

import unittest
from typing import Any

from tests.host import Host, Refuse, brief, run, server, text_result, tool

GITHUB = server("git-hub", tool("get"), alias="git_hub")
SLACK = server("slack", tool("post-it", alias="post_it"), description="Chat")


class LoadTest(unittest.TestCase):
    def run_code(self, code: str, load: Any = None, more: dict[str, Any] | None = None) -> Host:
        self.asked: list[str] = []

        def answer(params: Any) -> Any:
            self.asked.append(params["server"])
            return SLACK if load is None else load(params)

        handlers = {"servers.load": answer, "tools.call": lambda p: text_result(f"{p['server']}.{p['tool']}")}
        return run(code, [GITHUB], [{**brief("slack"), **(more or {})}], handlers)

    def check(self, code: str, value: object) -> None:
        host = self.run_code(code)
        self.assertEqual(
            [frame["value"] for frame in host.of_type("result")], [value], (host.frames, host.stderr)
        )

    def test_it_is_where_the_others_are(self) -> None:
        self.check("s = await runtime.load_server('slack')\nawait s.post_it()", "slack.post-it")
        load = "await runtime.load_server('slack')\n"
        for code, value in (
            ("await mcp_slack.post_it()", "slack.post-it"),
            ("await mcp_servers['slack']['post-it']()", "slack.post-it"),
            ("from mcp.servers.slack import post_it\nawait post_it()", "slack.post-it"),
            ("await runtime.call_tool('slack', 'post-it')", "slack.post-it"),
            ("list(LOADED_MCP_SERVERS)", ["git-hub", "slack"]),
            ("list(await runtime.list_servers())", ["git-hub", "slack"]),
            ("[s.loaded for s in runtime.discovered_servers(detailed=True)]", [True, True]),
            ("runtime.describe_server('slack').description", "Chat"),
            ("'Not loaded' in runtime.capability_summary()", False),
            ("[list(mcp_servers), mcp_slack is mcp_servers['slack']]", [["git-hub", "slack"], True]),
        ):
            with self.subTest(code):
                self.check(load + code, value)

    def test_whoever_holds_the_old_name_has_the_server_too(self) -> None:
        code = "old = mcp_slack\nbefore = repr(old)\nawait runtime.load_server('slack')\n"
        self.check(
            code + "[before, repr(old), await old.post_it(), await old['post-it']()]",
            ["<MCP server 'slack', not loaded>", "<MCP server 'slack', 1 tool>"] + ["slack.post-it"] * 2,
        )

    def test_help_says_how_to_load_it_and_then_what_it_has(self) -> None:
        host = self.run_code(
            "help(mcp_slack)\nold = mcp_slack\nawait runtime.load_server('slack')\nhelp(old)"
        )
        before, _, after = host.stdout.partition("post_it")
        self.assertIn('To load it, pass servers=["slack"] in the call.', before)
        self.assertIn("runtime.describe_server('slack')", before)
        self.assertNotIn("__getattr__", before + after)
        self.assertNotEqual(after, "")

    def test_names_of_the_code_stay_its_own(self) -> None:
        code = "mcp_slack = 1\nLOADED_MCP_SERVERS = 2\nawait runtime.load_server('slack')\n"
        self.check(code + "[mcp_slack, LOADED_MCP_SERVERS]", [1, 2])

    def test_the_host_is_asked_once(self) -> None:
        self.check(
            "import asyncio\na, b = await asyncio.gather(*[runtime.load_server('slack') for _ in 'ab'])\n"
            "c = await runtime.load_server('slack')\n[a is b, b is c, len(runtime.list_servers_sync())]",
            [True, True, 2],
        )
        self.assertEqual(set(self.asked), {"slack"})
        self.check("await runtime.load_server('git_hub') is mcp_git_hub", True)
        self.assertEqual(self.asked, [])

    def test_a_refusal_is_an_exception(self) -> None:
        def refuse(_params: Any) -> Any:
            raise Refuse("Server 'slack' is not loaded from inside the run: the user said no.")

        code = "try:\n    await runtime.load_server('slack')\nexcept runtime.MCPError as e:\n    r = [e.code, str(e)]\n"
        host = self.run_code(code + "r + [list(LOADED_MCP_SERVERS)]", refuse)
        self.assertEqual(host.value[0], "E_DENIED")
        self.assertIn("the user said no", host.value[1])
        self.assertEqual(host.value[2], ["git-hub"])

    def test_several_are_not_one_name(self) -> None:
        host = self.run_code("await runtime.load_server(['slack'])")
        self.assertIn("it must be the name of one server", host.one("raised")["error"]["message"])
        self.check(
            "import asyncio\ns = await asyncio.gather(*map(runtime.load_server, ['slack', 'git-hub']))\nlen(s)",
            2,
        )

    def test_an_unknown_one_is_explained_here(self) -> None:
        host = self.run_code("await runtime.load_server('slakc')")
        self.assertIn("Did you mean 'slack'?", host.one("raised")["error"]["message"])
        self.assertEqual(self.asked, [])

    def test_it_is_named_as_the_way_out_only_where_it_is_one(self) -> None:
        advice = "Server 'slack' is not available. To load it, pass servers=[\"slack\"] in the call"
        inside = ', or await runtime.load_server("slack").'
        for more, end in (({}, "."), ({"onDemand": True}, inside)):
            for code in ("await mcp_slack.x()", "runtime.query_tool_docs_sync('slack')"):
                host = self.run_code(code, more=more)
                self.assertEqual(host.one("raised")["error"]["message"], advice + end)
            self.assertIn(end, self.run_code("runtime.capability_summary()", more=more).value)
            self.assertTrue(
                self.run_code("runtime.describe_server('slack').load", more=more).value.endswith(end)
            )

    def test_one_that_did_not_open_says_why(self) -> None:
        host = self.run_code("await mcp_slack.x()", more={"problem": "it exited with code 3."})
        error = host.one("raised")["error"]
        self.assertEqual(error["message"], "Server 'slack' is not available: it exited with code 3.")


if __name__ == "__main__":
    unittest.main()
