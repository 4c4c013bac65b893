"""Values that keep to Python's protocols: servers that are not loaded, and integers of many digits."""

from __future__ import annotations

import unittest

from tests.host import brief, run, server, tool

LOADED = server("git-hub", tool("get"), alias="git_hub")
SLACK = brief("slack")


class ProxyTest(unittest.TestCase):
    def test_attributes_of_a_server_that_is_not_loaded(self) -> None:
        lines = {
            "hasattr(mcp_slack, 'shape')": False,
            "getattr(mcp_slack, 'shape', 7)": 7,
            "[n for n, v in list(globals().items()) if hasattr(v, 'shape')]": [],
            "[n for n, v in list(globals().items()) if hasattr(v, 'dtype') or getattr(v, 'to_dict', None)]": [],
            "__import__('copy').copy(mcp_slack) is mcp_slack": True,
            "__import__('copy').deepcopy({'a': [mcp_slack, mcp_git_hub]})['a'][0] is mcp_slack": True,
            "__import__('copy').copy(mcp_git_hub) is mcp_git_hub": True,
            "isinstance(mcp_slack, (int, dict, type(mcp_slack)))": True,
            "[n for n, _ in __import__('inspect').getmembers(mcp_slack) if n[0] != '_']": [],
            "callable(mcp_slack)": False,
            "__import__('inspect').iscoroutinefunction(mcp_slack)": False,
            "dir(mcp_slack)": [],
            "isinstance(mcp_slack, __import__('collections').abc.Sized)": False,
        }
        for line, value in lines.items():
            with self.subTest(line):
                self.assertEqual(run(line, [LOADED], [SLACK]).value, value)

    def test_its_error_is_what_it_was(self) -> None:
        error = run("mcp_slack.post", [LOADED], [SLACK]).one("raised")["error"]
        self.assertEqual(error["type"], "UnknownServerError")
        self.assertIn('servers=["slack"]', error["message"])
        self.assertNotIn("Did you mean", error["traceback"][-1])
        code = "try: mcp_servers['slack']\nexcept KeyError as e: x = isinstance(e, runtime.MCPError)\nx"
        self.assertIs(run(code, [LOADED], [SLACK]).value, True)

    def test_it_cannot_be_pickled(self) -> None:
        for name in ("mcp_slack", "mcp_git_hub"):
            error = run(f"import pickle\npickle.dumps({name})", [LOADED], [SLACK]).one("raised")["error"]
            self.assertEqual(error["type"], "TypeError")
            self.assertIn("mcp_servers[name]", error["message"])


class DigitsTest(unittest.TestCase):
    def test_as_the_last_value(self) -> None:
        digits = str(5**6000)
        for code, shown in (
            ("5**6000", digits),
            ("-(5**6000)", f"-{digits}"),
            ("[1, 5**6000]", f"[1, {digits}]"),
            ("{'a': (5**6000,)}", "{'a': (" + digits + ",)}"),
            ("import math\nmath.factorial(2000)", "3316275092450633"),
            ("10**40000", "1" + "0" * 19_999 + "… 20,001 more characters"),
            ("10**1_000_000", "<an int of about 1,000,0"),
            ("5**6000 > 0\n7", "7"),
        ):
            with self.subTest(code):
                self.assertTrue(run(code).one("result")["repr"].startswith(shown))

    def test_the_limit_is_as_it_was(self) -> None:
        code = "import sys\nx = getattr(sys, 'get_int_max_str_digits', int)()\nx"
        self.assertEqual(run(f"10**5000\n{code}").value, run(code).value)

    def test_why_a_repr_failed_is_told(self) -> None:
        code = "class A:\n    def __repr__(self): raise ValueError('no such thing')\nA()"
        said = run(code).one("result")["repr"]
        self.assertEqual(said, "<A object whose repr() raised ValueError: no such thing>")


if __name__ == "__main__":
    unittest.main()
