"""Everything in the container but its first process stands still: SIGSTOP, which nobody can catch or ignore.

For a session whose processes the host cannot stop itself (src/sandbox/conversation/sandbox-freeze.ts): an engine
elsewhere, without root, or with a kernel of its own. A stopped process can have a timer send it SIGCONT, so that it
is looked at again and again: not only by whether it is awake, since it may have stopped itself ahead of the look, but
by what it used.
"""

from __future__ import annotations

import os
import signal
import time

LOOK_EVERY_S = 1.0
# In clock ticks of processor time: what it takes to come to a stop is less.
MAX_USED = 5
# How often what has woken is stopped again before it has to end.
MAX_WAKES = 3
# Of /proc/PID/stat: stopped, traced, dead; and one that waits within the kernel, as for a child that stands between
# fork and exec.
AT_REST = frozenset("TtZXxD")
EVERYBODY = -1


class Standstill:
    """`guest` is the process whose group stands still where we are not the first process of a container."""

    def __init__(self, guest: int) -> None:
        self._guest = guest
        self._is_container = os.getpid() == 1
        self._is_on = False
        self._looked_at = 0.0
        # What each of those that were there had used when they were stopped last.
        self._used: dict[str, int] = {}
        self._wakes = 0

    def begin(self) -> None:
        """Stops everybody else; what is stopped already stays so."""
        self._is_on = True
        self._wakes = 0
        self._stop()

    def end(self) -> None:
        """Has everybody go on."""
        if self._is_on:
            self._is_on = False
            self._signal(signal.SIGCONT)

    def look_after_ms(self) -> int:
        """How long the caller may wait before it looks again."""
        return int(LOOK_EVERY_S * 1000) if self._is_on else 10_000

    def look(self) -> bool:
        """Stops again what has woken; False where that was often enough."""
        now = time.monotonic()
        if not self._is_on or now - self._looked_at < LOOK_EVERY_S:
            return True
        self._looked_at = now
        if not self._is_container or not self._has_woken():
            return True
        self._wakes += 1
        self._stop()
        return self._wakes <= MAX_WAKES

    def _stop(self) -> None:
        self._looked_at = time.monotonic()
        self._signal(signal.SIGSTOP)
        self._used = {name: used for name, (_, used) in _others().items()}

    def _has_woken(self) -> bool:
        """One that was not there when they were stopped was forked by one that was awake."""
        return any(
            state not in AT_REST or name not in self._used or used - self._used[name] > MAX_USED
            for name, (state, used) in _others().items()
        )

    def _signal(self, number: int) -> None:
        try:
            if self._is_container:
                os.kill(EVERYBODY, number)
            else:
                os.killpg(self._guest, number)
        except ProcessLookupError:
            # There is nobody left.
            pass


def _others() -> dict[str, tuple[str, int]]:
    """State and used processor time of everybody else in the container."""
    own = str(os.getpid())
    return {name: _look_at(name) for name in os.listdir("/proc") if name.isdigit() and name != own}


def _look_at(pid: str) -> tuple[str, int]:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            state, *fields = stat.read().rpartition(")")[2].split()
            return state, int(fields[10]) + int(fields[11])
    except (OSError, ValueError, IndexError):
        # It has ended in this very moment.
        return "X", 0
