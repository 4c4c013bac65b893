"""The greeting: what it says, and that nothing is loaded before it which it does not need."""

from __future__ import annotations

import subprocess
import sys
import unittest

from harness import HARNESS_FAILED
from harness.frames import HARNESS_VERSION, PROTOCOL_VERSION
from harness.wire import encode
from tests.host import ROOT

# By name: what the interpreter loads by itself differs between versions, and so does what is built into it.
NEEDED = {
    *("__future__", "harness", "harness.main", "harness.frames", "harness.streams"),
    *("fcntl", "select"),
}
TELL_LOADED = f"""
import os, sys
by_itself = set(sys.modules)
sys.path.insert(0, {str(ROOT)!r})
from harness import main

def greet(supervisor_out):
    say_hello(supervisor_out)
    main.write_all(supervisor_out, " ".join(set(sys.modules) - by_itself).encode())
    os._exit(0)

say_hello, main.greet = main.greet, greet
main.main()
"""


class GreetingTest(unittest.TestCase):
    hello: str
    loaded: set[str]

    @classmethod
    def setUpClass(cls) -> None:
        command = [sys.executable, "-I", "-u", "-c", TELL_LOADED, '{"ahead": []}']
        said = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True).stderr
        hello, loaded = said.split("\n")
        cls.hello, cls.loaded = f"{hello}\n", set(loaded.split())

    def test_only_these_modules_are_loaded_before_it(self) -> None:
        self.assertEqual(self.loaded - NEEDED, set(), "load it after the greeting, or not at all")

    def test_it_is_written_as_every_frame_is(self) -> None:
        python = ".".join(map(str, sys.version_info[:3]))
        hello = {"type": "hello", "protocol": PROTOCOL_VERSION, "harness": HARNESS_VERSION, "python": python}
        self.assertEqual(self.hello, encode(hello).decode())

    def test_what_keeps_the_rest_from_loading_is_told_behind_it(self) -> None:
        code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
sys.modules["ast"] = None
from harness.main import main
main()
"""
        done = subprocess.run(
            [sys.executable, "-I", "-u", "-c", code, '{"ahead": []}'], stderr=subprocess.PIPE, text=True
        )
        self.assertEqual(done.returncode, HARNESS_FAILED)
        hello, *words = done.stderr.rstrip("\n").split("\n")
        self.assertEqual(hello + "\n", self.hello)
        self.assertRegex(words[-1], "^ModuleNotFoundError: .*ast")

    def test_the_harness_loads_nothing_that_only_type_checkers_read(self) -> None:
        code = f"""
import sys
by_itself = "typing" in sys.modules
sys.path.insert(0, {str(ROOT)!r})
import harness.main, harness.supervisor
print(by_itself or "typing" not in sys.modules)
"""
        said = subprocess.run(
            [sys.executable, "-I", "-c", code], stdout=subprocess.PIPE, text=True, check=True
        )
        self.assertEqual(said.stdout, "True\n", "import it under TYPE_CHECKING, which is False when it runs")


if __name__ == "__main__":
    unittest.main()
