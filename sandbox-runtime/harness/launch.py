"""A program that is not the harness's own Python: its standard input, its steps, and the last of them in our place.

Relies on 1 and 2 being the supervisor's pipes and on every other descriptor being closed by an exec. Small, because the
guest loads it while it waits.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

# What a shell says of a program that is not there, and of one that cannot be executed.
NOT_FOUND = 127
NOT_EXECUTABLE = 126

# Python ignores them; a program expects to die of a closed pipe.
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


class LaunchError(Exception):
    """The program has not begun; `code` is what a shell would exit with."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class CompileError(LaunchError):
    """A step before the last has failed; what it had to say stands in its own output."""

    def __init__(self, argv: Sequence[str], code: int) -> None:
        super().__init__(f"The program was not compiled: {shown(argv)} ended with exit status {code}.", code)


class StartError(LaunchError):
    """What should be executed is not there, or is nothing that can be."""

    def __init__(self, reason: str, code: int = NOT_EXECUTABLE) -> None:
        super().__init__(f"The program was not started: {reason}.", code)


def shown(argv: Sequence[str]) -> str:
    """What people call a command: the program, and what it is told to do."""
    return f"`{' '.join(argv[:2])}`"


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
    """Runs the steps of the first way whose programs are there. Raises LaunchError; does not return.

    Tells what is under way before the program is: a compiler that takes too long is not the program's fault.
    """
    for number in _IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    *first, last = _steps_of(ways)
    for argv in first:
        say_where([shown(argv)])
        _run(argv)
    if first:
        say_where([])
    try:
        os.execvp(last[0], last)
    except OSError as error:
        raise _not_executed(last, error) from None


def _steps_of(ways: Sequence[Mapping[str, Any]]) -> Sequence[list[str]]:
    for way in ways:
        if all(_is_found(name) for name in way["needs"]):
            return way["steps"]
    needs = ", and no ".join(" with ".join(way["needs"]) for way in ways)
    raise StartError(f"the image has no {needs}", NOT_FOUND)


def _is_found(name: str) -> bool:
    return any(os.access(os.path.join(folder, name), os.X_OK) for folder in os.get_exec_path())


def _not_executed(argv: Sequence[str], error: OSError) -> StartError:
    code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
    return StartError(f"{argv[0]}: {error.strerror}", code)


def _run(argv: list[str]) -> None:
    try:
        pid = os.posix_spawnp(argv[0], argv, os.environ)
    except OSError as error:
        raise _not_executed(argv, error) from None
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code < 0:
        # Died for us: the supervisor tells of the signal, and the host knows whether it was about memory.
        os.kill(os.getpid(), -code)
    if code != 0:
        raise CompileError(argv, code)
