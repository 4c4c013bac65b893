"""Code that replaces what the harness needs: it is served all the same, and what fails is told as what it is."""

from __future__ import annotations

import unittest

from harness import HARNESS_FAILED
from harness.failure import harness_failure
from tests.host import given, run, run_script, server, structured, tool
from tests.test_sessions import Session

ECHO = server("x", tool("echo"))

STREAMS = {
    "a tee without flush": (
        "import sys\nclass Tee:\n    def __init__(self, to): self.to = to\n"
        "    def write(self, text): self.to.write(text)\nsys.stdout, sys.stderr = Tee(sys.stdout), Tee(sys.stderr)"
    ),
    "none": "import sys\nsys.stdout = sys.stderr = None",
    "gone": "import sys\ndel sys.stdout, sys.stderr",
    "closed": "import sys\nsys.stdout.close(); sys.stderr.close()",
    "the original closed, too": "import sys\nsys.stdout.close(); sys.__stdout__ = None",
    "a layer made twice": (
        "import io, sys\nfor _ in range(2): sys.stdout = io.TextIOWrapper(sys.stdout.buffer, 'utf-8')"
    ),
    "detached": "import sys\nbelow = sys.stdout.detach()",
    "a flush that raises": (
        "import io, sys\nclass S(io.StringIO):\n    def flush(self): raise ValueError('full')\nsys.stdout = S()"
    ),
    "a flush that exits": (
        "import io, sys\nclass S(io.StringIO):\n    def flush(self): sys.exit(9)\nsys.stdout = S()"
    ),
    "an object": "import sys\nsys.stdout = sys.stderr = object()",
    "write that raises": (
        "import sys\nclass S:\n    def write(self, text): raise OSError('no')\nsys.stderr = S()"
    ),
}
# Those after which the next call of a session prints again; the others are what the code wanted.
MENDED = ("none", "gone", "closed", "the original closed, too", "a layer made twice", "detached")


def _raising(name: str) -> str:
    module, _, _ = name.partition(".")
    return f"import {module}\ndef broken(*_, **__): raise OSError('replaced')\n{name} = broken"


REPLACED = {
    name: _raising(name)
    for name in (
        *("json.loads", "json.dumps", "json.JSONEncoder.encode", "json.JSONEncoder.default"),
        *("json.JSONEncoder.iterencode", "json.JSONDecoder.decode", "json.JSONDecoder.raw_decode"),
        *(
            "threading.get_ident",
            "threading.Thread",
            "threading.Lock",
            "threading.Event",
            "threading.main_thread",
        ),
        *("threading._shutdown", "signal.signal", "signal.pthread_kill", "signal.pthread_sigmask"),
        *("signal.setitimer", "builtins.print", "builtins.open", "io.open", "traceback.print_exc"),
        *("traceback.format_exc", "traceback.format_exception", "traceback.TracebackException"),
        *("os.write", "os.read", "os.getpid", "os._exit", "os.mkdir", "os.listdir", "os.fstat", "os.close"),
        *(
            "select.select",
            "time.sleep",
            "time.monotonic",
            "gc.collect",
            "gc.get_objects",
            "atexit._run_exitfuncs",
        ),
        *(
            "linecache.getline",
            "binascii.a2b_base64",
            "marshal.loads",
            "sys._current_frames",
            "sys.excepthook",
        ),
    )
}
# asyncio and the import of modules need these themselves.
NO_CALLS = (
    *("threading.get_ident", "threading.Lock", "signal.signal", "time.monotonic", "marshal.loads"),
    *("threading.Event", "select.select", "modules that are gone"),
)
REPLACED["json.encoder.c_make_encoder"] = "import json.encoder\njson.encoder.c_make_encoder = None"
REPLACED["modules that are gone"] = (
    "import sys\nfor name in ('json', 'threading', 'signal', 'traceback', 'os', 'io'): sys.modules.pop(name, None)"
)


class RunTest(unittest.TestCase):
    def test_streams(self) -> None:
        for name, code in STREAMS.items():
            with self.subTest(name):
                for host in (run(f"print('on')\n{code}\n6 * 7"), run_script(f"print('on')\n{code}")):
                    self.assertEqual(host.one("exited")["code"], 0, host.frames)
                    self.assertTrue(host.stdout.startswith("on\n"))
                self.assertEqual(run(f"{code}\n6 * 7").value, 42)
                raised = run(f"{code}\n1 / 0").one("raised")
                self.assertEqual((raised["error"]["type"], raised["exitCode"]), ("ZeroDivisionError", 1))
                self.assertEqual(run(f"{code}\nsys.exit('why')").one("exited")["code"], 1)

    def test_parts_of_the_library(self) -> None:
        handlers = {"tools.call": lambda params: structured(params["arguments"])}
        for name, code in REPLACED.items():
            with self.subTest(name):
                told = "[1, 2.5, 'é']"
                value = told if name in NO_CALLS else f"(await mcp_x.echo(a={told}))['a']"
                host = run(f"{code}\n{value}", [ECHO], handlers=handlers)
                self.assertEqual(host.value, [1, 2.5, "é"], host.frames)
                self.assertEqual(host.one("exited")["code"], 0)
                raised = run(f"{code}\n1 / 0").one("raised")
                self.assertEqual(raised["error"]["type"], "ZeroDivisionError")

    def test_builtins_that_everything_calls_are_never_told_as_an_exit(self) -> None:
        for name in ("len", "type", "isinstance", "str", "repr", "int", "bytes", "set", "getattr", "map"):
            with self.subTest(name):
                host = run(f"import builtins\nbuiltins.{name} = None\n7")
                told = [frame["exitCode"] for frame in host.frames if frame["type"] == "raised"]
                self.assertIn(host.one("exited")["code"], (0, *told), host.frames)

    def test_an_exit_message_that_has_no_text(self) -> None:
        code = "class A:\n    def __str__(self): raise OSError\nraise SystemExit(A())"
        self.assertEqual(run(code).one("exited")["code"], 1)


class SessionTest(unittest.TestCase):
    def test_streams(self) -> None:
        for name, code in STREAMS.items():
            with self.subTest(name), Session() as host:
                self.assertEqual(host.call(f"x = 1\n{code}\n2"), 2)
                host.begin("raise SystemExit('why')")
                host.ended()
                self.assertEqual(host.call("print('on')\nx" if name in MENDED else "x"), 1)
                self.assertEqual(host.printed, "on\n" if name in MENDED else host.printed)

    def test_parts_of_the_library(self) -> None:
        handlers = {"tools.call": lambda params: structured(params["arguments"])}
        for name, code in REPLACED.items():
            with self.subTest(name), Session() as host:
                host.handlers.update(handlers)
                host.call(f"x = 1\n{code}", [ECHO])
                value = "x" if name in NO_CALLS else "(await mcp_x.echo(a=x))['a']"
                self.assertEqual(host.call(value, [ECHO], [given("f", b"file")]), 1)
                self.assertEqual(host.raised("1 / 0")["type"], "ZeroDivisionError")

    def test_it_can_still_be_interrupted(self) -> None:
        for name in ("threading.get_ident", "signal.signal", "signal.pthread_kill", "json.loads", "os.write"):
            with self.subTest(name), Session() as host:
                host.call(REPLACED[name])
                self.assertEqual(
                    host.interrupted("print('begun')\nwhile True: pass")["type"], "KeyboardInterrupt"
                )

    def test_a_failure_of_its_own_is_told_as_one_and_the_session_goes_on(self) -> None:
        with Session() as host:
            # What it cannot do without: the file of the call is to be remembered in what is no dict any more.
            host.call("x = 1\nimport linecache\nkept, linecache.cache = linecache.cache, None")
            error = host.raised("x")
            self.assertEqual(error["type"], "HarnessError")
            self.assertIn("not the code", error["message"])
            answered = [frame["code"] for frame in host.latest if frame["type"] == "answered"]
            self.assertEqual(answered, [HARNESS_FAILED])


class FailureTest(unittest.TestCase):
    def test_says_what_failed(self) -> None:
        try:
            raise LookupError("gone")
        except LookupError as error:
            told = harness_failure(error)
        self.assertEqual((told["error"]["type"], told["exitCode"]), ("HarnessError", HARNESS_FAILED))
        self.assertIn("LookupError: gone", told["error"]["message"])
        self.assertEqual(told["error"]["traceback"][-2], "LookupError: gone")
        self.assertEqual(told["error"]["traceback"][-1], f"HarnessError: {told['error']['message']}")


if __name__ == "__main__":
    unittest.main()
