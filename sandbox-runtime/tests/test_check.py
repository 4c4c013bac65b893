"""The conversation before a run: checked as often as the host likes, and nothing of it runs before `run` is said."""

from __future__ import annotations

import time
import unittest

from tests.host import Host


class CheckTest(unittest.TestCase):
    def test_nothing_runs_before_run(self) -> None:
        with Host() as host:
            self.assertEqual(host.check("print('ran')\n1"), {"type": "checked", "named": []})
            time.sleep(0.2)
            host.wait_for(lambda seen: seen.of_type("hello") != [])
            self.assertEqual([frame["type"] for frame in host.frames], ["hello", "checked"])
            host.run()
            host.finish()
            self.assertEqual((host.stdout, host.value), ("ran\n", 1))

    def test_the_last_check_counts(self) -> None:
        with Host() as host:
            self.assertEqual(host.check("import os; os.abort()")["type"], "checked")
            self.assertEqual(host.check("def")["type"], "refused")
            self.assertEqual(host.check("'last'")["type"], "checked")
            host.run()
            self.assertEqual(host.finish().value, "last")

    def test_a_refused_program_leaves_nothing_to_run(self) -> None:
        with Host() as host:
            host.check("1")
            host.check("def")
            host.run()
            host.finish()
            self.assertEqual(host.process.returncode, 70)
            self.assertEqual(host.of_type("exited"), [])

    def test_a_run_that_comes_with_the_check_begins_after_the_answer(self) -> None:
        with Host() as host:
            self.assertEqual(
                host.check("print('ran')\n1", run=host.run_frame()), {"type": "checked", "named": []}
            )
            host.finish()
            self.assertEqual((host.stdout, host.value), ("ran\n", 1))
            ours = [
                frame["type"] for frame in host.frames if frame["type"] in ("checked", "output", "exited")
            ]
            # What is printed may come in several pieces.
            self.assertEqual((ours[0], set(ours[1:-1]), ours[-1]), ("checked", {"output"}, "exited"))

    def test_a_run_that_comes_with_the_check_is_dropped_where_the_host_is_to_decide(self) -> None:
        with Host() as host:
            self.assertEqual(host.check("def", run=host.run_frame())["type"], "refused")
            self.assertEqual(len(host.check("await mcp_a.b()", run=host.run_frame())["named"]), 1)
            self.assertEqual(host.check("'last'")["type"], "checked")
            host.run()
            self.assertEqual(host.finish().value, "last")

    def test_every_check_warns_anew(self) -> None:
        """A program that is checked twice, in the same sandbox, is compiled twice by the same process."""
        with Host() as host:
            host.check("x = 1 is 1\n(")
            host.check("x = 1 is 1")
            host.check("x = 1 is 1")
            host.run()
            self.assertEqual(host.finish().stderr.count("SyntaxWarning"), 1)

    def test_nothing_of_an_earlier_check_is_seen_later(self) -> None:
        with Host() as host:
            host.check("secret = 1\nimport wave")
            host.check(
                "import sys, linecache\n['secret' in globals(), 'wave' in sys.modules, linecache.getline('main.py', 1)]"
            )
            host.run()
            self.assertEqual(host.finish().value[:2], [False, False])
            self.assertTrue(host.value[2].startswith("import sys"))

    def test_tools_that_the_code_names(self) -> None:
        with Host() as host:
            answer = host.check(
                "```python\nmcp_a.b()\nfrom mcp.servers.c import d\nimport mcp.servers.e\n```"
            )
            expected = [("a", "b", 1), ("c", "d", 2), ("e", None, 3)]
            self.assertEqual([tuple(one.values()) for one in answer["named"]], expected)

    def test_the_host_may_go_after_a_check(self) -> None:
        with Host() as host:
            host.check("1")
            host.hang_up()
            host.finish()
            self.assertEqual(host.process.returncode, 0)


if __name__ == "__main__":
    unittest.main()
