"""Programs of other languages: what they find when they start, how they end, and what `stop` does to them."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import sys
import tempfile
import time
import unittest
from pathlib import Path

from tests.host import (
    Frame,
    Host,
    eventually,
    given,
    program,
    python_start_s,
    run_program,
    server,
    session,
    tool,
)

EVERY_BYTE = bytes(range(256))
# What a program says of itself, as JSON.
ABOUT = """
import json, os, sys
status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines())
print(json.dumps({
    "argv": sys.argv[1:],
    "cwd": os.getcwd(),
    "descriptors": sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1],
    "blocked": status["SigBlk"], "ignored": status["SigIgn"],
    "threads": status["Threads"],
    "leads its group": os.getpgid(0) == os.getpid(),
    "victim": open("/proc/self/oom_score_adj").read(),
    "nice": os.nice(0),
    "env": dict(os.environ),
}))
"""


def python(code: str, *args: str) -> list[str]:
    """A program in Python that is not the harness's own; it ignores no signal, as the interpreter else does."""
    return [sys.executable, "-I", "-c", f"import signal; signal.signal(13, 0)\n{code}", *args]


def input_frame(data: bytes, folder: str | None = None) -> Frame:
    return {"type": "input", "data": base64.b64encode(data).decode(), "folder": folder}


def signals(mask: str) -> set[int]:
    """Those in a mask of /proc/self/status, but for the two that glibc keeps for itself."""
    return {number for number in range(1, 65) if int(mask, 16) >> number - 1 & 1} - {32, 33}


def preimporting(name: str, source: str) -> Host:
    """A host whose guest has run this module before its run."""
    mark = f"import pathlib; {source}; pathlib.Path(__file__).with_suffix('.done').touch()"
    host = Host(modules={name: mark}, preimport=[name])
    if not eventually(Path(host.folder.name, f"{name}.done").exists):
        host.__exit__(None, None, None)
        raise AssertionError(f"{name} was not imported")
    return host


def left(host: Host) -> dict[str, bytes]:
    return {frame["name"]: base64.b64decode(frame["data"]) for frame in host.of_type("file")}


class InputTest(unittest.TestCase):
    def test_none_is_an_empty_one(self) -> None:
        self.assertEqual(run_program(["sh", "-c", "cat; readlink /proc/self/fd/0"]).stdout, "/dev/null\n")

    def test_any_bytes_of_any_size(self) -> None:
        for data in (b"", b"one line", EVERY_BYTE, EVERY_BYTE * 40_000):
            host = run_program(["sha256sum"], stdin=data)
            self.assertEqual(host.stdout, f"{hashlib.sha256(data).hexdigest()}  -\n")

    def test_line_by_line(self) -> None:
        host = run_program(["sh", "-c", "read a; read b; echo $b-$a; cat"], stdin=b"1\n2\n3\n")
        self.assertEqual(host.stdout, "2-1\n3\n")

    def test_by_its_name(self) -> None:
        self.assertEqual(run_program(["sh", "-c", "cat /dev/stdin"], stdin=b"x").stdout, "x")

    def test_nobody_has_to_read_it(self) -> None:
        host = run_program(["true"], stdin=EVERY_BYTE * 40_000)
        self.assertEqual(host.one("exited")["code"], 0)

    def test_a_step_may_read_it_from_where_the_last_one_stopped(self) -> None:
        # As of a shell's `{ a; b; } < FILE`.
        host = run_program(["sh", "-c", "read a; echo $a"], ["cat"], stdin=b"1\n2\n")
        self.assertEqual(host.stdout, "1\n2\n")

    def test_leaves_no_file_and_cannot_be_written(self) -> None:
        with Host(env={"TMPDIR": "."}) as host:
            host.run(program=program(["sh", "-c", "ls -A; echo x >&0"], stdin=b"x"))
            host.finish()
        self.assertEqual(host.stdout, "out\n")
        self.assertNotEqual(host.one("exited")["code"], 0)

    def test_no_room_for_it(self) -> None:
        small = {"small": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))"}
        for pieces, stdin in (([], bytes(2000)), ([bytes(600)] * 4, None)):
            with Host(modules=small, preimport=["small", "no_such"]) as host:
                # Loaded while the host is silent, one after the other.
                host.wait_for(lambda host: bool(host.of_type("unloaded")))
                for piece in pieces:
                    host.send(input_frame(piece))
                host.run(program=program(["cat"], stdin=stdin))
                host.finish()
            size = 2400 if stdin is None else 2000
            message = host.one("raised")["error"]["message"]
            self.assertIn(f"the standard input of {size} bytes cannot be kept: File too large", message)
            self.assertEqual((host.one("exited")["code"], host.stdout), (1, ""))

    def test_in_pieces_ahead_of_the_run(self) -> None:
        pieces = [EVERY_BYTE * 4_000, b"", b"one line", EVERY_BYTE * 4_000]
        script = 'sha256sum; wc -c < /dev/stdin; ls -A "$0"; echo x >&0'
        with tempfile.TemporaryDirectory() as folder, Host(env={"TMPDIR": "/nowhere"}) as host:
            for piece in pieces:
                host.send(input_frame(piece, folder))
            host.run(program=program(["sh", "-c", script, folder]))
            host.finish()
        whole = b"".join(pieces)
        self.assertEqual(host.stdout, f"{hashlib.sha256(whole).hexdigest()}  -\n{len(whole)}\n")
        self.assertNotEqual(host.one("exited")["code"], 0)

    def test_in_pieces_for_a_folder_that_is_not_there(self) -> None:
        with Host() as host:
            host.send(input_frame(b"x", "/nowhere"))
            host.run(program=program(["cat"]))
            host.finish()
        message = host.one("raised")["error"]["message"]
        self.assertIn("the standard input of 1 bytes cannot be kept: No such file or directory", message)

    def test_in_pieces_for_a_guest_that_has_died(self) -> None:
        with Host(ahead=[["sh", "-c", "kill -KILL $PPID"]]) as host:
            for _ in range(4):
                host.send(input_frame(EVERY_BYTE * 4_000))
            host.run(program=program(["cat"]))
            host.finish()
        self.assertEqual(host.one("exited")["signal"], "SIGKILL")

    def test_what_is_stopped_before_its_run_ends_at_once(self) -> None:
        with Host() as host:
            host.send(input_frame(b"x"))
            host.send({"type": "stop", "reason": "timeout"})
            host.finish()
        self.assertEqual(([frame["type"] for frame in host.frames], host.noise), (["hello"], []))


class StartTest(unittest.TestCase):
    def about(self, stdin: bytes) -> Frame:
        found: Frame = json.loads(run_program(python(ABOUT), stdin=stdin).stdout)
        return found

    def test_as_a_fresh_process(self) -> None:
        found = self.about(stdin=b"x")
        self.assertEqual(found["descriptors"], [0, 1, 2])
        # But for what the interpreter itself ignores.
        ignored = signals(found["ignored"]) - {signal.SIGXFSZ}
        self.assertEqual((signals(found["blocked"]), ignored), (set(), set()))
        self.assertEqual((found["threads"], found["leads its group"]), ("1", True))
        self.assertEqual((found["victim"], found["nice"]), ("1000\n", os.nice(0)))

    def test_signals_that_whoever_started_us_ignores(self) -> None:
        ignoring = "import signal; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 15)]"
        with preimporting("deaf", ignoring) as host:
            host.run(program=program(["sh", "-c", "grep SigIgn /proc/self/status"], ["true"]))
            self.assertEqual(signals(host.finish().stdout.split()[1]), set())

    def test_steps_are_fresh_too(self) -> None:
        show = ["sh", "-c", "ls /proc/self/fd | wc -l; grep -e SigIgn -e SigBlk /proc/self/status"]
        host = run_program(show, ["true"], stdin=b"x")
        count, *masks = host.stdout.splitlines()
        # The fourth is ls's own.
        self.assertEqual((count, [signals(line.split()[1]) for line in masks]), ("4", [set(), set()]))

    def test_environment_and_working_directory(self) -> None:
        with Host(env={"GOCACHE": "/build/cache"}) as host:
            host.run(program=program(python(ABOUT)))
            found = json.loads(host.finish().stdout)
            self.assertEqual(found["env"]["GOCACHE"], "/build/cache")
            self.assertEqual([key for key in found["env"] if key.startswith("MCP_")], [])
            self.assertEqual(os.path.realpath(found["cwd"]), os.path.realpath(host.folder.name))

    def test_arguments_arrive_as_they_are(self) -> None:
        args = ["", " ", "a b", "*", "$HOME", "näïve ☃", "line\nbreak", "-x", "{file}", "'\"\\", "\udcff"]
        self.assertEqual(json.loads(run_program(python(ABOUT, *args)).stdout)["argv"], args)

    def test_a_closed_pipe_ends_it(self) -> None:
        host = run_program(["sh", "-c", "yes | head -n 1"])
        self.assertEqual((host.stdout, host.stderr), ("y\n", ""))


class FilesTest(unittest.TestCase):
    def test_what_was_made_ahead_gives_way(self) -> None:
        ahead = [
            ["sh", "-c", "echo ahead > go.mod; echo ahead > kept"],
            ["sh", "-c", "ln -s kept link; ln -s / folder; mkfifo pipe; mkdir made"],
        ]
        files = [given(name, b"given\n") for name in ("go.mod", "link", "folder/a/b", "pipe", "made/c")]
        with Host(ahead=ahead) as host:
            host.run(
                files=files, program=program(["sh", "-c", "cat go.mod link folder/a/b pipe made/c kept"])
            )
            self.assertEqual(host.finish().stdout, "given\n" * 5 + "ahead\n")

    def test_a_folder_does_not(self) -> None:
        with Host(ahead=[["mkdir", "-p", "made/deep"]]) as host:
            host.run(files=[given("made", b"")], program=program(["true"]))
            error = host.finish().one("raised")["error"]
            self.assertIn("'made'", error["message"])
            self.assertEqual(host.one("exited")["code"], 1)

    def test_one_that_does_not_fit_is_named(self) -> None:
        small = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))"
        with preimporting("small", small) as host:
            host.run(files=[given("data/big", bytes(2000))], program=program(["true"]))
            self.assertIn("'data/big'", host.finish().one("raised")["error"]["message"])


class AheadTest(unittest.TestCase):
    def test_nobody_hears_of_it(self) -> None:
        ahead = [["no-such-program"], ["false"], ["sh", "-c", "echo ahead; echo err >&2; echo x > made"]]
        with Host(ahead=ahead) as host:
            host.run(program=program(["cat", "made"]))
            host.finish()
        self.assertEqual((host.stdout, host.stderr), ("x\n", ""))

    def test_a_run_waits_for_it(self) -> None:
        with Host(ahead=[["sh", "-c", "sleep 0.3; echo x > made"]]) as host:
            host.run(program=program(["cat", "made"]))
            self.assertEqual(host.finish().stdout, "x\n")

    def test_one_that_hangs_is_ended_and_named(self) -> None:
        quick = {
            "quick": "import harness.launch, pathlib\nharness.launch.AHEAD_WITHIN_S = 0.3\n"
            "pathlib.Path(__file__).with_name('loaded').touch()"
        }
        ahead = [
            ["sh", "-c", "trap '' TERM; sleep 600 & wait"],
            ["sh", "-c", "echo x > left-out"],
        ]
        with Host(modules=quick, preimport=["quick"], ahead=ahead) as host:
            # Loaded while the host is silent.
            loaded = Path(host.folder.name, "loaded")
            self.assertTrue(eventually(loaded.exists))
            host.run(program=program(["sh", "-c", "[ -e left-out ] || echo ran"]))
            host.finish()
            self.assertEqual(session(host.process.pid), [])
        self.assertEqual(host.stderr, "`sh -c`, run ahead, was ended: it took more than 0.3 s.\n")
        self.assertEqual(host.stdout, "ran\n")


class EndTest(unittest.TestCase):
    def test_its_own_word(self) -> None:
        for code in (0, 1, 255):
            host = run_program(["sh", "-c", f"exit {code}"])
            self.assertEqual([frame["type"] for frame in host.frames], ["hello", "exited"])
            self.assertEqual(host.one("exited")["code"], code)

    def test_a_signal(self) -> None:
        for name in ("TERM", "KILL", "SEGV"):
            host = run_program(["sh", "-c", f"kill -{name} $$"])
            self.assertEqual(host.one("exited")["signal"], f"SIG{name}")
            self.assertEqual(host.stderr, "")

    def test_the_folder_and_the_variables_that_the_host_names(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "here").write_text("#!/bin/sh\necho $WORD; pwd\n")
            Path(folder, "here").chmod(0o755)
            place = {"cwd": folder, "env": {"WORD": "two words", "PATH": "/usr/bin:/bin"}}
            with Host() as host:
                host.run(files=[given("elsewhere", b"")], program={**program(["./here"]), **place})
                host.finish()
            self.assertEqual(host.stdout, f"two words\n{os.path.realpath(folder)}\n")
            self.assertEqual(os.listdir(folder), ["here"])

    def test_its_variables_are_not_those_of_the_harness(self) -> None:
        env = {"PATH": "/nowhere", "TMPDIR": "/nowhere", "LD_PRELOAD": "/nowhere.so", "HOME": "/nowhere"}
        # What a way needs was found on the sandbox's own PATH, and is taken from there.
        show = ["/bin/sh", "-c", "read a </dev/stdin; echo $a; echo $PATH $HOME $TMPDIR"]
        for steps in (["sh", "-c", "echo step"], ["sh", *show[1:]]), (show,):
            start = program(*steps, needs=["sh"], stdin=b"x\n")
            with Host() as host:
                host.run(program={**start, "env": env})
                host.finish()
            self.assertEqual(host.of_type("raised"), [])
            self.assertTrue(host.stdout.endswith("x\n/nowhere /nowhere /nowhere\n"), host.stdout)
            self.assertEqual(host.one("exited")["code"], 0)

    def test_its_variables_are_those_of_its_steps(self) -> None:
        with Host() as host:
            steps = program(["sh", "-c", "echo $WORD"], ["sh", "-c", "echo $WORD"])
            host.run(program={**steps, "env": {"WORD": "word"}})
            self.assertEqual(host.finish().stdout, "word\nword\n")

    def test_a_conversation_is_its_own_whatever_its_variables_say(self) -> None:
        say = ["sh", "-c", "echo $MCP_SANDBOX_CONVERSATION"]
        with Host() as host:
            start = {**program(say), "env": {"MCP_SANDBOX_CONVERSATION": "7,8,9"}}
            host.run(loaded=[server("x", tool("echo"))], program=start)
            self.assertEqual(host.finish().stdout, "3,4,5\n")

    def test_a_folder_that_is_not_there(self) -> None:
        with Host() as host:
            host.run(program={**program(["true"]), "cwd": "/no/such"})
            host.finish()
        self.assertEqual(host.one("exited")["code"], 126)
        message = "The folder `/no/such` cannot be entered: No such file or directory."
        self.assertEqual(host.one("raised")["error"]["message"], message)

    def test_all_that_was_printed_arrives(self) -> None:
        host = run_program(["sh", "-c", "head -c 50000000 /dev/zero | tr '\\0' x; echo end >&2"])
        self.assertEqual((len(host.stdout), host.stderr), (50_000_000, "end\n"))

    def test_bytes_that_are_no_text(self) -> None:
        host = run_program(["cat"], stdin=b"a\xff\xc3\xa4\0")
        self.assertEqual(host.stdout, "a\ufffd\u00e4\0")

    def test_what_it_leaves_running_holds_nothing_up(self) -> None:
        host = run_program(["sh", "-c", "sleep 600 & setsid sleep 600 & echo done"])
        self.assertEqual((host.stdout, host.one("exited")["code"]), ("done\n", 0))

    def test_a_signal_to_its_group_is_not_for_the_supervisor(self) -> None:
        for name in ("TERM", "INT", "HUP", "KILL"):
            host = run_program(["sh", "-c", f"sleep 600 & echo x; kill -{name} 0"])
            self.assertEqual((host.stdout, host.one("exited")["signal"]), ("x\n", f"SIG{name}"))

    def test_a_signal_to_the_supervisor_is_the_programs_own_end(self) -> None:
        for name in ("TERM", "INT"):
            host = run_program(["sh", "-c", f"echo x; kill -{name} $PPID; sleep 600"])
            self.assertEqual((host.stdout, host.one("exited")["signal"]), ("x\n", "SIGKILL"))


class StopTest(unittest.TestCase):
    def stopped(self, *steps: list[str], waiting_for: str = "go") -> Host:
        with Host() as host:
            host.run(program=program(*steps))
            host.wait_for(lambda seen: waiting_for in seen.stdout)
            started = time.monotonic()
            host.send({"type": "stop", "reason": "timeout"})
            host.finish()
            # It gives nothing that it ends any time: the host has no more patience than for a third of a second.
            self.assertLess(time.monotonic() - started, max(0.3, 20 * python_start_s()))
            self.assertEqual(host.one("exited")["signal"], "SIGKILL")
            # Killed is not yet gone.
            self.assertTrue(eventually(lambda: session(host.process.pid) == []), session(host.process.pid))
            return host

    def test_ends_it_and_what_it_has_started(self) -> None:
        host = self.stopped(["sh", "-c", "trap '' TERM; sleep 600 & echo x > out/file; echo go; wait"])
        self.assertEqual(left(host), {"file": b"x\n"})

    def test_ends_a_step(self) -> None:
        self.stopped(["sh", "-c", "echo go; sleep 600 & wait"], ["echo", "never"])

    def test_all_that_it_has_printed_arrives(self) -> None:
        text = self.stopped(["sh", "-c", "seq 200000; printf go; exec sleep 600"]).stdout
        self.assertTrue(text.endswith("200000\ngo"))
        self.assertEqual(text.count("\n"), 200_000)

    def test_of_one_that_prints_without_end(self) -> None:
        self.assertIn("go\n", self.stopped(["yes", "go"]).stdout)

    def test_behind_the_run_in_one_piece(self) -> None:
        with Host() as host:
            host.wait_for(lambda seen: bool(seen.frames))
            run: Frame = {"type": "run", "timeoutSeconds": 9, "loaded": [], "discovered": [], "files": []}
            frames = [{**run, "program": program(["sleep", "600"])}, {"type": "stop", "reason": "timeout"}]
            host.send_line(b"\n".join(json.dumps(frame).encode() for frame in frames))
            self.assertEqual(host.finish().one("exited")["signal"], "SIGKILL")


class HostGoneTest(unittest.TestCase):
    def check(self, host: Host) -> None:
        host.hang_up()
        host.finish()
        self.assertEqual(host.process.returncode, 0)
        self.assertTrue(eventually(lambda: session(host.process.pid) == []), session(host.process.pid))

    def test_while_commands_run_ahead(self) -> None:
        with Host(ahead=[["sh", "-c", "echo > made; sleep 0.5"]]) as host:
            eventually(lambda: Path(host.folder.name, "made").exists())
            self.check(host)

    def test_while_a_step_runs(self) -> None:
        with Host() as host:
            host.run(program=program(["sh", "-c", "echo go; sleep 600"], ["true"]))
            host.wait_for(lambda seen: "go" in seen.stdout)
            self.check(host)

    def test_while_it_runs(self) -> None:
        with Host() as host:
            host.run(program=program(["sh", "-c", "trap '' HUP TERM; sleep 600 & echo go; wait"]))
            host.wait_for(lambda seen: "go" in seen.stdout)
            self.check(host)

    def test_behind_the_run(self) -> None:
        with Host() as host:
            host.run(program=program(["sh", "-c", "sleep 600"]))
            self.check(host)


if __name__ == "__main__":
    unittest.main()
