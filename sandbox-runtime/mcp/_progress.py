"""How far the code says it is, told to the host five times a second at most, and of those between the last.

Costs a comparison while nothing is due. Relies on the link's tell(), which never waits, so that a signal's handler may
report as well. Loaded by runs that report.
"""

from __future__ import annotations

import _thread
import math
import time
from typing import Any

from mcp._binding import current

# As often as a display can change and still be read; the host tells its client no more than that either.
INTERVAL_S = 0.2
# One line of a display. The host clips it as well.
MAX_MESSAGE_CHARS = 200


class _Reporter:
    """The newest report that has not been told, and when the next one may be."""

    def __init__(self) -> None:
        self._newest: dict[str, Any] | None = None
        self._due = 0.0
        self._is_waiting = False

    def report(self, frame: dict[str, Any]) -> None:
        self._newest = frame
        if self._is_waiting:
            return
        wait = self._due - time.monotonic()
        if wait <= 0 and self._tell():
            return
        self._is_waiting = True
        try:
            # Not threading.Thread, whose start takes a lock that the code may hold where a signal interrupts it.
            _thread.start_new_thread(self._tell_later, ())
        except RuntimeError:
            # No thread may be started any more, or none now: the next report tries again.
            self._is_waiting = False

    def _tell(self) -> bool:
        """False where the link is busy; what was to be told is kept then."""
        frame, self._newest = self._newest, None
        if frame is None or current().link.tell(frame):
            self._due = time.monotonic() + INTERVAL_S
            return True
        self._newest = self._newest or frame
        return False

    def _tell_later(self) -> None:
        """On a thread that lives until the newest report is told."""
        time.sleep(max(self._due - time.monotonic(), INTERVAL_S / 10))
        while not self._tell():
            time.sleep(INTERVAL_S)
        self._is_waiting = False
        # One that came in before the line above relied on this thread.
        if self._newest is not None:
            self.report(self._newest)


_reporter = _Reporter()


def report(done: Any, total: Any, message: Any) -> None:
    """TypeError or ValueError for what is no number, or no finite one."""
    frame = {
        "type": "progress",
        "done": _number("done", done),
        "total": None if total is None else _number("total", total),
        "message": None if message is None else str(message)[:MAX_MESSAGE_CHARS],
    }
    _reporter.report(frame)


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"progress(): {name} must be a number, not {type(value).__name__}") from None
    except OverflowError:
        number = math.inf
    if not 0 <= number < math.inf:
        raise ValueError(f"progress(): {name} must be a finite number from 0 up")
    return int(number) if number.is_integer() and number < 2**53 else number
