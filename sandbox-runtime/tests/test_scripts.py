"""Python in a file behaves as `python FILE ARG...` does: the same table through the real interpreter and through us."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.host import Host, given, has_got_there, program, run_script, server, text_result, tool

SPAWN = """
import multiprocessing, sys
import helper
def double(x): return helper.twice(x)
if __name__ == "__main__":
    multiprocessing.set_start_method("METHOD")
    with multiprocessing.Pool(2) as pool:
        print(pool.map(double, [1, 2]), __name__)
"""


class Case(NamedTuple):
    """A program, and what it comes with."""

    code: str
    files: Mapping[str, str] = {}
    args: Sequence[str] = ()
    stdin: bytes | None = None
    file: str = "main.py"
    env: Mapping[str, str] = {}


HELPER = {"helper.py": "def twice(x): return 2 * x\ndef fail(): raise KeyError('deep')\n"}
CASES = {
    "main": Case("print(__name__, __file__, __package__, __spec__, __cached__, __doc__)"),
    "a docstring": Case("'''About.'''\nprint(__doc__)\nprint(sorted(n for n in globals() if n[:2] == '__'))"),
    "arguments": Case("import sys\nprint(sys.argv)", args=["a b", "", "--x=1", "ü"]),
    "argparse": Case(
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('n', type=int)\nprint(p.parse_args())",
        args=["x"],
    ),
    "no value": Case("1 + 1\n'x'"),
    "sibling": Case("import helper\nprint(helper.twice(2), helper.__file__)", HELPER),
    "package": Case(
        "from util.x import y\nimport util.z as z\nprint(y, z.y)",
        {"util/__init__.py": "", "util/x.py": "y = 1", "util/z.py": "from .x import y"},
    ),
    "in a folder": Case(
        "import sys, beside\nprint(sys.argv, __file__, sys.path[0], open('data.txt').read())\nimport helper",
        {**HELPER, "sub/beside.py": "", "data.txt": "data"},
        file="sub/main.py",
    ),
    "sibling named as a library": Case(
        "from queue import Mine\nimport textwrap, calendar\nprint(Mine, textwrap.__name__, calendar.x)",
        {"queue.py": "Mine = 1", "calendar/__init__.py": "x = 2", "json.txt": "", "string/a.txt": ""},
    ),
    "sibling that is loaded already": Case("import os, sys\nprint(os.sep)", {"os.py": "", "sys.py": ""}),
    "relative data": Case("print(open('in/a.csv').read())", {"in/a.csv": "1,2"}),
    "stdin": Case("import sys\nprint(input('? '), sys.stdin.readline(), sys.stdin.read())", stdin=b"a\nb\nc\nd"),
    "stdin in bytes": Case("import sys\nprint(sys.stdin.buffer.read(), sys.stdin.name)", stdin=b"\xff\0"),
    "stdin that is no text": Case("print(ascii(input()))", stdin=b"\xff\n"),
    "stdin by its number": Case("import os\nprint(os.read(0, 9), open(0).read())", stdin=b"0123456789x"),
    "stdin that has ended": Case("input()"),
    "lines of stdin": Case("import fileinput\nfor line in fileinput.input(): print(line)", stdin=b"a\nb"),
    "exit code": Case("raise SystemExit(3)"),
    "exit code above a byte": Case("import sys\nsys.exit(257)"),
    "exit message": Case("import sys\nsys.exit('why')"),
    "exit with an object": Case("import sys\nsys.exit(['why'])"),
    "exit of the site": Case("print('a')\nexit(4)"),
    "exit of a function": Case("def main(): return 5\nif __name__ == '__main__':\n    raise SystemExit(main())"),
    "uncaught": Case("def f(x):\n    return 1 / x\nprint('before')\nf(0)"),
    "uncaught of a sibling": Case("import helper\nhelper.fail()", HELPER),
    "uncaught of a library": Case("import json\njson.loads('{')"),
    "chained": Case("try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('no') from e"),
    "context": Case("try:\n    {}['a']\nexcept KeyError:\n    1 / 0"),
    "interrupt": Case("raise KeyboardInterrupt"),
    "own exception": Case("class Mine(Exception): pass\nraise Mine('a', 1)"),
    "recursion": Case("def f(): f()\nf()"),
    "own hook": Case("import sys\nsys.excepthook = lambda *a: print('hook', a[1])\n1 / 0"),
    "broken hook": Case("import sys\nsys.excepthook = None\nprint(1)"),
    "in a thread": Case("import threading\nt = threading.Thread(target=lambda: 1 / 0, name='t')\nt.start()\nt.join()"),
    "in a forked child": Case("import os\nif os.fork() == 0: 1 / 0\nprint(os.wait()[1])"),
    "at the end": Case("import atexit\natexit.register(print, 'end')\n1 / 0"),
    "unraisable": Case("class A:\n    def __del__(self): 1 / 0\na = A()\ndel a\nprint('on')"),
    "warning": Case("import warnings\nwarnings.warn('careful')\nwarnings.warn('old', DeprecationWarning)"),
    "warning of the compiler": Case("x = 1\nprint(x is 1)"),
    "forgotten coroutine": Case("async def main(): print('never')\nmain()"),
    "asyncio": Case("import asyncio\nasync def main():\n    print('in')\n    raise OSError('x')\nasyncio.run(main())"),
    "syntax error in a sibling": Case("import broken", {"broken.py": "x = 1\ndef f(:\n"}),
    "import that fails": Case("import nothing_like_this"),
    "getsource": Case("import inspect\ndef f():\n    return 1  # here\nprint(inspect.getsource(f))"),
    "dataclass": Case(
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: 'int' = 1\nprint(P(), P.__module__)"
    ),
    "annotations": Case("x: int = 5\nprint(__annotations__)") if sys.version_info < (3, 14) else Case(""),
    "pickle": Case("import pickle\nclass A:\n    x = 1\nprint(pickle.loads(pickle.dumps(A())).x)"),
    "spawn": Case(SPAWN.replace("METHOD", "spawn"), HELPER),
    "forkserver": Case(SPAWN.replace("METHOD", "forkserver"), HELPER),
    "fork": Case(SPAWN.replace("METHOD", "fork"), HELPER),
    "runs itself": Case(
        "import subprocess, sys\nif sys.argv[1:]: print('child', sys.argv)\n"
        "else: print(subprocess.run([sys.executable, __file__, 'x'], capture_output=True, text=True).stdout)"
    ),
    "reads itself": Case("# über\nprint(open(__file__, encoding='utf-8').read())"),
    "windows newlines": Case("x = '''a\r\nb'''\r\nprint(repr(x))\r\n1 / 0\r\n"),
    "variables": Case(
        "import os, subprocess\nprint(os.environ['A'], os.getenvb(b'B'), flush=True)\n"
        "subprocess.run(['sh', '-c', 'echo $A $B'])",
        env={"A": "a b=c", "B": "\u00fc"},
    ),
    "search for modules": Case(
        "import sys, helper, other, textwrap\nprint(helper.__file__, other.__file__, textwrap.x, sys.path[:4])",
        {"lib/helper.py": "", "more/other.py": "", "lib/textwrap.py": "x = 1"},
        env={"PYTHONPATH": "lib:/nowhere:more"},
    ),
    "time zone": Case("import time\nprint(time.tzname, time.localtime(0).tm_hour)", env={"TZ": "XYZ-5"}),
    "search for programs": Case(
        "import shutil, subprocess\nprint(shutil.which('sh'))\nsubprocess.run(['sh', '-c', ':'])",
        env={"PATH": "/nowhere"},
    ),
    "loader": Case("print(type(__loader__).__name__, __loader__.get_source('__main__'))"),
    "pkgutil": Case("import pkgutil\nprint([m.name for m in pkgutil.iter_modules() if m.name == 'helper'])", HELPER),
    "runpy": Case("import runpy\nprint(runpy.run_path('other.py')['x'])", {"other.py": "x = 1"}),
    "unittest": Case(
        "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 2)\n"
        "try: unittest.main(argv=['main'])\nexcept SystemExit as e: print(e.code)"
    ),
    "doctest": Case("'''\n>>> 1 + 1\n3\n'''\nimport doctest\nprint(doctest.testmod())"),
    "logging": Case("import logging\nlogging.warning('w')\nlogging.error('e')"),
}  # fmt: skip


class Ended(NamedTuple):
    stdout: str
    stderr: str
    code: int


def by_the_interpreter(case: Case) -> Ended:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**case.files, case.file: case.code}.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        done = subprocess.run(
            [sys.executable, "-u", "-X", "utf8", case.file, *case.args],
            cwd=folder,
            env={"PATH": os.environ.get("PATH", ""), "PYTHONDONTWRITEBYTECODE": "1", **case.env},
            input=case.stdin or b"",
            capture_output=True,
        )
    # A shell's word for the end by a signal.
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return Ended(plain(done.stdout.decode(), folder), plain(done.stderr.decode(), folder), code)


def by_us(case: Case) -> Ended:
    files = [given(name, text.encode()) for name, text in case.files.items()]
    host = run_script(case.code, files, case.args, case.stdin, case.file, case.env)
    folder = host.folder.name
    return Ended(plain(host.stdout, folder), plain(host.stderr, folder), host.one("exited")["code"])


def plain(text: str, folder: str) -> str:
    """Without what differs between two folders and two processes."""
    text = text.replace(os.path.realpath(folder), "").replace(folder, "")
    text = re.sub(r"0x[0-9a-f]+|repeated \d+ more", "…", text)
    lines = [line for line in text.splitlines() if "tests in" not in line and "test in" not in line]
    return "\n".join(lines)


class TableTest(unittest.TestCase):
    maxDiff = None

    def test_as_the_interpreter_does(self) -> None:
        for name, case in CASES.items():
            with self.subTest(name):
                self.assertEqual(by_us(case), by_the_interpreter(case))


class ScriptTest(unittest.TestCase):
    """What is ours beside that."""

    def test_awaits_at_its_top_level(self) -> None:
        host = run_script("import asyncio\nprint(await asyncio.sleep(0, 'slept'))\n1 / 0")
        self.assertEqual(host.stdout, "slept\n")
        self.assertEqual(host.stderr.count("Traceback"), 1)
        self.assertIn(f'File "{os.path.realpath(host.folder.name)}/main.py", line 3', host.stderr)
        self.assertNotIn("harness", host.stderr)

    def test_has_no_value(self) -> None:
        for code in ("1 + 1", "'x'", "return 5", "import asyncio\nawait asyncio.sleep(0, 7)"):
            result = run_script(code).one("result")
            self.assertEqual((result["value"], result["repr"]), (None, ""))

    def test_the_file_is_what_was_compiled(self) -> None:
        code = "```py\nimport inspect\ndef f(): pass\nprint(inspect.getsource(f), open(__file__).read())\n1/0\n```"
        host = run_script(code)
        self.assertEqual(host.stdout, "def f(): pass\n " + code[len("```py\n") : -len("\n```")] + "\n")
        self.assertIn('main.py", line 4, in <module>\n    1/0\n', host.stderr)

    def test_refused_under_its_name(self) -> None:
        host = run_script("x = 1\nif x = 2: pass", file="sub/entry.py")
        self.assertRegex(
            host.one("refused")["error"]["traceback"][0], r'^  File "/.*/sub/entry\.py", line 2$'
        )

    def test_variables_come_after_the_harness_has_used_its_own(self) -> None:
        env = {"TMPDIR": "/nowhere", "LD_PRELOAD": "/nowhere.so", "HOME": "/nowhere"}
        host = run_script(
            "import os\nprint(input(), os.environ['TMPDIR'], os.environ['HOME'])", stdin=b"x", env=env
        )
        self.assertEqual((host.stdout, host.stderr), ("x /nowhere /nowhere\n", ""))

    def test_what_is_told_of_a_failure(self) -> None:
        host = run_script(
            "import helper, json\nhelper.fail()", [given("helper.py", HELPER["helper.py"].encode())]
        )
        raised = host.one("raised")
        self.assertEqual((raised["exitCode"], raised["error"]["type"]), (1, "KeyError"))
        self.assertEqual([line for line in raised["error"]["traceback"] if "harness" in line], [])

    def test_an_interrupt_is_told_with_a_shells_code(self) -> None:
        host = run_script("raise KeyboardInterrupt")
        self.assertEqual((host.one("raised")["exitCode"], host.one("exited")["code"]), (130, 130))

    def test_files_that_cannot_be_written_are_told_without_our_frames(self) -> None:
        host = run_script("print('never')", [given("a", b""), given("a/b", b"")])
        self.assertRegex(host.stderr, r"^NotADirectoryError: .*'a/b'\n$")
        self.assertEqual(host.one("exited")["code"], 1)

    def test_calls_tools(self) -> None:
        with Host() as host:
            host.handlers["tools.call"] = lambda params: text_result(params["arguments"]["x"])
            code = "import sys\nprint(await mcp_x.echo(x=sys.argv[1]))"
            self.assertEqual(host.check(code, "main.py")["type"], "checked")
            start = {**program(file="main.py"), "args": ["heard"]}
            host.run(
                loaded=[server("x", tool("echo"))], files=[given("main.py", code.encode())], program=start
            )
            self.assertEqual(host.finish().stdout, "heard\n", host.stderr)

    def test_where_it_was(self) -> None:
        helper = given(
            "lib/slow.py", b"import time\ndef work():\n    print('go', flush=True)\n    time.sleep(600)\n"
        )
        code = "from lib import slow\nslow.work()"
        with Host() as host:
            host.check(code, "main.py")
            host.run(files=[given("main.py", code.encode()), helper], program=program(file="main.py"))
            host.wait_for(lambda seen: "go" in seen.stdout)
            has_got_there()
            host.send({"type": "stop", "reason": "timeout"})
            lines = host.finish().one("where")["lines"]
        self.assertEqual(lines, ["main.py:2: slow.work()", "lib/slow.py:4: time.sleep(600)"])


if __name__ == "__main__":
    unittest.main()
