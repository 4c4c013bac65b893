"""The guest's end of the conversation: calls out, answers in. One thread reads; any thread or event loop may call.

Relies on the wire. Answers that arrive together wake an event loop once. A call works only in the
process that the supervisor forked: children of the guest share neither the reader nor the ids.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from os import _exit, close, getpid

from harness.frames import CALL_PARAMS
from harness.streams import write_all
from harness.where import where_lines
from harness.wire import LineReader, decode, encode, encode_bounded

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Loaded by those runs that need them: each takes as long to load as all of the harness.
    import asyncio
    from concurrent.futures import Future as ThreadFuture
    from typing import Any, Union

    from harness.interrupts import Interrupts

    RefusalFactory = Callable[[Mapping[str, Any]], Exception]
    _Waiter = Union[asyncio.Future[Any], ThreadFuture[Any]]


# Said to whoever calls in another process than the one that the supervisor forked.
NOT_HERE = (
    "MCP calls work only in the main process of the run, not in a forked child or another process that it has started; "
    "make the call there, and pass its result to the other process"
)
# The code was stopped, or its host is gone; either way nobody asks for more than that it ended.
STOPPED = 1
_ANSWER_ID = re.compile(rb'\{"type":"(?:reply|refusal)","id":(\d+),')


class Channel:
    """Calls that are under way, by id."""

    def __init__(self, host_in: int, frames_fd: int, refusal: RefusalFactory) -> None:
        """Ready, but reading nothing before open(). `refusal` makes the exception for a refused call."""
        self._host_in = host_in
        self._early = b""
        self._guard: AbstractContextManager[object] = nullcontext()
        self._interrupt: Callable[[int], None] | None = None
        self._opened = threading.Event()
        self._frames_fd = frames_fd
        self._refusal = refusal
        self._ids = itertools.count(1)
        self._pending: dict[int, _Waiter] = {}
        self._writing = threading.Lock()
        self._pid = getpid()
        threading.Thread(target=self._read, name="mcp-channel", daemon=True).start()

    def open(self, early: bytes) -> None:
        """Begins to read; `early` is what came in with the run frame."""
        self._early = early
        self._opened.set()

    def open_at(self, fd: int) -> None:
        """Begins to read what the supervisor passes on at `fd`; the host's own stream is closed here."""
        close(self._host_in)
        self._host_in = fd
        self.open(b"")

    def guard_by(self, interrupts: Interrupts) -> None:
        """From now on a frame is written whole, whatever interrupts the writer, and `interrupt` reaches the program."""
        self._guard = interrupts
        self._interrupt = interrupts.send

    @property
    def is_mine(self) -> bool:
        """False in a process that the guest has forked."""
        return getpid() == self._pid

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """The host's answer; raises what `refusal` makes of a refusal, TypeError or ValueError for what is not JSON."""
        import asyncio

        waiter: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        number = self._begin(method, params, waiter)
        try:
            return await waiter
        finally:
            self._end(number)

    def request_sync(self, method: str, params: Mapping[str, Any]) -> Any:
        """request(), for code that cannot await; blocks the calling thread."""
        from concurrent.futures import Future

        waiter: ThreadFuture[Any] = Future()
        number = self._begin(method, params, waiter)
        try:
            return waiter.result()
        finally:
            self._end(number)

    def send(self, frame: Mapping[str, Any]) -> None:
        """Writes one frame whole, whichever threads write at the same time."""
        self._write(encode(frame))

    def tell(self, frame: Mapping[str, Any]) -> bool:
        """Sends a frame that is news to the host and no question; True where there is nothing left to do about it.

        False where another thread is writing, which may be the caller's own, interrupted by a signal.
        """
        if not self.is_mine:
            return True
        with self._guard:
            if not self._writing.acquire(blocking=False):
                return False
            try:
                write_all(self._frames_fd, encode_bounded(frame))
            except OSError:
                # The code has closed the stream; that is no concern of whoever only had news.
                pass
            finally:
                self._writing.release()
        return True

    def _begin(self, method: str, params: Mapping[str, Any], waiter: _Waiter) -> int:
        if not self.is_mine:
            raise RuntimeError(NOT_HERE)
        assert params.keys() == set(CALL_PARAMS[method]), method
        number = next(self._ids)
        line = encode_bounded({"type": "call", "id": number, "method": method, "params": params}, exact=True)
        self._pending[number] = waiter
        self._write(line)
        return number

    def _end(self, number: int) -> None:
        """Tells the host that nobody waits any more, if that is so."""
        if self._pending.pop(number, None) is not None and self.is_mine:
            self.send({"type": "abandon", "id": number})

    def _write(self, line: bytes) -> None:
        with self._guard, self._writing:
            write_all(self._frames_fd, line)

    def _read(self) -> None:
        self._opened.wait()
        reader = LineReader(self._host_in, self._early)
        while lines := reader.read_lines():
            self._settle(lines)
        _exit(STOPPED)

    def _settle(self, lines: list[bytes]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Any, Any]]] = defaultdict(list)
        for line in lines:
            number, answer = self._answer(line)
            waiter = self._pending.pop(number, None)
            if waiter is None:
                continue
            loop_of = getattr(waiter, "get_loop", None)
            if loop_of is None:
                _set(waiter, answer)
            else:
                by_loop[loop_of()].append((waiter, answer))
        for loop, answers in by_loop.items():
            try:
                loop.call_soon_threadsafe(_set_all, answers)
            except Exception:
                # The loop was closed while its call was under way; nobody waits any more. Or it is no loop but in name,
                # and others are still to be answered.
                continue

    def _answer(self, line: bytes) -> tuple[int, Any]:
        """The id that a line answers and its value, or the exception to raise there. `stop` does not return."""
        try:
            frame = decode(line)
        except (ValueError, RecursionError) as error:
            # For instance an integer of more digits than Python converts; only its own call can be told.
            match = _ANSWER_ID.match(line)
            return int(match[1]) if match else 0, ValueError(f"the answer cannot be read: {error}")
        if frame["type"] == "stop":
            self._stop()
        if frame["type"] == "interrupt":
            self._tell_where()
            if self._interrupt is not None:
                self._interrupt(frame["call"])
            return 0, None
        if frame["type"] == "refusal":
            return frame["id"], self._refusal(frame["error"])
        return frame["id"], frame.get("value")

    def _stop(self) -> None:
        self._tell_where()
        _exit(STOPPED)

    def _tell_where(self) -> None:
        try:
            lines = where_lines()
        except BaseException:
            # What the code has made of the modules by which one looks; it is stopped all the same.
            lines = []
        line = encode({"type": "where", "lines": lines})
        # Whoever holds the lock may never let go of it: the program is being stopped because it hangs.
        if self._writing.acquire(timeout=1):
            try:
                write_all(self._frames_fd, line)
            finally:
                self._writing.release()


def _set(waiter: _Waiter, answer: Any) -> None:
    if waiter.done():
        return
    if isinstance(answer, Exception):
        waiter.set_exception(answer)
    else:
        waiter.set_result(answer)


def _set_all(answers: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for waiter, answer in answers:
        _set(waiter, answer)
