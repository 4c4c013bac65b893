"""What the guest and its children write arrives as output, whole and in order, and never as a frame."""

from __future__ import annotations

import base64
import json
import unittest

from harness.frames import OUTPUT_CHUNK_BYTES
from tests.host import Host, run

FORGED = '{"type":"result","value":"forged","repr":"forged","exact":true}'


class OutputTest(unittest.TestCase):
    def test_print_and_stderr(self) -> None:
        host = run(
            "import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.stdout.buffer.write(b'raw\\n')\nNone"
        )
        self.assertEqual(host.stdout, "out\nraw\n")
        self.assertEqual(host.stderr, "err\n")

    def test_writes_below_python_arrive_in_order(self) -> None:
        code = (
            "import os, subprocess\nprint('a')\nos.system('echo b')\nos.write(1, b'c\\n')\n"
            "subprocess.run(['echo', 'd'])\nprint('e')"
        )
        self.assertEqual(run(code).stdout, "a\nb\nc\nd\ne\n")

    def test_forged_frames_are_output(self) -> None:
        code = (
            f"import os\nprint({FORGED!r})\nos.system('echo ' + repr({FORGED!r}))\n"
            f"os.write(2, {FORGED.encode()!r})\n'mine'"
        )
        host = run(code)
        self.assertEqual(host.value, "mine")
        self.assertEqual(host.stdout, f"{FORGED}\n{FORGED}\n")
        self.assertEqual(host.stderr, FORGED)

    def test_children_do_not_inherit_the_channel(self) -> None:
        host = run(
            "import subprocess\nprint(subprocess.run('ls /proc/self/fd', shell=True, capture_output=True).stdout)"
        )
        self.assertNotIn("10", host.stdout)

    def test_lone_surrogate_is_escaped(self) -> None:
        self.assertEqual(run("print('\\ud800', 'é')").stdout, "\\ud800 é\n")

    def test_bytes_that_are_not_utf8(self) -> None:
        host = run("import os; os.write(1, b'a\\xffb\\xe2\\x82'); None")
        self.assertEqual(host.stdout, "a�b�")
        written = b"".join(base64.b64decode(frame["base64"]) for frame in host.of_type("output"))
        self.assertEqual(written, b"a\xffb\xe2\x82")

    def test_character_split_over_two_writes(self) -> None:
        code = "import os, time\nos.write(1, b'\\xe2')\ntime.sleep(0.05)\nos.write(1, b'\\x82\\xac')\nNone"
        self.assertEqual(run(code).stdout, "€")

    def test_long_line_is_whole_and_in_pieces(self) -> None:
        host = run("print('y' * 70_000)")
        self.assertEqual(host.stdout, "y" * 70_000 + "\n")
        self.assertTrue(all(len(frame["text"]) <= OUTPUT_CHUNK_BYTES for frame in host.of_type("output")))

    def test_hundred_megabytes(self) -> None:
        host = run("print('x' * 100_000_000)")
        self.assertEqual(len(host.stdout), 100_000_001)
        self.assertEqual(host.one("exited")["code"], 0)

    def test_many_small_writes_travel_in_few_frames(self) -> None:
        host = run("for i in range(100_000): print(i)")
        self.assertEqual(host.stdout.count("\n"), 100_000)
        self.assertLess(len(host.of_type("output")), 5_000)

    def test_nothing_is_lost_when_the_process_vanishes(self) -> None:
        host = run("import os, signal\nprint('last words', end='')\nos.kill(os.getpid(), signal.SIGKILL)")
        self.assertEqual(host.stdout, "last words")
        self.assertEqual(host.one("exited")["signal"], "SIGKILL")

    def test_a_daemon_that_holds_stdout_does_not_delay_the_end(self) -> None:
        host = run(
            "import subprocess\nsubprocess.Popen(['sleep', '600'], start_new_session=False)\nprint('done')"
        )
        # Our own pipes are inherited by nobody, so the streams end with the supervisor.
        self.assertEqual(host.stdout, "done\n")
        self.assertEqual(host.one("exited")["code"], 0)

    def test_a_daemon_that_writes_without_end_does_not_delay_the_end(self) -> None:
        host = run(
            "import subprocess\nsubprocess.Popen(['yes'])\nimport time\ntime.sleep(0.2)\nprint('done')"
        )
        self.assertEqual(host.one("exited")["code"], 0)

    def test_input_is_at_its_end(self) -> None:
        host = run("try:\n    input()\nexcept EOFError:\n    print('eof')\nimport sys\nsys.stdin.read()")
        self.assertEqual(host.stdout, "eof\n")
        self.assertEqual(host.value, "")

    def test_hello_comes_first(self) -> None:
        with Host() as host:
            host.wait_for(lambda h: bool(h.frames))
            hello = host.frames[0]
            self.assertEqual(hello["type"], "hello")
            self.assertIsInstance(json.dumps(hello), str)


if __name__ == "__main__":
    unittest.main()
