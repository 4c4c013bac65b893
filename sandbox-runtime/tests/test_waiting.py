"""Programs that are given to an interpreter which was started ahead: they find, do and end as all others."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import struct
import sys
import tempfile
import termios
import unittest
from pathlib import Path
from typing import Any

from tests.host import ROOT, Frame, Host, eventually, given, program, server, session, tool

# Stands for an interpreter: says that it waits, and becomes what it is told.
TAKES = """
import os, sys
os.write(6, b".")
told = b""
while piece := os.read(5, 65536):
    told += piece
if not told:
    sys.exit(0)
count, *words = told.split(b"\\0")
os.write(6, b".")
os.closerange(3, 10)
words = words[: int(count)]
os.execvp(words[0], words)
"""
NODE = shutil.which("node")
RUN = f"{ROOT}/javascript/run.cjs"


def plan(script: str, **more: Any) -> Frame:
    """Of an interpreter that is a script of Python's."""
    argv = [sys.executable, "-I", "-c", script]
    return {"argv": argv, "runs": ["it"], "opens": None, "unless": [], "speaks": False, **more}


def waits(host: Host) -> bool:
    """Whether something waits beside the supervisor and its guest."""
    return eventually(lambda: len(session(host.process.pid)) == 3)


def has_written(host: Host) -> bool:
    """Whether something stands in a pipe that nobody has read."""
    for fd in (fd for pid in session(host.process.pid) for fd in Path(f"/proc/{pid}/fd").glob("*")):
        try:
            if not os.readlink(fd).startswith("pipe:"):
                continue
            end = os.open(fd, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            # Gone, or the supervisor's, which nobody may see.
            continue
        size = struct.unpack("i", fcntl.ioctl(end, termios.FIONREAD, bytes(4)))[0]
        os.close(end)
        if size > 0:
            return True
    return False


def run_waiting(script: str, *words: str, stdin: bytes | None = None, code: bytes = b"", **more: Any) -> Host:
    """Has a program run by what waits, to its end."""
    with Host(waits=plan(script, **more)) as host:
        assert waits(host)
        host.run(files=[given("main.x", code)], program=program(["it", *words], stdin=stdin))
        return host.finish()


class WaitingTest(unittest.TestCase):
    def test_it_is_told_the_words_and_is_the_guest_from_then_on(self) -> None:
        says = "import os, sys; print(os.getppid(), os.getpgrp(), 'main.x' in os.listdir(), sep='\\n'); "
        says += "print(os.getpid(), *sys.argv[1:]); sys.exit(7)"
        host = run_waiting(TAKES, sys.executable, "-X", "utf8", "-c", says, "", "a b", "é")
        parent, group, file, about = host.stdout.splitlines()
        self.assertEqual((int(parent), about, file), (host.process.pid, f"{group}  a b é", "True"))
        self.assertEqual((host.one("exited")["code"], host.stderr), (7, ""))

    def test_its_signal_is_told(self) -> None:
        for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
            host = run_waiting(TAKES, "sh", "-c", f"kill -{int(number)} $$")
            self.assertEqual((host.one("exited")["code"], host.one("exited")["signal"]), (None, number.name))

    def test_what_it_leaves_behind_is_not_waited_for(self) -> None:
        host = run_waiting(TAKES, "sh", "-c", "sleep 1000 & echo done")
        self.assertEqual((host.stdout, host.one("exited")["code"]), ("done\n", 0))

    def test_stop_ends_it_and_what_it_has_started(self) -> None:
        with Host(waits=plan(TAKES)) as host:
            self.assertTrue(waits(host))
            host.run(program=program(["it", "sh", "-c", "sleep 1000 & echo on; wait"]))
            host.wait_for(lambda host: host.stdout == "on\n")
            host.send({"type": "stop"})
            host.finish()
            self.assertEqual(host.one("exited")["signal"], "SIGKILL")
            self.assertTrue(eventually(lambda: session(host.process.pid) == []))

    def test_nothing_waits_for_a_host_that_speaks_at_once(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            mark = f"{folder}/mark"
            with Host(waits=plan(f"open({mark!r}, 'w')")) as host:
                host.run(program=program(["true"]))
                host.finish()
            self.assertFalse(Path(mark).exists())

    def test_what_it_cannot_take_is_started_as_always_when_it_is_gone(self) -> None:
        start = [sys.executable, "-I", "-c", "import signal; print('on', flush=True); signal.pause()"]
        for frame, code in (
            ({**program(start), "env": {"A": "1"}}, b""),
            ({**program(start), "cwd": "."}, b""),
            (program(start, stdin=b"in"), b""),
            (program(["true"], start), b""),
            (program(start), b"what is not to be told"),
        ):
            reads = plan(TAKES, runs=[sys.executable], unless=["not to be"], opens="main.y")
            with self.subTest(frame=frame), Host(waits=reads) as host:
                self.assertTrue(waits(host))
                host.run(files=[given("main.x", code)], program=frame)
                host.wait_for(lambda host: host.stdout == "on\n")
                # The supervisor, and the program.
                self.assertEqual(len(session(host.process.pid)), 2)
                self.assertNotIn("main.y", os.listdir(host.folder.name))
                host.send({"type": "stop"})
                self.assertEqual(host.finish().one("exited")["signal"], "SIGKILL")

    def test_one_that_dies_or_hangs_while_it_waits_costs_no_program(self) -> None:
        dies = "import os; os.kill(os.getpid(), 9)"
        dies_late = "import os; os.write(6, b'.'); os.read(5, 1); os._exit(3)"
        hangs = "import signal; signal.pause()"
        speaks = f"print('I am not well', flush=True)\n{TAKES}"
        for script in (dies, dies_late, hangs, speaks, "import no_such"):
            with self.subTest(script=script), Host(waits=plan(script, runs=["sh"])) as host:
                self.assertTrue(eventually(lambda host=host: len(session(host.process.pid)) >= 2))
                said = script in (speaks, "import no_such")
                self.assertTrue(eventually(lambda host=host, said=said: not said or has_written(host)))
                host.run(program=program(["sh", "-c", "echo hi; exit 4"]))
                host.finish()
                self.assertEqual((host.stdout, host.stderr, host.one("exited")["code"]), ("hi\n", "", 4))

    def test_what_the_image_lacks_does_not_wait(self) -> None:
        with Host(waits={**plan(""), "argv": ["no-such"], "runs": ["sh"]}) as host:
            host.run(program=program(["sh", "-c", "echo hi"]))
            self.assertEqual(host.finish().stdout, "hi\n")

    def test_a_file_that_cannot_be_written_ends_both(self) -> None:
        with Host(waits=plan(TAKES)) as host:
            self.assertTrue(waits(host))
            host.run(files=[given("a/b", b""), given("a", b"")], program=program(["it", "true"]))
            host.finish()
            self.assertEqual((host.one("exited")["code"], host.stdout), (1, ""))
            self.assertTrue(eventually(lambda: session(host.process.pid) == []))


@unittest.skipIf(NODE is None, "no Node here")
class NodeTest(unittest.TestCase):
    """The script that waits in Node. All else that programs find is compared in real sandboxes."""

    def run_node(self, code: str, loaded: list[Frame] | None = None, stdin: bytes | None = None) -> Host:
        start = ["node", RUN]
        waiting = {"argv": start, "runs": start, "opens": None, "unless": ["performance"], "speaks": True}
        with Host(waits=waiting) as host:
            host.handlers["tools.call"] = lambda params: {"content": [{"type": "text", "text": "called"}]}
            self.assertTrue(waits(host))
            frame = program([*start, "./main.js", "a", ""], stdin=stdin)
            host.run(loaded, files=[given("main.js", code.encode())], program=frame)
            return host.finish()

    def test_finds_its_words_and_nothing_of_ours(self) -> None:
        host = self.run_node(
            "console.log(JSON.stringify([process.argv.slice(2), process.execArgv, typeof mcp,"
            " __filename === process.argv[1], Object.keys(require.cache).map((name) => name.split('/').pop()),"
            " process.ppid]));"
        )
        args, exec_args, servers, is_own, cache, parent = json.loads(host.stdout)
        self.assertEqual((args, exec_args, servers, is_own), (["a", ""], [], "undefined", True))
        self.assertEqual(sorted(cache), ["main.js", "module-type.cjs", "scope.cjs", "syntax.cjs"])
        self.assertEqual((parent, host.stderr), (host.process.pid, ""))

    def test_reads_its_standard_input(self) -> None:
        read = (
            "process.stdin.on('data', (data) => console.log(String(data) + process.stdin.constructor.name));"
        )
        self.assertEqual(self.run_node(read, stdin=b"in").stdout, "inReadStream\n")
        self.assertEqual(self.run_node("console.log(require('fs').readFileSync(0).length)").stdout, "0\n")

    def test_calls_tools(self) -> None:
        host = self.run_node(
            "import own from 'mcp'; console.log(await own.servers.s.t({}))", [server("s", tool("t"))]
        )
        self.assertEqual((host.stdout, host.stderr), ("called\n", ""))


if __name__ == "__main__":
    unittest.main()
