"""Values as pictures that a model can be shown: figures, images, and whatever draws itself as PNG or JPEG.

All drawing, encoding and scaling happens here, in the sandbox. Looks only at what the program has loaded; Pillow alone
is loaded where a picture that is there already is too large. Never raises for a value that is no picture.
"""

from __future__ import annotations

import binascii
import io
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from mcp._picture_headers import header_of
from mcp._tables import is_a
from mcp._values import Blob

# Pixels. Claude scales what has a longer side down to this itself; https://platform.claude.com/docs, "Vision".
MAX_SIDE = 1568
# What the host lets through: MAX_PICTURE_SIDE of its frames.
MAX_HOST_SIDE = 2000
_JPEG_QUALITY = 85
_PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")


class Unfit(Exception):
    """A picture that cannot be shown; says why."""


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
        raise Unfit("it is not a PNG, JPEG, GIF or WebP")
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
