"""asyncio at the top level: with the word `await` or without it, and beside loops of the code's own."""

from __future__ import annotations

import unittest
from typing import Any

from tests.host import Silent, run, run_script, server, structured, tool
from tests.test_sessions import Session

ECHO = server("x", tool("echo"))
HANDLERS = {"tools.call": lambda params: structured(params["arguments"])}
WORK = (
    "import asyncio\nasync def work(n):\n    await asyncio.sleep(0.01)\n    print('done', n)\n    return n\n"
)

# Each with its value and what it prints. None of them awaits at its top level.
WITHOUT_AWAIT: dict[str, tuple[str, Any, str]] = {
    "a task": ("t = asyncio.create_task(work(1))\n5", 5, "done 1\n"),
    "a task of another module's function": (
        "from asyncio import create_task\ncreate_task(work(1))\n5",
        5,
        "done 1\n",
    ),
    "a named task": ("asyncio.create_task(work(1), name='n').get_name()", "n", "done 1\n"),
    "a task as the last value": ("asyncio.create_task(work(1))", 1, "done 1\n"),
    "ensure_future": ("asyncio.ensure_future(work(1))\n5", 5, "done 1\n"),
    "gather as the last value": ("asyncio.gather(work(1), work(2))", [1, 2], "done 1\ndone 2\n"),
    "gather of nothing": ("asyncio.gather()", [], ""),
    "wait_for as the last value": ("asyncio.wait_for(work(1), 5)", 1, "done 1\n"),
    "shield": ("asyncio.shield(work(1))", 1, "done 1\n"),
    "a coroutine as the last value": ("work(1)", 1, "done 1\n"),
    "a task and then a coroutine": ("asyncio.create_task(work(1))\nwork(2)", 2, "done 1\ndone 2\n"),
    "a future of the loop": (
        "f = asyncio.get_event_loop().create_future()\nasyncio.get_event_loop().call_later(0.01, f.set_result, 7)\nf",
        7,
        "",
    ),
    "the running loop": ("t = asyncio.get_running_loop().create_task(work(1))\n5", 5, "done 1\n"),
    "a task of a task": (
        "async def more(): await asyncio.create_task(work(1))\nasyncio.create_task(more())\n5",
        5,
        "done 1\n",
    ),
    "in a function": ("def start(): return asyncio.create_task(work(1))\nt = start()\n5", 5, "done 1\n"),
    "tools": (
        "t = asyncio.ensure_future(mcp_x.echo(a=1))\nt.add_done_callback(lambda t: print(t.result()['a']))\n5",
        5,
        "1\n",
    ),
    "tools gathered": (
        "asyncio.gather(*(mcp_x.echo(a=n) for n in range(3)))",
        [{"a": 0}, {"a": 1}, {"a": 2}],
        "",
    ),
    "after asyncio.run": ("asyncio.run(work(1))\nasyncio.ensure_future(work(2))\n5", 5, "done 1\ndone 2\n"),
    "before asyncio.run": ("asyncio.create_task(work(2))\nasyncio.run(work(1))\n5", 5, "done 1\ndone 2\n"),
    "a loop that the code closed": (
        "loop = asyncio.get_event_loop()\nloop.run_until_complete(work(1))\nloop.close()\n"
        "asyncio.create_task(work(2))\n5",
        5,
        "done 1\ndone 2\n",
    ),
}
# What worked without, and works as it did: in the main thread, in a loop of the code's own.
OWN_LOOPS: dict[str, tuple[str, Any, str]] = {
    "asyncio.run": ("asyncio.run(work(1))", 1, "done 1\n"),
    "asyncio.run twice": ("asyncio.run(work(1))\nasyncio.run(work(2))", 2, "done 1\ndone 2\n"),
    "asyncio.run in the main thread": (
        "import threading\nasync def main(): return threading.current_thread() is threading.main_thread()\n"
        "asyncio.run(main())",
        True,
        "",
    ),
    "run_until_complete": ("asyncio.get_event_loop().run_until_complete(work(1))", 1, "done 1\n"),
    "a new loop": (
        "loop = asyncio.new_event_loop()\nx = loop.run_until_complete(work(1))\nloop.close()\nx",
        1,
        "done 1\n",
    ),
    "a new loop made current": (
        "loop = asyncio.new_event_loop()\nasyncio.set_event_loop(loop)\nasyncio.ensure_future(work(1))\n"
        "loop.run_until_complete(work(2))",
        2,
        "done 1\ndone 2\n",
    ),
    "a runner": (
        "if hasattr(asyncio, 'Runner'):\n    with asyncio.Runner() as r: x = r.run(work(1))\n"
        "else: x = asyncio.run(work(1))\nx",
        1,
        "done 1\n",
    ),
    "run if none is running": (
        "try: asyncio.get_running_loop().is_running() or asyncio.run(work(1))\n"
        "except RuntimeError: asyncio.run(work(1))\n5",
        5,
        "done 1\n",
    ),
    "a thread with a loop of its own": (
        "import threading\nt = threading.Thread(target=lambda: asyncio.run(work(1)))\nt.start()\nt.join()\n5",
        5,
        "done 1\n",
    ),
    "a thread without one": (
        "import threading\ndef go():\n    c = work(1)\n    try: asyncio.create_task(c)\n"
        "    except RuntimeError as e: print(e); c.close()\nt = threading.Thread(target=go)\nt.start()\nt.join()\n5",
        5,
        "no running event loop\n",
    ),
    "a library that asks whether a loop runs": (
        "import types\nlib = types.ModuleType('lib')\n"
        "exec('import asyncio\\ndef ask():\\n    try: asyncio.get_running_loop()\\n"
        "    except RuntimeError: return None\\n    return 1', lib.__dict__)\nlib.ask()",
        None,
        "",
    ),
    "nothing": ("5", 5, ""),
}


class RunTest(unittest.TestCase):
    def check(self, cases: dict[str, tuple[str, Any, str]]) -> None:
        for name, (code, value, printed) in cases.items():
            with self.subTest(name):
                host = run(WORK + code, [ECHO], handlers=HANDLERS)
                self.assertEqual([frame["type"] for frame in host.of_type("raised")], [], host.frames)
                self.assertEqual(
                    (host.value, "".join(sorted(host.stdout.splitlines(True)))), (value, printed)
                )
                self.assertEqual((host.one("exited")["code"], host.stderr), (0, ""))

    def test_without_await(self) -> None:
        self.check(WITHOUT_AWAIT)

    def test_own_loops(self) -> None:
        self.check(OWN_LOOPS)

    def test_what_has_failed_is_told(self) -> None:
        host = run("import asyncio\nasync def bad(): 1 / 0\nasyncio.create_task(bad())\n5")
        self.assertEqual((host.value, host.one("exited")["code"]), (5, 0))
        self.assertIn("ZeroDivisionError", host.stderr)

    def test_an_exception_waits_for_no_task(self) -> None:
        for end, code in (("1 / 0", 1), ("import sys; sys.exit(3)", 3)):
            host = run(f"import asyncio\nasyncio.create_task(asyncio.sleep(60))\n{end}")
            self.assertEqual(host.one("exited")["code"], code)

    def test_with_await_tasks_are_cancelled_at_the_end(self) -> None:
        host = run(f"{WORK}asyncio.create_task(work(1))\nawait asyncio.sleep(0)\n5")
        self.assertEqual((host.value, host.stdout), (5, ""))

    def test_what_is_in_a_file_finds_no_loop(self) -> None:
        host = run_script(
            "import asyncio\ntry: asyncio.get_running_loop()\nexcept RuntimeError as e: print(e)"
        )
        self.assertEqual(host.stdout, "no running event loop\n")

    def test_a_forked_child_takes_nothing_from_the_loop_of_its_parent(self) -> None:
        begin = "import asyncio, os\nawait asyncio.sleep(0)\npid = os.fork()\n"
        for child in ("await asyncio.sleep(0.01)", "os._exit(0)", "raise SystemExit(3)", "1 / 0", "pass"):
            with self.subTest(child):
                parent = "else:\n    os.waitpid(pid, 0)\n    x = await mcp_x.echo(a=1)\npid and x['a']"
                code = f"{begin}if not pid:\n    {child}\n{parent}"
                self.assertEqual(run(code, [ECHO], handlers=HANDLERS).value, 1)


class SessionTest(unittest.TestCase):
    def test_without_await_and_own_loops(self) -> None:
        with Session() as host:
            host.handlers.update(HANDLERS)
            for name, (code, value, _) in {**WITHOUT_AWAIT, **OWN_LOOPS}.items():
                with self.subTest(name):
                    self.assertEqual(host.call(WORK + code, [ECHO]), value)

    def test_what_a_call_has_started_goes_on_in_the_next(self) -> None:
        with Session() as host:
            host.handlers.update(HANDLERS)
            host.call(
                f"{WORK}t = asyncio.create_task(work(1))\nu = asyncio.ensure_future(mcp_x.echo(a=1))\n5",
                [ECHO],
            )
            self.assertEqual(host.call("[await t, (await u)['a']]", [ECHO]), [1, 1])

    def test_a_call_is_sent_before_the_end_of_what_has_started_it(self) -> None:
        def never(_: Any) -> Any:
            raise Silent

        with Session() as host:
            host.handlers["tools.call"] = never
            host.call("import asyncio\nt = asyncio.ensure_future(mcp_x.echo(a=1))\n5", [ECHO])
            kinds = [frame["type"] for frame in host.latest]
            self.assertLess(kinds.index("call"), kinds.index("result"))


if __name__ == "__main__":
    unittest.main()
