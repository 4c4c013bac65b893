"""Which tools a program names: every way to name one is found, and whatever may be meant otherwise is left alone."""

from __future__ import annotations

import ast
import sys
import time
import timeit
import unittest
from pathlib import Path

from harness.frames import MAX_NAME_CHARS, MAX_NAMED_TOOLS
from harness.named_tools import named_tools


def named(source: str) -> list[tuple[str, str | None, int]]:
    """As the host gets it."""
    return [(tool.server, tool.tool, tool.line) for tool in named_tools(source, ast.parse(source))]


class FoundTest(unittest.TestCase):
    def check(self, source: str, *expected: tuple[str, str | None, int]) -> None:
        self.assertEqual(named(source), list(expected), source)

    def test_attributes_and_subscripts(self) -> None:
        self.check("x = 1\nawait mcp_github.create_issue(title='x')", ("github", "create_issue", 2))
        self.check("f = mcp_a.b\nmcp_a['c-d']()", ("a", "b", 1), ("a", "c-d", 2))
        self.check(
            "mcp_servers['git hub'].b()\nmcp_servers['a']['b-c']()", ("git hub", "b", 1), ("a", "b-c", 2)
        )
        self.check("(await mcp_a.b()).c.d.e.f", ("a", "b", 1))
        self.check("mcp_a.b.c.d.e.f.g.h.i", ("a", "b", 1))
        self.check("mcp_a['__call__']", ("a", "__call__", 1))

    def test_imports(self) -> None:
        self.check("from mcp.servers.github import a, b as c", ("github", "a", 1), ("github", "b", 1))
        self.check("from mcp.servers import time as t\nt.now()", ("time", None, 1), ("time", "now", 2))
        self.check("import mcp.servers.x as y\ny.z", ("x", None, 1), ("x", "z", 2))
        self.check("import mcp.servers.x\nmcp.servers.x.z", ("x", None, 1), ("x", "z", 2))

    def test_calls_by_name(self) -> None:
        self.check("await runtime.call_tool('a', 'b', {})", ("a", "b", 1))
        self.check("mcp.runtime.call_tool_raw('a', tool='b')", ("a", "b", 1))
        self.check("from mcp import runtime as rt\nrt.call_tool(tool='b', server='a')", ("a", "b", 2))
        self.check("from mcp.runtime import call_tool as c\nc('a', 'b')", ("a", "b", 2))
        self.check("from mcp import runtime\nruntime.call_tool('a', 'b')", ("a", "b", 2))

    def test_in_every_place(self) -> None:
        self.check("async def main():\n    return [mcp_a.b() for _ in x]\nmain()", ("a", "b", 2))
        self.check("print(f'{await mcp_a.b()}')", ("a", "b", 1))
        self.check("try:\n    mcp_a.b()\nfinally:\n    pass", ("a", "b", 2))
        self.check("class C:\n    x = lambda: mcp_a.b()", ("a", "b", 2))

    def test_each_once_in_the_order_of_lines(self) -> None:
        self.check("mcp_b.z()\nmcp_a.y()\nmcp_b.z()", ("b", "z", 1), ("a", "y", 2))


class LeftAloneTest(unittest.TestCase):
    def test_names_that_the_program_binds(self) -> None:
        for binding in (
            "mcp_a = 1",
            "import mcp_a",
            "import x as mcp_a",
            "from x import mcp_a",
            "from . import mcp_a",
            "from x import *",
            "def mcp_a(): pass",
            "class mcp_a: pass",
            "def f(mcp_a): pass",
            "f = lambda *mcp_a: 0",
            "for mcp_a in x: pass",
            "with open('x') as mcp_a: pass",
            "[0 for mcp_a in x]",
            "(mcp_a := 1)",
            "del mcp_a",
            "def f():\n    global mcp_a\n",
            "mcp_a.x = 1",
            "__main__.mcp_a = 1",
            "[x, *mcp_a] = y",
        ):
            self.assertEqual(named(f"{binding}\nmcp_a.b()"), [], binding)
        self.assertEqual(named("runtime = x\nruntime.call_tool('a', 'b')"), [])
        self.assertEqual(named("from x import runtime\nruntime.call_tool('a', 'b')"), [])
        self.assertEqual(named("from x import y as mcp\nmcp.runtime.call_tool('a', 'b')"), [])

    @unittest.skipIf(sys.version_info < (3, 10), "match came with 3.10")
    def test_names_that_a_pattern_binds(self) -> None:
        for pattern in ("mcp_a", "[*mcp_a]", "{**mcp_a}", "C() as mcp_a"):
            self.assertEqual(named(f"match x:\n    case {pattern}: pass\nmcp_a.b()"), [], pattern)

    def test_what_may_be_caught(self) -> None:
        for source in (
            "try:\n    mcp_a.b()\nexcept Exception:\n    mcp_c.d()\nelse:\n    mcp_e.f()",
            "try:\n    from mcp.servers.a import b\nexcept ImportError:\n    pass",
            "try:\n    runtime.call_tool('a', 'b')\nexcept Exception:\n    pass",
            "def f():\n    mcp_a.b()\ntry:\n    f()\nexcept Exception:\n    pass",
            "async def f():\n    await mcp_a.b()\nawait gather(f(), return_exceptions=True)",
            "def f():\n    mcp_a.b()\nruntime.save_tool(f)",
            "with contextlib.suppress(Exception):\n    mcp_a.b()",
        ):
            self.assertEqual(named(source), [], source)

    @unittest.skipIf(sys.version_info < (3, 11), "except* came with 3.11")
    def test_what_a_group_may_catch(self) -> None:
        self.assertEqual(named("try:\n    mcp_a.b()\nexcept* Exception:\n    pass"), [])

    def test_programs_that_look_what_there_is(self) -> None:
        for look in (
            "hasattr(mcp_a, 'b')",
            "getattr(mcp_a, 'b', None)",
            "'b' in dir(mcp_a)",
            "'b' in mcp_a",
            "list(mcp_a)",
            "mcp_a.__dir__()",
            "'mcp_a' in globals()",
            "'a' in LOADED_MCP_SERVERS",
            "'a' in mcp_servers",
            "mcp_servers.get('a')",
            "mcp_servers['a']",
            "mcp_servers[name]",
            "await runtime.list_tools('a')",
            "os.environ['MCP_AVAILABLE_SERVERS']",
            "load_server('a')",
        ):
            self.assertEqual(named(f"if {look}:\n    mcp_a.b()"), [], look)

    def test_what_is_no_name_of_a_tool(self) -> None:
        for source in (
            "x = 1  # mcp_a.b()",
            "'mcp_a.b()'",
            "mcp_a.__class__",
            "mcp_a[name]",
            "mcp_a[0]",
            "x.mcp_a.b",
            "runtime.call_tool(a, b)",
            "runtime.call_tool('a')",
            "runtime.call_tool(*x)",
            "runtime.capability_summary()",
            "x.call_tool('a', 'b')",
            "import mcp.runtime",
        ):
            self.assertEqual(named(source), [], source)


class BoundsTest(unittest.TestCase):
    def test_few_and_short(self) -> None:
        self.assertEqual(
            len(named("\n".join(f"mcp_a.b{n}()" for n in range(2 * MAX_NAMED_TOOLS)))), MAX_NAMED_TOOLS
        )
        self.assertEqual(named(f"mcp_a.{'b' * (MAX_NAME_CHARS + 1)}()"), [])

    def test_long_chains_take_linear_time(self) -> None:
        """A path is looked for at each step of a chain, so that it must not be as long as the chain."""

        def least_s(length: int) -> float:
            source = f"mcp_a.b{'.c' * length}"
            self.assertEqual(named(source), [("a", "b", 1)])
            timer = timeit.Timer(lambda: named(source), timer=time.process_time)
            return min(timer.repeat(repeat=5, number=20))

        # Four times as long as a rule; sixteen times where each step looked at all before it.
        self.assertLess(least_s(900), 9 * least_s(225))

    def test_the_standard_library_is_read_without_complaint(self) -> None:
        for file in sorted(Path(ast.__file__).parent.glob("*.py"))[::4]:
            named(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
