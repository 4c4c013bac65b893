"""The steps before a program, and the way that is taken: what the host is told of them, and of what cannot begin."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

from tests.host import Frame, Host, given, program, run_program


class StepsTest(unittest.TestCase):
    def test_what_is_under_way_is_told_until_the_program_is(self) -> None:
        host = run_program(["true", "./main.x"], ["sh", "-c", ":"], ["true"])
        said = [frame["lines"] for frame in host.of_type("where")]
        self.assertEqual(said, [["`true ./main.x`"], ["`sh -c`"], []])
        self.assertEqual(run_program(["true"]).of_type("where"), [])

    def test_what_a_step_prints_stands_before_the_rest(self) -> None:
        host = run_program(["echo", "compiled"], ["echo", "ran"])
        self.assertEqual((host.stdout, host.of_type("raised")), ("compiled\nran\n", []))

    def test_a_step_that_dies_of_a_signal(self) -> None:
        for name in ("SIGKILL", "SIGSEGV", "SIGXCPU"):
            host = run_program(["sh", "-c", f"kill -{name[3:]} $$"], ["echo", "never"])
            self.assertEqual(host.one("exited")["signal"], name)
            self.assertEqual((host.stdout, host.stderr), ("", ""))


class WaysTest(unittest.TestCase):
    def test_no_way_for_this_image(self) -> None:
        ways = [
            {"needs": ["no-go", "sh"], "steps": [["true"]]},
            {"needs": ["no-tinygo"], "steps": [["true"]]},
        ]
        with Host() as host:
            host.run(program={**program(["true"]), "ways": ways})
            host.finish()
        self.assertEqual(
            host.one("raised")["error"]["message"],
            "The image has no no-go and sh, or no-tinygo on its PATH.",
        )
        self.assertEqual(host.one("exited")["code"], 127)

    def test_the_first_way_whose_needs_are_there(self) -> None:
        ways = [
            {"needs": ["no-go"], "steps": [["false"]]},
            {"needs": ["sh", "cat"], "steps": [["echo", "2"]]},
        ]
        with Host() as host:
            host.run(program={**program(["true"]), "ways": [*ways, {"needs": [], "steps": [["false"]]}]})
            self.assertEqual(host.finish().stdout, "2\n")

    def test_a_folder_of_that_name_is_passed_over(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "cat").mkdir()
            with Host(env={"PATH": f"{folder}:{os.environ['PATH']}"}) as host:
                host.run(program=program(["cat"], needs=["cat"], stdin=b"x"))
                self.assertEqual(host.finish().stdout, "x")


class NotBegunTest(unittest.TestCase):
    def failure(self, *steps: list[str]) -> tuple[Frame, object]:
        host = run_program(*steps)
        raised, exited = host.one("raised"), host.one("exited")
        self.assertEqual((raised["exitCode"], None), (exited["code"], exited["signal"]))
        self.assertEqual(raised["error"]["traceback"], [])
        return raised["error"], exited["code"]

    def test_a_step_that_fails(self) -> None:
        error, code = self.failure(["sh", "-c", "echo main.x:3: no >&2; exit 2"], ["echo", "never"])
        self.assertEqual((error["type"], code), ("StepFailed", 2))
        self.assertEqual(error["message"], "`sh -c` ended with exit status 2.")

    def test_what_is_not_there(self) -> None:
        for steps in ([["no-such-program"]], [["no-such-program"], ["true"]], [["./nothing"]]):
            error, code = self.failure(*steps)
            self.assertEqual((error["type"], code), ("CannotStart", 127))
            self.assertIn(f"`{steps[0][0]}`", error["message"])

    def test_what_cannot_be_executed(self) -> None:
        for step in (["./main.x"], ["."], ["./garbage"]):
            files = [given("main.x", b"#!/bin/sh\n")]
            with Host(ahead=[["sh", "-c", "echo no program > garbage; chmod +x garbage"]]) as host:
                host.run(files=files, program=program(step))
                host.finish()
            self.assertEqual(host.one("exited")["code"], 126, step)
            self.assertIn(f"`{step[0]}` cannot be executed", host.one("raised")["error"]["message"])

    def test_arguments_that_the_kernel_refuses(self) -> None:
        for steps in ([["echo", "x" * 200_000]], [["echo", *["x" * 100_000] * 40], ["true"]]):
            error, code = self.failure(*steps)
            self.assertEqual((error["type"], code), ("CannotStart", 126))
            self.assertIn("too long for the kernel", error["message"])

    def test_arguments_that_are_none(self) -> None:
        for argument in ("a\0b", "\ud800"):
            for steps in ([["echo", argument]], [["echo", argument], ["true"]]):
                error, code = self.failure(*steps)
                self.assertEqual(code, 126)
                self.assertIn("cannot be given its arguments", error["message"])


if __name__ == "__main__":
    unittest.main()
