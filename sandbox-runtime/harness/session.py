"""PID 1 of a session: hands one program after another to the same guest, and says how each of them ended.

Between two programs it has everything stand still where the host says so, but for itself: it holds the lease, which
is the host's stream and what comes by it. Relies on nothing that the guest says but that a program has ended; a guest
that says so too early gains an answer that comes too early, and goes on for no longer than the host lets it.
"""

from __future__ import annotations

import os
import select
import signal
import time

from harness.artifacts import Stamps
from harness.first_process import (
    END_SIGNALS,
    GATHER_MS,
    SMALL_READ_BYTES,
    Guest,
    await_hang_up,
    check,
    end_guest,
    memory_kills,
    reap,
    send,
    send_left,
    tell_end,
)
from harness.handover import Handover, message_of
from harness.outbox import Outbox
from harness.program import Program, name_of_call
from harness.standstill import Standstill
from harness.streams import Streams
from harness.wire import LineReader, decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

# The host says something at least four times as often. A machine that was suspended did not let this clock run either.
HEARD_WITHIN_S = 120.0
# Frames that are the guest's, and that are passed on unread.
FOR_GUEST = (b'{"type":"reply"', b'{"type":"refusal"')
FAREWELL_BYTES = 8
# A farewell is followed by the exit code and by whether the code goes on.
NOTE_BYTES = FAREWELL_BYTES + 2


class Session:
    """The guest, which program it runs, and what waits to be read by it."""

    def __init__(self, streams: Streams, guest: Guest, ended: int) -> None:
        """`ended` can be read when a child has ended, or a signal says to end."""
        self._streams = streams
        self._guest = guest
        self._ended = ended
        self._programs = Outbox(guest.program_fd)
        self._passed = Outbox(guest.passed_fd)
        self._standstill = Standstill(guest.pid)
        self._program: Program | None = None
        self._calls = 0
        self._is_under_way = False
        self._farewell = b""
        self._notes = b""
        self._left: Stamps = {}
        self._outputs = {output.fd: output for output in guest.outputs}
        self._poll = select.poll()
        self._heard_at = time.monotonic()

    def serve(self, first: Handover) -> NoReturn:
        """Returns by os._exit only: when the host has gone, or the guest."""
        for number in END_SIGNALS:
            # The pipe tells of them.
            signal.signal(number, lambda *_: None)
        reader = LineReader(self._streams.host_in, first.early)
        for fd in (self._ended, self._guest.leave_fd, self._streams.host_in):
            self._poll.register(fd, select.POLLIN)
        self._program = first.program
        self._begin(first.run)
        for line in reader.early_lines():
            self._hear(line)
        while True:
            self._serve_once(reader)

    def _serve_once(self, reader: LineReader) -> None:
        for outbox in (self._programs, self._passed):
            if outbox:
                self._poll.register(outbox.fd, select.POLLOUT)
        bytes_read = 0
        ready = [fd for fd, _ in self._poll.poll(self._standstill.look_after_ms())]
        # Output first: what tells of an end takes all that there is of it, and a read after that would wait for ever.
        for fd in sorted(ready, key=lambda fd: fd not in self._outputs):
            if fd == self._ended:
                self._see_end()
            elif fd == self._streams.host_in:
                lines = reader.read_lines()
                if not lines:
                    os._exit(0)
                self._heard_at = time.monotonic()
                for line in lines:
                    self._hear(line)
            elif fd == self._guest.leave_fd:
                self._see_leave()
            elif fd in self._outputs:
                bytes_read += self._pump(fd)
            else:
                outbox = self._programs if fd == self._programs.fd else self._passed
                outbox.flush()
                if not outbox:
                    self._poll.unregister(fd)
        if time.monotonic() - self._heard_at > HEARD_WITHIN_S:
            os._exit(0)
        if not self._standstill.look():
            send(self._streams, {"type": "restless"})
            end_guest(self._guest.pid)
        if 0 < bytes_read < SMALL_READ_BYTES:
            # As in a run: many small writes become few frames.
            select.select([self._ended, self._guest.leave_fd], [], [], GATHER_MS / 1000)

    def _hear(self, line: bytes) -> None:
        if line.startswith(FOR_GUEST):
            # What comes when the call has ended is for nobody, or for what goes on of it.
            self._passed.add(line + b"\n")
            return
        frame = decode(line)
        kind = frame.pop("type")
        if kind == "check" and not self._is_under_way:
            name = name_of_call(self._calls + 1)
            self._program, run = check(frame, self._streams, name)
            if run is not None:
                self._begin(run)
        elif kind == "run" and self._program is not None and not self._is_under_way:
            self._begin(frame)
        elif kind == "interrupt":
            if self._is_under_way:
                # Which call is meant: the guest may be slow, and be in the next one by then.
                self._passed.add(encode({"type": "interrupt", "call": self._calls}))
        elif kind == "hold":
            # Whether code may go on is for the host to say, whatever the code has said.
            if not self._is_under_way:
                self._standstill.begin()
        elif kind != "alive":
            raise ValueError(f"a frame `{kind}` from the host, out of turn")

    def _begin(self, run: dict[str, Any]) -> None:
        self._standstill.end()
        self._calls += 1
        self._is_under_way = True
        self._farewell = os.urandom(FAREWELL_BYTES)
        run["farewell"] = self._farewell
        self._programs.add(message_of(Handover(self._program, run, b"")))
        self._program = None
        for fd in self._outputs:
            self._poll.register(fd, select.POLLIN)

    def _see_end(self) -> None:
        if not set(END_SIGNALS).isdisjoint(os.read(self._ended, 4096)):
            end_guest(self._guest.pid)
        status = reap(self._guest.pid)
        if status is None:
            return
        self._drain()
        code = os.waitstatus_to_exitcode(status)
        tell_end(self._streams, code if code >= 0 else None, -code if code < 0 else None, self._left)
        if code == -signal.SIGKILL:
            await_hang_up(self._streams.host_in)
        os._exit(0)

    def _see_leave(self) -> None:
        note = os.read(self._guest.leave_fd, 4096)
        if not note:
            # The code has closed what its guest tells of its end by: there is no next call.
            self._poll.unregister(self._guest.leave_fd)
            end_guest(self._guest.pid)
            return
        # Code that writes to descriptors that it does not know has not taken its leave.
        self._notes = (self._notes + note)[-2 * 4096 :]
        at = self._notes.find(self._farewell) if self._is_under_way else -1
        if at < 0 or len(self._notes) < at + NOTE_BYTES:
            return
        code, goes_on = self._notes[at + FAREWELL_BYTES : at + NOTE_BYTES]
        self._notes = b""
        self._answered(code, goes_on != 0)

    def _answered(self, code: int, goes_on: bool) -> None:
        self._drain()
        self._is_under_way = False
        # What is printed from now on stands in the pipe until the next call, whose output it is.
        for fd in self._outputs:
            self._poll.unregister(fd)
        self._left = send_left(self._streams, {"code": code, "signal": None}, self._left)
        told = {"type": "answered", "code": code, "goesOn": goes_on, "memoryKills": memory_kills()}
        send(self._streams, told)

    def _drain(self) -> None:
        for output in self._outputs.values():
            output.drain()

    def _pump(self, fd: int) -> int:
        size = self._outputs[fd].pump()
        if size == 0:
            # Every writer has closed it, for good.
            self._poll.unregister(fd)
            del self._outputs[fd]
        return size
