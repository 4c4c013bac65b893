"""The helper functions of mcp.runtime, and what else the code finds around it."""

from __future__ import annotations

import ast
import json
import sys
import unittest
from typing import Any

from tests.host import Host, brief, run, server, tool

ISSUE = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
ID = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
LONG = "First line.\n\nSecond paragraph."
GITHUB = server(
    "git-hub",
    tool("create_issue", ISSUE, description=LONG, observed=ID),
    tool("listPullRequests", description="Pull requests of a repository"),
    alias="git_hub",
    description="Code hosting",
)


class RuntimeTest(unittest.TestCase):
    def run_code(self, code: str, **handlers: Any) -> Host:
        handlers = {name.replace("_", "."): handler for name, handler in handlers.items()}
        return run(code, [GITHUB], [brief("slack")], handlers)

    def check(self, code: str, value: object, **handlers: Any) -> None:
        host = self.run_code(code, **handlers)
        self.assertEqual(
            [frame["value"] for frame in host.of_type("result")], [value], (host.frames, host.stderr)
        )

    def test_servers(self) -> None:
        self.check("list(runtime.discovered_servers())", ["git-hub", "slack"])
        self.check("[s.loaded for s in runtime.discovered_servers(detailed=True)]", [True, False])
        self.check(
            "list(runtime.list_servers_sync()) + list(await runtime.list_servers())", ["git-hub", "git-hub"]
        )
        self.check("runtime.describe_server('slack').load", 'To load it, pass servers=["slack"] in the call.')
        self.check(
            "[(t.name, t.alias, sorted(t)) for t in runtime.describe_server('git_hub').tools][0]",
            ["create_issue", "create_issue", ["alias", "description", "input_schema", "name"]],
        )
        self.check("[s.name for s in runtime.list_loaded_server_metadata()]", ["git-hub"])

    def test_tools(self) -> None:
        self.check("runtime.list_tools_sync('git-hub')", ["create_issue", "listPullRequests"])
        self.check(
            "[name for name in runtime.list_tools_sync() if name.startswith('mcp_git')]",
            ["mcp_git_hub.create_issue", "mcp_git_hub.listPullRequests"],
        )
        self.check("await runtime.list_tools('git_hub')", ["create_issue", "listPullRequests"])
        self.check(
            "await runtime.list_tools('slack')",
            ["post"],
            tools_list=lambda p: [tool("post")] if p == {"server": "slack"} else [],
        )

    def test_docs(self) -> None:
        summary = {
            "server": "git-hub",
            "tool": "create_issue",
            "signature": "create_issue(*, title: str) -> observed {id: int}",
            "description": "First line.",
        }
        self.check("runtime.query_tool_docs_sync('git-hub', 'create_issue')", [summary])
        self.check("(await runtime.query_tool_docs('git-hub'))[0]", summary)
        full = {
            **summary,
            "description": LONG,
            "parameters": ["title: str"],
            "inputSchema": ISSUE,
            "outputSchema": None,
            "observed": ID,
        }
        self.check("await runtime.query_tool_docs('git-hub', tool='create_issue', detail='full')", [full])
        self.check(
            "d = runtime.query_tool_docs_sync('git_hub')[1]\n[d.tool, d['tool'], d.alias, d.call]",
            ["listPullRequests"] * 3 + ["await mcp_git_hub.listPullRequests(...)"],
        )
        self.check(
            "d = (await runtime.query_tool_docs('slack', 'post'))[0]\n[d.call, d.server]",
            ["await mcp_slack.post(...)", "slack"],
            docs_get=lambda p: [tool("post")],
        )
        self.assertIn(
            "'summary' or 'full'",
            self.run_code("runtime.query_tool_docs_sync('git-hub', detail='all')").one("raised")["error"][
                "message"
            ],
        )

    def test_docs_of_servers_that_are_not_loaded(self) -> None:
        post = tool("post", ISSUE, description="Posts. At once.")
        load = 'To load it, pass servers=["sla-ck"] in the call.'

        def ask(code: str, tools: int | None = 1) -> Host:
            handlers = {"docs.get": lambda p: [post] if p["server"] == "sla-ck" else []}
            return run(code, [GITHUB], [brief("sla-ck", "sla_ck", tools)], handlers)

        host = ask("await runtime.query_tool_docs('sla_ck')")
        self.assertEqual(host.one("result")["repr"], f"# Not loaded. {load}\npost(*, title: str)  # Posts.")
        self.assertEqual(host.value[0]["load"], load)
        host = ask("runtime.describe_server('sla_ck')")
        head = "MCP server 'sla-ck', not loaded; 1 tool\n\nthe sla-ck server"
        shown = f"{head}\n\n{load}\n\npost(*, title: str)  # Posts."
        self.assertEqual(host.one("result")["repr"], shown)
        self.assertEqual(
            {key: host.value[key] for key in ("name", "alias", "loaded", "load")},
            {"name": "sla-ck", "alias": "sla_ck", "loaded": False, "load": load},
        )
        self.assertEqual(host.value["tools"][0]["input_schema"], ISSUE)
        host = ask("runtime.describe_server('sla_ck')", None)
        self.assertIn("its tools are not known yet", host.one("result")["repr"])
        self.assertIsNone(host.value["tools"])
        self.assertEqual(ask("[s.tools for s in runtime.discovered_servers(True)]").value, [2, 1])

    def test_a_changed_tool_is_marked(self) -> None:
        words = "description changed since it was first seen on 2026-11-22; accept with `x`"
        changed = server(
            "s", tool("t", description="Does it.", changed=words), tool("u", description="Fine.")
        )
        mark = "[CHANGED since first seen]"
        host = run("runtime.query_tool_docs_sync('s')", [changed])
        self.assertEqual(host.one("result")["repr"], f"t(**more)  # {mark} Does it.\nu(**more)  # Fine.")
        self.assertEqual([doc.get("changed") for doc in host.value], [words, None])
        for code in (
            "print(runtime.query_tool_docs_sync('s', 't', detail='full'))",
            "help(mcp_s.t)",
        ):
            shown = run(code, [changed]).stdout
            self.assertIn(f"CHANGED: {words}", shown)
            self.assertLess(shown.index("CHANGED"), shown.index("Does it."))
        self.assertIn(f"# {mark} Does it.", run("help(mcp_s)", [changed]).stdout)

    def test_docs_are_shown_as_lines(self) -> None:
        lines = (
            "create_issue(*, title: str) -> observed {id: int}  # First line.\n"
            "listPullRequests(**more)  # Pull requests of a repository"
        )
        self.assertEqual(
            self.run_code("runtime.query_tool_docs_sync('git-hub')").one("result")["repr"], lines
        )
        self.assertEqual(
            self.run_code("print(await runtime.query_tool_docs('git-hub'))").stdout, lines + "\n"
        )
        code = "import copy, pickle\nd = runtime.query_tool_docs_sync('git-hub')\n"
        self.check(f"{code}[copy.deepcopy(d) == d, pickle.loads(pickle.dumps(d)) == d]", [True, True])

    def test_a_server_is_shown_without_its_schemas(self) -> None:
        shown = self.run_code("runtime.describe_server('git-hub')").one("result")["repr"]
        self.assertIn("create_issue(*, title: str)", shown)
        self.assertNotIn("properties", shown)

    def test_help(self) -> None:
        shown = self.run_code("help(mcp_git_hub.create_issue)").stdout
        self.assertIn("create_issue(*, title: str) -> observed {id: int}\n", shown)
        for part in (
            "    First line.\n",
            "    Second paragraph.\n",
            "Parameters:\n      title: str\n",
            "Returns: ",
        ):
            self.assertIn(part, shown)
        shown = self.run_code("help(mcp_git_hub)").stdout
        for part in ("<MCP server 'git-hub', 2 tools>", "Code hosting", "listPullRequests(**more)  # Pull"):
            self.assertIn(part, shown)
        host = self.run_code("from mcp.servers.git_hub import create_issue\nhelp(create_issue)")
        self.assertIn("create_issue(*, title: str)", host.stdout)
        self.assertIn("create_issue(", self.run_code("import mcp.servers.git_hub as g\nhelp(g)").stdout)

    def test_inspect(self) -> None:
        code = (
            "import inspect\nf = mcp_git_hub.create_issue\n"
            "[str(inspect.signature(f)), f.__name__, inspect.getdoc(f)[:11], callable(f), inspect.isroutine(f)]"
        )
        wanted = ["(*, title: str) -> observed {id: int}", "create_issue", "First line.", True, True]
        self.check(code, wanted)
        if sys.version_info >= (3, 10):
            self.check("import inspect\ninspect.iscoroutinefunction(mcp_git_hub.create_issue)", True)

    def test_stubs(self) -> None:
        host = self.run_code("runtime.stubs('git-hub')")
        text = host.one("result")["repr"]
        self.assertEqual(host.value, text)
        ast.parse(text)
        self.assertIn("async def create_issue(*, title: str) -> CreateIssueResult:", text)
        self.assertEqual(
            self.run_code("runtime.stubs('slack')").one("raised")["error"]["type"], "UnknownServerError"
        )

    def test_signatures_cost_nothing_until_they_are_looked_at(self) -> None:
        looked = "import sys\n[m for m in sys.modules if m in ('mcp._signature', 'mcp._stubs', 'mcp._keep')]"
        self.check(f"f = mcp_git_hub.create_issue\n{looked}", [])

    def test_capability_summary(self) -> None:
        many = [brief(f"a-server-with-a-long-name-{i}") for i in range(200)]
        host = run("runtime.capability_summary()", [GITHUB], many)
        self.assertLess(len(host.value), 1500)
        self.assertIn("mcp_git_hub (2 tools)", host.value)
        self.assertIn("servers=[", host.value)
        self.assertIn("read_resource(server, uri)", host.value)

    def test_environment(self) -> None:
        code = (
            "import json, os, subprocess\na = json.loads(os.environ['MCP_AVAILABLE_SERVERS'])\n"
            "child = subprocess.check_output(['sh', '-c', 'echo $MCP_DISCOVERED_SERVERS'])\n"
            "[a[0]['tools'][0]['name'], json.loads(child)]"
        )
        self.check(code, ["create_issue", {"git-hub": "Code hosting", "slack": "the slack server"}])

    def test_environment_too_long_for_linux(self) -> None:
        big = server("big", *(tool(f"t{i}", description="x" * 500) for i in range(400)))
        code = (
            "import json, os, subprocess\nv = os.environ['MCP_AVAILABLE_SERVERS']\n"
            "assert v == os.getenv('MCP_AVAILABLE_SERVERS') and 'MCP_AVAILABLE_SERVERS' in os.environ\n"
            "os.environ['OTHER'] = 'set'\n"
            "out = subprocess.run(['sh', '-c', 'echo $OTHER'], env={**os.environ}, capture_output=True).stdout\n"
            "subprocess.run(['true'], env=os.environ.copy(), check=True)\n"
            "[len(json.loads(v)[0]['tools']), os.system('true'), out.decode()]"
        )
        self.assertEqual(run(code, [big]).value, [400, 0, "set\n"])
        host = run(
            "import os\nos.environ['MCP_AVAILABLE_SERVERS'] = 'mine'\nos.environ['MCP_AVAILABLE_SERVERS']",
            [big],
        )
        self.assertEqual(host.value, "mine")

    def test_no_servers(self) -> None:
        host = run(
            "import os, json\n[json.loads(os.environ['MCP_AVAILABLE_SERVERS']), mcp_servers, list(LOADED_MCP_SERVERS)]"
        )
        self.assertEqual(host.value, [[], {}, []])
        self.assertIn(
            "No MCP server is configured", run("mcp_servers['x']").one("raised")["error"]["message"]
        )


class ResultValueTest(unittest.TestCase):
    def check(self, code: str, value: object, text: str, exact: bool) -> None:
        frame = run(code).one("result")
        self.assertEqual(
            (json.dumps(frame["value"]), frame["repr"], frame["exact"]), (json.dumps(value), text, exact)
        )

    def test_values(self) -> None:
        self.check("None", None, "", True)
        self.check(
            "{'a': [1, 2.5, True, None, 'é']}",
            {"a": [1, 2.5, True, None, "é"]},
            "{'a': [1, 2.5, True, None, 'é']}",
            True,
        )
        self.check("(1, 2)", [1, 2], "(1, 2)", False)
        self.check("{1: 2}", {"1": 2}, "{1: 2}", False)
        self.check("float('nan')", None, "nan", False)
        self.check("{1, 2}", None, "{1, 2}", False)
        self.check("b'x'", None, "b'x'", False)
        self.check("2**80", 2**80, str(2**80), True)
        self.check("x = []\nx.append(x)\nx", None, "[[...]]", False)

    def test_hostile_repr(self) -> None:
        frame = run("class A:\n    def __repr__(self): raise RuntimeError('no')\nA()").one("result")
        self.assertEqual(frame["repr"], "<A object whose repr() raised RuntimeError: no>")

    def test_large_values(self) -> None:
        frame = run("'x' * 3_000_000").one("result")
        self.assertLess(len(frame["repr"]), 110_000)
        self.assertEqual((frame["value"], frame["exact"]), (None, False))
        self.assertIsNone(run("list(range(10**6))").value)
        self.assertIsNone(run("x = 1\nfor _ in range(5000): x = [x]\nx").value)


if __name__ == "__main__":
    unittest.main()
