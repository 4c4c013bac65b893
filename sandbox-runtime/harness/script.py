"""Python as `python FILE ARG...` runs it: what the program finds around itself, and how it fails.

Relies on the program being compiled under its absolute path, and on the files of the run being written. Loaded for
every guest, used by those that are given a program in a file.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
import time
from collections.abc import Iterator, Mapping
from types import TracebackType

from harness import LOADED_AT_START
from harness.program import Program
from harness.program_input import take_input
from harness.stdio import complain_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What a shell says of a program that Ctrl-C has ended.
INTERRUPTED = 130

# What the run itself needs under these names.
_KEPT = ("mcp", "user_tools")

_OWN_FOLDER = os.path.dirname(os.path.abspath(__file__))


class Script:
    """A program in a file, and how the host wants it started."""

    def __init__(self, program: Program, start: Mapping[str, Any]) -> None:
        self._program = program
        self._start = start

    def settle_in(self, namespace: dict[str, Any]) -> None:
        """Gives it its path, arguments, input and variables, and its folder first in the search for modules."""
        file = self._program.file
        folder = os.path.dirname(file)
        # As it was compiled: out of its fence. Whoever reads it (inspect, a spawned process) finds the same lines.
        with open(file, "w", encoding="utf-8", newline="\n") as target:
            target.write(self._program.source)
        namespace["__file__"] = file
        namespace["__loader__"] = importlib.machinery.SourceFileLoader("__main__", file)
        namespace["__cached__"] = None
        if sys.version_info < (3, 14):
            namespace["__annotations__"] = {}
        sys.argv[:] = [self._start["file"], *self._start["args"]]
        # Before its variables are there, of which one may say that temporary files lie elsewhere.
        take_input(self._start["stdin"])
        _set_variables(self._start.get("env", {}))
        working_folder = os.getcwd()
        own = [folder, *_folders_of(self._start.get("env", {}).get("PYTHONPATH", ""))]
        sys.path[:] = [*own, *(entry for entry in sys.path if entry != working_folder)]
        for entry in own:
            # What was looked up there before the files came.
            sys.path_importer_cache.pop(entry, None)
            _give_way_to(entry)
        if sys.version_info >= (3, 14) and "multiprocessing" in sys.modules:
            # Its default, and a choice of the program's own, work here: there is a file to import.
            sys.modules["multiprocessing"].set_start_method(None, force=True)

    def show_failure(self, error: BaseException) -> int:
        """Prints it as the interpreter does, and returns the exit status: 130 for an interrupt, else 1."""
        trace = error.__traceback__
        while trace is not None and _file_of(trace) != self._program.file:
            trace = trace.tb_next
        error.__traceback__ = _without_ours(trace)
        try:
            # The program may have set its own.
            sys.excepthook(type(error), error, error.__traceback__)
        except BaseException as failure:
            complain_of(failure)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1


def _file_of(trace: TracebackType) -> str:
    return trace.tb_frame.f_code.co_filename


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames of this folder: asyncio.run() passes through one."""
    shown = [TracebackType(None, trace.tb_frame, trace.tb_lasti, trace.tb_lineno) for trace in _links(trace)]
    for outer, inner in zip(shown, shown[1:]):
        outer.tb_next = inner
    return shown[0] if shown else None


def _links(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        if os.path.dirname(_file_of(trace)) != _OWN_FOLDER:
            yield trace
        trace = trace.tb_next


def _set_variables(env: Mapping[str, str]) -> None:
    """For the program and what it starts. The interpreter, which runs already, reads none of its own any more."""
    os.environ.update(env)
    if "TZ" in env:
        time.tzset()


def _folders_of(python_path: str) -> list[str]:
    """The folders in PYTHONPATH, as the interpreter reads it: an empty one is the working directory."""
    return [os.path.abspath(entry) for entry in python_path.split(":")] if python_path else []


def _give_way_to(folder: str) -> None:
    """Forgets what was loaded ahead under the name of a module of the program's own, which comes first."""
    fixed = (*LOADED_AT_START, *sys.builtin_module_names, *_KEPT)
    for entry in os.listdir(folder) if os.path.isdir(folder) else ():
        name, extension = os.path.splitext(entry)
        is_module = extension == ".py" or os.path.isfile(os.path.join(folder, entry, "__init__.py"))
        if not is_module or name not in sys.modules or name in fixed:
            continue
        for loaded in [other for other in sys.modules if other == name or other.startswith(f"{name}.")]:
            del sys.modules[loaded]
