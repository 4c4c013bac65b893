"""The main module of processes that multiprocessing starts anew (spawn, forkserver).

They run the main module's file again. Here it is no file, or one that awaits at its top level, which the interpreter
does not compile; so they are given one that runs the program as we do (harness.spawned). Costs nothing before
multiprocessing.spawn is imported.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from marshal import dumps

from harness.program import Program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SPAWN = "multiprocessing.spawn"
# Beside the file that is run: what it runs.
DATA_SUFFIX = ".marshal"
# What a saved tool is called where its source is remembered.
SAVED_PREFIX = "user_tools/"

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Names of its own would be names of the program.
_FILE = f"""__import__("sys").path.insert(0, {_ROOT!r})
__import__("harness.spawned", fromlist=["be_main"]).be_main(globals())
"""


class ChildMain:
    """Of a run, or of the latest call of a session."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        """`namespace` is that of the main module which is meant; the code may put another in its place."""
        # No hold on it: at the end of a run its names are to go.
        self._namespace = id(namespace)
        self._program: Program | None = None
        self._run: Mapping[str, Any] = {}
        self._file: str | None = None
        self._count = 0

    def offer(self, program: Program, run: Mapping[str, Any]) -> None:
        """From now on processes get this program."""
        self._program, self._run, self._file = program, run, None

    def adopt(self, spawn: Any) -> None:
        """To be called with the module multiprocessing.spawn."""
        tell_children(spawn, self._path)

    def _path(self) -> str | None:
        if self._program is None or id(vars(sys.modules["__main__"])) != self._namespace:
            return None
        if self._file is None:
            self._file = self._write(self._program)
        return self._file

    def _write(self, program: Program) -> str:
        from multiprocessing.util import get_temp_dir

        self._count += 1
        file = os.path.join(get_temp_dir(), f"main-{os.getpid()}-{self._count}.py")
        saved = {
            name[len(SAVED_PREFIX) : -len(".py")]: "".join(entry[2])
            for name, entry in list(linecache.cache.items())
            if name.startswith(SAVED_PREFIX) and len(entry) > 2
        }
        told = {key: self._run[key] for key in ("loaded", "discovered")}
        data = {**told, "program": program.parted(), "saved": saved, "session": "session" in self._run}
        # Another thread may be starting a process by it: it is there whole or not at all.
        for name, content in ((file + DATA_SUFFIX, dumps(data)), (file, _FILE.encode())):
            with open(f"{name}.new", "wb") as target:
                target.write(content)
            os.replace(f"{name}.new", name)
        return file


def tell_children(spawn: Any, path: Callable[[], str | None]) -> None:
    """From now on processes that are started anew run this file as their main module, where it is not None."""
    true_data = spawn.get_preparation_data

    @wraps(true_data)
    def get_preparation_data(name: str) -> Any:
        data = true_data(name)
        file = path() if "init_main_from_path" in data else None
        return data if file is None else {**data, "init_main_from_path": file}

    spawn.get_preparation_data = get_preparation_data
