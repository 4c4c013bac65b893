"""What code has not closed when it ends: whatever the interpreter would have written is written."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterable
from pathlib import Path

from harness import ending
from tests.host import Frame, Host, given, run, run_script
from tests.test_sessions import Session

# Each leaves what it writes in out/, or prints it. The interpreter is asked for what that is.
CASES = {
    "a csv writer that holds its file": (
        'import csv\nw = csv.writer(open("out/d.csv", "w", newline=""))\nw.writerow([1, 2])'
    ),
    "a csv writer that nobody holds": 'import csv\ncsv.writer(open("out/d.csv", "w")).writerow([1, 2])',
    "text": 'f = open("out/a", "w")\nf.write("text")',
    "text with functions": 'f = open("out/a", "w")\nf.write("text")\ndef g(): return f',
    "bytes": 'f = open("out/a", "wb")\nf.write(b"bytes")',
    "appended": 'open("out/a", "w").write("1")\nf = open("out/a", "a")\nf.write("2")',
    "read and written": 'f = open("out/a", "w+b")\nf.write(b"xyz")\nf.seek(1)\nf.write(b"!")',
    "a layer above bytes": 'import io\nf = io.TextIOWrapper(open("out/a", "wb"), "utf-16")\nf.write("text")',
    "two layers above a raw file": 'import io\nf = io.BufferedWriter(io.FileIO("out/a", "w"), 99)\nf.write(b"x")',
    "from a descriptor": 'import os\nf = os.fdopen(os.open("out/a", os.O_CREAT | os.O_WRONLY), "w")\nf.write("x")',
    "pathlib": 'from pathlib import Path\nf = Path("out/a").open("w")\nf.write("x")',
    "codecs": 'import codecs\nf = codecs.open("out/a", "w", "utf-8")\nf.write("x")',
    "a hundred": 'files = [open(f"out/{n}", "w") for n in range(40)]\nfor f in files: f.write("x" * 9000)',
    "zip": 'import zipfile\nz = zipfile.ZipFile("out/a", "w")\nz.writestr(zipfile.ZipInfo("n"), "x")',
    "gzip": 'import gzip\nf = gzip.GzipFile("out/a", "wb", mtime=0)\nf.write(b"x" * 99)',
    "bzip2": 'import bz2\nf = bz2.open("out/a", "wb")\nf.write(b"x" * 99)',
    "xz below text": 'import lzma\nf = lzma.open("out/a", "wt")\nf.write("x" * 99)',
    # Files of Berkeley DB, which shelve.open takes where it is there, have bytes in them that nobody has set.
    "a shelf": (
        'import dbm.dumb, shelve\ns = shelve.Shelf(dbm.dumb.open("out/a", "n"), writeback=True)\n'
        's["k"] = []\ns["k"].append(1)'
    ),
    "print into a file": 'f = open("out/a", "w")\nprint("x", file=f)',
    "stdout in a file": 'import sys\nsys.stdout = open("out/a", "w")\nprint("x")',
    "both streams in files": (
        'import sys\nsys.stdout = sys.stderr = open("out/a", "w", buffering=1)\nprint("x", end="")'
    ),
    "redirected for good": (
        'import contextlib\nc = contextlib.redirect_stdout(open("out/a", "w"))\nc.__enter__()\nprint("x")'
    ),
    "logging": 'import logging\nlogging.basicConfig(filename="out/a")\nlogging.error("x")',
    "in an object": 'class A: pass\na = A()\na.me, a.f = a, open("out/a", "w")\na.f.write("x")',
    "in a builtin": 'import builtins\nbuiltins.f = open("out/a", "w")\nf.write("x")',
    "in a library": 'import csv\ncsv.f = open("out/a", "w")\ncsv.f.write("x")',
    "in a class of a library": 'import csv\ncsv.Dialect.f = open("out/a", "w")\ncsv.Dialect.f.write("x")',
    "in a handler of a signal": (
        'import signal\nf = open("out/a", "w")\nf.write("x")\nsignal.signal(signal.SIGUSR1, lambda *_: f)'
    ),
    "in a cache": (
        'import functools\n@functools.lru_cache\ndef f(): return open("out/a", "w")\nf().write("x")'
    ),
    "in a default": 'def f(to=open("out/a", "w")): to.write("x")\nf()',
    "after an exception": 'f = open("out/a", "w")\nf.write("x")\n1 / 0',
    "in the frames of an exception": 'def g():\n    f = open("out/a", "w")\n    f.write("x")\n    1 / 0\ng()',
    "after sys.exit": 'import sys\nf = open("out/a", "w")\nf.write("x")\nsys.exit(3)',
    "after sys.exit of a function": (
        'import sys\ndef main():\n    f = open("out/a", "w")\n    f.write("x")\n    sys.exit("why")\nmain()'
    ),
    "of an exit callback": (
        'import atexit\ndef end():\n    global f\n    f = open("out/a", "w")\n    f.write("x")\natexit.register(end)'
    ),
    "of a thread": (
        "import threading\ndef work():\n    global f\n"
        '    f = open("out/a", "w")\n    f.write("x")\nthreading.Thread(target=work).start()'
    ),
    "of a coroutine": (
        "import asyncio\nasync def main():\n    global f\n"
        '    f = open("out/a", "w")\n    f.write("x")\nasyncio.run(main())'
    ),
    "of a forked child": (
        'import os\nif os.fork() == 0:\n    f = open("out/a", "w")\n    f.write("x")\nelse: os.wait()'
    ),
    "a finalizer": 'class A:\n    def __del__(self): print("end of", x)\nx = 1\na = A()',
    "a finalizer without a dict": "class A:\n    __slots__ = ()\n    def __del__(self): print('end')\na = A()",
    "a finalizer in a cycle": 'class A:\n    def __del__(self): print("end")\na = A()\na.a = a\ndel a',
    "a finalizer with collection off": (
        'import gc\ngc.disable()\nclass A:\n    def __del__(self): print("end")\na = A()\na.a = a'
    ),
    "finalizers in turn": (
        "class A:\n    def __init__(self, n): self.n = n\n    def __del__(self): print(self.n)\n"
        "a, b, c = A(1), A(2), A(3)"
    ),
    "what is set aside": ('import gc\nclass A:\n    def __del__(self): print("end")\na = A()\ngc.freeze()'),
    "what is set aside with a file": 'import gc\nf = open("out/a", "w")\nf.write("x")\ngc.freeze()',
    "a kind that cannot be asked": (
        "class M(type):\n    def __getattribute__(self, name): raise OSError\n"
        "class A(metaclass=M): pass\nimport builtins\nbuiltins.a = A()\n"
        'f = open("out/a", "w")\nf.write("x")'
    ),
    "a finalizer that raises": "class A:\n    def __del__(self): 1 / 0\na = A()\nprint('on')",
    "a finalizer that exits": "import sys\nclass A:\n    def __del__(self): sys.exit(5)\na = A()\nprint('on')",
    "a finalizer with stdout replaced": (
        'import io, sys\nclass A:\n    def __del__(self): print("end")\na = A()\nsys.stdout = io.StringIO()'
    ),
    "finally": 'def g():\n    try: yield\n    finally: print("end")\ng = g()\nnext(g)',
    "with in a generator": (
        'def g():\n    with open("out/a", "w") as f:\n        f.write("x")\n        yield\ni = g()\nnext(i)'
    ),
    "a context that was only entered": (
        "import contextlib\n@contextlib.contextmanager\ndef c():\n    try: yield\n    finally: print('end')\n"
        "c = c()\nc.__enter__()"
    ),
    "finally of a coroutine": (
        "class W:\n    def __await__(self): yield\nasync def f():\n    try: await W()\n    finally: print('end')\n"
        "c = f()\nc.send(None)"
    ),
    "a coroutine that was never awaited": "async def f(): pass\nc = f()",
    "a weak reference": (
        'import weakref\nclass A: pass\na = A()\nr = weakref.ref(a, lambda _: print("end"))\nkeep = [r]\ndel a'
    ),
    "weakref.finalize": 'import weakref\nclass A: pass\na = A()\nweakref.finalize(a, print, "end")',
    "a temporary file": (
        'import tempfile\nf = tempfile.NamedTemporaryFile(dir="out")\nf.write(b"x")\n'
        "g = tempfile.NamedTemporaryFile('w', dir='out', prefix='kept', suffix='', delete=False)\n"
        'import os\nos.rename(g.name, "out/kept")\ng.write("y")'
    ),
    "the C library's own buffers": (
        "import ctypes\nc = ctypes.CDLL(None)\nc.fopen.restype = ctypes.c_void_p\n"
        'f = c.fopen(b"out/a", b"w")\nc.fputs(b"x", ctypes.c_void_p(f))\nc.printf(b"%s", b"printed")'
    ),
    "os._exit": 'import os\nf = open("out/a", "w")\nf.write("x")\nos._exit(4)',
    "nothing": "print(1)",
}
MODULES = {
    "held by a module": ("import helper", 'f = open("out/a", "w")\nf.write("x")\ndef g(): return f'),
    "a finalizer in a module": ("import helper", 'class A:\n    def __del__(self): print("end")\na = A()'),
    "a generator in a package": (
        "import helper\nimport helper as h",
        'def g():\n    try: yield\n    finally: print("end")\ni = g()\nnext(i)',
    ),
}
# What writes nothing until the cycle that it is in has been collected, in whose order the interpreter loses it.
MORE_THAN_THE_INTERPRETER = {
    "in a cycle with itself": 'def g():\n    f = open("out/a", "w")\n    f.write("x")\n    f.me = f\ng()',
    "of a daemon": (
        "import threading, time\ndef work():\n"
        '    f = open("out/a", "w")\n    f.write("x")\n    begun.set()\n    time.sleep(60)\n'
        "begun = threading.Event()\nthreading.Thread(target=work, daemon=True).start()\nbegun.wait()"
    ),
}


def left(frames: Iterable[Frame]) -> dict[str, bytes]:
    return {f["name"]: base64.b64decode(f["data"]) for f in frames if f["type"] == "file"}


class Interpreter:
    """What `python3 main.py` leaves and prints."""

    def __init__(self, code: str, files: dict[str, str]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "out")
            out.mkdir()
            for name, text in {"main.py": code, **files}.items():
                Path(folder, name).write_text(text)
            argv = [sys.executable, "-X", "utf8", "main.py"]
            ended = subprocess.run(argv, cwd=folder, capture_output=True, env={"PATH": os.environ["PATH"]})
            self.code = ended.returncode
            self.stdout = ended.stdout.decode()
            self.stderr = ended.stderr.decode()
            self.left = {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}


class UnclosedTest(unittest.TestCase):
    def check(self, code: str, files: dict[str, str]) -> None:
        real = Interpreter(code, files)
        inputs = [given(name, text.encode()) for name, text in files.items()]
        for host in (run(code, files=inputs), run_script(code, inputs)):
            self.assertEqual(left(host.frames), real.left, host.frames)
            self.assertEqual((host.stdout, host.one("exited")["code"]), (real.stdout, real.code))
            # Paths and addresses differ, and a cell says of itself by a frame what it raised.
            for said in ("Exception ignored", "never awaited", "ZeroDivisionError: "):
                if host.of_type("raised") and "ignored" not in said:
                    continue
                self.assertEqual(said in host.stderr, said in real.stderr, host.stderr)

    def test_as_the_interpreter(self) -> None:
        for name, code in CASES.items():
            with self.subTest(name):
                self.check(code, {})

    def test_in_modules_of_its_own(self) -> None:
        for name, (code, helper) in MODULES.items():
            with self.subTest(name):
                self.check(code, {"helper.py": helper})

    def test_what_the_interpreter_would_lose(self) -> None:
        for name, code in MORE_THAN_THE_INTERPRETER.items():
            with self.subTest(name):
                self.assertEqual(left(run(code).frames), {"a": b"x"})

    def test_what_does_not_end_is_cut_short_and_that_is_told(self) -> None:
        never = {
            "a loop": "while True: pass",
            "a sleep": "import time; time.sleep(600)",
            "a full pipe": "import os; r, w = os.pipe(); os.write(w, bytes(10_000_000))",
        }
        for name, body in never.items():
            code = (
                'f = open("out/a", "w")\nf.write("x")\n'
                f'class A:\n    def __del__(self):\n        {body}\na = A()\nprint("on")\n"value"'
            )
            # The first of these is loaded before there is a guest, and the second cannot be.
            sooner = "import harness.ending\nharness.ending.ENDS_WITHIN_S = 0.3"
            with self.subTest(name), Host(preimport=["sooner", "never"], modules={"sooner": sooner}) as host:
                host.wait_for(lambda host: bool(host.of_type("unloaded")))
                host.start(code)
                host.finish()
                self.assertEqual((host.value, host.stdout), ("value", "on\n"))
                self.assertEqual((host.one("exited")["code"], left(host.frames)), (0, {"a": b"x"}))
                self.assertIn(ending.CUT_SHORT, host.stderr)


class SessionTest(unittest.TestCase):
    def test_each_call_leaves_what_it_has_written(self) -> None:
        writers = {
            "text": 'f = open("out/a", "w")\nf.write("1")\ndef more(): f.write("2")',
            "bytes": 'f = open("out/a", "wb")\nf.write(b"1")\ndef more(): f.write(b"2")',
            "csv": (
                'import csv\nw = csv.writer(open("out/a", "w"), lineterminator="")\nw.writerow([1])\n'
                "def more(): w.writerow([2])"
            ),
            "a generator": (
                'def g():\n    with open("out/a", "w") as f:\n        f.write("1")\n        yield\n'
                '        f.write("2")\n        yield\ni = g()\nnext(i)\ndef more(): next(i)'
            ),
            "after an exception": (
                'f = open("out/a", "w")\nf.write("1")\ndef more():\n    f.write("2")\n    1 / 0\n1 / 0'
            ),
            "after sys.exit": (
                'import sys\nf = open("out/a", "w")\nf.write("1")\n'
                'def more():\n    f.write("2")\n    sys.exit()\nsys.exit(1)'
            ),
            "gzip": (
                'import gzip, zlib\nf = gzip.open("out/z", "wt")\nf.write("1")\ndef more(): f.write("2")\n'
                "import atexit"
            ),
        }
        for name, code in writers.items():
            with self.subTest(name), Session() as host:
                texts = []
                for each in (code, "more()", "3"):
                    host.begin(each)
                    texts.append(left(host.ended()))
                if name == "gzip":
                    import zlib

                    texts = [
                        {n[:1]: zlib.decompressobj(31).decompress(d) for n, d in t.items()} for t in texts
                    ]
                    self.assertEqual(texts, [{"z": b"1"}, {"z": b"12"}, {}])
                else:
                    self.assertEqual(texts, [{"a": b"1"}, {"a": b"12"}, {}])

    def test_nothing_else_of_it_ends(self) -> None:
        with Session() as host:
            code = """
            class A:
                def __del__(self): print("end")
            def g():
                try: yield 1
                finally: print("end")
            a, i, f = A(), g(), open("out/a", "w")
            next(i)
            f.write("x")
            """
            host.call(code)
            self.assertEqual(host.printed, "")
            self.assertEqual(host.call("f.closed"), False)

    def test_what_cannot_be_written_is_no_end(self) -> None:
        with Session() as host:
            code = (
                "import io, os, subprocess\nclass Odd(io.FileIO):\n    def flush(self): raise SystemExit(9)\n"
                'f = Odd("out/a", "w")\nclosed = open("out/b", "w")\nclosed.write("x")\nos.close(closed.fileno())\n'
                "p = subprocess.Popen(['sleep', '60'], stdin=subprocess.PIPE, bufsize=10_000_000)\n"
                "p.stdin.write(bytes(5_000_000))\n7"
            )
            self.assertEqual(host.call(code), 7)
            self.assertEqual(host.call("8"), 8)


if __name__ == "__main__":
    unittest.main()
