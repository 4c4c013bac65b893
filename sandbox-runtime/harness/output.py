"""One output stream of the guest on its way to the host: a pipe's read end, turned into `output` frames.

Decodes incrementally, so that a character split over two reads stays whole; bytes that are not UTF-8 become U+FFFD, and
are sent along as they are.
Never waits for the end of the pipe, which a daemon may hold open long after the guest has ended.
"""

from __future__ import annotations

import binascii
import codecs
import fcntl
import os
import struct
import termios

from harness.frames import OUTPUT_CHUNK_BYTES
from harness.streams import write_all
from harness.wire import encode

# Of bytes that are no text; a program may write it, too.
_REPLACEMENT = "\ufffd"


class Output:
    """Reads `fd` and writes frames that name `stream` to `frames_fd`."""

    def __init__(self, stream: str, fd: int, frames_fd: int) -> None:
        self.fd = fd
        self._stream = stream
        self._frames_fd = frames_fd
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def pump(self, limit: int = OUTPUT_CHUNK_BYTES) -> int:
        """Forwards one piece of at most `limit` bytes; returns its size, 0 when every writer is gone."""
        data = os.read(self.fd, min(limit, OUTPUT_CHUNK_BYTES))
        self._send(data)
        return len(data)

    def drain(self) -> None:
        """Forwards what stands in the pipe at this moment, and nothing that is written later."""
        waiting = self._waiting()
        while waiting > 0:
            size = self.pump(waiting)
            if size == 0:
                break
            waiting -= size
        self._send(b"", final=True)

    def discard(self) -> bool:
        """Throws away what stands in the pipe at this moment; whether there was anything."""
        waiting = self._waiting()
        return waiting > 0 and os.read(self.fd, waiting) != b""

    def _waiting(self) -> int:
        return struct.unpack("i", fcntl.ioctl(self.fd, termios.FIONREAD, b"\0" * 4))[0]

    def _send(self, data: bytes, final: bool = False) -> None:
        held = self._decoder.getstate()[0]
        text = self._decoder.decode(data, final)
        if text:
            exact = self._exact(held + data) if _REPLACEMENT in text else None
            frame = {"type": "output", "stream": self._stream, "text": text, "base64": exact}
            write_all(self._frames_fd, encode(frame))

    def _exact(self, written: bytes) -> str:
        """Without what the decoder still holds."""
        kept = len(self._decoder.getstate()[0])
        return binascii.b2a_base64(written[: len(written) - kept], newline=False).decode()
