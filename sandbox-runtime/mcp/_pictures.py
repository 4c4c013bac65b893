"""Values as pictures that a model can be shown: figures, images, and whatever draws itself as PNG or JPEG.

All drawing, encoding and scaling happens here, in the sandbox. Looks only at what the program has loaded; Pillow alone
is loaded where a picture that is there already is too large. Never raises for a value that is no picture.
"""

from __future__ import annotations

import binascii
import io
import struct
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from mcp._tables import is_a
from mcp._values import Blob

# Pixels. Claude scales what has a longer side down to this itself; https://platform.claude.com/docs, "Vision".
MAX_SIDE = 1568
# What the host lets through: MAX_PICTURE_SIDE of its frames.
MAX_HOST_SIDE = 2000
_JPEG_QUALITY = 85
_PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
_PNG_START = b"\x89PNG\r\n\x1a\n"


class Unfit(Exception):
    """A picture that cannot be shown; says why."""


class Header(NamedTuple):
    """What a picture's first bytes say of it; sides in pixels."""

    kind: str
    width: int
    height: int


class Room(NamedTuple):
    """Bytes: what a picture is scaled down to, and what one that cannot be scaled may take."""

    wanted: int
    most: int


def drawer_of(value: Any) -> Callable[[Room], bytes | None] | None:
    """What draws `value` as PNG, JPEG, GIF or WebP; None for what is no picture.

    Drawing raises Unfit, or whatever the value's own code raises, and may still find that there is no picture.
    """
    if is_a(value, "matplotlib.figure", "Figure"):
        return lambda room: _figure(value, room)
    if is_a(value, "PIL.Image", "Image"):
        return lambda room: _image(value, room)
    if issubclass(type(value), Blob):
        return (lambda room: _fitting(value, room)) if value.media_type.startswith("image/") else None
    for name in ("_repr_png_", "_repr_jpeg_"):
        draw = getattr(type(value), name, None)
        if draw is not None:
            return lambda room, draw=draw: _drawn(draw(value), room)
    return None


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


def _figure(figure: Any, room: Room) -> bytes:
    dpi = min(float(figure.dpi), MAX_SIDE / max(figure.get_size_inches()))
    out = io.BytesIO()
    # Without the margin, as notebooks draw it.
    figure.savefig(out, format="png", dpi=dpi, bbox_inches="tight")
    return _fitting(out.getvalue(), room)


def _drawn(drawn: Any, room: Room) -> bytes | None:
    """What a `_repr_png_` returned: nothing, bytes, their base64, or either with metadata."""
    data = drawn[0] if isinstance(drawn, tuple) and drawn else drawn
    if data is None:
        return None
    if isinstance(data, str):
        return _fitting(binascii.a2b_base64(data), room)
    if isinstance(data, (bytes, bytearray, memoryview)):
        return _fitting(bytes(data), room)
    raise Unfit(f"it was drawn as {type(data).__name__} and not as bytes")


def _fitting(data: bytes, room: Room) -> bytes:
    """The picture as it is where it fits, else a smaller one."""
    header = header_of(data)
    if header is None:
        raise Unfit("it is no PNG, JPEG, GIF or WebP")
    side = max(header.width, header.height)
    if len(data) <= room.wanted and side <= MAX_SIDE:
        return bytes(data)
    try:
        import PIL.Image  # pyright: ignore
    except ImportError:
        if len(data) <= room.most and side <= MAX_HOST_SIDE:
            return bytes(data)
        size = f"{header.width}x{header.height} pixels in {len(data):,} bytes"
        raise Unfit(f"{size} are too much, and there is no Pillow to scale it down") from None
    with PIL.Image.open(io.BytesIO(data)) as image:
        return _image(image, room)


def _image(image: Any, room: Room) -> bytes:
    """PNG, since it is exact; JPEG where that takes too many bytes; smaller until it fits."""
    side = MAX_SIDE
    while side >= 1:
        scaled = _scaled(image, side)
        data = _encoded(scaled if scaled.mode in _PNG_MODES else scaled.convert("RGB"), "PNG")
        if len(data) > room.wanted:
            data = _encoded(_opaque(scaled), "JPEG", quality=_JPEG_QUALITY)
        if len(data) <= room.wanted:
            return data
        side = max(scaled.size) // 2
    raise Unfit("there is no room left for it")


def _scaled(image: Any, side: int) -> Any:
    if max(image.size) <= side:
        return image
    # An indexed colour is no number that could be averaged.
    copy = image.convert("RGBA") if image.mode == "P" else image.copy()
    copy.thumbnail((side, side))
    return copy


def _opaque(image: Any) -> Any:
    """On white, since JPEG has no transparency."""
    if "A" not in image.mode and "transparency" not in image.info:
        return image.convert("RGB")
    layer = image.convert("RGBA")
    page = sys.modules["PIL.Image"].new("RGB", layer.size, "white")
    page.paste(layer, mask=layer.getchannel("A"))
    return page


def _encoded(image: Any, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


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
