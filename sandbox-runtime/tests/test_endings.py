"""How a guest ends, and that the host is told exactly that."""

from __future__ import annotations

import signal
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from harness.first_process import memory_kills
from tests.host import HANGS_S, Host, Silent, eventually, has_got_there, run, server, tool

HANG = {"tools.call": lambda _: (_ for _ in ()).throw(Silent())}
SLOW = [server("x", tool("slow"))]


class ExitTest(unittest.TestCase):
    def check(self, code: str, exit_code: int, stderr: str = "") -> None:
        host = run(code)
        self.assertEqual(host.one("exited")["code"], exit_code, host.frames)
        self.assertEqual(host.stderr, stderr)

    def test_exit_codes(self) -> None:
        self.check("import sys\nsys.exit()", 0)
        self.check("import sys\nsys.exit(3)", 3)
        self.check("import sys\nsys.exit(-1)", 255)
        self.check("import sys\nsys.exit('why')", 1, "why\n")
        self.check("raise SystemExit(4)", 4)
        self.check("import os\nos._exit(5)", 5)
        self.check("import asyncio, sys\nawait asyncio.sleep(0)\nsys.exit(6)", 6)
        self.check("import asyncio, sys\nasync def main(): sys.exit(7)\nasyncio.run(main())", 7)
        self.check("import os\nos.execvp('sh', ['sh', '-c', 'exit 8'])", 8)

    def test_segmentation_fault(self) -> None:
        host = run("import ctypes\nctypes.string_at(0)")
        self.assertEqual((host.one("exited")["code"], host.one("exited")["signal"]), (None, "SIGSEGV"))
        self.assertIn("Segmentation fault", host.stderr)

    def test_what_is_written_to_every_descriptor_ends_nothing(self) -> None:
        # Among them the one by which the guest takes its leave.
        code = (
            "import os, select\nfor fd in range(3, 90):\n"
            "    try:\n        if select.select([], [fd], [], 0)[1]: os.write(fd, b'\\x05')\n"
            "    except (OSError, ValueError): pass\nprint('still here')"
        )
        host = run(code)
        self.assertEqual((host.stdout, host.one("exited")["code"]), ("still here\n", 0))

    def test_a_closed_descriptor_ends_nothing(self) -> None:
        host = run("import os\nos.closerange(3, 90)\nprint('still here')\nraise SystemExit(6)")
        self.assertEqual((host.stdout, host.one("exited")["code"]), ("still here\n", 6))

    def test_threads_and_atexit_run_before_the_end(self) -> None:
        code = (
            "import threading, time, atexit\natexit.register(print, 'atexit')\n"
            "threading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start()\n"
            "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nprint('main')"
        )
        self.assertEqual(run(code).stdout, "main\nthread\natexit\n")

    def test_orphans_are_no_concern(self) -> None:
        host = run("import os\nfor _ in range(5):\n    if os.fork() == 0:\n        os._exit(0)\n'ok'")
        self.assertEqual(host.value, "ok")

    def test_a_forked_child_ends_quietly(self) -> None:
        host = run(
            "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('child' if pid == 0 else 'parent')\n1"
        )
        self.assertEqual(sorted(host.stdout.split()), ["child", "parent"])
        self.assertEqual(host.value, 1)

    def test_a_forked_child_that_raises_prints(self) -> None:
        host = run(
            "import os\npid = os.fork()\nif pid == 0: 1/0\n_, status = os.waitpid(pid, 0)\nos.WEXITSTATUS(status)"
        )
        self.assertEqual(host.value, 1)
        self.assertIn("ZeroDivisionError", host.stderr)

    def test_a_call_that_hangs_does_not_keep_the_run_alive(self) -> None:
        code = "import asyncio\nt = asyncio.create_task(mcp_x.slow())\nawait asyncio.sleep(0.05)\n'end'"
        host = run(code, SLOW, handlers=HANG)
        self.assertEqual(host.value, "end")
        self.assertEqual(host.one("abandon")["id"], host.one("call")["id"])


class MemoryKillsTest(unittest.TestCase):
    def test_what_the_control_group_says(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            events = Path(folder, "memory.events")
            control = Path(folder, "memory.oom_control")
            files = (str(events), str(control))
            self.assertIsNone(memory_kills(files))
            control.write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
            self.assertEqual(memory_kills(files), 2)
            events.write_text("low 0\nhigh 0\nmax 12\noom 3\noom_kill 1\noom_group_kill 5\n")
            self.assertEqual(memory_kills(files), 1)
            events.write_text("oom_kill many\n")
            self.assertEqual(memory_kills(files), 2)


class RaisedTest(unittest.TestCase):
    def error_of(self, code: str) -> dict[str, Any]:
        host = run(code)
        self.assertEqual(host.one("exited")["code"], 1)
        self.assertEqual(host.one("raised")["exitCode"], 1)
        return host.one("raised")["error"]

    def test_traceback_is_the_users(self) -> None:
        error = self.error_of("def f():\n    raise ValueError('no')\nf()")
        self.assertEqual((error["type"], error["message"]), ("ValueError", "no"))
        text = "\n".join(error["traceback"])
        self.assertIn('  File "main.py", line 2, in f\n    raise ValueError', text)
        self.assertNotIn("harness", text)
        self.assertTrue(text.endswith("ValueError: no"))

    def test_below_await_and_library(self) -> None:
        for code in (
            "import json\njson.loads('{')",
            "import asyncio, json\nawait asyncio.sleep(0)\njson.loads('{')",
        ):
            lines = self.error_of(code)["traceback"]
            self.assertIn('File "main.py", line', lines[1])
            self.assertEqual([line for line in lines if "File" in line], [lines[1]])
            self.assertRegex(lines[-2], r"^  … in json\.decoder\.\w+ \(library\)$")

    def test_chains(self) -> None:
        text = "\n".join(
            self.error_of("try:\n    1/0\nexcept Exception as e:\n    raise KeyError('k') from e")[
                "traceback"
            ]
        )
        self.assertIn("direct cause", text)
        self.assertNotIn("harness", text)

    @unittest.skipIf(sys.version_info < (3, 11), "groups came with 3.11")
    def test_groups(self) -> None:
        code = "import asyncio\nasync def bad(): 1/0\nasync with asyncio.TaskGroup() as g:\n    g.create_task(bad())"
        error = self.error_of(code)
        text = "\n".join(error["traceback"])
        self.assertEqual(error["type"], "ExceptionGroup")
        self.assertIn("async def bad(): 1/0", text)
        self.assertNotIn("harness", text)

    def test_recursion(self) -> None:
        error = self.error_of("def f(): f()\nf()")
        self.assertEqual(error["type"], "RecursionError")
        self.assertLess(len(error["traceback"]), 30)

    @unittest.skipIf(sys.version_info < (3, 10), "the list of the standard library came with 3.10")
    def test_a_misspelt_module_is_guessed(self) -> None:
        def last_line(code: str) -> str:
            line: str = self.error_of(code)["traceback"][-1]
            return line.partition(": ")[2]

        for wrong, right in (("jsn", "json"), ("asynco", "asyncio"), ("colections", "collections")):
            self.assertEqual(
                last_line(f"import {wrong}"), f"No module named {wrong!r}. Did you mean: {right!r}?"
            )
        for other in ("torch_no_such", "os.nothing", "pyt"):
            self.assertNotIn("Did you mean", last_line(f"import {other}"))
        self.assertEqual(last_line("raise ModuleNotFoundError('mine', name='jsn')"), "mine")
        # Of the standard library, and not in every image.
        absent = (
            "import importlib.util; real = importlib.util.find_spec\n"
            "importlib.util.find_spec = lambda name, *more: None if name == {0!r} else real(name, *more)\n"
        )
        for wrong in ("tkinter", "tkintr", "curses", "cursess"):
            right = "tkinter" if wrong.startswith("tk") else "curses"
            said = last_line(
                absent.format(right)
                + f'raise ModuleNotFoundError("No module named {wrong!r}", name={wrong!r})'
            )
            self.assertEqual(said, f"No module named {wrong!r}")

    def test_other_base_exceptions(self) -> None:
        self.assertEqual(self.error_of("raise KeyboardInterrupt")["type"], "KeyboardInterrupt")
        self.assertEqual(self.error_of("raise MemoryError")["type"], "MemoryError")
        self.assertEqual(self.error_of("class E(BaseException): pass\nraise E('x')")["type"], "E")

    def test_hostile_exceptions(self) -> None:
        error = self.error_of("class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E")
        self.assertEqual(error["type"], "E")
        error = self.error_of("class E(Exception):\n    def __str__(self): return 5\nraise E")
        self.assertEqual(error["type"], "E")
        self.error_of("class E(Exception): pass\nE.__module__ = 5\nraise E")
        self.error_of("a, b = Exception(), Exception()\na.__cause__, b.__cause__ = b, a\nraise a")
        error = self.error_of("raise ValueError('x' * 10_000_000)")
        self.assertLess(len(str(error)), 100_000)

    def test_surrogate_in_message(self) -> None:
        self.assertEqual(self.error_of("raise ValueError('a\\ud800')")["message"], "a\ufffd")


class StopTest(unittest.TestCase):
    def where(self, code: str) -> list[str]:
        with Host() as host:
            host.handlers.update(HANG)
            host.start(code, SLOW)
            host.wait_for(lambda h: "go" in h.stdout)
            has_got_there()
            host.send({"type": "stop", "reason": "timeout"})
            host.finish()
            self.assertEqual(host.one("exited")["code"], 1)
            return host.one("where")["lines"]

    def test_busy_loop(self) -> None:
        self.assertEqual(
            self.where("def f():\n    while True: pass\nprint('go')\nf()")[-1], "main.py:2: while True: pass"
        )

    def test_sleep(self) -> None:
        self.assertEqual(
            self.where("import time\nprint('go')\ntime.sleep(600)"), ["main.py:3: time.sleep(600)"]
        )

    def test_awaiting_a_call(self) -> None:
        self.assertEqual(self.where("print('go')\nawait mcp_x.slow()"), ["main.py:2: await mcp_x.slow()"])

    def test_awaiting_below_asyncio_run(self) -> None:
        code = (
            "import asyncio\nasync def main():\n    print('go')\n    await asyncio.gather(mcp_x.slow(), inner())\n"
            "async def inner():\n    await mcp_x.slow()\nasyncio.run(main())"
        )
        lines = self.where(code)
        self.assertEqual(lines[0], "main.py:7: asyncio.run(main())")
        self.assertIn("main.py:4: await asyncio.gather(mcp_x.slow(), inner())", lines)
        self.assertIn("main.py:6: await mcp_x.slow()", lines)

    def test_waiting_for_a_thread_at_the_end(self) -> None:
        code = (
            "import threading, time\ndef work():\n    time.sleep(600)\n"
            "threading.Thread(target=work).start()\nprint('go')"
        )
        self.assertIn("main.py:3: time.sleep(600)", self.where(code))

    def test_partial_output_is_kept(self) -> None:
        with Host() as host:
            host.start("print('go', end='')\nwhile True: pass")
            host.wait_for(lambda h: h.stdout == "go")
            host.send({"type": "stop", "reason": "timeout"})
            self.assertEqual(host.finish().stdout, "go")


class HostGoneTest(unittest.TestCase):
    def test_before_the_run(self) -> None:
        with Host() as host:
            host.wait_for(lambda h: bool(h.frames))
            host.hang_up()
            self.assertEqual(host.finish().process.returncode, 0)

    def test_during_the_run(self) -> None:
        with Host() as host:
            host.start("print('go')\nwhile True: pass")
            host.wait_for(lambda h: "go" in h.stdout)
            host.hang_up()
            self.assertEqual(host.finish().process.returncode, 0)

    def test_with_a_guest_that_cannot_notice(self) -> None:
        with Host() as host:
            host.start(
                "import os, signal\nprint(os.getpid(), flush=True)\nos.kill(os.getpid(), signal.SIGSTOP)"
            )
            host.wait_for(lambda h: h.stdout.endswith("\n"))
            host.hang_up()
            self.assertEqual(host.finish().process.returncode, 0)
            self.assertTrue(_ends(int(host.stdout)))

    def test_a_signal_ends_everything(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            with Host() as host:
                host.wait_for(lambda h: bool(h.frames))
                # It greets before it listens.
                host.check("1")
                host.process.send_signal(number)
                self.assertEqual(host.process.wait(HANGS_S), 128 + number)

    def test_a_signal_during_the_run_ends_the_guest_and_is_told(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            with Host() as host:
                host.start("open('out/a', 'w').write('x')\nprint('go')\nwhile True: pass")
                host.wait_for(lambda h: "go" in h.stdout)
                host.process.send_signal(number)
                host.wait_for(lambda h: bool(h.of_type("exited")))
                host.hang_up()
                self.assertEqual(host.finish().one("exited")["signal"], "SIGKILL")
                self.assertEqual((len(host.of_type("file")), host.process.returncode), (1, 0))

    def test_a_run_of_nothing_that_was_checked(self) -> None:
        for line in (b"garbage", b'{"type":"stop","reason":"x"}', b'{"type":"run"}'):
            with Host() as host:
                host.send_line(line)
                host.finish()
                self.assertEqual(host.process.returncode, 70)
                self.assertIn(b"Traceback (most recent call last):\n", host.noise)


def _ends(pid: int) -> bool:
    """Whether the process is gone soon; a zombie is, though where nobody reaps orphans it stays in the table."""

    def is_gone() -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True

    return eventually(is_gone)


if __name__ == "__main__":
    unittest.main()
