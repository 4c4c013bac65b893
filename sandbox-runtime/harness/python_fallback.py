"""Prints the files with which this Python also runs where there is none: in any other image, by its own loader.

A line each, `name data`, the data in base64. Run as a script in a sandbox of our own image, in which nobody else's code
ever runs. Part of the harness so that it sees what the harness needs; the harness never imports it.
"""

from __future__ import annotations

import ast
import base64
import glob
import importlib
import importlib.util
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from importlib._bootstrap_external import _code_to_hash_pyc  # type: ignore[attr-defined]

# Of getauxval(3): where the kernel has put the program's loader.
AT_BASE = 7

# Of the standard library: other people's packages, tests, and what draws windows, installs or has a screen to write to.
WITHOUT = set(
    "__pycache__ dist-packages distutils ensurepip idlelib lib-dynload lib2to3 pydoc_data site-packages test tests "
    "tkinter turtledemo unittest venv xmlrpc".split()
)

# asyncio loads it where it is there: five megabytes for connections that no sandbox makes.
sys.modules["ssl"] = None  # type: ignore[assignment]


def main() -> None:
    for name, data in _files():
        print(name, base64.b64encode(data).decode())


def _files() -> Iterator[tuple[str, bytes]]:
    program = os.path.realpath(sys.executable)
    loader = _loader()
    library = os.path.dirname(os.__file__)
    home = f"{sys.platlibdir}/{os.path.basename(library)}"
    extensions = _extensions(f"{library}/lib-dynload/")
    yield "loader", _read(loader)
    # Where it looks for its library is above the folder that it is in.
    yield "bin/python3", _read(program)
    for path in extensions:
        yield f"{home}/lib-dynload/{os.path.basename(path)}", _read(path)
    for name, path in _shared(loader, [program, *extensions]).items():
        yield f"shared/{name}", _read(path)
    for path in _sources(library):
        yield f"{home}{path[len(library) :]}c", _compiled(path)


def _loader() -> str:
    with open("/proc/self/auxv", "rb") as file:
        base = dict(struct.iter_unpack("NN", file.read())).get(AT_BASE)
    with open("/proc/self/maps") as file:
        for line in file:
            if int(line.split("-")[0], 16) == base:
                return line.split()[5]
    raise RuntimeError("this Python has no loader, so it cannot run in another image")


def _extensions(folder: str) -> list[str]:
    """Those that the harness needs, and that the standard library loads for it."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sources = [path for package in ("harness", "mcp") for path in glob.glob(f"{here}/{package}/*.py")]
    for name in sorted({name for path in sources for name in _imports(path)}):
        try:
            importlib.import_module(name)
        except ImportError:
            # Ours, or a library that only some images have.
            continue
    files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
    return sorted(file for file in files if file.startswith(folder))


def _imports(path: str) -> Iterator[str]:
    """What it imports anywhere, functions included."""
    for node in ast.walk(ast.parse(_read(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            yield node.module


def _shared(loader: str, objects: list[str]) -> dict[str, str]:
    """The libraries that they ask for: path by the name by which they do. The loader itself is the judge."""
    found = {}
    for path in objects:
        listed = subprocess.run([loader, "--list", path], stdout=subprocess.PIPE, text=True, check=True)
        for line in listed.stdout.splitlines():
            name, arrow, place = line.strip().partition(" => ")
            # A name with a folder is the loader's own.
            if arrow and "/" not in name:
                found[name] = place.split(" (")[0]
    return found


def _sources(library: str) -> Iterator[str]:
    for folder, folders, files in os.walk(library):
        folders[:] = sorted(
            each for each in folders if each not in WITHOUT and not each.startswith("config-")
        )
        yield from (os.path.join(folder, file) for file in sorted(files) if file.endswith(".py"))


def _compiled(path: str) -> bytes:
    """Python runs it without its source, and looks at nothing but whether it is its own."""
    cached = importlib.util.cache_from_source(path)
    if os.path.exists(cached):
        return _read(cached)
    source = _read(path)
    code = compile(source, path, "exec", dont_inherit=True)
    return _code_to_hash_pyc(code, importlib.util.source_hash(source), False)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


if __name__ == "__main__":
    main()
