"""Everything in the container but its first process stands still: SIGSTOP, which nobody can catch or ignore.

For a session whose processes the host cannot stop itself (src/sandbox/standstill.ts): an engine elsewhere, without root, or
with a kernel of its own. A stopped process can have a timer send it SIGCONT, so that it is looked at again and again.
"""

from __future__ import annotations

import os
import signal
import time

# A look that came at a known time would find those at rest that have stopped themselves for it.
LOOK_AFTER_S = (0.5, 1.5)
# How often what has woken is stopped again before it has to end.
MAX_WAKES = 3
# Of /proc/PID/stat: stopped, traced, dead; and one that waits within the kernel, as for a child that stands between fork
# and exec.
AT_REST = frozenset("TtZXxD")
EVERYBODY = -1


class Standstill:
    """`guest` is the process whose group stands still where we are not the first process of a container."""

    def __init__(self, guest: int) -> None:
        self._guest = guest
        self._is_container = os.getpid() == 1
        self._is_on = False
        self._look_at = 0.0
        self._wakes = 0

    def begin(self) -> None:
        """Stops everybody else; what is stopped already stays so."""
        self._is_on = True
        self._wakes = 0
        self._look_at = _next_look()
        self._signal(signal.SIGSTOP)

    def end(self) -> None:
        """Has everybody go on."""
        if self._is_on:
            self._is_on = False
            self._signal(signal.SIGCONT)

    def look_after_ms(self) -> int:
        """How long the caller may wait before it looks again."""
        return max(0, int((self._look_at - time.monotonic()) * 1000) + 1) if self._is_on else 10_000

    def look(self) -> bool:
        """Stops again what has woken; False where that was often enough."""
        if not self._is_on or time.monotonic() < self._look_at:
            return True
        self._look_at = _next_look()
        if not self._is_container or not _somebody_runs():
            return True
        self._wakes += 1
        self._signal(signal.SIGSTOP)
        return self._wakes <= MAX_WAKES

    def _signal(self, number: int) -> None:
        try:
            if self._is_container:
                os.kill(EVERYBODY, number)
            else:
                os.killpg(self._guest, number)
        except ProcessLookupError:
            # There is nobody left.
            pass


def _next_look() -> float:
    least, most = LOOK_AFTER_S
    return time.monotonic() + least + os.urandom(1)[0] / 255 * (most - least)


def _somebody_runs() -> bool:
    own = str(os.getpid())
    return any(
        name.isdigit() and name != own and _state_of(name) not in AT_REST for name in os.listdir("/proc")
    )


def _state_of(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        # It has ended in this very moment.
        return "X"
