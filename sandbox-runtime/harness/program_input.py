"""A program's standard input: a file without a name, which grows by pieces and is put at descriptor 0.

No pipe: nobody has to feed it while the program runs, one that never reads it costs nothing, and every way to read
works, from any place and more than once. To a program it is what `< FILE` is.
"""

from __future__ import annotations

import os

from harness.streams import write_all


class ProgramInput:
    """Nothing is opened before the first piece. What goes wrong is kept, and told when the file is to be taken."""

    def __init__(self) -> None:
        self._files: tuple[int, int] | None = None
        self._folder = ""
        self._bytes = 0
        self._error: OSError | None = None

    @property
    def has_any(self) -> bool:
        """Whether there was a piece, be it empty."""
        return self._files is not None or self._error is not None

    def add(self, content: bytes, folder: str | None = None) -> None:
        """Appends; the first call says in which folder the file lies: where temporary files do, unless it is named."""
        self._bytes += len(content)
        if self._error is not None:
            return
        try:
            if self._files is None:
                self._folder = folder or os.environ.get("TMPDIR", "/tmp")
                self._files = _open_unnamed(self._folder)
            write_all(self._files[0], content)
        except OSError as error:
            self._error = error
            # Gives back the room that it took.
            self._close()

    def take(self) -> None:
        """Puts it at descriptor 0; where nothing was added, what is there stays. Raises OSError if it was not kept."""
        if self._error is not None:
            why = f"the standard input of {self._bytes} bytes cannot be kept: {self._error.strerror}"
            raise OSError(self._error.errno, why, self._folder) from None
        if self._files is not None:
            os.dup2(self._files[1], 0)
            self._close()

    def _close(self) -> None:
        for fd in self._files or ():
            os.close(fd)
        self._files = None


def take_input(data: str | None) -> None:
    """The same for input that came whole, as base64; None is none."""
    if data is None:
        return
    import binascii

    program_input = ProgramInput()
    program_input.add(binascii.a2b_base64(data))
    program_input.take()


def _open_unnamed(folder: str) -> tuple[int, int]:
    """Descriptors to write and to read: a program's standard input is read and not written."""
    # Other sandboxes may use the same folder. The name goes at once: one that is killed leaves nothing.
    path = os.path.join(folder, f".stdin-{os.urandom(8).hex()}")
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        return target, os.open(path, os.O_RDONLY)
    except OSError:
        os.close(target)
        raise
    finally:
        os.unlink(path)
