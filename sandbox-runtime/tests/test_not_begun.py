"""Programs that do not begin: the host is told what has failed, in a sentence, and with a shell's exit status."""

from __future__ import annotations

import unittest

from tests.host import Frame, Host

SAYS = 'echo "main.x:1: nonsense" >&2; exit 2'


def launched(*ways: Frame, files: list[Frame] | None = None) -> Host:
    with Host() as host:
        host.run(files=files, program={"file": "main.x", "args": [], "stdin": None, "ways": list(ways)})
        return host.finish()


def way(*steps: list[str], needs: tuple[str, ...] = ()) -> Frame:
    return {"needs": list(needs), "steps": list(steps)}


class NotBegunTest(unittest.TestCase):
    def check(self, host: Host, kind: str, message: str, code: int) -> None:
        error = {"type": kind, "message": message, "traceback": []}
        self.assertEqual(host.one("raised"), {"type": "raised", "error": error, "exitCode": code})
        self.assertEqual((host.one("exited")["code"], host.one("exited")["signal"]), (code, None))

    def test_a_step_that_fails(self) -> None:
        host = launched(way(["sh", "-c", SAYS], ["echo", "never"]))
        self.check(host, "CompileError", "The program was not compiled: `sh -c` ended with exit status 2.", 2)
        self.assertEqual((host.stdout, host.stderr), ("", "main.x:1: nonsense\n"))

    def test_a_step_that_is_killed(self) -> None:
        host = launched(way(["sh", "-c", "kill -SEGV $$"], ["echo", "never"]))
        self.assertEqual((host.of_type("raised"), host.one("exited")["signal"]), ([], "SIGSEGV"))

    def test_what_the_image_lacks(self) -> None:
        host = launched(way(["x"], needs=("nil", "sh")), way(["y"], needs=("nought",)))
        message = "The program was not started: the image has no nil with sh, and no nought."
        self.check(host, "StartError", message, 127)

    def test_what_cannot_be_executed(self) -> None:
        for argv, reason, code in (
            (["/nowhere/x"], "/nowhere/x: No such file or directory", 127),
            (["./data"], "./data: Permission denied", 126),
            (["sh", "-c", "x" * 2**21], "sh: Argument list too long", 126),
        ):
            for steps in ([argv], [argv, ["true"]]):
                host = launched(way(*steps), files=[{"name": "data", "data": "eA=="}])
                self.check(host, "StartError", f"The program was not started: {reason}.", code)

    def test_what_is_under_way_is_told(self) -> None:
        host = launched(way(["true", "./main.x"], ["true"]))
        self.assertEqual([frame["lines"] for frame in host.of_type("where")], [["`true ./main.x`"], []])
        self.assertEqual(launched(way(["true"])).of_type("where"), [])


if __name__ == "__main__":
    unittest.main()
