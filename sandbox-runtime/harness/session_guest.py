"""The guest of a session: runs one program after another in the same __main__, as a REPL does, until it is ended.

Whatever a program raises, SystemExit included, leaves everything as it is. Threads, handlers and files of earlier
programs stay, and so do tasks, which go on while a later program awaits, and between two where the host lets them.
Non-daemon threads are not waited for and exit callbacks are not run: the session ends by a signal.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from io import FileIO
from os import _exit, write

from harness import HARNESS_FAILED
from harness.channel import Channel
from harness.ending import exit_code, flush_files
from harness.environment import publish_servers
from harness.failure import describe_failure, harness_failure
from harness.handover import Handover, take_over
from harness.inputs import make_results_folder, write_files
from harness.interrupts import Interrupts
from harness.program import Program, remember_source, show_warnings
from harness.runner import may_need_asyncio, offer_loop, prepare_asyncio, run_call
from harness.spawning import SPAWN, ChildMain
from harness.stdio import complain_of, flush_stdio, mend_stdio
from harness.values import describe_result
from mcp import _session
from mcp._imports import when_imported
from mcp._setup import bind, rebind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class SessionGuest:
    """Serves what comes out of `source`, the first of which was taken already."""

    def __init__(
        self,
        source: FileIO,
        channel: Channel,
        namespace: dict[str, Any],
        leave_fd: int,
        after: Callable[[], None],
    ) -> None:
        """`after` is done when a program has ended, before that is told."""
        self._source = source
        self._channel = channel
        self._namespace = namespace
        self._leave_fd = leave_fd
        self._after = after
        self._interrupts = Interrupts()
        self._servers: tuple[Any, Any] | None = None
        self._child_main = ChildMain(namespace)
        when_imported(SPAWN, self._child_main.adopt)

    def serve(self, first: Handover) -> None:
        """Returns when the supervisor has closed its end."""
        self._channel.guard_by(self._interrupts)
        handed: Handover | None = first
        while handed is not None:
            self._serve(handed)
            # What code has closed or replaced of ours is not asked for here: the next program finds that out.
            loop = offer_loop()
            if loop is not None:
                loop.wait_for(self._source.fileno())
            handed = take_over(self._source)

    def _serve(self, handed: Handover) -> None:
        program, run = handed.program, handed.run
        assert program is not None
        farewell, token = run.pop("farewell"), run.pop("token")
        try:
            self._prepare(program, run)
            code, last = self._run(program, run["session"]["call"], run["files"])
        except BaseException as error:
            # What the code has made is still there, and the next call may do without what is missing.
            self._interrupts.disarm()
            code, last = HARNESS_FAILED, harness_failure(error)
        if not self._channel.is_mine:
            # A child that the program has forked, and that has come to its end.
            _exit(code)
        # What forges a last word without it is no word of this call.
        self._channel.send({**last, "token": token})
        note = farewell + bytes([code, _session.keeps_running()])
        try:
            write(self._leave_fd, note)
        except OSError:
            # The code has closed it, which the supervisor sees: it ends the session.
            pass

    def _prepare(self, program: Program, run: Mapping[str, Any]) -> None:
        mend_stdio()
        remember_source(program.source, program.file)
        if may_need_asyncio(program):
            prepare_asyncio()
        offer_loop()
        self._bind(run)
        self._child_main.offer(program, run)

    def _bind(self, run: Mapping[str, Any]) -> None:
        """Names of servers, where they are others than before; what the code has made of a name is left alone."""
        _session.begin(run["session"])
        servers = (run["loaded"], run["discovered"])
        if servers == self._servers:
            return
        if self._servers is None:
            self._namespace.update(bind(self._channel, *servers))
        else:
            rebind(self._namespace, self._channel, *servers)
        self._servers = servers
        publish_servers(run)

    def _run(self, program: Program, call: int, files: list[dict[str, str]]) -> tuple[int, dict[str, Any]]:
        """Runs it; returns the exit code, and its last word."""
        code = 0
        # Also the last word of code that ends by SystemExit, so that nobody waits for one.
        last: dict[str, Any] = describe_result(None)
        try:
            make_results_folder()
            if files:
                write_files(files)
            show_warnings(program)
            self._interrupts.arm(call)
            value = run_call(program, self._namespace)
            if value is not None:
                self._namespace["_"] = value
            last = describe_result(value)
            self._interrupts.disarm()
        except SystemExit as request:
            self._interrupts.disarm()
            code = exit_code(request)
        except BaseException as error:
            self._interrupts.disarm()
            code = 1
            last = {"type": "raised", "error": describe_failure(error), "exitCode": code}
        if not self._channel.is_mine:
            return code, last
        for step in (self._after, flush_stdio, flush_files):
            try:
                step()
            except BaseException as error:
                complain_of(error)
        return code, last


def forget_interrupts() -> None:
    """Until the first program runs, nothing of a session is to be interrupted."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
