"""Lines and bytes, and the golden vectors that the bridge's own tests read too."""

from __future__ import annotations

import json
import os
import random
import threading
import unittest
from pathlib import Path
from typing import Any

from harness.frames import GUEST_FRAMES, HOST_FRAMES, MAX_VALUES, SUPERVISOR_FRAMES
from harness.streams import write_all
from harness.wire import LineReader, decode, depth_of, encode, encode_bounded, values_in

VECTORS = Path(__file__).resolve().parent.parent.parent / "test" / "vectors" / "frames.jsonl"
TABLES = {"guest": GUEST_FRAMES, "supervisor": SUPERVISOR_FRAMES, "host": HOST_FRAMES}


class WireTest(unittest.TestCase):
    def test_encoding(self) -> None:
        self.assertEqual(encode({"type": "x", "n": 2**64}), b'{"type":"x","n":18446744073709551616}\n')
        line = encode({"t": "é\n\U0001f600\ud800\\ud800\udc00"})
        self.assertEqual(json.loads(line), {"t": "é\n\U0001f600\ufffd\\ud800\ufffd"})
        self.assertEqual(line.count(b"\n"), 1)
        with self.assertRaises(ValueError):
            encode({"x": float("inf")})

    def test_depth(self) -> None:
        self.assertEqual(depth_of('{"a":[1,"]}",{"b":"\\"["}]}'), 3)

    def test_values(self) -> None:
        self.assertEqual(values_in('{"a":[1,"],[,{",{"b":[]}]}'), 7)
        commas = "," * (2 * MAX_VALUES)
        self.assertIn(commas.encode(), encode_bounded({"type": "x", "text": commas}))
        with self.assertRaisesRegex(ValueError, "more than 1000000 values, some 100000[1-9], cannot"):
            encode_bounded({"type": "x", "list": [0] * MAX_VALUES})

    def test_random_lines_in_random_pieces(self) -> None:
        """Whatever the writes are, the lines are those of the whole; a failure names its seed."""
        pieces = [
            b"a",
            b"{}",
            b"\n",
            b"\n",
            b"\r\n",
            b"\0",
            b"\xff",
            "é😀".encode(),
            b"\xe2\x80\xa8",
            b"x" * 70_000,
        ]
        for seed in range(300):
            with self.subTest(seed=seed):
                source = random.Random(seed)
                data = b"".join(source.choices(pieces, k=source.randrange(12))) + b"\n"
                self.assertEqual(read_in_pieces(data, source), data.split(b"\n")[:-1])

    def test_lines_split_at_every_byte(self) -> None:
        data = "aé\n\nlonger line\n".encode()
        for cut in range(len(data)):
            read_end, write_end = os.pipe()
            reader = LineReader(read_end)
            lines = []
            for piece in (data[:cut], data[cut:]):
                os.write(write_end, piece)
                if b"\n" in piece:
                    lines += reader.read_lines()
            os.close(write_end)
            self.assertEqual(lines, ["aé".encode(), b"", b"longer line"])
            self.assertEqual(reader.read_lines(), [])
            os.close(read_end)


def read_in_pieces(data: bytes, source: random.Random) -> list[bytes]:
    """The lines of `data`, written to a pipe in pieces of random sizes by another thread."""
    read_end, write_end = os.pipe()
    cuts = sorted(source.randrange(len(data) + 1) for _ in range(source.randrange(6)))

    def write() -> None:
        for start, end in zip([0, *cuts], [*cuts, len(data)]):
            write_all(write_end, data[start:end])
        os.close(write_end)

    writer = threading.Thread(target=write)
    writer.start()
    reader = LineReader(read_end)
    lines: list[bytes] = []
    while more := reader.read_lines():
        lines += more
    writer.join()
    os.close(read_end)
    return lines


@unittest.skipUnless(VECTORS.exists(), "only in the bridge's own tree")
class VectorTest(unittest.TestCase):
    def test_fields_agree_with_the_generated_tables(self) -> None:
        seen: set[tuple[str, str]] = set()
        for line in VECTORS.read_text().splitlines():
            vector = json.loads(line)
            frame: dict[str, Any] = vector["frame"]
            table = TABLES[vector["direction"]]
            fields = table.get(str(frame.get("type")))
            if vector["valid"]:
                self.assertEqual(set(frame), {"type", *(fields or ())}, vector["why"])
                self.assertEqual(decode(encode(frame)), frame)
                seen.add((vector["direction"], frame["type"]))
        every = {(direction, kind) for direction, table in TABLES.items() for kind in table}
        self.assertEqual(seen, every)


if __name__ == "__main__":
    unittest.main()
