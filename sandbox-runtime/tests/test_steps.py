"""What the host is told of the steps before a program: which is under way, and which has failed."""

from __future__ import annotations

import unittest

from tests.host import Frame, Host


def launched(*steps: list[str]) -> Host:
    ways: list[Frame] = [{"needs": [], "steps": list(steps)}]
    with Host() as host:
        host.run(program={"file": "main.x", "args": [], "stdin": None, "ways": ways})
        return host.finish()


class StepsTest(unittest.TestCase):
    def test_what_is_under_way_is_told_until_the_program_is(self) -> None:
        host = launched(["true", "./main.x"], ["sh", "-c", ":"], ["true"])
        said = [frame["lines"] for frame in host.of_type("where")]
        self.assertEqual(said, [["`true ./main.x`"], ["`sh -c`"], []])
        self.assertEqual(launched(["true"]).of_type("where"), [])

    def test_a_failure_is_told_as_one_sentence(self) -> None:
        for steps, kind, message, code in (
            ((["false"], ["true"]), "StepFailed", "`false` ended with exit status 1.", 1),
            ((["./nowhere"], ["true"]), "CannotStart", None, 127),
            ((["/"],), "CannotStart", None, 126),
        ):
            raised = launched(*steps).one("raised")
            self.assertEqual((raised["error"]["type"], raised["exitCode"]), (kind, code))
            self.assertEqual(raised["error"]["traceback"], [])
            if message is not None:
                self.assertEqual(raised["error"]["message"], message)


if __name__ == "__main__":
    unittest.main()
