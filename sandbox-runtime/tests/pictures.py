"""Stand-ins for the libraries that draw, as source that a run imports: they have the few methods that we call.

The real ones are met in the containers' tests. Imports nothing, so that the guest needs nothing either.
"""

from __future__ import annotations

PNG = '''
import struct, zlib

def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

def png(width, height, padding=0):
    """A real PNG, grey; `padding` bytes of it are seen by nobody."""
    return b"".join((
        b"\\x89PNG\\r\\n\\x1a\\n",
        _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        _chunk(b"IDAT", zlib.compress(bytes((width + 1) * height))),
        _chunk(b"tEXt", b"x" * padding) if padding else b"",
        _chunk(b"IEND", b""),
    ))

class Drawn:
    """What draws itself."""

    def __init__(self, width=4, height=3, padding=0):
        self.data = png(width, height, padding)

    def _repr_png_(self):
        return self.data
'''

MATPLOTLIB = {
    "matplotlib/__init__": "",
    "matplotlib/figure": """
from drawn import png

class Figure:
    def __init__(self, number=0, inches=(6.4, 4.8)):
        self.dpi, self.number, self.inches, self.titles = 100.0, number, inches, 0

    def get_size_inches(self):
        return self.inches

    def savefig(self, out, format, dpi, bbox_inches):
        if self.titles == "broken":
            raise ValueError("no layout")
        assert format == "png" and bbox_inches == "tight"
        out.write(png(*(round(inch * dpi) for inch in self.inches), padding=1 + self.number + 100 * self.titles))
""",
    "matplotlib/pyplot": """
from matplotlib.figure import Figure

_open = {}

def figure(number=None, **options):
    number = number or max(_open, default=0) + 1
    return _open.setdefault(number, Figure(number, **options))

def get_fignums():
    return sorted(_open)

def close(which):
    _open.clear() if which == "all" else _open.pop(which.number)

def show():
    raise AssertionError("there is no screen")
""",
}

PILLOW = {
    "PIL/__init__": "",
    "PIL/Image": '''
import contextlib, struct
from drawn import png

class Image:
    """Of a size and a mode; as PNG it takes a byte per pixel, as JPEG a tenth of it."""

    def __init__(self, size, mode="RGB", info=None):
        self.size, self.mode, self.info = size, mode, info or {}

    def copy(self):
        return Image(self.size, self.mode, self.info)

    def convert(self, mode):
        return Image(self.size, mode)

    def thumbnail(self, box):
        scale = min(box[0] / self.size[0], box[1] / self.size[1])
        self.size = tuple(max(1, round(side * scale)) for side in self.size)

    def getchannel(self, name):
        assert name == "A" and self.mode == "RGBA"

    def paste(self, layer, mask):
        pass

    def save(self, out, kind, **options):
        assert kind == "PNG" or (kind, self.mode) == ("JPEG", "RGB"), (kind, self.mode)
        width, height = self.size
        if kind == "PNG":
            out.write(png(1, 1, width * height)[:16] + struct.pack(">II", *self.size) + bytes(width * height))
        else:
            start = b"\\xff\\xd8\\xff\\xc0\\x00\\x0b\\x08" + struct.pack(">HH", height, width)
            out.write(start + bytes(width * height // 10))

def new(mode, size, colour):
    return Image(size, mode)

@contextlib.contextmanager
def open(file):
    yield Image(struct.unpack(">II", file.read(24)[16:]))
''',
}

PANDAS = {
    "pandas": """
class RangeIndex:
    def __init__(self, stop, start=0, step=1, name=None):
        self.start, self.step, self.name, self.stop = start, step, name, stop

class DataFrame:
    def __init__(self, rows, columns, index=None):
        self.rows, self.columns = rows, columns
        self.shape = (len(rows), len(columns))
        self.index = index or RangeIndex(len(rows))

    def to_string(self, max_rows, min_rows, max_cols, max_colwidth):
        cells = [str(cell) for row in self.rows[:max_rows] for cell in row]
        return f"table {max_rows} {max_cols}" + "x" * len("".join(cells))

    def to_dict(self, orient):
        assert orient == "records"
        return [dict(zip(self.columns, row)) for row in self.rows]

class Series:
    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def to_string(self, max_rows, min_rows, name, dtype):
        return "\\n".join(f"{at} {value}" for at, value in enumerate(self.values[:max_rows]))
"""
}
