"""Processes that multiprocessing starts anew: what they have of the main code, and that whatever they lack is told."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent

from tests.host import HANGS_S, Host, given, run, run_script, server, structured, tool
from tests.test_sessions import Session

METHODS = ("spawn", "forkserver")
# Each prints in its first process only, from main().
CASES = {
    "a pool": """
        def double(x): return 2 * x
        def main(ctx):
            with ctx.Pool(2) as pool:
                print(pool.map(double, range(5)), list(pool.imap(double, [1, 2], 2)), pool.apply(double, (4,)))
    """,
    "a pool with callbacks": """
        def add(x, y): return x + y
        def main(ctx):
            said = []
            with ctx.Pool(1) as pool:
                pool.starmap_async(add, [(1, 2), (3, 4)], callback=said.append).get()
                pool.close()
                pool.join()
            print(said)
    """,
    "workers that are replaced": """
        def double(x): return 2 * x
        def main(ctx):
            with ctx.Pool(1, maxtasksperchild=1) as pool: print(pool.map(double, [1, 2, 3], 1))
    """,
    "an initializer": """
        def keep(x):
            global kept
            kept = x
        def get(_): return kept
        def main(ctx):
            with ctx.Pool(1, keep, (7,)) as pool: print(pool.map(get, [1]))
    """,
    "a failure in a worker": """
        class Mine(Exception): pass
        def fail(x): raise Mine(x)
        def main(ctx):
            with ctx.Pool(1) as pool:
                try: pool.map(fail, [5])
                except Mine as error: print(repr(error), 'main.py", line' in str(error.__cause__))
    """,
    "a process and a queue": """
        def put(queue): queue.put((__name__, 5))
        def main(ctx):
            queue = ctx.Queue()
            process = ctx.Process(target=put, args=(queue,))
            process.start()
            print(queue.get())
            process.join()
            print(process.exitcode)
    """,
    "a process that is a class": """
        import multiprocessing
        class Mine(multiprocessing.get_context("METHOD").Process):
            def run(self): sys.exit(7)
        def main(ctx):
            process = Mine()
            process.start()
            process.join()
            print(process.exitcode)
    """,
    "a pipe": """
        def answer(end): end.send(end.recv() + 1)
        def main(ctx):
            ours, theirs = ctx.Pipe()
            process = ctx.Process(target=answer, args=(theirs,))
            process.start()
            ours.send(4)
            print(ours.recv())
            process.join()
    """,
    "what is shared": """
        def work(lock, value, array, event, barrier, semaphore):
            with lock, semaphore:
                value.value += 1
                array[1] = 5
            event.set()
            barrier.wait()
        def main(ctx):
            value, array, event, barrier = ctx.Value("i", 1), ctx.Array("d", 2), ctx.Event(), ctx.Barrier(2)
            shared = (ctx.RLock(), value, array, event, barrier, ctx.BoundedSemaphore(1))
            process = ctx.Process(target=work, args=shared)
            process.start()
            event.wait()
            barrier.wait()
            process.join()
            print(value.value, array[:], process.exitcode)
    """,
    "shared memory": """
        from multiprocessing import shared_memory
        def write(memory): memory.buf[0] = 9
        def main(ctx):
            memory = shared_memory.SharedMemory(create=True, size=10)
            try:
                process = ctx.Process(target=write, args=(memory,))
                process.start()
                process.join()
                print(memory.buf[0])
            finally:
                memory.close()
                memory.unlink()
    """,
    "a manager": """
        def fill(shared): shared["x"] = 5
        def main(ctx):
            with ctx.Manager() as manager:
                shared = manager.dict()
                process = ctx.Process(target=fill, args=(shared,))
                process.start()
                process.join()
                print(dict(shared))
    """,
    "a manager of its own": """
        from multiprocessing.managers import BaseManager
        class Counter:
            def __init__(self): self.count = 0
            def add(self):
                self.count += 1
                return self.count
        class Mine(BaseManager): pass
        Mine.register("Counter", Counter)
        def main(ctx):
            with Mine(ctx=ctx) as manager:
                counter = manager.Counter()
                print(counter.add(), counter.add())
    """,
    "an executor": """
        from concurrent.futures import ProcessPoolExecutor
        def double(x): return 2 * x
        def main(ctx):
            with ProcessPoolExecutor(2, mp_context=ctx) as pool:
                print(list(pool.map(double, [1, 2])), pool.submit(double, 4).result())
    """,
    "an executor of an event loop": """
        import asyncio
        from concurrent.futures import ProcessPoolExecutor
        def double(x): return 2 * x
        async def work(ctx):
            with ProcessPoolExecutor(1, mp_context=ctx) as pool:
                return await asyncio.get_running_loop().run_in_executor(pool, double, 4)
        def main(ctx): print(asyncio.run(work(ctx)))
    """,
    "a pool of a thread": """
        import threading
        def double(x): return 2 * x
        def work(ctx):
            with ctx.Pool(1) as pool: print(pool.map(double, [1]))
        def main(ctx):
            thread = threading.Thread(target=work, args=(ctx,))
            thread.start()
            thread.join()
    """,
    "objects of main": """
        import enum, functools
        from dataclasses import dataclass
        from typing import NamedTuple
        class Color(enum.Enum): RED = 1
        class Pair(NamedTuple):
            x: int
            y: int
        @dataclass
        class Point:
            x: int
            def times(self, n): return Point(n * self.x)
        class Outer:
            class Inner: value = 3
        def same(x): return x
        def add(x, y): return x + y
        def main(ctx):
            with ctx.Pool(1) as pool:
                print(pool.map(same, [Color.RED, Pair(1, 2), Point(3)]), pool.map(Point(2).times, [5]))
                print(pool.map(functools.partial(add, 5), [1]), pool.apply(same, (Outer.Inner(),)).value)
    """,
    "a process of a process": """
        import multiprocessing
        def inner(queue): queue.put((multiprocessing.parent_process().name != "MainProcess", double(4)))
        def double(x): return 2 * x
        def outer(queue):
            process = multiprocessing.get_context("METHOD").Process(target=inner, args=(queue,))
            process.start()
            process.join()
        def main(ctx):
            queue = ctx.Queue()
            process = ctx.Process(target=outer, args=(queue,))
            process.start()
            print(queue.get())
            process.join()
    """,
    "a module of its own": """
        import helper
        def work(x): return helper.twice(x)
        def main(ctx):
            with ctx.Pool(1) as pool: print(pool.map(work, [1]), pool.map(helper.twice, [2]))
    """,
    "a module that starts them": """
        import helper
        def main(ctx): print(helper.of_processes(ctx, [1, 2]))
    """,
    "the default": """
        import multiprocessing
        def double(x): return 2 * x
        def main(ctx):
            multiprocessing.set_start_method("METHOD")
            with multiprocessing.Pool(1) as pool: print(pool.map(double, [1]), multiprocessing.get_start_method())
    """,
    "somewhere else": """
        def where(_): return os.getcwd()
        def main(ctx):
            home = os.getcwd()
            os.chdir("/")
            with ctx.Pool(1) as pool: print(pool.map(where, [1]))
            os.chdir(home)
    """,
    "arguments and variables": """
        def get(_): return sys.argv[1:], os.environ["MINE"], __name__, __spec__
        def main(ctx):
            os.environ["MINE"] = "x"
            sys.argv.append("more")
            with ctx.Pool(1) as pool: print(pool.map(get, [1]))
    """,
    "many": """
        def double(x): return 2 * x
        def main(ctx):
            with ctx.Pool(4) as pool: print(sum(pool.imap_unordered(double, range(200), 7)))
    """,
    "one that is ended": """
        import time
        def sleep(): time.sleep(600)
        def main(ctx):
            process = ctx.Process(target=sleep, daemon=True)
            process.start()
            process.terminate()
            process.join()
            print(process.exitcode)
    """,
    "an interpreter of its own": """
        import subprocess, runpy
        def main(ctx):
            for arguments in (["-c", "import sys; print(len(sys.argv), __name__)"], ["-m", "helper"], ["helper.py"]):
                print(subprocess.run([sys.executable, *arguments], capture_output=True, text=True))
            print(runpy.run_path("helper.py")["twice"](4), runpy.run_module("helper")["twice"](5))
    """,
}
HELPER = """
def twice(x): return 2 * x
def of_processes(ctx, values):
    with ctx.Pool(1) as pool: return pool.map(twice, values)
if __name__ == "__main__": print("run", __file__ is not None)
"""
END = """
if __name__ == "__main__":
    from multiprocessing import get_context
    main(get_context("METHOD"))
"""
START = """
import multiprocessing
ctx = multiprocessing.get_context("METHOD")
def double(x): return 2 * x
class Point: x = 1
"""
# What CPython leaves to hang, or ends without a word of why; each with what is said of it.
TOLD = {
    "no guard": (
        "with ctx.Pool(2) as pool: print(pool.map(double, [1, 2]))",
        r"RuntimeError: An attempt has been made to start a new process .*main\.py\", line \d+.*__main__.*fork",
    ),
    "no guard, and callbacks": (
        "with ctx.Pool(1) as pool: print(pool.apply_async(double, (1,)).get())",
        "An attempt has been made",
    ),
    "a tool that is called in all": (
        'await mcp_x.echo(x=1)\nif __name__ == "__main__":\n    with ctx.Pool(1) as pool: pool.map(double, [1])',
        "RuntimeError: MCP calls work only in the main process.*calling tools",
    ),
    "code that fails the second time": (
        'if __name__ != "__main__": 1 / 0\nelse:\n    with ctx.Pool(1) as pool: pool.map(double, [1])',
        r"ZeroDivisionError: division by zero \(File .*main\.py\"",
    ),
    "code that ends the second time": (
        'if __name__ != "__main__": raise SystemExit(3)\nwith ctx.Pool(1) as pool: pool.map(double, [1])',
        "SystemExit: 3",
    ),
    "a function below the guard": (
        'if __name__ == "__main__":\n    def f(x): return x\n    with ctx.Pool(1) as pool: pool.map(f, [1])',
        "f is not in the main code as this process has it",
    ),
    "a class below the guard": (
        'if __name__ == "__main__":\n    class A: pass\n    with ctx.Pool(1) as pool: pool.map(A().f, [1])'.replace(
            "pass", "f = lambda self, x: x"
        ).replace("A().f", "A"),
        "A is not in the main code",
    ),
    "an object of a class below the guard": (
        'if __name__ == "__main__":\n    class A:\n        def f(self, x): return x\n'
        "    with ctx.Pool(1) as pool: pool.map(A().f, [1])",
        "A is not in the main code",
    ),
    "an initializer below the guard": (
        'if __name__ == "__main__":\n    def f(): pass\n    with ctx.Pool(1, f) as pool: pool.map(double, [1])',
        "f is not in the main code",
    ),
    "an initializer that fails": (
        "def f(): raise OSError('mine')\n"
        'if __name__ == "__main__":\n    with ctx.Pool(1, f) as pool: pool.map(double, [1])',
        "OSError: mine",
    ),
    "an executor's function below the guard": (
        "from concurrent.futures import ProcessPoolExecutor\n"
        'if __name__ == "__main__":\n    def f(x): return x\n'
        "    with ProcessPoolExecutor(1, mp_context=ctx) as pool: pool.submit(f, 1).result()",
        "f is not in the main code",
    ),
    "a name that the code has taken away": (
        'if __name__ == "__main__":\n    with ctx.Pool(1) as pool:\n        true, double = double, lambda: 1\n'
        "        true.__name__ = true.__qualname__ = 'gone'\n        gone = true\n        pool.map(true, [1])",
        "gone is not in the main code",
    ),
}


def text(code: str, method: str, end: str = "") -> str:
    return f"import os, sys\n{dedent(code)}{end}".replace("METHOD", method)


def by_the_interpreter(code: str) -> tuple[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in {"main.py": code, "helper.py": HELPER}.items():
            Path(folder, name).write_text(content)
        done = subprocess.run(
            [sys.executable, "-X", "utf8", "main.py"],
            cwd=folder,
            capture_output=True,
            env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
            timeout=HANGS_S,
        )
        assert done.stderr == b"", done.stderr.decode()
        return done.stdout.decode(), done.returncode


class SpawningTest(unittest.TestCase):
    def test_as_the_interpreter_does(self) -> None:
        inputs = [given("helper.py", HELPER.encode())]

        def outcomes(case: str) -> tuple[tuple[str, int], list[tuple[str, Host]]]:
            real = by_the_interpreter(text(case, "spawn", END))
            ours = [(method, run(text(case, method, END), files=inputs)) for method in METHODS]
            return real, [*ours, ("spawn", run_script(text(case, "spawn", END), inputs))]

        # Most of the time they wait for each other.
        with ThreadPoolExecutor(4) as pool:
            every = dict(zip(CASES, pool.map(outcomes, CASES.values())))
        for name, ((stdout, code), ours) in every.items():
            for method, host in ours:
                with self.subTest(name, method=method):
                    self.assertEqual(
                        (host.stdout, host.one("exited")["code"]),
                        (stdout.replace("spawn", method), code),
                        host.stderr,
                    )
                    self.assertEqual(host.stderr, "")

    def test_code_that_awaits_at_its_top_level(self) -> None:
        code = """
        import asyncio
        from concurrent.futures import ProcessPoolExecutor
        await asyncio.sleep(0)
        asyncio.get_running_loop()
        task = asyncio.create_task(asyncio.sleep(0, 3))
        base = await task
        def add(x): return base + x
        if __name__ == "__main__":
            from multiprocessing import get_context
            with ProcessPoolExecutor(1, mp_context=get_context("METHOD")) as pool:
                print(await asyncio.get_running_loop().run_in_executor(pool, add, 4))
            with get_context("METHOD").Pool(1) as pool: print(pool.map(add, [1]))
        """
        for method in METHODS:
            for host in (run(text(code, method)), run_script(text(code, method))):
                self.assertEqual((host.stdout, host.stderr), ("7\n[4]\n", ""), host.frames)

    def test_code_that_python_does_not_compile(self) -> None:
        code = f"```python\n{text(CASES['a pool'], 'spawn', END)}\nreturn 5\n```"
        host = run(code)
        self.assertEqual((host.value, host.stderr), (5, ""))

    @unittest.skipIf(sys.version_info < (3, 11), "it came with 3.11")
    def test_an_executor_that_starts_anew_by_itself(self) -> None:
        code = """
        from concurrent.futures import ProcessPoolExecutor
        def double(x): return 2 * x
        if __name__ == "__main__":
            with ProcessPoolExecutor(1, max_tasks_per_child=1) as pool: print(list(pool.map(double, [1, 2])))
        """
        self.assertEqual(run(text(code, "")).stdout, "[2, 4]\n")

    def test_what_cannot_be_had_is_told(self) -> None:
        def outcome(asked: tuple[str, str]) -> Host:
            name, method = asked
            handlers = {"tools.call": lambda params: structured(params["arguments"])}
            whole = START.replace("METHOD", method) + TOLD[name][0]
            return run(whole, loaded=[server("x", tool("echo"))], handlers=handlers)

        every = [(name, method) for name in TOLD for method in METHODS]
        with ThreadPoolExecutor(4) as pool:
            hosts = list(pool.map(outcome, every))
        for (name, method), host in zip(every, hosts):
            with self.subTest(name, method=method):
                error = host.one("raised")["error"]
                said = re.compile(TOLD[name][1], re.DOTALL)
                self.assertRegex(f"{error['type']}: {error['message']}", said)
                self.assertLess(len(error["message"]), 900)

    def test_a_process_that_is_no_pools_ends_as_the_interpreter_has_it(self) -> None:
        code = """
        import multiprocessing
        process = multiprocessing.get_context("METHOD").Process(target=print, args=("never",))
        process.start()
        process.join()
        print(process.exitcode)
        """
        for method in METHODS:
            for host in (run(text(code, method)), run_script(text(code, method))):
                self.assertEqual(host.stdout, "1\n")
                self.assertIn("An attempt has been made to start a new process", host.stderr)
                self.assertIn('main.py", line 5', host.stderr)
                self.assertIn('belongs under `if __name__ == "__main__":`', host.stderr)
                self.assertNotIn("harness", host.stderr)

    def test_the_top_level_runs_again_in_each(self) -> None:
        code = """
        print("top", flush=True)
        def work(): print("in", __name__, flush=True)
        if __name__ == "__main__":
            import multiprocessing
            process = multiprocessing.get_context("spawn").Process(target=work)
            process.start()
            process.join()
        """
        real = by_the_interpreter(text(code, "spawn"))
        self.assertEqual(run(text(code, "spawn")).stdout, real[0])

    def test_a_forkserver_may_have_run_the_main_code_ahead(self) -> None:
        # As newer ones do by themselves.
        ahead = """
        import multiprocessing, multiprocessing.spawn as spawn
        true_data = spawn.get_preparation_data
        def get_preparation_data(name):
            data = true_data(name)
            return {**data, "main_path": data["init_main_from_path"]}
        spawn.get_preparation_data = get_preparation_data
        ctx = multiprocessing.get_context("forkserver")
        print("top", flush=True)
        def double(x): return 2 * x
        """
        guarded = """
        if __name__ == "__main__":
            with ctx.Pool(2) as pool: print(pool.map(double, [1, 2]))
            child = ctx.Process(target=double, args=(1,))
            child.start()
            child.join()
            print(child.exitcode)
        """
        host = run(text(ahead, "") + dedent(guarded))
        self.assertEqual((host.stdout, host.stderr), ("top\ntop\n[2, 4]\n0\n", ""))
        open_one = "with ctx.Pool(2) as pool: pool.map(double, [1, 2])"
        error = run(text(ahead, "") + open_one).one("raised")["error"]
        self.assertIn("belongs under", error["message"])

    def test_what_every_run_has_is_there_but_calls_of_tools(self) -> None:
        code = """
        from mcp import runtime
        from mcp.servers.x import echo
        import mcp.servers
        from user_tools import twice
        def look(_):
            said = [mcp_x.echo.__name__, echo.__name__, mcp_servers["x"] is not None, twice(4), str(mcp_y)]
            import asyncio
            for call in (lambda: asyncio.run(mcp_x.echo(x=1)), lambda: runtime.saved_tools()):
                try: call()
                except RuntimeError as error: said.append(str(error))
            runtime.progress(1)
            return said
        if __name__ == "__main__":
            from multiprocessing import get_context
            with get_context("METHOD").Pool(1) as pool: [said] = pool.map(look, [1])
        said
        """
        saved = {"source": "def twice(x): return 2 * x"}
        briefs = [
            {"name": "y", "alias": "y", "description": "", "loaded": False, "tools": None},
        ]
        for method in METHODS:
            host = run(
                text(code, method).replace("\nsaid", "\nsaid if __name__ == '__main__' else None"),
                loaded=[server("x", tool("echo"))],
                discovered=briefs,
                handlers={"saved.get": lambda _: saved},
            )
            *facts, call, look = host.value
            self.assertEqual(facts, ["echo", "echo", True, 8, "<MCP server 'y', not loaded>"])
            for said in (call, look):
                self.assertRegex(
                    said, "^MCP calls work only in the main process of the run.* pass its result"
                )

    def test_nothing_is_left(self) -> None:
        code = text(CASES["a pool"], "forkserver", END)
        with tempfile.TemporaryDirectory() as temporary, Host(env={"TMPDIR": temporary}) as host:
            host.start(code)
            host.finish()
            self.assertEqual(host.stdout.count("\n"), 1)
            self.assertEqual(os.listdir(temporary), [])


class SessionTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.env: Mapping[str, str] = {"TMPDIR": folder.name}

    def leave_nothing(self, host: Session) -> None:
        """What an interpreter does at its end, which a session has not: its semaphores are on this machine."""
        host.call("import multiprocessing.util\nmultiprocessing.util._exit_function()")

    def test_each_call_has_its_own_code(self) -> None:
        for method in METHODS:
            with Session(env=self.env) as host:
                host.call("def early(x): return x")
                for number in (2, 3):
                    code = (
                        f"def f(x): return {number} * x\n"
                        f"if __name__ == '__main__':\n    import gc, multiprocessing\n"
                        f"    with multiprocessing.get_context('{method}').Pool(1) as pool: got = pool.map(f, [4])\n"
                        "    del pool\n    gc.collect()\n"
                    )
                    host.call(code)
                    self.assertEqual(host.call("got"), [4 * number])
                self.leave_nothing(host)

    def test_what_an_earlier_call_has_made_is_told(self) -> None:
        for method in METHODS:
            with Session(env=self.env) as host:
                host.call(f"import multiprocessing\nctx = multiprocessing.get_context('{method}')")
                host.call("def early(x): return x\nclass Early:\n    def f(self, x): return x")
                for work in ("early", "Early().f"):
                    code = f"if __name__ == '__main__':\n    with ctx.Pool(1) as pool: pool.map({work}, [1])"
                    error = host.raised(code)
                    self.assertEqual(error["type"], "RuntimeError")
                    name = work.partition("(")[0]
                    self.assertRegex(
                        error["message"], f"^{name} is not in the main code .*earlier calls.*fork"
                    )
                self.assertEqual(host.call("early(5)"), 5)
                fork = "with multiprocessing.get_context('fork').Pool(1) as pool: got = pool.map(early, [3])\ngot"
                self.assertEqual(host.call(fork), [3])
                self.leave_nothing(host)

    def test_a_module_in_a_file_has_what_later_calls_need(self) -> None:
        with Session(env=self.env) as host:
            host.call("1", files=[given("kept.py", b"def early(x): return x")])
            code = (
                "import kept, multiprocessing\n"
                "if __name__ == '__main__':\n"
                "    with multiprocessing.get_context('spawn').Pool(1) as pool: got = pool.map(kept.early, [1])"
            )
            host.call(code)
            self.assertEqual(host.call("got"), [1])
            self.leave_nothing(host)


if __name__ == "__main__":
    unittest.main()
