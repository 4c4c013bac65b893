"""A process that multiprocessing has started anew (spawn, forkserver): runs the program again as its main module, up
to what stands under `if __name__ == "__main__":`, as CPython does with a file.

What CPython leaves to hang comes to an end: a Pool replaces a worker that cannot run the program, or does not have
what a task names, and for ever. Here such a task is answered by the reason.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from marshal import load
from multiprocessing import spawn
from multiprocessing.process import current_process
from types import FrameType
from typing import Any

from harness.channel import NOT_HERE
from harness.failure import describe_failure
from harness.program import Program, remember_source
from harness.runner import may_need_asyncio, offer_loop, prepare_asyncio, run_program
from harness.spawning import DATA_SUFFIX, tell_children
from harness.stdio import complain
from mcp._setup import bind

GUARD = 'if __name__ == "__main__":'
FORK = 'multiprocessing.get_context("fork")'
# How multiprocessing names those that a Pool replaces, and one that only forks.
_POOLS = "PoolWorker"
_FORKSERVER = "MainProcess"
_UNPICKLES = ("multiprocessing.", "concurrent.futures.")


def be_main(namespace: dict[str, Any]) -> None:
    """Fills the main module, whose file has called this."""
    del sys.path[0]
    file: str = namespace["__file__"]
    tell_children(spawn, lambda: file)
    for name in [name for name in sys.modules if name.split(".")[0] == "harness"]:
        del sys.modules[name]
    is_worker = _POOLS in current_process().name
    if is_worker:
        _outlive_initializers()
    made = vars(sys.modules["__main__"])
    if made.get("__name__") == "__mp_main__" and "__file__" in made:
        # Forked from a process that has run it.
        namespace.update(made)
        return
    with open(file + DATA_SUFFIX, "rb") as source:
        told = load(source)
    program = Program(*told["program"])
    try:
        _run(program, told, namespace)
        reason = f"is not in the main code as this process has it, {_without(told['session'])}"
    except BaseException as error:
        said = describe_failure(error)
        if current_process().name == _FORKSERVER:
            # What it forks tries anew, and says so.
            namespace.clear()
            return
        if not is_worker:
            if isinstance(error, SystemExit):
                raise
            complain("\n".join([*said["traceback"], _advice()]) + "\n")
            raise SystemExit(1) from None
        # What is there of it is not to be relied on.
        namespace.clear()
        namespace.update({"__name__": "__mp_main__", "__file__": program.file})
        reason = (
            f"is missing here: the main code failed when this process ran it again. {_told(said)} {_advice()}"
        )
    namespace.setdefault("__getattr__", _explain(reason))


def _run(program: Program, told: Mapping[str, Any], namespace: dict[str, Any]) -> None:
    remember_source(program.source, program.file)
    namespace["__file__"] = program.file
    if may_need_asyncio(program):
        prepare_asyncio()
    if not _is_file(program):
        offer_loop()
    namespace.update(bind(_NoChannel(told["saved"]), told["loaded"], told["discovered"]))
    run_program(program, namespace)


def _is_file(program: Program) -> bool:
    return program.file.startswith("/")


class _NoChannel:
    """The conversation with the host, which only the first process has."""

    is_mine = False

    def __init__(self, saved: Mapping[str, str]) -> None:
        """`saved` are the sources of saved tools that the first process had when it started this one."""
        self._saved = saved

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        raise RuntimeError(NOT_HERE)

    def request_sync(self, method: str, params: Mapping[str, Any]) -> Any:
        if method == "saved.get" and params["name"] in self._saved:
            return {"source": self._saved[params["name"]]}
        raise RuntimeError(NOT_HERE)

    def tell(self, frame: Mapping[str, Any]) -> bool:
        return True

    def send(self, frame: Mapping[str, Any]) -> None:
        raise RuntimeError(NOT_HERE)


class _Absent(type):
    """What stands for a name of the main module: it can be unpickled, and says why it is not there when it is used."""

    why = ""

    def __call__(cls, *args: Any, **named: Any) -> Any:
        raise RuntimeError(cls.why)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls


def _explain(reason: str) -> Callable[[str], Any]:
    """The __getattr__ of a main module."""

    def __getattr__(name: str) -> Any:
        # Others want to know whether the name is there.
        asking: FrameType = sys._getframe(1)
        if name.startswith("__") or not str(asking.f_globals.get("__name__")).startswith(_UNPICKLES):
            raise AttributeError(f"module '__main__' has no attribute {name!r}")
        members = {
            "why": f"{name} {reason}",
            "__new__": lambda cls, *_, **__: object.__new__(cls),
            "__setstate__": lambda self, state: None,
            "__getattr__": lambda self, _: type(self),
        }
        return _Absent(name, (), members)

    return __getattr__


def _outlive_initializers() -> None:
    """A worker of a Pool whose initializer fails is replaced for ever, too: its tasks are answered by the failure."""
    pool: Any = importlib.import_module("multiprocessing.pool")
    work = pool.worker

    def worker(inqueue: Any, outqueue: Any, initializer: Any = None, initargs: Any = (), *rest: Any) -> None:
        try:
            if initializer is not None:
                initializer(*initargs)
        except Exception as error:
            failure = error
            take = inqueue.get

            def fail(*_: Any, **__: Any) -> None:
                raise failure

            def get() -> Any:
                task = take()
                return task and (*task[:2], fail, (), {})

            inqueue.get = get
        work(inqueue, outqueue, None, (), *rest)

    pool.worker = worker


def _without(is_session: bool) -> str:
    before = ", nor what earlier calls of the session have made" if is_session else ""
    return (
        "which was started by spawn or forkserver: it has run the code that started it again, without what stands "
        f"under `{GUARD}`{before}. Define it where it is run again or in a module of its own (a file), or use fork, "
        f"which has everything: {FORK}."
    )


def _told(said: Mapping[str, Any]) -> str:
    """What went wrong, and where, in a line."""
    places = [line.strip() for line in said["traceback"] if line.startswith('  File "')]
    where = f" ({places[-1]})" if places else ""
    # Of what multiprocessing says of a process that is started too early, the first sentence says it.
    first = said["message"].strip().partition("\n\n")[0]
    return f"{said['type']}: {' '.join(first.split())}{where}"


def _advice() -> str:
    return (
        "A process that is started by spawn or forkserver runs the main code again. What only the first one is to do, "
        f"such as starting others or calling tools, belongs under `{GUARD}`; or use fork: {FORK}."
    )
