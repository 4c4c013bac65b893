"""A small Go program, made by Go's own compiler and linker alone.

The go command finds out first which packages of the standard library there are and whether they are old, which takes
longer than to compile a program of one file. The image can say how it compiles and links such a program
(images/compile-go.sh). Whatever is not as simple as that, or fails, is left to the go command, which has the words for
it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Plan(TypedDict):
        """What the image says."""

        # GOFLAGS for which it holds.
        flags: str
        goroot: str
        # What `go mod init` writes there.
        module: str
        # Argument vectors, but for the files that are read and written.
        compile: list[str]
        link: list[str]


# Where it is said, below GOCACHE.
_PLAN = "alone/plan.json"
# Variables of Go that are ours, and change nothing of the program. Any other one is the go command's to judge.
_HARMLESS = frozenset({"GOCACHE", "GOFLAGS", "GOPATH", "GOPROXY", "GOTMPDIR", "GOTOOLCHAIN", "CGO_ENABLED"})
# Files beside the source that the go command compiles, refuses, or goes by.
_NOT_ALONE = tuple(
    ".go .c .cc .cpp .cxx .m .h .hh .hpp .hxx .f .F .for .f90 .s .S .sx .swig .swigcxx .syso .work".split()
)
# For the compiler and the linker: most programs are made before a collection of garbage is worth its time. Larger
# sources are made as the go command makes them.
_WITHOUT_COLLECTION = {"GOGC": "off", "GOMEMLIMIT": "128MiB"}
_SMALL_BYTES = 64 * 1024
# Words in a source that tell the go command something: of builds, of files to embed, of cgo.
_TOLD = (b"//go:", b"+build", b'"C"')


def build_alone(argv: Sequence[str], env: Mapping[str, str]) -> bool:
    """Whether it is made, as `go build … -o OUTPUT ./` would make it; nothing of it is there where not."""
    plan = _plan_for(env)
    if plan is None or argv[-1] != "./" or "-o" not in argv:
        return False
    source = _only_source(plan["module"])
    if source is None:
        return False
    output = argv[argv.index("-o") + 1]
    compiled = f"{output}.a"
    is_small = os.path.getsize(source) <= _SMALL_BYTES
    tools_env = {**env, "GOROOT": plan["goroot"], **(_WITHOUT_COLLECTION if is_small else {})}
    done = _succeeds([*plan["compile"], "-o", compiled, f"./{source}"], tools_env) and _succeeds(
        [*plan["link"], "-o", output, compiled], tools_env
    )
    for path in (compiled,) if done else (compiled, output):
        try:
            os.unlink(path)
        except OSError:
            continue
    return done


def _plan_for(env: Mapping[str, str]) -> Plan | None:
    """None where the image has none, or the variables are others than it was made for."""
    try:
        with open(os.path.join(env.get("GOCACHE", ""), _PLAN), encoding="utf-8") as file:
            plan: Plan = json.load(file)
    except (OSError, ValueError):
        return None
    told = {name for name in env if name.startswith(("GO", "CGO_"))}
    fits = env.get("CGO_ENABLED") == "0" and env.get("GOFLAGS") == plan["flags"] and told <= _HARMLESS
    return plan if fits else None


def _only_source(module: str) -> str | None:
    """The name of the one source, in a module that is as we have made it; None where there is more to it."""
    try:
        source, *others = [name for name in os.listdir(".") if name.endswith(_NOT_ALONE)]
        with open(source, "rb") as file:
            text = file.read()
        with open("go.mod", encoding="utf-8") as file:
            is_ours = file.read() == module
    except (OSError, ValueError):
        return None
    # A name with an underscore may be for another system, or for tests.
    is_plain = source.endswith(".go") and source[: -len(".go")].isalnum() and source.isascii()
    if others or not is_ours or not is_plain or any(word in text for word in _TOLD):
        return None
    return source


def _succeeds(argv: list[str], env: Mapping[str, str]) -> bool:
    """Whether it ends well; what it says is said by the go command, too."""
    silent = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    try:
        _, status = os.waitpid(os.posix_spawn(argv[0], argv, env, file_actions=silent), 0)
    except (OSError, ValueError):
        return False
    return status == 0
