"""Files that came with the run, written where the code finds them: in its working directory, before it starts.

Relies on the host for their names, which are relative and stay inside, and on an empty directory. Also makes the
folder for results, so that code can write into it at once. Small, because every sandbox loads it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

# What is in it when the code has ended goes back to the host.
RESULTS_FOLDER = "out"


def make_results_folder() -> None:
    """Where the directory cannot be written, the code is told so when it tries itself."""
    try:
        os.mkdir(RESULTS_FOLDER)
    except OSError:
        pass


def write_files(files: Iterable[Mapping[str, str]]) -> None:
    """Writes each of {name, data: base64}; raises OSError, such as for a full file system."""
    import binascii

    for file in files:
        parent = os.path.dirname(file["name"])
        if parent:
            os.makedirs(parent, exist_ok=True)
        with open(file["name"], "xb") as target:
            target.write(binascii.a2b_base64(file["data"]))
