"""What is loaded while the host is silent: there for the guest, and no end of ours whatever a module does."""

from __future__ import annotations

import unittest

from tests.host import Host

LOADED = "import sys\n[name for name in ('wave', 'sqlite3', 'tkinter') if name in sys.modules]"
MODULES = {
    "says": "import os, sys\nprint('{\"type\":\"hello\"}')\nos.write(2, b'noise')\nraise OSError('after its words')\n",
    "exits": "import sys\nsys.exit(3)\n",
    "interrupts": "raise KeyboardInterrupt\n",
    "long": "raise ValueError('x' * 100_000)\n",
    "odd": "raise BaseException('\\ud800')\n",
    "mute": "class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute\n",
}


class PreimportTest(unittest.TestCase):
    def test_wanted_modules_are_there_and_a_missing_one_is_told(self) -> None:
        with Host(preimport=["wave", "sqlite3", "no_such.module"]) as host:
            host.wait_for(lambda host: bool(host.of_type("unloaded")))
            host.start(LOADED)
            host.finish()
        self.assertEqual(host.value, ["wave", "sqlite3"])
        unloaded = host.one("unloaded")
        self.assertEqual(unloaded["module"], "no_such.module")
        self.assertEqual(unloaded["error"], "ModuleNotFoundError: No module named 'no_such'")

    def test_a_module_may_raise_anything(self) -> None:
        with Host(preimport=list(MODULES), modules=MODULES) as host:
            host.wait_for(lambda host: len(host.of_type("unloaded")) == len(MODULES))
            host.start("try:\n    import exits\nexcept SystemExit as error:\n    code = error.code\ncode")
            host.finish()
        # The guest's own import raises the same again.
        self.assertEqual(host.value, 3)
        told = {frame["module"]: frame["error"] for frame in host.of_type("unloaded")}
        self.assertEqual(list(told), list(MODULES))
        self.assertEqual(told["says"], "OSError: after its words")
        self.assertEqual(told["exits"], "SystemExit: 3")
        self.assertEqual(told["mute"], "mute.Mute: <str() of the exception raised ValueError>")
        self.assertLess(len(told["long"]), 1000)
        self.assertEqual((host.noise, host.stdout, host.stderr), ([], "", ""))

    def test_a_sandbox_that_is_needed_at_once_does_not_wait(self) -> None:
        slow = {"slow": "import time\ntime.sleep(0.3)\n", "slower": "import time\ntime.sleep(600)\n"}
        with Host(preimport=["slow", "slower"], modules=slow) as host:
            host.start("'done'")
            self.assertEqual(host.finish().value, "done")


if __name__ == "__main__":
    unittest.main()
