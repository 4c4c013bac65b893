"""What a picture's first bytes say of it: its kind and its size. Decodes nothing, and needs no Pillow."""

from __future__ import annotations

import struct
from typing import NamedTuple

_PNG_START = b"\x89PNG\r\n\x1a\n"


class Header(NamedTuple):
    """What a picture's first bytes say of it; sides in pixels."""

    kind: str
    width: int
    height: int


def header_of(data: bytes) -> Header | None:
    """None for what is no PNG, JPEG, GIF or WebP."""
    try:
        if data.startswith(_PNG_START):
            return Header("png", *struct.unpack(">II", data[16:24]))
        if data.startswith((b"GIF87a", b"GIF89a")):
            return Header("gif", *struct.unpack("<HH", data[6:10]))
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg_header(data)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp_header(data)
    except (struct.error, IndexError):
        # It ends within its header.
        pass
    return None


def _jpeg_header(data: bytes) -> Header | None:
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:
            # A fill byte.
            at += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return Header("jpeg", width, height)
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return None


def _webp_header(data: bytes) -> Header | None:
    kind = data[12:16]
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return Header("webp", width & 0x3FFF, height & 0x3FFF)
    if kind == b"VP8L":
        bits = struct.unpack("<I", data[21:25])[0]
        return Header("webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8X" and len(data) >= 30:
        width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
        return Header("webp", width, height)
    return None
