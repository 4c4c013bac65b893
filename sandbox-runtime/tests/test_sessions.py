"""Sessions: programs one after another in one interpreter.

What one leaves is there for the next, and an end is told once.
"""

from __future__ import annotations

import os
import signal
import time
import unittest
from pathlib import Path
from typing import Any

from harness.outbox import Outbox
from tests.host import (
    HANGS_S,
    Frame,
    Host,
    Refuse,
    eventually,
    given,
    has_got_there,
    server,
    session,
    structured,
    tool,
)
from tests.pictures import PNG

ECHO = server("github", tool("echo"))
OTHER = server("jira", tool("get"))


class Session(Host):
    """A host that makes calls of one session."""

    calls = 0
    # Of the last call: its frames.
    since = 0
    may_keep_running = True

    def __enter__(self) -> Session:
        return self

    def begin(self, code: str, loaded: list[Frame] | None = None, files: list[Frame] | None = None) -> None:
        """Has the code checked and run."""
        assert self.check(code)["type"] == "checked"
        self.calls += 1
        self.since = len(self.frames)
        facts = {
            "name": "data",
            "handle": "s-1",
            "call": self.calls,
            "ageSeconds": 1.5,
            "idleSeconds": 900,
            "lifeSeconds": 14400,
            "keepRunning": self.may_keep_running,
        }
        self.run(loaded, files=files, session=facts)

    def ended(self) -> list[Frame]:
        """Waits for the end of the call that is under way, and for the guest's last word where there is one."""
        # They come by two streams, in either order.
        for kinds in (("answered",), ("result", "raised")):
            self.wait_for(lambda _, kinds=kinds: any(frame["type"] in kinds for frame in self.latest))
        return self.latest

    def call(self, code: str, loaded: list[Frame] | None = None, files: list[Frame] | None = None) -> Any:
        """The value of the code's last expression."""
        self.begin(code, loaded, files)
        self.ended()
        results = [frame for frame in self.latest if frame["type"] == "result"]
        assert len(results) == 1, (self.latest, self.noise)
        return results[0]["value"]

    def raised(self, code: str) -> Frame:
        """The error of code that ends with an exception."""
        self.begin(code)
        self.ended()
        return next(frame["error"] for frame in self.latest if frame["type"] == "raised")

    @property
    def latest(self) -> list[Frame]:
        """Frames since the last call began."""
        return self.frames[self.since :]

    @property
    def printed(self) -> str:
        """What has come to stdout since the last call began."""
        return "".join(frame["text"] for frame in self.latest if frame["type"] == "output")

    def hang_up_after_end(self) -> None:
        """Waits for the end of the guest, as the host does that has looked whether memory was the reason."""
        self.wait_for(lambda host: any(frame["type"] == "exited" for frame in host.frames))
        self.hang_up()
        self.finish()

    def interrupted(self, code: str) -> Frame:
        """The error of code that is interrupted while it runs."""
        self.begin(code)
        self.wait_for(lambda _: "begun" in self.printed)
        has_got_there()
        self.send({"type": "interrupt"})
        self.ended()
        return next(frame["error"] for frame in self.latest if frame["type"] == "raised")


class SessionTest(unittest.TestCase):
    def test_what_a_call_leaves_is_there_for_the_next(self) -> None:
        with Session() as host:
            self.assertIsNone(host.call("import json\nx = [1]\ndef f(): return json.dumps(x)"))
            self.assertEqual(host.call("x.append(2); f()"), "[1, 2]")
            self.assertEqual(host.call("_ + '!'"), "[1, 2]!")
            self.assertEqual(host.call("open('a.txt', 'w').write('kept')\n5"), 5)
            self.assertEqual(host.call("open('a.txt').read()"), "kept")

    def test_no_failure_ends_it(self) -> None:
        with Session() as host:
            host.call("x = 1")
            error = host.raised("x = 2\n1 / 0")
            self.assertEqual(error["type"], "ZeroDivisionError")
            self.assertIn("main-2.py", "\n".join(error["traceback"]))
            host.begin("import sys\nx = 3\nsys.exit(7)")
            self.assertEqual([f["code"] for f in host.ended() if f["type"] == "answered"], [7])
            self.assertEqual(host.check("x = = 4")["type"], "refused")
            self.assertEqual(host.call("x"), 3)

    def test_each_call_may_show_as_many_pictures_as_a_run(self) -> None:
        with Session(modules={"drawn": PNG}) as host:
            host.call("from drawn import Drawn")
            for _ in range(2):
                host.call("for n in range(9): runtime.display(Drawn(1 + n))")
                self.assertEqual(len([frame for frame in host.latest if frame["type"] == "picture"]), 8)
                self.assertIn("[picture 1: 1x3 png", host.printed)
                self.assertIn("at most 8 are shown in one run", host.printed)

    def test_files_and_results_lie_where_they_did_when_code_has_gone_elsewhere(self) -> None:
        gone = (
            "os.mkdir('sub'); os.chdir('sub')",
            "os.mkdir('x'); os.chdir('x'); os.rmdir('../x')",
        )
        for code in gone:
            with self.subTest(code), Session() as host:
                home = host.call(f"import os\nhome = os.getcwd()\n{code}\nhome")
                files = [given("d.txt", b"data"), given("in/d.txt", b"deep"), given("out/given", b"g")]
                look = "[open(f'{home}/{n}').read() for n in ('d.txt', 'in/d.txt')]"
                self.assertEqual(host.call(look, files=files), ["data", "deep"])
                self.assertEqual(
                    [frame["name"] for frame in host.latest if frame["type"] == "file"], ["given"]
                )
                host.call("import shutil; shutil.rmtree(f'{home}/out')")
                # Made again for each call, and nowhere else.
                self.assertEqual(
                    host.call("[os.path.isdir(f'{home}/out'), os.path.isdir('out')]"), [True, False]
                )
                host.call("open(f'{home}/out/left', 'w').write('x')")
                self.assertEqual(
                    [frame["name"] for frame in host.latest if frame["type"] == "file"], ["left"]
                )
                # Where the code is, is its own affair, and stays so.
                self.assertNotEqual(host.call("(os.readlink('/proc/self/cwd'))"), home)

    def test_a_traceback_quotes_the_call_in_which_the_code_was_written(self) -> None:
        with Session() as host:
            host.call("def f():\n    return [][1]")
            text = "\n".join(host.raised("# another\n# program\nf()")["traceback"])
            self.assertIn("return [][1]", text)
            self.assertIn("f()", text)

    def test_tasks_of_a_call_go_on_in_the_next(self) -> None:
        with Session() as host:
            code = """
            import asyncio
            seen = []
            async def count():
                for number in range(1_000_000):
                    seen.append(number)
                    await asyncio.sleep(0.01)
            task = asyncio.create_task(count())
            await asyncio.sleep(0)
            len(seen)
            """
            self.assertEqual(host.call(code), 1)
            self.assertTrue(host.call("await asyncio.sleep(0.1); len(seen) > 1 and not task.done()"))
            self.assertEqual(host.call("asyncio.run(asyncio.sleep(0, 5))"), 5)
            self.assertTrue(host.call("await asyncio.sleep(0.05); not task.done()"))

    def test_a_supervisor_that_sees_output_and_end_at_once_waits_for_no_more_output(self) -> None:
        with Session() as host:
            host.call("1")
            host.begin(
                "import time\nprint('begun', flush=True)\ntime.sleep(0.5)\nprint('more', flush=True)\n2"
            )
            host.wait_for(lambda _: "begun" in host.printed)
            os.kill(host.process.pid, signal.SIGSTOP)
            # It sees both only when it goes on, however slow the machine is.
            time.sleep(1.5)
            os.kill(host.process.pid, signal.SIGCONT)
            host.ended()
            self.assertEqual(host.printed, "begun\nmore\n")
            self.assertEqual(host.call("3"), 3)

    def test_threads_go_on_between_calls_and_their_output_belongs_to_the_next(self) -> None:
        with Session() as host:
            code = """
            import threading, time
            def late():
                time.sleep(0.2)
                print("late")
            thread = threading.Thread(target=late)
            thread.start()
            """
            host.call(code)
            time.sleep(0.6)
            self.assertEqual(host.printed, "")
            host.call("thread.join()")
            self.assertEqual(host.printed, "late\n")

    def test_it_is_interrupted_wherever_it_is(self) -> None:
        for code in (
            "print('begun')\nwhile True: pass",
            "import time\nprint('begun')\ntime.sleep(600)",
            "import asyncio\nprint('begun')\nawait asyncio.sleep(600)",
            "import asyncio\nprint('begun')\nasync def f():\n    while True: pass\nawait f()",
            "import subprocess\nprint('begun')\nsubprocess.run(['sleep', '600'])",
            "import threading\nprint('begun')\nthreading.Event().wait()",
        ):
            with self.subTest(code=code), Session() as host:
                host.call("x = 1")
                error = host.interrupted(code)
                self.assertEqual(error["type"], "KeyboardInterrupt")
                self.assertIn("main-2.py", "\n".join(error["traceback"]))
                where = [frame["lines"] for frame in host.latest if frame["type"] == "where"]
                self.assertEqual(len(where), 1)
                self.assertIn("main-2.py", where[0][-1])
                self.assertEqual(host.call("x"), 1)

    def test_an_interrupt_leaves_no_half_a_frame(self) -> None:
        with Session() as host:
            host.handlers["tools.call"] = lambda params: structured(params["arguments"])
            code = """
            print("begun")
            import asyncio
            async def ask():
                while True:
                    await mcp_github.echo(text="x" * 2_000_000)
            await ask()
            """
            host.begin("1", [ECHO])
            host.ended()
            for _ in range(5):
                host.begin(code, [ECHO])
                host.wait_for(lambda _: "begun" in host.printed)
                host.send({"type": "interrupt"})
                host.ended()
            self.assertEqual(host.call("6 * 7", [ECHO]), 42)

    def test_an_interrupt_between_calls_does_nothing(self) -> None:
        with Session() as host:
            host.call("x = 1")
            host.send({"type": "interrupt"})
            self.assertEqual(host.call("import time; time.sleep(0.1); x"), 1)

    def test_a_handler_of_an_earlier_call_does_not_keep_an_interrupt(self) -> None:
        with Session() as host:
            host.call("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n1")
            self.assertEqual(
                host.interrupted("print('begun')\nwhile True: pass")["type"], "KeyboardInterrupt"
            )

    def test_code_that_ignores_an_interrupt_goes_on(self) -> None:
        with Session() as host:
            code = """
            import time
            print("begun")
            while True:
                try:
                    while True: time.sleep(0.01)
                except BaseException:
                    print("ignored")
            """
            host.begin(code)
            host.wait_for(lambda _: "begun" in host.printed)
            # It has to be where it ignores it.
            has_got_there()
            host.send({"type": "interrupt"})
            host.wait_for(lambda _: "ignored" in host.printed)
            self.assertNotIn("answered", [frame["type"] for frame in host.latest])

    def test_a_guest_that_ends_ends_the_session(self) -> None:
        for code, end in (
            ("import os\nos._exit(3)", (3, None)),
            ("import os\nos.kill(os.getpid(), 9)", (None, "SIGKILL")),
        ):
            with self.subTest(code=code), Session() as host:
                host.call("1")
                host.begin(code)
                host.hang_up_after_end()
                exited = host.one("exited")
                self.assertEqual((exited["code"], exited["signal"]), end)

    def test_code_that_closes_what_tells_of_its_end_ends_the_session(self) -> None:
        with Session() as host:
            host.begin("import os\nos.closerange(3, 500)")
            host.hang_up_after_end()
            host.one("exited")

    def test_a_forked_child_is_no_second_session(self) -> None:
        with Session() as host:
            code = """
            import os
            if os.fork() == 0:
                x = "child"
            else:
                os.wait()
                x = "parent"
            x
            """
            self.assertEqual(host.call(code), "parent")
            self.assertEqual(host.call("x"), "parent")

    def test_files_that_have_changed_come_back(self) -> None:
        with Session() as host:
            host.call("open('out/a.txt', 'w').write('1'); open('out/b.txt', 'w').write('1'); 1")
            host.call("open('out/b.txt', 'w').write('22'); 1")
            self.assertEqual([f["name"] for f in host.latest if f["type"] == "file"], ["b.txt"])
            host.call("1")
            self.assertEqual([f["name"] for f in host.latest if f["type"] == "file"], [])
            names = host.call("import os; sorted(os.listdir('out'))")
            self.assertEqual(names, ["a.txt", "b.txt"])

    def test_files_go_in_with_each_call(self) -> None:
        with Session() as host:
            read = "open('in.txt').read()"
            self.assertEqual(host.call(read, files=[given("in.txt", b"one")]), "one")
            self.assertEqual(host.call(read), "one")
            self.assertEqual(host.call(read, files=[given("in.txt", b"two")]), "two")

    def test_servers_add_up_and_names_of_the_code_stay(self) -> None:
        with Session() as host:
            host.handlers["tools.call"] = lambda params: structured(params["server"])
            self.assertEqual(host.call("await mcp_github.echo()", [ECHO]), "github")
            host.call("runtime = 'mine'", [ECHO])
            self.assertEqual(host.call("await mcp_jira.get()", [ECHO, OTHER]), "jira")
            self.assertEqual(host.call("runtime", [ECHO, OTHER]), "mine")
            self.assertEqual(host.call("sorted(LOADED_MCP_SERVERS)", [ECHO, OTHER]), ["github", "jira"])

    def test_what_a_task_asks_between_calls_is_answered_like_any_call(self) -> None:
        with Session() as host:

            def refuse(_: object) -> Any:
                raise Refuse("no call is under way")

            host.handlers["tools.call"] = refuse
            code = """
            import asyncio
            said = []
            async def ask():
                await asyncio.sleep(0.2)
                try:
                    await mcp_github.echo()
                except Exception as error:
                    said.append(str(error))
            runtime.keep_running()
            task = asyncio.create_task(ask())
            await asyncio.sleep(0)
            """
            host.begin(code, [ECHO])
            host.ended()
            host.wait_for(lambda _: any(frame["type"] == "call" for frame in host.latest))
            self.assertEqual(host.call("await task; said", [ECHO]), ["no call is under way"])

    def test_code_knows_its_session(self) -> None:
        with Session() as host:
            facts = host.call("dict(runtime.session)")
            self.assertEqual((facts["name"], facts["handle"], facts["call"]), ("data", "s-1", 1))
            self.assertGreaterEqual(facts["ageSeconds"], 1.5)
            self.assertEqual(host.call("runtime.session.call"), 2)

    def test_a_run_of_its_own_has_no_session(self) -> None:
        with Host() as host:
            host.start(
                "try:\n    runtime.keep_running()\nexcept RuntimeError as e: x = str(e)\n[runtime.session, x]"
            )
            host.finish()
            none, why = host.value
            self.assertIsNone(none)
            self.assertIn('session="name"', why)

    def test_it_stands_still_and_goes_on(self) -> None:
        with Session() as host:
            code = """
            import threading, time
            ticks = []
            def tick():
                while True:
                    ticks.append(time.monotonic())
                    time.sleep(0.01)
            threading.Thread(target=tick, daemon=True).start()
            """
            host.call(code)
            host.send({"type": "hold"})
            self.wait_until_stopped(host)
            time.sleep(0.5)
            code = """
            count = len(ticks)
            while len(ticks) == count:
                time.sleep(0.01)
            max(later - one for one, later in zip(ticks, ticks[1:]))
            """
            self.assertGreaterEqual(host.call(code), 0.5)

    def test_code_that_has_asked_for_it_goes_on_until_the_host_says_otherwise(self) -> None:
        with Session() as host:
            host.begin("runtime.keep_running()")
            self.assertEqual([f["goesOn"] for f in host.ended() if f["type"] == "answered"], [True])
            host.send({"type": "alive"})
            time.sleep(0.3)
            self.assertFalse(any(state == "T" for state in self.states(host)))
            host.send({"type": "hold"})
            self.wait_until_stopped(host)
            host.begin("runtime.keep_running(False)")
            self.assertEqual([f["goesOn"] for f in host.ended() if f["type"] == "answered"], [False])

    def test_where_it_is_switched_off_code_is_told_so(self) -> None:
        with Session() as host:
            host.may_keep_running = False
            why = host.call("try:\n    runtime.keep_running()\nexcept RuntimeError as e: x = str(e)\nx")
            self.assertIn("MCP_BRIDGE_SESSION_KEEP_RUNNING", why)
            host.begin("runtime.keep_running(False)")
            self.assertEqual([f["goesOn"] for f in host.ended() if f["type"] == "answered"], [False])

    def test_output_that_comes_together_with_the_end_of_its_call(self) -> None:
        with Session() as host:
            host.begin("import time; time.sleep(0.3); print('both')")
            # A supervisor that has no turn for a while sees both at once.
            os.kill(host.process.pid, signal.SIGSTOP)
            time.sleep(1)
            os.kill(host.process.pid, signal.SIGCONT)
            host.ended()
            self.assertEqual(host.printed, "both\n")
            self.assertEqual(host.call("1 + 1"), 2)

    def test_a_call_is_not_held(self) -> None:
        with Session() as host:
            host.begin("import time\nprint('begun')\ntime.sleep(0.5)\n1")
            host.wait_for(lambda _: "begun" in host.printed)
            host.send({"type": "hold"})
            host.ended()

    def test_a_note_of_its_own_is_not_an_end(self) -> None:
        with Session() as host:
            # Whatever descriptor it may be: none but the frames' own takes a guess for the end of a call.
            code = """
            import os, stat, time
            for fd in range(3, 60):
                try:
                    if stat.S_ISFIFO(os.fstat(fd).st_mode):
                        os.set_blocking(fd, False)
                        os.write(fd, b"x" * 8 + bytes([0, 0]))
                except OSError:
                    pass
            time.sleep(0.2)
            print("later")
            """
            host.begin(code)
            host.ended()
            self.assertIn("later", host.printed)

    def test_the_end_of_the_host_ends_everything(self) -> None:
        with Session() as host:
            host.call("import subprocess\np = subprocess.Popen(['sleep', '600'])")
            host.send({"type": "hold"})
            self.wait_until_stopped(host)
            host.hang_up()
            self.assertEqual(host.process.wait(HANGS_S), 0)

    def wait_until_stopped(self, host: Session) -> None:
        self.assertTrue(eventually(lambda: "T" in self.states(host)))

    def states(self, host: Session) -> list[str]:
        found = []
        for pid in session(host.process.pid):
            try:
                found.append(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0])
            except OSError:
                continue
        return found


class OutboxTest(unittest.TestCase):
    def test_what_a_slow_reader_leaves_waits_in_order(self) -> None:
        read_end, write_end = os.pipe()
        box = Outbox(write_end)
        data = os.urandom(300_000)
        box.add(data[:100])
        box.add(data[100:])
        self.assertTrue(box)
        got = b""
        while len(got) < len(data):
            got += os.read(read_end, 65_536)
            box.flush()
        self.assertFalse(box)
        self.assertEqual(got, data)
        os.close(read_end)
        box.add(b"x")
        self.assertFalse(box)
        os.close(write_end)


if __name__ == "__main__":
    unittest.main()
