"""runtime.progress: what is told, how often, from where, and what is refused."""

from __future__ import annotations

import unittest
from typing import Any

from tests.host import Frame, run


def told(code: str) -> list[Frame]:
    host = run(code)
    assert host.of_type("raised") == [], host.frames
    return host.of_type("progress")


def timed(code: str) -> tuple[list[Frame], int]:
    """What `code` tells, and how much it may tell: five in a second, the first and the last."""
    host = run(
        f"import time\nbegan = time.monotonic()\n{code}\nspent = time.monotonic() - began\ntime.sleep(0.5)\nspent"
    )
    return host.of_type("progress"), int(5 * host.value) + 2


def frame(done: float, total: float | None = None, message: str | None = None) -> Frame:
    return {"type": "progress", "done": done, "total": total, "message": message}


class ProgressTest(unittest.TestCase):
    def test_is_told_at_once(self) -> None:
        self.assertEqual(told("runtime.progress(3, 10, 'pages')"), [frame(3, 10, "pages")])
        self.assertEqual(told("mcp.runtime.progress(0.5)"), [frame(0.5)])
        self.assertEqual(
            told("from fractions import Fraction\nruntime.progress(Fraction(1, 2))"), [frame(0.5)]
        )

    def test_of_many_the_last_one_is_told(self) -> None:
        frames, most = timed("for n in range(50): runtime.progress(n, 50)")
        self.assertEqual([frames[0], frames[-1]], [frame(0, 50), frame(49, 50)])
        self.assertLessEqual(len(frames), most)

    def test_a_flood_costs_little(self) -> None:
        frames, most = timed("for n in range(200_000): runtime.progress(n, message='x' * 1000)")
        self.assertLessEqual(len(frames), most)
        self.assertEqual(len(frames[0]["message"]), 200)

    def test_works_from_threads_tasks_and_signal_handlers(self) -> None:
        thread = (
            "import threading\nt = threading.Thread(target=runtime.progress, args=(1,))\nt.start(); t.join()"
        )
        self.assertEqual(told(thread), [frame(1)])
        self.assertEqual(
            told("import asyncio\nawait asyncio.gather(asyncio.to_thread(runtime.progress, 2))"), [frame(2)]
        )
        handler = (
            "import signal, time\n"
            "signal.signal(signal.SIGALRM, lambda *_: runtime.progress(3))\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\n"
            "end = time.monotonic() + 2\n"
            "while time.monotonic() < end: await runtime.search_tool_docs('x')\n"
            "signal.setitimer(signal.ITIMER_REAL, 0)"
        )
        host = run(handler, handlers={"docs.search": lambda _: []})
        self.assertEqual(host.one("exited")["code"], 0, host.frames)
        self.assertGreater(len(host.of_type("progress")), 1)

    def test_a_handler_that_interrupts_the_first_report_raises_nothing(self) -> None:
        # As it is found by a signal's handler in the moment in which the first report loads it.
        code = (
            "import sys, types\nsys.modules['mcp._progress'] = types.ModuleType('mcp._progress')\n"
            "runtime.progress(1)\ndel sys.modules['mcp._progress']\nruntime.progress(2)"
        )
        self.assertEqual(told(code), [frame(2)])

    def test_is_silent_in_a_forked_child(self) -> None:
        code = "import os\npid = os.fork()\nif pid == 0:\n    runtime.progress(1); os._exit(0)\nos.waitpid(pid, 0)[1]"
        host = run(code)
        self.assertEqual((host.value, host.of_type("progress")), (0, []))

    def test_a_closed_stream_is_no_error(self) -> None:
        code = (
            "import os, time\nos.closerange(3, 64)\n"
            "for n in range(5): runtime.progress(n)\ntime.sleep(0.5)\nprint('on')"
        )
        host = run(code)
        self.assertEqual((host.stdout, host.stderr), ("on\n", ""))

    def test_refuses_what_is_no_number(self) -> None:
        def refused(arguments: str) -> Any:
            return run(f"runtime.progress({arguments})").one("raised")["error"]["message"]

        self.assertEqual(refused("'three'"), "progress(): done must be a number, not str")
        self.assertEqual(refused("1, total=[]"), "progress(): total must be a number, not list")
        for number in ("float('nan')", "float('inf')", "-1", "10**400"):
            self.assertEqual(refused(number), "progress(): done must be a finite number from 0 up")


if __name__ == "__main__":
    unittest.main()
