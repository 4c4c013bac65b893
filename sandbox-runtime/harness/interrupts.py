"""SIGINT in the guest of a session: ends the call that is under way by a KeyboardInterrupt in its main thread.

One that comes between two calls is dropped, and one that comes while a frame is written waits until it is whole.
Relies on Python running handlers of signals in the main thread only.
"""

from __future__ import annotations

from signal import SIG_UNBLOCK, SIGINT, pthread_kill, pthread_sigmask
from signal import signal as set_handler
from threading import get_ident
from types import FrameType


class Interrupts:
    """A context within which no interrupt is raised; one that comes there is raised at its end."""

    def __init__(self) -> None:
        self._main = get_ident()
        # Of the call whose code runs; 0 between two calls.
        self._call = 0
        # Of the call that is to be interrupted; 0 where somebody else has sent the signal.
        self._meant = 0
        self._depth = 0
        self._is_waiting = False

    def arm(self, call: int) -> None:
        """From now on code of this call runs. Takes the signal back from whatever earlier code has made of it."""
        self._meant = 0
        set_handler(SIGINT, self._on_signal)
        pthread_sigmask(SIG_UNBLOCK, (SIGINT,))
        self._call = call

    def disarm(self) -> None:
        """The code has ended."""
        self._call = 0
        self._is_waiting = False

    def send(self, call: int) -> None:
        """Interrupts the main thread, from another one, also where it waits in the kernel; no later call is meant."""
        if call != self._call:
            return
        self._meant = call
        pthread_kill(self._main, SIGINT)

    def __enter__(self) -> None:
        if get_ident() == self._main:
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        if get_ident() != self._main:
            return
        self._depth -= 1
        if self._depth == 0 and self._is_waiting:
            self._is_waiting = False
            raise KeyboardInterrupt

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._call == 0 or self._meant not in (0, self._call):
            return
        if self._depth > 0:
            self._is_waiting = True
            return
        raise KeyboardInterrupt
