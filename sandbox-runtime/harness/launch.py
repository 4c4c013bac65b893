"""A program that is not the harness's own Python: its steps, and the last of them in our place.

Relies on 1 and 2 being the supervisor's pipes and on every other descriptor being closed by an exec, but for those that
are bequeathed. What could not be started is told in a sentence, with the exit status that a shell would give it.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence

from harness.failure import describe_failure
from harness.go_program import build_alone
from harness.inputs import write_files
from harness.program_input import ProgramInput, take_input

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

# As a shell has them.
NOT_EXECUTABLE = 126
NOT_FOUND = 127

# What is done while a sandbox waits takes moments; whatever hangs must not take all of a run's time.
AHEAD_WITHIN_S = 10

# What the image code-exec has for kernels that refuse what its own ls and stat ask for (install-code-exec.sh).
STAND_INS = "/usr/lib/code-exec/stand-ins"

# Python ignores them; a program expects to die of a closed pipe.
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)

# The kernel's, for one argument or variable, its end included.
_MAX_ARGUMENT_BYTES = 128 * 1024
# Tells a program that it may speak with the host, and where.
CONVERSATION = "MCP_SANDBOX_CONVERSATION"
HOST_IN, FRAMES_OUT, BEQUEST = 3, 4, 5


class Bequest:
    """What a program needs to speak with the host in our place; `early` was read of `host_in` and not used."""

    def __init__(self, host_in: int, frames_fd: int, run: Mapping[str, Any], early: bytes) -> None:
        self.host_in = host_in
        self.frames_fd = frames_fd
        self.run = run
        self.early = early


class NotRun(Exception):
    """The program did not come to run, and why; `code` is its exit status."""

    def __init__(self, why: str, code: int) -> None:
        super().__init__(why)
        self.code = code


class CannotStart(NotRun):
    """What was to be started cannot be."""


class StepFailed(NotRun):
    """A step before the last failed; what it had to say stands in its own output."""


def launch(
    run: Mapping[str, Any],
    program_input: ProgramInput,
    bequest: Bequest | None,
    send: Callable[[Mapping[str, Any]], None],
    hand_on: Callable[[Mapping[str, Any], Bequest | None], bool] | None,
) -> int | None:
    """Becomes the program; where it cannot, tells the host why and returns its exit status.

    `program_input` is what came ahead of the run. None where another process has the program, which `hand_on` says.
    """
    program = run["program"]
    try:
        write_files(run["files"])
        program_input.take()
        take_input(program["stdin"])
        if hand_on is not None and hand_on(run, bequest):
            return None
        _go_to(program.get("cwd"))
        # A copy: what the program is told, such as another PATH or TMPDIR, is nothing to us.
        env = {**os.environ, **program.get("env", {})}
        become(program["ways"], env, bequest, lambda lines: send({"type": "where", "lines": lines}))
    except NotRun as reason:
        error = {"type": type(reason).__name__, "message": str(reason), "traceback": []}
        code = reason.code
    except BaseException as failure:
        error, code = describe_failure(failure), 1
    send({"type": "raised", "error": error, "exitCode": code})
    return code


def _go_to(folder: str | None) -> None:
    if folder is None:
        return
    try:
        os.chdir(folder)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise CannotStart(f"The folder `{folder}` cannot be entered: {reason}.", NOT_EXECUTABLE) from None


def prepare(commands: Sequence[list[str]]) -> str:
    """Runs each to its end, without output. What fails is missed by whoever relies on it.

    What has not ended in time is ended, with all that it started, and is the last; what is returned tells the run so.
    """
    silent = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (1, 2)]
    deadline = time.monotonic() + AHEAD_WITHIN_S
    for argv in commands:
        try:
            pid = os.posix_spawnp(
                argv[0],
                argv,
                os.environ,
                file_actions=silent,
                setpgroup=0,
                setsigdef=_IGNORED_BY_PYTHON,
            )
        except OSError:
            continue
        if not _ends_by(deadline, pid):
            return f"`{_named(argv)}`, run ahead, was ended: it took more than {AHEAD_WITHIN_S} s.\n"
    return ""


def stand_in() -> None:
    """Puts the image's stand-ins first on the PATH, where it has some and its own `ls` fails here."""
    if not os.path.isdir(STAND_INS):
        return
    silent = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (1, 2)]
    _, status = os.waitpid(os.posix_spawnp("ls", ["ls", "-d", "/"], os.environ, file_actions=silent), 0)
    if status != 0:
        os.environ["PATH"] = f"{STAND_INS}:{os.environ['PATH']}"


def become(
    ways: Sequence[Mapping[str, Any]],
    env: dict[str, str],
    bequest: Bequest | None,
    say_where: Callable[[list[str]], None],
) -> NoReturn:
    """Runs the steps of the first way whose programs are there, each with `env`. Raises NotRun; does not return.

    Says which step is under way: a compiler that takes too long is not the program's fault.
    """
    be_as_fresh()
    way = _first_possible(ways)
    *steps, last = way["steps"]
    for argv in steps:
        say_where([f"`{_named(argv)}`"])
        if not _is_done_otherwise(argv, env):
            _run(argv, _place_of(argv[0], way), env)
    if steps:
        say_where([])
    if bequest is not None:
        _bequeath(bequest)
        env[CONVERSATION] = f"{HOST_IN},{FRAMES_OUT},{BEQUEST}"
    try:
        os.execvpe(_place_of(last[0], way), last, env)
    except (OSError, ValueError) as error:
        raise _cannot_start(last, env, error) from None


def be_as_fresh() -> None:
    """The signals of a process that nobody has touched, whatever Python, or who started us, has made of them."""
    for number in signal.valid_signals():
        try:
            signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):
            # SIGKILL, SIGSTOP.
            continue
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


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


def _first_possible(ways: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    for way in ways:
        if all(found_on_path(name) for name in way["needs"]):
            return way
    needs = ", or ".join(" and ".join(way["needs"]) for way in ways)
    raise CannotStart(f"The image has no {needs} on its PATH.", NOT_FOUND)


def _place_of(name: str, way: Mapping[str, Any]) -> str:
    """What a way needs is started from where it was found, whatever PATH the program is given."""
    return (found_on_path(name) if name in way["needs"] else None) or name


def found_on_path(name: str) -> str | None:
    """The file of this name on the sandbox's own PATH."""
    paths = (os.path.join(folder, name) for folder in os.get_exec_path())
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)


def _run(argv: list[str], path: str, env: Mapping[str, str]) -> None:
    try:
        _, status = os.waitpid(os.posix_spawnp(path, argv, env), 0)
    except (OSError, ValueError) as error:
        raise _cannot_start(argv, env, error) from None
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        # Died for us: the supervisor tells of the signal, and the host knows whether it was about memory.
        os.kill(os.getpid(), -code)
    if code != 0:
        raise StepFailed(f"`{_named(argv)}` ended with exit status {code}.", code)


def _is_done_otherwise(argv: list[str], env: Mapping[str, str]) -> bool:
    return argv[:2] == ["go", "build"] and build_alone(argv, env)


def _cannot_start(argv: Sequence[str], env: Mapping[str, str], error: Exception) -> CannotStart:
    name = argv[0]
    if not isinstance(error, OSError):
        # Of NUL characters, and of surrogates that stand for no byte.
        why = f"`{name}` cannot be given its arguments: {error}. They are text without NUL characters."
        return CannotStart(why, NOT_EXECUTABLE)
    sizes = [len(os.fsencode(word)) for word in (*argv, *(f"{name}={env[name]}" for name in env))]
    # gVisor calls one argument that is too long a name that is.
    if error.errno == errno.E2BIG or (
        error.errno == errno.ENAMETOOLONG and max(sizes) >= _MAX_ARGUMENT_BYTES
    ):
        why = (
            f"The arguments and variables are too long for the kernel: {sum(sizes)} bytes, the longest {max(sizes)}. "
            f"One may have {_MAX_ARGUMENT_BYTES - 1}, all of them together about 2000000. Pass such data on stdin "
            "or in a file."
        )
        return CannotStart(why, NOT_EXECUTABLE)
    if isinstance(error, FileNotFoundError):
        return CannotStart(f"`{name}` does not exist, or the interpreter that it names does not.", NOT_FOUND)
    return CannotStart(f"`{name}` cannot be executed: {error.strerror}.", NOT_EXECUTABLE)


def _ends_by(deadline: float, pid: int) -> bool:
    """Waits for the child, by looking: its own pipes may be held by others, and a signal would go to any thread."""
    pause = 0.001
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
    return True


def _named(argv: Sequence[str]) -> str:
    """What a person calls the command: `go build`."""
    return " ".join(argv[:2])
