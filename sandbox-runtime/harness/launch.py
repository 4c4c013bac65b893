"""A program that is not the harness's own Python: its standard input, its steps, and the last of them in our place.

Relies on 1 and 2 being the supervisor's pipes and on every other descriptor being closed by an exec. Small, because the
guest loads it while it waits.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

# As a shell has them.
NOT_EXECUTABLE = 126
NOT_FOUND = 127

# Python ignores them; a program expects to die of a closed pipe.
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


class NotRun(Exception):
    """The program did not come to run, and why; `code` is its exit status."""

    def __init__(self, why: str, code: int) -> None:
        super().__init__(why)
        self.code = code


class CannotStart(NotRun):
    """What was to be started cannot be."""


class StepFailed(NotRun):
    """A step before the last failed; what it had to say stands in its own output."""


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


def become(ways: Sequence[Mapping[str, Any]], say_where: Callable[[list[str]], None]) -> NoReturn:
    """Runs the steps of the first way whose programs are there. Raises NotRun; does not return.

    Says which step is under way: a compiler that takes too long is not the program's fault.
    """
    for number in _IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    *steps, last = _steps_of(ways)
    for argv in steps:
        say_where([f"`{_named(argv)}`"])
        _run(argv)
    if steps:
        say_where([])
    try:
        os.execvp(last[0], last)
    except OSError as error:
        raise _cannot_start(last, error) from None


def _steps_of(ways: Sequence[Mapping[str, Any]]) -> Sequence[list[str]]:
    for way in ways:
        if all(_is_found(name) for name in way["needs"]):
            return way["steps"]
    needs = ", or ".join(" and ".join(way["needs"]) for way in ways)
    raise CannotStart(f"The image has no {needs} on its PATH.", NOT_FOUND)


def _is_found(name: str) -> bool:
    return any(os.access(os.path.join(folder, name), os.X_OK) for folder in os.get_exec_path())


def _run(argv: list[str]) -> None:
    try:
        _, status = os.waitpid(os.posix_spawnp(argv[0], argv, os.environ), 0)
    except OSError as error:
        raise _cannot_start(argv, error) from None
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        # Died for us: the supervisor tells of the signal, and the host knows whether it was about memory.
        os.kill(os.getpid(), -code)
    if code != 0:
        raise StepFailed(f"`{_named(argv)}` ended with exit status {code}.", code)


def _cannot_start(argv: Sequence[str], error: OSError) -> CannotStart:
    code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
    return CannotStart(f"`{argv[0]}` cannot be executed: {error.strerror}.", code)


def _named(argv: Sequence[str]) -> str:
    """What a person calls the command: `go build`."""
    return " ".join(argv[:2])
