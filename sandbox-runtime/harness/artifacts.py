"""The files that the code has left in its folder for results, on their way to the host: regular ones, up to the limits.

Relies on descriptors alone: no path is resolved twice and no link followed. What the code left running may change
everything underfoot, so nothing here waits, and every loop has a bound. Loaded only by runs that left something.
"""

from __future__ import annotations

import binascii
import itertools
import os
import stat

from harness.frames import MAX_FILE_BYTES, MAX_FILES, MAX_FILES_BYTES, MAX_SKIPPED_NAMED
from harness.streams import write_all
from harness.wire import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Names that are looked at in all; beyond them is neither counted nor sent, as a folder may be refilled for ever.
MAX_ENTRIES = 10_000
# Each level of folders holds a descriptor.
MAX_DEPTH = 16
# A multiple of three, so that the pieces of base64 join without padding between them.
PIECE_BYTES = 3 * 65_536
# Of a path that is told; Linux opens longer ones piece by piece, as this does, and no reader wants them.
MAX_SHOWN_CHARS = 1_000

# A FIFO without a writer, or a lease on the file, would hold up a plain open().
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


# What a path was when it was seen last: inode, mode, size and the times of its content and of its entry.
Stamps = dict[str, tuple[int, ...]]


def send_artifacts(folder: str, frames_fd: int, before: Stamps | None = None) -> Stamps:
    """Writes a `file` frame for each file below `folder`, then `skipped` when something stayed behind.

    What is as it was `before` is passed over; returns what is there now, for the next time.
    """
    walk = _Walk(frames_fd, before or {})
    try:
        top = os.open(folder, _OPEN | os.O_DIRECTORY)
    except OSError:
        # It is a link, or no folder at all.
        walk.skip(os.path.basename(folder), "special")
    else:
        walk.folder(top, "", 0)
    walk.finish()
    return walk.stamps


class _Walk:
    def __init__(self, frames_fd: int, before: Stamps) -> None:
        self.stamps: Stamps = {}
        self._before = before
        self._frames_fd = frames_fd
        self._entries_left = MAX_ENTRIES
        self._files_left = MAX_FILES
        self._bytes_left = MAX_FILES_BYTES
        self._skipped: list[dict[str, str]] = []
        self._more = 0

    def folder(self, fd: int, prefix: str, depth: int) -> None:
        """Sends what an open folder holds, in the order of names, and closes it."""
        try:
            for name in self._names(fd):
                self._entry(fd, name, prefix + name, depth)
        finally:
            os.close(fd)

    def skip(self, path: str, reason: str) -> None:
        """Remembers what stays behind; only the first ones by name."""
        if len(self._skipped) < MAX_SKIPPED_NAMED:
            self._skipped.append({"name": _shown(path), "reason": reason})
        else:
            self._more += 1

    def finish(self) -> None:
        """Says what stayed behind, if anything."""
        if self._skipped:
            self._write(encode({"type": "skipped", "files": self._skipped, "more": self._more}))

    def _names(self, fd: int) -> list[str]:
        try:
            with os.scandir(fd) as entries:
                names = [entry.name for entry in itertools.islice(entries, self._entries_left)]
        except OSError:
            # A folder that is being removed; what was in it is gone.
            return []
        self._entries_left -= len(names)
        return sorted(names)

    def _entry(self, parent: int, name: str, path: str, depth: int) -> None:
        try:
            # Before it is opened: opening a device has effects of its own.
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            mode = status.st_mode
            if not stat.S_ISDIR(mode) and self._is_as_before(path, status):
                return None
            if self._files_left == 0:
                return self.skip(path, "count")
            if stat.S_ISDIR(mode):
                if depth == MAX_DEPTH:
                    return self.skip(path, "depth")
                return self.folder(
                    os.open(name, _OPEN | os.O_DIRECTORY, dir_fd=parent), f"{path}/", depth + 1
                )
            if not stat.S_ISREG(mode):
                return self.skip(path, "link" if stat.S_ISLNK(mode) else "special")
            fd = os.open(name, _OPEN, dir_fd=parent)
        except OSError:
            return self.skip(path, "unreadable")
        try:
            self._file(fd, path)
        finally:
            os.close(fd)

    def _is_as_before(self, path: str, status: os.stat_result) -> bool:
        stamp = (
            *(status.st_ino, status.st_mode, status.st_size),
            *(status.st_mtime_ns, status.st_ctime_ns),
        )
        self.stamps[path] = stamp
        return self._before.get(path) == stamp

    def _file(self, fd: int, path: str) -> None:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return self.skip(path, "special")
        if status.st_size > MAX_FILE_BYTES:
            return self.skip(path, "size")
        if status.st_size > self._bytes_left:
            return self.skip(path, "total")
        self._files_left -= 1
        self._bytes_left -= status.st_size
        self._send(fd, path, status.st_size)

    def _send(self, fd: int, path: str, size: int) -> None:
        """One frame, written in pieces: memory may be nearly gone. A file that shrinks meanwhile just ends sooner."""
        head: dict[str, Any] = {"type": "file", "name": _shown(path), "data": ""}
        opening = encode(head)[: -len(b'"}\n')]
        self._write(opening)
        left = size
        while left > 0:
            piece = _read_exactly(fd, min(left, PIECE_BYTES))
            self._write(binascii.b2a_base64(piece, newline=False))
            # Shorter than asked for is its end, and only the last piece may carry padding.
            left = left - len(piece) if len(piece) == PIECE_BYTES else 0
        self._write(b'"}\n')

    def _write(self, data: bytes) -> None:
        write_all(self._frames_fd, data)


def _read_exactly(fd: int, size: int) -> bytes:
    """Up to `size` bytes; fewer only where the file ends, or can no longer be read."""
    pieces = []
    while size > 0:
        try:
            piece = os.read(fd, size)
        except OSError:
            break
        if not piece:
            break
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _shown(path: str) -> str:
    """A name as text; bytes that are not UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")[:MAX_SHOWN_CHARS]
