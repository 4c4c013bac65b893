"""What waits to be written to a pipe whose reader may be slow.

A supervisor that waited for it could hear nobody else.
"""

from __future__ import annotations

import os
from collections import deque


class Outbox:
    """Writes to `fd` in order, as much at a time as fits; what the reader has not taken is kept here."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._waiting: deque[memoryview] = deque()
        os.set_blocking(fd, False)

    def __bool__(self) -> bool:
        """Whether something waits."""
        return bool(self._waiting)

    def add(self, data: bytes) -> None:
        """Takes it, and writes what fits now."""
        self._waiting.append(memoryview(data))
        self.flush()

    def flush(self) -> None:
        """Writes what fits. A reader that is gone takes nothing more; its end is told like any other."""
        while self._waiting:
            first = self._waiting[0]
            try:
                written = os.write(self.fd, first)
            except BlockingIOError:
                return
            except BrokenPipeError:
                self._waiting.clear()
                return
            if written == len(first):
                self._waiting.popleft()
            else:
                self._waiting[0] = first[written:]
