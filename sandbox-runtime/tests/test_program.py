"""What counts as a program, and what its value is."""

from __future__ import annotations

import sys
import unittest

from harness.program import unwrap
from tests.host import run


class ValueTest(unittest.TestCase):
    def check(self, code: str, value: object) -> None:
        host = run(code)
        self.assertEqual([frame["value"] for frame in host.of_type("result")], [value], (code, host.frames))

    def test_last_expression(self) -> None:
        self.check("x = 20\nx + 1", 21)
        self.check("x = 20", None)
        self.check("", None)
        self.check("'docstring'", "docstring")

    def test_top_level_await(self) -> None:
        self.check("import asyncio\nawait asyncio.sleep(0, 'slept')", "slept")
        self.check("import asyncio\nx = await asyncio.sleep(0, 1)\nx + 1", 2)
        self.check("import asyncio\n[await asyncio.sleep(0, i) for i in range(3)]", [0, 1, 2])
        self.check("async def gen():\n    yield 1\n[i async for i in gen()]", [1])

    def test_awaitable_value_is_awaited(self) -> None:
        self.check("async def main():\n    return 7\nmain()", 7)
        self.check("import asyncio\nasync def main():\n    return 7\nawait asyncio.sleep(0)\nmain()", 7)

    def test_asyncio_run(self) -> None:
        self.check("import asyncio\nasync def main():\n    return 8\nasyncio.run(main())", 8)

    def test_asyncio_run_below_top_level_await(self) -> None:
        code = (
            "import asyncio\nasync def main():\n    return await asyncio.sleep(0, 9)\n"
            "await asyncio.sleep(0)\nasyncio.run(main())"
        )
        self.check(code, 9)

    def test_nested_asyncio_run_passes_exceptions(self) -> None:
        host = run("import asyncio\nasync def main():\n    1/0\nawait asyncio.sleep(0)\nasyncio.run(main())")
        self.assertEqual(host.one("raised")["error"]["type"], "ZeroDivisionError")

    def test_return(self) -> None:
        self.check("return 1", 1)
        self.check("if True:\n    return 2\nraise SystemExit(1)", 2)
        self.check("for i in range(9):\n    if i == 3:\n        return i", 3)
        self.check("try:\n    return 4\nexcept:\n    return 'caught'\nfinally:\n    x = 1", 4)
        self.check("x: int = 5\ndef f():\n    return x\nif not x:\n    return 0\nf()", 5)
        self.check("return", None)

    def test_return_leaves_with_blocks_without_an_exception(self) -> None:
        code = (
            "import contextlib\nseen = []\n@contextlib.contextmanager\ndef cm():\n    try:\n        yield\n"
            "        seen.append('clean')\n    except BaseException:\n        seen.append('raised')\n        raise\n"
            "with cm():\n    return seen"
        )
        self.check(code, ["clean"])

    def test_return_with_await(self) -> None:
        self.check("import asyncio\nx = await asyncio.sleep(0, 6)\nreturn x", 6)

    def test_names_are_global_beside_a_top_level_return(self) -> None:
        code = (
            "from __future__ import annotations\nimport os.path as p, sys\n"
            "class C:\n    y = 1\nwith open('/dev/null') as fh: pass\n"
            "[z := 3 for _ in range(1)]\ndef f(): return (p.sep, sys.argv, C.y, fh.closed, z)\n"
            "if z == 3:\n    return list(f())"
        )
        self.check(code, ["/", ["main.py"], 1, True, 3])

    @unittest.skipIf(sys.version_info < (3, 10), "match came with 3.10")
    def test_match_beside_a_top_level_return(self) -> None:
        self.check(
            "match [1, {'k': 2}]:\n    case [a, {**b}]: pass\ndef f(): return [a, b]\nreturn f()",
            [1, {"k": 2}],
        )

    def test_return_in_a_function_is_not_top_level(self) -> None:
        self.check("def f():\n    return 1\nx = f()", None)

    def test_runs_as_main(self) -> None:
        self.check("x = 0\nif __name__ == '__main__':\n    x = 1\nx", 1)
        self.check(
            "import sys, __main__\n[sys.argv, __file__, __main__.__file__]",
            [["main.py"], "main.py", "main.py"],
        )

    def test_the_harness_is_out_of_sight(self) -> None:
        code = (
            "import sys\n"
            "[sorted(n for n in sys.modules if n.startswith('harness')), sys.path[-1] == __import__('os').getcwd()]"
        )
        self.check(code, [[], True])

    def test_modules_in_the_working_directory(self) -> None:
        self.check("open('helper.py', 'w').write('x = 5')\nimport helper\nhelper.x", 5)

    def test_getsource(self) -> None:
        self.check("import inspect\ndef f():\n    return 1\ninspect.getsource(f)", "def f():\n    return 1\n")

    def test_pickle_and_multiprocessing(self) -> None:
        self.check("import pickle\nclass C: pass\npickle.loads(pickle.dumps(C)) is C", True)
        code = (
            "import multiprocessing\ndef f(x): return x * x\n"
            "with multiprocessing.Pool(2) as pool: r = pool.map(f, [1, 2, 3])\nr"
        )
        host = run(code)
        self.assertEqual(host.value, [1, 4, 9])
        self.assertEqual(host.stderr, "")


class FenceTest(unittest.TestCase):
    def test_fences(self) -> None:
        for text in (
            "```python\nx = 1\n```",
            "\n```py\nx = 1\n```\n",
            "```\nx = 1\n```",
            "~~~python\nx = 1\n~~~",
            "~~~\nx = 1\n~~~~  \n",
            "  ```Python3  \r\nx = 1\r\n  ```  ",
            "\ufeff````\nx = 1\n````",
            "```python3.12\nx = 1\n```",
            "``` python\nx = 1\n```",
            "```{python}\nx = 1\n```",
            "```tool_code\nx = 1\n```",
            '```py title="main.py" linenums=1\nx = 1\n```\n\n',
            "  ```python\n  x = 1\n  ```",
            "```python\nx = 1",
        ):
            self.assertEqual(unwrap(text), "x = 1", text)

    def test_line_breaks_of_windows(self) -> None:
        code = "x = '''a\r\nb'''\r\nif x:\r\n    y = len(x)\r\n\r\ny\r\n"
        self.assertEqual(run(code).value, 3)
        for fenced in ("```python\r\nx = 1\r\nx\r\n```\r\n", "  x = 1\r\n  x\r\n"):
            self.assertEqual(run(fenced).value, 1, fenced)

    def test_places_in_code_with_line_breaks_of_windows(self) -> None:
        error = run("x = 1\r\n\r\ndef f():\r\n    return 1 / 0\r\n\r\nf()\r\n").one("raised")["error"]
        trace = "\n".join(error["traceback"])
        self.assertRegex(trace, r"line 6, in .*\n    f\(\)\n")
        self.assertRegex(trace, r"line 4, in f\n    return 1 / 0\n")
        self.assertNotIn("\r", trace)
        error = run("x = 1\r\ny = 2\r\nz = = 2\r\n").one("refused")["error"]
        self.assertEqual(error["type"], "SyntaxError")
        self.assertIn("line 3", "\n".join(error["traceback"]))

    def test_a_fence_in_a_fence(self) -> None:
        self.assertEqual(unwrap("````py\nx = '''\n```\n'''\n````"), "x = '''\n```\n'''")

    def test_what_is_no_fence_around_everything(self) -> None:
        for text in (
            "x = '```'",
            "s = '''\n```\ny\n```\n'''",
            "~~~python\nx = 1",
            "``` print(1)\nx = 1\n```",
            "```x=1\n```",
            "```python",
        ):
            self.assertEqual(unwrap(text), text)

    def test_indented_as_a_whole(self) -> None:
        self.assertEqual(unwrap("\n    if x:\n        y\n\n    z"), "\nif x:\n    y\n\nz")
        self.assertEqual(unwrap("\tx\n\ty"), "x\ny")
        self.assertEqual(unwrap("  x = '''\n     \n  '''"), "x = '''\n   \n'''")

    def test_what_is_not_indented_as_a_whole(self) -> None:
        for text in ("  # a\nx = '''\n   \n'''", "   \nx = '''\n   \n'''", "  x\ny", "\n  \n", "    x\n  y"):
            self.assertEqual(unwrap(text), text)

    def test_fenced_code_runs(self) -> None:
        self.assertEqual(run("```python\nprint('hi')\n```").stdout, "hi\n")


class RefusedTest(unittest.TestCase):
    def test_syntax_error_has_line_and_caret(self) -> None:
        host = run("x = 1\ndef f(:\n    pass")
        error = host.one("refused")["error"]
        self.assertEqual(error["type"], "SyntaxError")
        self.assertIn("line 2", error["message"])
        self.assertEqual(error["traceback"][0], '  File "main.py", line 2')
        self.assertIn("def f(:", error["traceback"][1])
        self.assertIn("^", error["traceback"][2])
        self.assertEqual(host.of_type("exited"), [])

    def test_a_long_line_is_quoted_around_its_caret(self) -> None:
        host = run("x = {" + '"a": 1, ' * 500 + '"b" 2, ' + '"c": 3, ' * 500 + "}")
        _, line, caret, *_ = host.one("refused")["error"]["traceback"]
        self.assertLess(len(line), 200)
        self.assertIn('"b" 2', line[caret.index("^") - 5 : caret.index("^") + 10], (line, caret))

    def test_other_text_that_is_no_program(self) -> None:
        for code in (
            "x = '\0'",
            "x = '\ud800'",
            "(" * 5000,
            "yield 1",
            "nonlocal x",
            "return 1\nfrom os import *",
        ):
            host = run(code)
            self.assertEqual(len(host.of_type("refused")), 1, (code[:20], host.frames))

    def test_syntax_warning_is_shown(self) -> None:
        self.assertIn("SyntaxWarning", run("x = 1 is 1").stderr)


if __name__ == "__main__":
    unittest.main()
