"""A program that is not the harness's own Python: its standard input, its steps, and the last of them in our place.

Relies on 1 and 2 being the supervisor's pipes and on every other descriptor being closed by an exec, but for those that
are bequeathed. Small, because the guest loads it while it waits.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

# What a shell says of a program that is not there.
NOT_FOUND = 127

# Python ignores them; a program expects to die of a closed pipe.
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)

# Tells a program that it may speak with the host, and where.
CONVERSATION = "MCP_SANDBOX_CONVERSATION"
HOST_IN, FRAMES_OUT, BEQUEST = 3, 4, 5


class Bequest(NamedTuple):
    """What a program needs to speak with the host in our place; `early` was read of `host_in` and not used."""

    host_in: int
    frames_fd: int
    run: Mapping[str, Any]
    early: bytes


class StepFailed(Exception):
    """A step before the last ended with `code`; what it had to say stands in its own output."""

    def __init__(self, argv: Sequence[str], code: int) -> None:
        super().__init__(f"`{' '.join(argv[:2])}` ended with exit status {code}.")
        self.code = code


def take_input(data: str | None) -> None:
    """Puts what is in `data` (base64) at descriptor 0, as a file that has no name."""
    if data is None:
        return
    import binascii
    import tempfile

    with tempfile.TemporaryFile() as source:
        source.write(binascii.a2b_base64(data))
        source.seek(0)
        os.dup2(source.fileno(), 0)


def prepare(commands: Sequence[list[str]]) -> None:
    """Runs each to its end, without output; what fails is missed by whoever relies on it."""
    for argv in commands:
        try:
            silent = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (1, 2)]
            os.waitpid(os.posix_spawnp(argv[0], argv, os.environ, file_actions=silent), 0)
        except OSError:
            continue


def become(ways: Sequence[Mapping[str, Any]], bequest: Bequest | None) -> NoReturn:
    """Runs the steps of the first way whose programs are there. Raises StepFailed; does not return."""
    for number in _IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    steps = _steps_of(ways)
    for argv in steps[:-1]:
        _run(argv)
    if bequest is not None:
        _bequeath(bequest)
    os.execvp(steps[-1][0], steps[-1])


def _bequeath(bequest: Bequest) -> None:
    """Leaves the conversation open for what is executed next, at descriptors that it knows."""
    import fcntl
    import json
    import tempfile

    known = {key: bequest.run[key] for key in ("loaded", "discovered")}
    with tempfile.TemporaryFile() as file:
        file.write(json.dumps(known).encode() + b"\n" + bequest.early)
        file.seek(0)
        # Above those that are taken next.
        copy = fcntl.fcntl(file.fileno(), fcntl.F_DUPFD_CLOEXEC, bequest.host_in)
    for source, target in ((bequest.host_in, HOST_IN), (bequest.frames_fd, FRAMES_OUT), (copy, BEQUEST)):
        os.dup2(source, target)
    os.environ[CONVERSATION] = f"{HOST_IN},{FRAMES_OUT},{BEQUEST}"


def _steps_of(ways: Sequence[Mapping[str, Any]]) -> Sequence[list[str]]:
    for way in ways:
        if all(_is_found(name) for name in way["needs"]):
            return way["steps"]
    needs = " or ".join(" and ".join(way["needs"]) for way in ways)
    os.write(2, f"The image has no {needs}.\n".encode())
    os._exit(NOT_FOUND)


def _is_found(name: str) -> bool:
    return any(os.access(os.path.join(folder, name), os.X_OK) for folder in os.get_exec_path())


def _run(argv: list[str]) -> None:
    _, status = os.waitpid(os.posix_spawnp(argv[0], argv, os.environ), 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        # Died for us: the supervisor tells of the signal, and the host knows whether it was about memory.
        os.kill(os.getpid(), -code)
    if code != 0:
        raise StepFailed(argv, code)
