"""save_tool and user_tools: what is kept of a function, what is refused, and what a later run finds."""

from __future__ import annotations

import unittest
from collections.abc import Mapping
from typing import Any

from tests.host import Frame, Host, Refuse, brief, run, server, structured, tool

GITHUB = server("github", tool("get", {"properties": {"id": {"type": "integer"}}}))


class Shelf:
    """The host's side: what was saved, by name."""

    def __init__(self) -> None:
        self.saved: dict[str, Frame] = {}
        # Names that another run has saved.
        self.of_others: set[str] = set()

    def put(self, params: Mapping[str, Any]) -> Any:
        replaced = params["name"] in self.saved
        if params["name"] in self.of_others and not params["replace"]:
            raise Refuse("There is a saved tool of another run.")
        self.saved[params["name"]] = dict(params)
        return {"replaced": replaced}

    def get(self, params: Mapping[str, Any]) -> Any:
        if params["name"] not in self.saved:
            raise Refuse(f"There is no saved tool {params['name']!r}.")
        return {"source": self.saved[params["name"]]["source"]}

    def listed(self, _: Mapping[str, Any]) -> Any:
        fields = ("name", "signature", "description")
        return [{field: tool[field] for field in fields} for tool in self.saved.values()]

    def run(self, code: str) -> Host:
        handlers = {
            "saved.put": self.put,
            "saved.get": self.get,
            "saved.list": self.listed,
            "tools.call": lambda params: structured(params["arguments"]),
        }
        return run(code, [GITHUB], [brief("slack")], handlers)


class SavedTest(unittest.TestCase):
    def setUp(self) -> None:
        self.shelf = Shelf()

    def check(self, code: str, value: object) -> None:
        host = self.shelf.run(code)
        self.assertEqual(
            [frame["value"] for frame in host.of_type("result")], [value], (host.frames, host.stderr)
        )

    def refused(self, code: str) -> str:
        error = self.shelf.run(code).one("raised")["error"]
        self.assertNotIn("sandbox-runtime", "\n".join(error["traceback"]))
        return f"{error['type']}: {error['message']}"

    def save(self, source: str, name: str) -> None:
        self.check(f"{source}\nsave_tool({name})", f"Saved. In a later run: from user_tools import {name}")

    def test_saved_in_one_run_and_used_in_another(self) -> None:
        self.save("def double(x: int, by=2):\n    '''Twice.\n\n    Or more.'''\n    return x * by", "double")
        self.check("from user_tools import double\ndouble(4)", 8)
        self.check("import user_tools\n[user_tools.double(5), dir(user_tools)]", [10, ["double"]])
        self.check("from user_tools import *\ndouble(6)", 12)
        host = self.shelf.run("runtime.saved_tools()")
        self.assertEqual(host.one("result")["repr"], "double(x: int, by=2)  # Twice.")
        self.assertEqual((host.value[0]["name"], host.value[0]["description"]), ("double", "Twice."))
        self.assertIn("Or more.", self.shelf.run("from user_tools import double\nhelp(double)").stdout)

    def test_nothing_saved(self) -> None:
        self.assertIn("No tool is saved", self.shelf.run("runtime.saved_tools()").one("result")["repr"])
        self.assertEqual(
            self.refused("from user_tools import nope"), "ModuleNotFoundError: There is no saved tool 'nope'."
        )
        self.assertEqual(
            self.refused("import user_tools\nuser_tools.nope"),
            "AttributeError: There is no saved tool 'nope'.",
        )

    def test_overwriting_says_so(self) -> None:
        self.save("def f():\n    return 1", "f")
        self.check(
            "def f():\n    return 2\nsave_tool(f)",
            "Saved, in place of an earlier one. In a later run: from user_tools import f",
        )
        self.check("from user_tools import f\nf()", 2)

    def test_another_runs_is_replaced_on_request(self) -> None:
        self.save("def f():\n    return 1", "f")
        self.shelf.of_others.add("f")
        self.assertIn("of another run", self.refused("def f():\n    return 2\nsave_tool(f)"))
        self.check("from user_tools import f\nf()", 1)
        self.check("def f():\n    return 2\nsave_tool(f, replace=True)[:23]", "Saved, in place of an e")
        self.check("from user_tools import f\nf()", 2)
        self.assertIn("positional", self.refused("def f(): pass\nsave_tool(f, True)"))

    def test_async_with_servers(self) -> None:
        code = "async def get(n):\n    return (await mcp_github.get(id=n)).id, runtime.list_servers_sync()"
        self.save(code, "get")
        self.check("from user_tools import get\nawait get(3)", [3, ["github"]])
        self.save(
            "from mcp.servers.github import get as fetch\nasync def g(n):\n    return await fetch(id=n)", "g"
        )
        self.check("from user_tools import g\nawait g(4)", {"id": 4})

    def test_imports_of_the_run_come_along(self) -> None:
        self.save(
            "import json, xml.dom.minidom, concurrent.futures\nimport datetime as dt\n"
            "from collections import OrderedDict as OD, Counter\nfrom os import path\n"
            "def f(x=dt.date(2020, 1, 1)):\n"
            "    class A:\n        y = json\n"
            "    return [json.dumps(OD(a=1)), [Counter('a') for _ in '1'][0]['a'], str(x), path.sep,\n"
            "            xml.dom.minidom.Node.TEXT_NODE, concurrent.futures.FIRST_COMPLETED]",
            "f",
        )
        self.check("from user_tools import f\nf()", ['{"a": 1}', 1, "2020-01-01", "/", 3, "FIRST_COMPLETED"])
        source = self.shelf.saved["f"]["source"]
        self.assertIn("from collections import OrderedDict as OD\n", source)
        self.assertNotIn("import os", source)

    def test_saved_tools_use_each_other(self) -> None:
        self.save("def one():\n    return 1", "one")
        self.save("from user_tools import one\ndef two():\n    return one() + 1", "two")
        self.check("from user_tools import two\ntwo()", 2)
        self.check(
            "from user_tools import two\ndef one():\n    return two()\nsave_tool(one)[:7]",
            "Saved, ",
        )
        self.assertIn("import each other", self.refused("from user_tools import one"))

    def test_saved_again_after_import(self) -> None:
        self.save("import json\ndef f():\n    return json.dumps(1)", "f")
        self.check("from user_tools import f\nsave_tool(f)[:5]", "Saved")
        self.check("from user_tools import f\nf()", "1")

    def test_indented_source_keeps_its_texts(self) -> None:
        self.save("if True:\n    def f():\n        return '''a\n      b\nc'''", "f")
        self.check("from user_tools import f\nf()", "a\n      b\nc")

    def test_annotations_of_the_run_do_no_harm(self) -> None:
        self.save("class Mine: pass\ndef f(x: Mine = None) -> Mine:\n    return x", "f")
        self.check("from user_tools import f\nf(5)", 5)

    def test_what_a_later_run_could_not_find_is_refused(self) -> None:
        for code, words in (
            ("K = 1\ndef f():\n    return K", "uses K of this run"),
            ("def g(): pass\ndef f():\n    return [g for _ in '']", "uses g of this run"),
            ("K = 1\ndef f(x=K): pass", "uses K of this run"),
            (
                "def outer(n):\n    def f():\n        return n\n    return f\nf = outer(1)",
                "uses n of the function",
            ),
            (
                "import functools\n@functools.lru_cache\ndef g(): pass\nf = g.__wrapped__",
                "decorator @functools.lru",
            ),
            ("f = eval('lambda: 1')", "TypeError: save_tool() takes a function"),
            ("class f: pass", "TypeError: save_tool() takes a function"),
            ("f = mcp_github.get", "TypeError: save_tool() takes a function"),
            ("exec('def f(): pass')", "the source of f() "),
        ):
            self.assertIn(words, self.refused(f"{code}\nsave_tool(f)"), code)
        self.assertIn("call save_tool(f)", self.refused("@save_tool\ndef f(): pass"))
        for name in ("runtime", "mcp_x", "save_tool", "__init__", "__getattr__"):
            code = f"keep = save_tool\ndef {name}(): pass\nkeep({name})"
            self.assertIn("needs another name", self.refused(code), name)
        self.assertEqual(self.shelf.saved, {})

    def test_a_decorated_function_is_not_its_wrapper(self) -> None:
        code = "def deco(f):\n    def wrapper(*a): return f(*a)\n    return wrapper\n@deco\ndef f(): pass\nsave_tool(f)"
        self.assertIn("uses f of the function around it", self.refused(code))

    def test_a_forged_file_is_an_error_of_the_run_that_imports_it(self) -> None:
        self.shelf.saved["f"] = {"source": "x = 1"}
        self.assertIn("defines no f", self.refused("from user_tools import f"))
        self.shelf.saved["f"] = {"source": "def f(:"}
        self.assertIn("SyntaxError", self.refused("from user_tools import f"))


if __name__ == "__main__":
    unittest.main()
