"""A small Go program is made without the go command where the image says how, and by it in every other case.

The tools are shell scripts here: which of them was asked is what the program prints.
"""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from pathlib import Path

from tests.host import Host, given, program

FLAGS = "-gcflags=all=-dwarf=false"
MODULE = "module main\n\ngo 1.24.4\n"
SOURCE = b"package main\n\nfunc main() {}\n"

# Each makes a program that prints who has made it.
GO = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\\necho the go command; ls %s.a 2>/dev/null\\n' "$2" > "$2"
chmod +x "$2"
"""
COMPILE = '#!/bin/sh\ntest "$1 $2 $4" = "-p=main -o ./main.go" && echo compiled > "$3"\n'
LINK = """#!/bin/sh
test "$1 $2 $GOROOT $(cat "$4")" = "-w -o /goroot compiled" || exit 1
printf '#!/bin/sh\\necho the linker; ls %s 2>/dev/null\\n' "$4" > "$3"
chmod +x "$3"
"""


class GoProgramTest(unittest.TestCase):
    def made_by(
        self,
        files: dict[str, bytes] | None = None,
        env: dict[str, str] | None = None,
        link: str = LINK,
        folder: str = "./",
        plan: bool = True,
    ) -> str:
        """Who has made the program of these files."""
        with tempfile.TemporaryDirectory() as place:
            root = Path(place)
            for name, text in (("go", GO), ("compile", COMPILE), ("link", link)):
                (root / name).write_text(text)
                (root / name).chmod(0o755)
            (root / "alone").mkdir()
            said = {
                "flags": FLAGS,
                "goroot": "/goroot",
                "module": MODULE,
                "compile": [str(root / "compile"), "-p=main"],
                "link": [str(root / "link"), "-w"],
            }
            if plan:
                (root / "alone/plan.json").write_text(json.dumps(said))
            of_image = {
                "PATH": f"{root}:{os.environ['PATH']}",
                "GOCACHE": place,
                "GOFLAGS": FLAGS,
                "CGO_ENABLED": "0",
            }
            ahead = [["sh", "-c", f"printf '{MODULE}' > go.mod"]]
            output = str(root / "main")
            run = program(["go", "build", "-p=4", "-o", output, folder], [output])
            run["ways"][0]["needs"] = ["go"]
            if env is not None:
                run["env"] = env
            with Host(ahead=ahead, env=of_image) as host:
                host.run(
                    files=[given(name, data) for name, data in (files or {"main.go": SOURCE}).items()],
                    program=run,
                )
                return host.finish().stdout.strip()

    def test_one_file_in_a_module_of_ours(self) -> None:
        self.assertEqual(self.made_by(), "the linker")
        beside = {"main.go": SOURCE, "data/a.txt": b"x", "notes.md": b"x", "shout/shout.go": b"package shout"}
        self.assertEqual(self.made_by(beside), "the linker")

    def test_what_only_the_go_command_can_judge(self) -> None:
        for name, files in (
            ("two files", {"main.go": SOURCE, "other.go": b"package main\n"}),
            ("a test", {"main.go": SOURCE, "main_test.go": b"package main\n"}),
            ("another system", {"main_windows.go": SOURCE}),
            ("assembly", {"main.go": SOURCE, "add_amd64.s": b""}),
            ("a module of the call", {"main.go": SOURCE, "go.mod": b"module x\n\ngo 1.20\n"}),
            ("a workspace", {"main.go": SOURCE, "go.work": b"go 1.24\n"}),
            ("a constraint", {"main.go": b"//go:build ignore\n\n" + SOURCE}),
            ("an embedded file", {"main.go": SOURCE + b"//go:embed a.txt\nvar a string\n", "a.txt": b"x"}),
            ("cgo", {"main.go": SOURCE + b'import "C"\n'}),
        ):
            with self.subTest(name):
                self.assertEqual(self.made_by(files), "the go command")
        self.assertEqual(self.made_by({"app/main.go": SOURCE}, folder="./app/"), "the go command")

    def test_variables_of_the_call(self) -> None:
        self.assertEqual(self.made_by(env={"NAME": "x"}), "the linker")
        for name, value in (
            ("GOFLAGS", "-race"),
            ("GOEXPERIMENT", "x"),
            ("CGO_ENABLED", "1"),
            ("GOGC", "off"),
        ):
            with self.subTest(name):
                self.assertEqual(self.made_by(env={name: value}), "the go command")

    def test_a_failure_leaves_nothing(self) -> None:
        for ending in ("exit 1", "kill -KILL $$"):
            with self.subTest(ending):
                failing = f'#!/bin/sh\necho half > "$3"; echo noise; echo noise >&2; {ending}\n'
                self.assertEqual(self.made_by(link=failing), "the go command")

    def test_an_image_that_says_nothing(self) -> None:
        self.assertEqual(self.made_by(plan=False), "the go command")


if __name__ == "__main__":
    unittest.main()
