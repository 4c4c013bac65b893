"""What a model is shown of a value: pictures, in order and within limits, tables, and text that is cut with a count."""

from __future__ import annotations

import base64
import json
import struct
import unittest
from typing import Any

from harness import frames
from mcp import _brief, _picture_headers, _pictures, _plain_text, _shown_pictures
from tests.host import Frame, Host, run, server, tool
from tests.pictures import MATPLOTLIB, PANDAS, PILLOW, PNG

DRAWN = {"drawn": PNG}


def sizes(host: Host) -> list[tuple[Any, ...]]:
    """Kind and sides of the pictures that the host was sent."""
    found = (
        _picture_headers.header_of(base64.b64decode(frame["data"], validate=True))
        for frame in host.of_type("picture")
    )
    return [tuple(header or ("unreadable", 0, 0)) for header in found]


class PictureTest(unittest.TestCase):
    def run_drawn(self, code: str, more: dict[str, str] | None = None) -> Host:
        return run(f"from drawn import Drawn, png\n{code}", modules={**DRAWN, **(more or {})})

    def test_result(self) -> None:
        host = self.run_drawn("Drawn()")
        self.assertEqual(sizes(host), [("png", 4, 3)])
        self.assertEqual(host.one("result"), {"type": "result", "value": None, "repr": "", "exact": False})
        guest = [frame["type"] for frame in host.frames if frame["type"] in frames.GUEST_FRAMES]
        self.assertEqual(guest, ["picture", "result"])
        self.assertEqual(host.stdout, "")

    def test_display_marks_its_place_in_the_output(self) -> None:
        host = self.run_drawn(
            "print('a')\nruntime.display(Drawn(), 'text', {'k': 1})\nprint('b')\nruntime.display(Drawn(5, 6))"
        )
        self.assertEqual(
            host.stdout,
            "a\n[picture 1: 4x3 png, 1 KB]\ntext\n{'k': 1}\nb\n[picture 2: 5x6 png, 1 KB]\n",
        )
        self.assertEqual(sizes(host), [("png", 4, 3), ("png", 5, 6)])

    def test_what_drawing_may_return(self) -> None:
        host = self.run_drawn(
            "import base64\n"
            "class A:\n    def __init__(self, drawn): self.drawn = drawn\n"
            "    def _repr_png_(self): return self.drawn\n    def __repr__(self): return 'A'\n"
            "p = png(1, 2)\n"
            "text = base64.b64encode(p).decode()\n"
            "for drawn in (bytearray(p), (p, {'width': 1}), text, None, (None, {}), 7, b'no'):\n"
            "    runtime.display(A(drawn))"
        )
        self.assertEqual(sizes(host), [("png", 1, 2)] * 3)
        self.assertEqual(
            host.stdout.splitlines()[3:],
            [
                "A",
                "A",
                "A",
                "[a picture is not shown: it was drawn as int and not as bytes]",
                "A",
                "[a picture is not shown: it is not a PNG, JPEG, GIF or WebP]",
            ],
        )

    def test_jpeg(self) -> None:
        data = struct.pack(">HBBHBHH", 0xFFD8, 0xFF, 0xC0, 11, 8, 9, 7) + bytes(20)
        host = run(f"class A:\n    def _repr_jpeg_(self): return {data!r}\nA()")
        self.assertEqual(sizes(host), [("jpeg", 7, 9)])

    def test_failing_drawing_ends_nothing(self) -> None:
        for error in ("ValueError('bad')", "SystemExit(3)", "KeyboardInterrupt()"):
            host = run(
                f"class A:\n    def _repr_png_(self): raise {error}\n    def __repr__(self): return 'A'\nA()"
            )
            self.assertEqual(host.one("exited")["code"], 0)
            self.assertTrue(host.one("result")["repr"].startswith("A"))
        host = run("class A:\n    def _repr_png_(self): raise ValueError('bad')\nruntime.display(A())\n'on'")
        self.assertIn("[a picture is not shown: drawing it raised ValueError: bad]", host.stdout)
        self.assertEqual(host.value, "on")

    def test_endless_drawing_can_be_stopped(self) -> None:
        code = "class A:\n    def _repr_png_(self):\n        while True: print('in')\nA()"
        with Host() as host:
            host.start(code)
            host.wait_for(lambda h: "in" in h.stdout)
            host.send({"type": "stop", "reason": "timeout"})
            host.finish()
        self.assertEqual(host.one("where")["lines"][-1][:10], "main.py:3:")

    def test_hostile_objects(self) -> None:
        for code in (
            "class A:\n    @property\n    def __class__(self): raise ValueError\nA()",
            "class M(type):\n    def __hash__(cls): raise ValueError\n"
            "    def __getattribute__(cls, n): raise ValueError\n"
            "class A(metaclass=M): pass\nA()",
            "class M(type):\n    def mro(cls): return super().mro()\n    __repr__ = __eq__ = None\n"
            "class A(metaclass=M):\n    def __repr__(self): raise BaseException\nA()",
            "class S(str):\n    def __len__(self): raise ValueError\n"
            "class A:\n    def __repr__(self): return S('fine')\nA()",
            "import unittest.mock\nunittest.mock.MagicMock()",
        ):
            host = run(code)
            self.assertEqual((len(host.of_type("result")), host.one("exited")["code"]), (1, 0), code)

    def test_limits_are_the_hosts(self) -> None:
        self.assertEqual(
            (_shown_pictures.MAX_PICTURES, _shown_pictures.MAX_PICTURES_CHARS, _pictures.MAX_HOST_SIDE),
            (frames.MAX_PICTURES, frames.MAX_PICTURES_CHARS, frames.MAX_PICTURE_SIDE),
        )

    def test_no_more_than_the_host_takes(self) -> None:
        host = self.run_drawn("for n in range(10): runtime.display(Drawn(1 + n))")
        self.assertEqual(len(host.of_type("picture")), 8)
        self.assertIn("[picture 8: 8x3 png", host.stdout)
        self.assertEqual(host.stdout.count("[a picture is not shown: at most 8 are shown in one run]"), 2)

    def test_too_large_without_pillow(self) -> None:
        host = self.run_drawn(
            "import sys\nsys.modules['PIL'] = None\n"
            "runtime.display(Drawn(3000, 1), Drawn(9, 9, 800_000), Drawn(1900, 1))\n"
            "runtime.display(Drawn(9, 9, 600_000), Drawn(9, 9, 600_000))"
        )
        self.assertEqual(sizes(host), [("png", 1900, 1), ("png", 9, 9)])
        self.assertIn("3000x1 pixels in ", host.stdout)
        self.assertEqual(host.stdout.count("there is no Pillow to scale it down"), 3)

    def test_too_large_with_pillow(self) -> None:
        host = self.run_drawn("runtime.display(Drawn(3000, 10), Drawn(9, 9, 800_000))", PILLOW)
        self.assertEqual(sizes(host), [("png", 1568, 5), ("png", 9, 9)])

    def test_images(self) -> None:
        code = (
            "from PIL import Image as I\nI = I.Image\n"
            "runtime.display(I((40, 30)), I((4000, 100)), I((1500, 1500)), I((1500, 1500), 'P'), I((9, 9), 'CMYK'))\n"
            "runtime.display(I((1500, 1500), 'RGBA'))\nI((10, 20))"
        )
        host = self.run_drawn(code, PILLOW)
        self.assertEqual(
            sizes(host),
            [
                ("png", 40, 30),
                ("png", 1568, 39),
                ("jpeg", 1500, 1500),
                ("jpeg", 750, 750),
                ("png", 9, 9),
                ("jpeg", 750, 750),
                ("png", 10, 20),
            ],
        )

    def test_blobs_of_tools(self) -> None:
        host = run(
            "from drawn import png\nimport base64\nbase64.b64encode(png(6, 7)).decode()", modules=DRAWN
        )
        block = {"type": "image", "mimeType": "image/png", "data": host.value}
        answers: dict[str, Any] = {"tools.call": lambda _: {"content": [block]}}
        shots = [server("browser", tool("shoot"))]
        self.assertEqual(sizes(run("await mcp_browser.shoot()", shots, handlers=answers)), [("png", 6, 7)])
        code = "shot = await mcp_browser.shoot()\nruntime.display(shot, bytes(shot), b'other')"
        host = run(code, shots, handlers=answers)
        self.assertEqual(sizes(host), [("png", 6, 7)] * 2)
        self.assertTrue(host.stdout.endswith("b'other'\n"))

    def test_only_in_the_runs_own_process(self) -> None:
        code = (
            "import os\npid = os.fork()\nif pid == 0:\n    try: runtime.display(Drawn())\n"
            "    except RuntimeError as e: print(e, flush=True)\n    os._exit(0)\nos.waitpid(pid, 0)\nNone"
        )
        host = self.run_drawn(code)
        self.assertEqual(host.of_type("picture"), [])
        self.assertIn("only in the main process", host.stdout)

    def test_costs_other_runs_nothing(self) -> None:
        code = "import sys\nx = {'rows': [1, 'a', None]}\nprint('x')\n[m for m in sys.modules if m.startswith('mcp.')]"
        loaded = set(run(code).value)
        ours = {
            f"mcp._{name}"
            for name in (
                "brief",
                "display",
                "figures",
                "picture_headers",
                "pictures",
                "shown_pictures",
                "tables",
            )
        }
        self.assertEqual(loaded & ours, set())


class FigureTest(unittest.TestCase):
    MODULES = {**DRAWN, **MATPLOTLIB}  # noqa: RUF012

    def run_plot(self, code: str) -> Host:
        return run(f"import matplotlib.pyplot as plt\n{code}", modules=self.MODULES)

    def test_left_open_at_the_end(self) -> None:
        host = self.run_plot("plt.figure()\nplt.figure(inches=(20, 10))\nplt.close(plt.figure())\n'done'")
        self.assertEqual(sizes(host), [("png", 640, 480), ("png", 1568, 784)])
        self.assertEqual((host.value, host.stdout), ("done", ""))

    def test_show_closes(self) -> None:
        host = self.run_plot("plt.figure()\nplt.show(block=False)\nprint(plt.get_fignums())\nplt.show()")
        self.assertEqual(len(host.of_type("picture")), 1)
        self.assertRegex(host.stdout, r"^\[picture 1: 640x480 png, \d KB\]\n\[\]\n$")
        self.assertEqual(host.stderr, "")

    def test_by_any_name(self) -> None:
        host = run("from matplotlib.pyplot import *\nfigure()\nshow()", modules=self.MODULES)
        self.assertEqual(len(host.of_type("picture")), 1)

    def test_loaded_ahead(self) -> None:
        with Host(preimport=["matplotlib.pyplot"], modules=self.MODULES) as host:
            host.wait_for(lambda h: bool(h.of_type("hello")))
            host.process.stdin.flush() if host.process.stdin else None
            host.start("import matplotlib.pyplot as plt\nplt.figure()\nplt.show()")
            host.finish()
        self.assertEqual(len(host.of_type("picture")), 1)

    def test_shown_once_unless_it_has_changed(self) -> None:
        host = self.run_plot("f = plt.figure()\nruntime.display(f)\nf")
        self.assertEqual(len(host.of_type("picture")), 2)
        self.assertEqual(len(self.run_plot("plt.figure()").of_type("picture")), 1)
        host = self.run_plot("f = plt.figure()\nruntime.display(f)\nf.titles = 1\n'x'")
        self.assertEqual(len(host.of_type("picture")), 2)

    def test_after_a_failure_or_an_exit(self) -> None:
        host = self.run_plot("plt.figure()\n1 / 0")
        self.assertEqual([len(host.of_type("picture")), len(host.of_type("raised"))], [1, 1])
        self.assertEqual(len(self.run_plot("plt.figure()\nexit(0)").of_type("picture")), 1)

    def test_broken_figures_and_too_many(self) -> None:
        host = self.run_plot("plt.figure().titles = 'broken'\nplt.figure()\n'x'")
        self.assertEqual(host.stdout, "[a picture is not shown: drawing it raised ValueError: no layout]\n")
        self.assertEqual([len(host.of_type("picture")), host.value], [1, "x"])
        host = self.run_plot("for _ in range(11): plt.figure()")
        self.assertEqual(len(host.of_type("picture")), 8)
        self.assertEqual(host.stdout, "[3 open figures are not shown: there are enough pictures]\n")

    def test_a_module_of_that_name_that_is_none(self) -> None:
        self.assertEqual(run("import sys\nsys.modules['matplotlib.pyplot'] = 7\n'x'").value, "x")


class TextTest(unittest.TestCase):
    def frame_of(self, code: str, modules: dict[str, str] | None = None) -> Frame:
        return run(code, modules=modules).one("result")

    def test_long_values_are_cut_between_items(self) -> None:
        text = self.frame_of("list(range(10_000))")["repr"]
        self.assertTrue(text.startswith("[0, 1, 2, "))
        self.assertRegex(text, r", \d+, … 6,\d{3} more items\]$")
        text = self.frame_of("{'a': list(range(10**6)), 'b': 'x' * 10**6, 'c': 3}")["repr"]
        self.assertRegex(text, r"more items\], 'b': 'x+'… [\d,]+ more characters, … 1 more item}$")
        self.assertEqual(self.frame_of("[0] * 30_000")["value"], [0] * 30_000)
        self.assertLess(len(self.frame_of("'x' * 3_000_000")["repr"]), 21_000)

    def test_brief_repr(self) -> None:
        for value in ([1, [2, (3,)], {"a": {4}}], (), {}, set(), frozenset({1}), (1,), "a'b", b"x", {1: ()}):
            self.assertEqual(_brief.brief_repr(value), repr(value))
        endless: list[Any] = []
        endless.append(endless)
        self.assertLess(len(_brief.brief_repr(endless)), 400)
        self.assertEqual(_brief.brief_repr((1, 2, 3), 3), "(1, … 2 more items)")

    def test_frames_are_tables(self) -> None:
        rows = "from pandas import DataFrame, RangeIndex\n"
        frame = self.frame_of(f"{rows}DataFrame([[1, 'a'], [2, 'b']], ['n', 's'])", PANDAS)
        self.assertTrue(frame["repr"].startswith("table 60 30"))
        self.assertEqual((frame["value"], frame["exact"]), ([{"n": 1, "s": "a"}, {"n": 2, "s": "b"}], True))
        for code in (
            "DataFrame([[1, float('nan')]], ['n', 's'])",
            "DataFrame([[1, 2]], ['n', 'n'])",
            "DataFrame([[1, 2]], ['n', 3])",
            "DataFrame([[1, 2]], ['n', 's'], RangeIndex(1, name='id'))",
            "DataFrame([[1, 2]], ['n', 's'], RangeIndex(2, start=1))",
            "DataFrame([[n] * 3 for n in range(7_000)], ['a', 'b', 'c'])",
        ):
            frame = self.frame_of(rows + code, PANDAS)
            self.assertEqual((frame["value"], frame["exact"]), (None, False), code)
        many = self.frame_of(f"{rows}DataFrame([[n] for n in range(1_000)], ['n'])", PANDAS)
        self.assertTrue(many["repr"].endswith("\n[1,000 rows x 1 columns]"))
        wide = self.frame_of(f"{rows}DataFrame([['x' * 200] * 40] * 50, list(range(40)))", PANDAS)
        self.assertTrue(wide["repr"].startswith("table 10 8"))
        self.assertIn("… 60,010 more characters", wide["repr"])

    def test_series(self) -> None:
        text = self.frame_of("from pandas import Series\nSeries(['x' * 500] * 100)", PANDAS)["repr"]
        self.assertIn("… 382 more characters", text)
        self.assertTrue(text.endswith("\n[100 values]"))

    def test_broken_frames_are_shown_as_they_can(self) -> None:
        code = "import pandas\ndel pandas.DataFrame.to_string\npandas.DataFrame([], [])"
        self.assertIn("DataFrame object at", self.frame_of(code, PANDAS)["repr"])

    def test_arrays_say_their_shape(self) -> None:
        # In place of the real one, which may be here.
        fake = (
            "import sys, types\nsys.modules['numpy'] = types.ModuleType('numpy')\n"
            "class ndarray:\n    shape, dtype = (2, 900), 'int64'\n"
            "    def __init__(self, text): self.text = text\n    def __repr__(self): return self.text\n"
            "sys.modules['numpy'].ndarray = ndarray\n"
        )
        for text, shown in (
            ("array([1, 2])", "array([1, 2])"),
            ("array([1, ..., 2])", "array([1, ..., 2])  # shape (2, 900), int64"),
            ("array([1, ..., 2], shape=(2, 900))", "array([1, ..., 2], shape=(2, 900))"),
        ):
            self.assertEqual(self.frame_of(f"{fake}ndarray({text!r})")["repr"], shown)

    def test_markdown_and_html(self) -> None:
        code = "class A:\n    def _repr_html_(self): return '<b>x</b><p>y<script>z</script>'\n"
        self.assertEqual(self.frame_of(f"{code}A()")["repr"], "x\ny")
        self.assertEqual(
            self.frame_of(f"{code}    def _repr_markdown_(self): return '# x'\nA()")["repr"], "# x"
        )
        self.assertEqual(self.frame_of(f"{code}    def __repr__(self): return 'own'\nA()")["repr"], "own")
        self.assertEqual(run(f"{code}runtime.display(A())").stdout, "x\ny\n")
        svg = self.frame_of("class A:\n    def _repr_svg_(self): return '<svg/>'\nA()")["repr"]
        self.assertIn("which models are not shown", svg)

    def test_plain_text(self) -> None:
        table = (
            "<table>\n <tr><th>a</th> <th>b &amp; c</th></tr>\n<tr><td>1<br/>2</td><td>3</td></tr></table>"
        )
        self.assertEqual(_plain_text.plain_text(table), "a\tb & c\n1\n2\t3")
        self.assertEqual(
            _plain_text.plain_text("<style>p {}</style><p>one  \n two</p><p>three"), "one two\nthree"
        )
        self.assertEqual(_plain_text.plain_text("</script></p>a < b <"), "a < b <")
        self.assertLessEqual(len(_plain_text.plain_text("x" * 10**6)), _plain_text.MAX_HTML_CHARS)

    def test_display_raises_what_repr_raises_at_the_users_line(self) -> None:
        code = "class A:\n    def __repr__(self): raise ValueError('no')\nruntime.display(A())"
        lines = run(code).one("raised")["error"]["traceback"]
        self.assertEqual(lines[1], '  File "main.py", line 3, in <module>')
        self.assertEqual(sum("File" in line for line in lines), 2)


class HeaderTest(unittest.TestCase):
    def test_kinds(self) -> None:
        gif = b"GIF89a" + struct.pack("<HH", 3, 4)
        lossy = b"RIFF....WEBPVP8 " + bytes(10) + struct.pack("<HH", 5, 6 | 0x4000)
        lossless = b"RIFF....WEBPVP8L" + bytes(5) + struct.pack("<I", 6 | 7 << 14)
        extended = b"RIFF....WEBPVP8X" + bytes(8) + b"\x08\0\0\x09\0\0"
        jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x0b\x08" + struct.pack(">HH", 8, 9)
        for data, header in (
            (gif, ("gif", 3, 4)),
            (lossy, ("webp", 5, 6)),
            (lossless, ("webp", 7, 8)),
            (extended, ("webp", 9, 10)),
            (jpeg, ("jpeg", 9, 8)),
        ):
            self.assertEqual(_picture_headers.header_of(data), header)
            for end in range(len(data)):
                self.assertIsNone(_picture_headers.header_of(data[:end]), data[:end])
        self.assertIsNone(_picture_headers.header_of(b"\xff\xd8\xff" + b"\xff" * 50))
        self.assertEqual(json.dumps(_picture_headers.header_of(b"")), "null")


if __name__ == "__main__":
    unittest.main()
