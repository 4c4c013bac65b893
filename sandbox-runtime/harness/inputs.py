"""Files that came with the run, written where the code finds them: in its working directory, before it starts.

Relies on the host for their names, which are relative and stay inside. What stands in the directory already was put
there ahead, by the language's own commands: it gives way, and no link of it is followed. Also makes the folder for
results, so that code can write into it at once. Small, because every sandbox loads it.
"""

from __future__ import annotations

import stat
from binascii import a2b_base64
from collections.abc import Iterable, Mapping
from io import FileIO
from os import getcwd, lstat, mkdir, unlink

from harness.streams import write_all

# What is in it when the code has ended goes back to the host.
RESULTS_FOLDER = "out"
# Where both lie: the harness is started there. Code of a session may go elsewhere, and stay there.
_WORKING_FOLDER = f"{getcwd()}/"


def make_results_folder() -> None:
    """Where the directory cannot be written, the code is told so when it tries itself."""
    try:
        mkdir(_WORKING_FOLDER + RESULTS_FOLDER)
    except OSError:
        pass


def write_files(files: Iterable[Mapping[str, str]]) -> None:
    """Writes each of {name, data: base64}; raises OSError, such as for a full file system.

    None is made executable: where they lie, the kernel executes nothing, and says so of every mode.
    """
    ours: set[str] = set()
    for file in files:
        name = file["name"]
        try:
            _make_folders(name, ours)
            if name not in ours:
                _remove_other(name)
            ours.add(name)
            with FileIO(_WORKING_FOLDER + name, "x") as target:
                write_all(target.fileno(), a2b_base64(file["data"]))
        except OSError as error:
            # By the name that the caller knows; what is said of a full file system has none.
            error.filename = name
            raise


def _make_folders(name: str, ours: set[str]) -> None:
    """Every folder on the way to `name`; what stands in the place of one is removed, unless it is a file of `ours`."""
    parts = name.split("/")[:-1]
    for count in range(1, len(parts) + 1):
        folder = "/".join(parts[:count])
        if folder not in ours and not _is_folder(folder):
            _remove_other(folder)
            mkdir(_WORKING_FOLDER + folder)


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(lstat(_WORKING_FOLDER + path).st_mode)
    except FileNotFoundError:
        return False


def _remove_other(path: str) -> None:
    """Removes what is no folder; one that is there is told by whoever wants to write in its place."""
    try:
        if not stat.S_ISDIR(lstat(_WORKING_FOLDER + path).st_mode):
            unlink(_WORKING_FOLDER + path)
    except FileNotFoundError:
        pass
