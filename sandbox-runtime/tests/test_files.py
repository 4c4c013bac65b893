"""Files that go in before the code runs, and what comes out of its folder for results, however it is filled."""

from __future__ import annotations

import base64
import os
import socket
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any

from harness.artifacts import MAX_DEPTH, send_artifacts
from harness.frames import MAX_FILE_BYTES, MAX_FILES, MAX_FILES_BYTES, MAX_SKIPPED_NAMED
from harness.wire import decode
from tests.host import Frame, Host, given, run

EVERY_BYTE = bytes(range(256))


def contents(frames: list[Frame]) -> dict[str, bytes]:
    """What came out, by name."""
    return {f["name"]: base64.b64decode(f["data"], validate=True) for f in frames if f["type"] == "file"}


def reasons(frames: list[Frame]) -> dict[str, str]:
    return {f["name"]: f["reason"] for frame in frames if frame["type"] == "skipped" for f in frame["files"]}


class InputTest(unittest.TestCase):
    def test_files_are_there_before_the_first_line(self) -> None:
        code = (
            "import os\n"
            "[open('a.bin', 'rb').read() == bytes(range(256)), open('d/e/b.txt').read(), os.listdir('out')]"
        )
        host = run(
            code, files=[given("a.bin", EVERY_BYTE), given("d/e/b.txt", b"text"), given("d/empty", b"")]
        )
        self.assertEqual(host.value, [True, "text", []])

    def test_a_file_may_stand_in_the_folder_for_results(self) -> None:
        host = run("open('out/a', 'a').write('!')", files=[given("out/a", b"given")])
        self.assertEqual(contents(host.frames), {"a": b"given!"})

    def test_no_file_stands_in_for_a_module(self) -> None:
        # The working directory is searched last, and __main__ is there already.
        names = ("json.py", "asyncio.py", "csv.py", "__main__.py", "harness.py", "sitecustomize.py")
        trap = b"raise SystemExit('shadowed')"
        code = "import json, asyncio, csv, __main__\nimport helper\n(helper.x, __main__.__file__)"
        host = run(code, files=[*(given(name, trap) for name in names), given("helper.py", b"x = 1")])
        self.assertEqual(host.value, [1, "main.py"])

    def test_a_file_that_cannot_be_written_is_told_as_an_error_of_the_run(self) -> None:
        host = run("print('never')", files=[given("a", b""), given("a/b", b"")])
        self.assertIn("Error", host.one("raised")["error"]["type"])
        self.assertEqual((host.stdout, host.one("exited")["code"]), ("", 1))


class EndTest(unittest.TestCase):
    WRITE = "import os\nos.makedirs('out/d', exist_ok=True)\nopen('out/d/a', 'wb').write(bytes(range(256)) * 999)\n"

    def check(self, ending: str) -> None:
        host = run(self.WRITE + ending)
        self.assertEqual(contents(host.frames), {"d/a": EVERY_BYTE * 999})
        # The guest's last word comes by another stream, and may be read later.
        types = [frame["type"] for frame in host.frames if frame["type"] not in ("result", "raised")]
        self.assertEqual(types[-1], "exited")
        # The end comes before what was left, so that its way is not the code's time.
        self.assertLess(types.index("ended"), types.index("file"))
        ended, exited = host.one("ended"), host.one("exited")
        self.assertEqual([ended["code"], ended["signal"]], [exited["code"], exited["signal"]])

    def test_whatever_the_end_is(self) -> None:
        for ending in (
            "",
            "1 / 0",
            "os._exit(3)",
            "import sys\nsys.exit(1)",
            "os.chdir('/')",
            "os.kill(os.getpid(), 9)",
        ):
            with self.subTest(ending):
                self.check(ending)

    def test_after_a_segmentation_fault(self) -> None:
        self.check("import ctypes\nctypes.string_at(0)")

    def test_after_a_stop(self) -> None:
        with Host() as host:
            host.start(self.WRITE + "print('there')\nwhile True: pass")
            host.wait_for(lambda seen: seen.stdout != "")
            host.send({"type": "stop", "reason": "timeout"})
            host.finish()
            self.assertEqual(list(contents(host.frames)), ["d/a"])

    def test_nothing_left_is_nothing_said(self) -> None:
        for code in ("1", "import os\nos.rmdir('out')", "import os\nos.mkdir('out/empty')"):
            with self.subTest(code):
                host = run(code)
                self.assertEqual([f["type"] for f in host.frames if f["type"] in ("file", "skipped")], [])

    def test_another_thing_in_its_place(self) -> None:
        for code in ("os.symlink('/etc', 'out')", "os.mkfifo('out')", "open('out', 'w').write('x')"):
            with self.subTest(code):
                host = run(f"import os\nos.rmdir('out')\n{code}\nos._exit(0)")
                self.assertEqual(contents(host.frames), {})
                self.assertEqual(reasons(host.frames), {"out": "special"})

    def test_a_daemon_that_writes_on_does_not_hold_the_end(self) -> None:
        code = (
            "import os, time\nopen('secret', 'w').write('root:')\nopen('out/seed', 'w').write('x')\n"
            "if os.fork() == 0:\n"
            "    n = 0\n"
            "    while True:\n"
            "        n += 1\n"
            "        name = f'out/{n % 40}'\n"
            "        link = lambda path: os.symlink(os.path.abspath('secret'), path)\n"
            "        file = lambda path: os.close(os.open(path, os.O_CREAT | os.O_EXCL))\n"
            "        try: [os.mkfifo, link, os.mkdir, file][n % 4](name)\n"
            "        except OSError: pass\n"
            "        try: os.replace(name, f'out/{(n + 1) % 40}')\n"
            "        except OSError: pass\n"
            "time.sleep(0.2)\nos._exit(0)"
        )
        with Host() as host:
            host.start(code)
            host.wait_for(lambda seen: seen.of_type("exited") != [])
        self.assertEqual(contents(host.frames)["seed"], b"x")
        self.assertNotIn(b"root:", b"".join(contents(host.frames).values()))


class FolderTest(unittest.TestCase):
    """The walk alone, over folders that are made here."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name, "out")
        self.out.mkdir()

    def collect(self) -> list[Frame]:
        read_end, write_end = os.pipe()
        lines: list[bytes] = []

        def read() -> None:
            with open(read_end, "rb") as stream:
                lines.extend(stream)

        reader = threading.Thread(target=read)
        reader.start()
        send_artifacts(str(self.out), write_end)
        os.close(write_end)
        reader.join()
        return [decode(line) for line in lines]

    def test_links_pipes_sockets_and_folders_behind_links_stay_behind(self) -> None:
        outside = self.out.parent / "outside"
        outside.mkdir()
        (outside / "secret").write_text("secret")
        (self.out / "passwd").symlink_to(outside / "secret")
        (self.out / "up").symlink_to("..")
        (self.out / "dangling").symlink_to("nowhere")
        (self.out / "null").symlink_to("/dev/null")
        os.mkfifo(self.out / "fifo")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.out / "socket"))
        (self.out / "fine").write_bytes(EVERY_BYTE)
        os.link(self.out / "fine", self.out / "twin")
        frames = self.collect()
        self.assertEqual(contents(frames), {"fine": EVERY_BYTE, "twin": EVERY_BYTE})
        links = dict.fromkeys(("passwd", "up", "dangling", "null"), "link")
        self.assertEqual(reasons(frames), {**links, "fifo": "special", "socket": "special"})

    def test_a_sparse_giant_is_not_read(self) -> None:
        with open(self.out / "giant", "wb") as file:
            file.truncate(1 << 40)
        (self.out / "most").write_bytes(b"m" * MAX_FILE_BYTES)
        (self.out / "over").write_bytes(b"m" * (MAX_FILE_BYTES + 1))
        frames = self.collect()
        self.assertEqual(
            {name: len(data) for name, data in contents(frames).items()}, {"most": MAX_FILE_BYTES}
        )
        self.assertEqual(reasons(frames), {"giant": "size", "over": "size"})

    def test_the_sum_is_capped(self) -> None:
        count = MAX_FILES_BYTES // MAX_FILE_BYTES + 2
        for number in range(count):
            with open(self.out / f"{number:02}", "wb") as file:
                file.truncate(MAX_FILE_BYTES)
        (self.out / "small").write_text("still fits")
        frames = self.collect()
        self.assertEqual(len(contents(frames)), count - 2 + 1)
        self.assertEqual(reasons(frames), {f"{count - 2:02}": "total", f"{count - 1:02}": "total"})

    def test_ten_thousand_files_are_fifty_and_a_count(self) -> None:
        for number in range(10_000):
            (self.out / f"{number:05}").touch()
        frames = self.collect()
        self.assertEqual(len(contents(frames)), MAX_FILES)
        skipped = frames[-1]
        self.assertEqual(len(skipped["files"]), MAX_SKIPPED_NAMED)
        self.assertEqual(skipped["more"], 10_000 - MAX_FILES - MAX_SKIPPED_NAMED)

    def test_folders_in_folders_end_somewhere(self) -> None:
        deepest = self.out.joinpath(*["d"] * (MAX_DEPTH + 5))
        deepest.mkdir(parents=True)
        (deepest / "far").write_text("far")
        (self.out / "d" / "near").write_text("near")
        frames = self.collect()
        self.assertEqual(contents(frames), {"d/near": b"near"})
        self.assertEqual(list(reasons(frames).values()), ["depth"])

    def test_names_of_every_kind(self) -> None:
        (self.out / "caf\u00e9\n\u202e.txt").write_text("x")
        with open(os.fsencode(self.out) + b"/\xff\xfe", "wb"):
            pass
        self.assertEqual(set(contents(self.collect())), {"caf\u00e9\n\u202e.txt", "\\xff\\xfe"})

    def test_a_file_that_changes_while_it_is_read(self) -> None:
        path = self.out / "restless"
        path.write_bytes(b"a" * MAX_FILE_BYTES)
        stop = threading.Event()

        def disturb() -> None:
            with open(path, "r+b") as file:
                while not stop.is_set():
                    file.truncate(7)
                    file.truncate(MAX_FILE_BYTES * 2)

        disturber = threading.Thread(target=disturb)
        disturber.start()
        try:
            for _ in range(20):
                frames: list[Any] = self.collect()
                for data in contents(frames).values():
                    self.assertLessEqual(len(data), MAX_FILE_BYTES)
        finally:
            stop.set()
            disturber.join()

    @unittest.skipIf(os.geteuid() == 0, "root reads everything")
    def test_what_cannot_be_read(self) -> None:
        (self.out / "shut").touch(0o000)
        (self.out / "closed").mkdir(0o000)
        self.assertEqual(reasons(self.collect()), {"closed": "unreadable", "shut": "unreadable"})


if __name__ == "__main__":
    unittest.main()
