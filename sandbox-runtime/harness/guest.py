"""The guest's process, from the fork to its last system call: makes __main__ ready, runs the code, ends like CPython.

Relies on 1 and 2 being the supervisor's pipes. Tells the host one last thing about the code, `result` or `raised`; code
that ends by sys.exit, os._exit or a signal says nothing, and the supervisor's `exited` speaks for it.
"""

from __future__ import annotations

import builtins
import faulthandler
import importlib
import io
import os
import sys
import types
import warnings
from collections.abc import Sequence
from os import _exit, write
from time import sleep

from harness.channel import Channel
from harness.ending import Ending, exit_code, rehearse
from harness.environment import publish_servers
from harness.failure import describe_failure
from harness.handover import take_over
from harness.inputs import make_results_folder, write_files
from harness.launch import Bequest, launch, prepare, stand_in
from harness.program import MAIN_FILE, Program, remember_source, show_warnings
from harness.program_input import ProgramInput
from harness.runner import may_need_asyncio, offer_loop, prepare_asyncio, run_program
from harness.script import Script
from harness.session_guest import SessionGuest, forget_interrupts
from harness.spawning import SPAWN, ChildMain
from harness.stdio import complain_of, install_stdio
from harness.values import describe_result
from harness.waiting import Waiting, prefer_as_victim
from mcp._errors import refusal
from mcp._imports import PYPLOT, when_imported
from mcp._setup import bind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

# How long the supervisor is given for its last word, with which it ends, and the container with it.
LAST_WORD_WITHIN_S = 0.02


def be_guest(
    ahead: Sequence[list[str]],
    handover_fd: int,
    leave: tuple[int, bytes],
    ins: tuple[int, int],
    frames_fd: int,
    waiting: Waiting | None,
) -> NoReturn:
    """Does all that needs no program while the sandbox waits; then runs the program that is handed over.

    `ins` is the host's own stream, and what the supervisor passes on of it to the guest of a session. A guest that
    has given its program to the interpreter that is `waiting` takes its leave.
    """
    host_in, passed_on = ins
    prefer_as_victim()
    install_stdio()
    # Says on stderr where a segmentation fault happened, before the process dies of it.
    faulthandler.enable(file=2, all_threads=False)
    channel = Channel(host_in, frames_fd, refusal)
    _leave_own_folder()
    make_results_folder()
    rehearse()
    complaint = prepare(ahead)
    stand_in()
    program_input = ProgramInput()
    source = io.FileIO(handover_fd)
    handed = take_over(source, program_input.add)
    if handed is None:
        os._exit(0)
    sys.stderr.write(complaint)
    program, run, early = handed.program, handed.run, handed.early
    if "session" in run:
        forget_interrupts()
        channel.open_at(passed_on)
        SessionGuest(source, channel, _fresh_main(), leave[0], _show_open_figures).serve(handed)
        os._exit(0)
    source.close()
    os.close(passed_on)
    if program is None:
        # A program that can call nothing is left nothing.
        bequest = Bequest(host_in, frames_fd, run, early) if run["loaded"] else None
        has_input = program_input.has_any or run["program"]["stdin"] is not None
        hand_on = waiting.take if waiting is not None and waiting.suits(run, bequest, has_input) else None
        code = launch(run, program_input, bequest, channel.send, hand_on)
        if code is None:
            _say_farewell(channel, leave, 0)
            code = 0
        os._exit(code)
    channel.open(early)
    remember_source(program.source, program.file)
    if may_need_asyncio(program):
        prepare_asyncio()
    if run["program"] is None:
        offer_loop()
    names = bind(channel, run["loaded"], run["discovered"])
    publish_servers(run)
    show_warnings(program)
    script = None if run["program"] is None else Script(program, run["program"])
    ending = Ending()
    namespace = _fresh_main()
    namespace.update(names)
    child_main = ChildMain(namespace)
    child_main.offer(program, run)
    when_imported(SPAWN, child_main.adopt)
    code = _run(channel, program, run, namespace, script)
    del namespace
    ending.finish(code, lambda code: _leave(channel, leave, code))


def get_ready() -> None:
    """To be called last before the guest is forked: a page of memory that either process writes to is there twice."""
    if "asyncio" in sys.modules:
        prepare_asyncio()
    if sys.version_info >= (3, 14):
        # Its new default, forkserver, runs the code again in each process, which code of a cell is seldom written for.
        # Elsewhere fork is default.
        importlib.import_module("multiprocessing").set_start_method("fork")
    # The second thread is ours, and it takes no lock that a child would need.
    warnings.filterwarnings("ignore", ".*multi-threaded, use of fork.*", DeprecationWarning)
    # Out of sight. The supervisor needs none of it by name either.
    for name in [name for name in sys.modules if name.split(".")[0] == "harness"]:
        del sys.modules[name]


def _run(
    channel: Channel,
    program: Program,
    run: dict[str, Any],
    namespace: dict[str, Any],
    script: Script | None,
) -> int:
    """Runs the code and reports; returns the exit code."""
    files = run.pop("files")
    last: dict[str, Any] | None = None
    code = 0
    try:
        if files:
            write_files(files)
            # Up to ten megabytes that the code may need itself.
            files.clear()
        if script is not None:
            script.settle_in(namespace)
        value = run_program(program, namespace)
        last = describe_result(value if script is None else None) if channel.is_mine else None
    except SystemExit as request:
        code = exit_code(request)
    except BaseException as error:
        failure = describe_failure(error)
        code = 1 if script is None else script.show_failure(error)
        if channel.is_mine:
            last = {"type": "raised", "error": failure, "exitCode": code}
        elif script is None:
            complain_of(error)
    if channel.is_mine:
        _show_open_figures()
        # Last, since the host takes it for the guest's last word.
        if last is not None:
            channel.send(last)
    return code


def _show_open_figures() -> None:
    """As a notebook does when a cell has ended, also where it has failed. Code that has drawn nothing pays nothing."""
    if PYPLOT not in sys.modules:
        return
    try:
        importlib.import_module("mcp._figures").show_left_open()
    except BaseException as error:
        complain_of(error)


def _leave(channel: Channel, leave: tuple[int, bytes], code: int) -> NoReturn:
    """Ends, and lets the supervisor's last word go first: the kernel needs longer to take this process down."""
    if _say_farewell(channel, leave, code):
        sleep(LAST_WORD_WITHIN_S)
    _exit(code)


def _say_farewell(channel: Channel, leave: tuple[int, bytes], code: int) -> bool:
    """Tells the supervisor, which then waits for this process no longer; False where it cannot be told so."""
    fd, farewell = leave
    try:
        return channel.is_mine and write(fd, farewell + bytes([code])) > 0
    except OSError:
        # The code has closed it; the end itself tells the same.
        return False


def _fresh_main() -> dict[str, Any]:
    """A __main__ as for `python main.py`."""
    module = types.ModuleType("__main__")
    module.__file__ = MAIN_FILE
    vars(module)["__builtins__"] = builtins
    sys.modules["__main__"] = module
    return module.__dict__


def _leave_own_folder() -> None:
    """Takes the harness off the path, where the working directory comes last."""
    own_folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[:] = [*(entry for entry in sys.path if entry not in ("", own_folder)), os.getcwd()]
    sys.argv[:] = [MAIN_FILE]
