"""runtime.data(): the folders that the container's variable lists, with what lies in them."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from collections.abc import Mapping
from unittest import mock

from mcp import _data, runtime


class Data(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def listed(self, *folders: Mapping[str, object]) -> list[dict[str, object]]:
        with mock.patch.dict(os.environ, {_data.VARIABLE: json.dumps(folders)}):
            return runtime.data()

    def test_there_are_none_without_the_variable(self) -> None:
        self.assertEqual(runtime.data(), [])

    def test_counts_what_lies_in_each_and_follows_no_link(self) -> None:
        with open(os.path.join(self.folder, "a.csv"), "w") as file:
            file.write("1,2\n")
        os.mkdir(os.path.join(self.folder, "deep"))
        os.symlink("/etc/passwd", os.path.join(self.folder, "link"))
        found = self.listed({"path": self.folder, "writable": False})
        self.assertEqual(
            found,
            [{"path": self.folder, "writable": False, "entries": 3, "bytes": 4, "more": False}],
        )
        self.assertEqual(found[0].path, self.folder)  # type: ignore[attr-defined]

    def test_a_folder_that_cannot_be_read_is_listed(self) -> None:
        gone = {"path": os.path.join(self.folder, "gone"), "writable": True}
        self.assertEqual(self.listed(gone), [{**gone, "entries": None, "bytes": None, "more": False}])

    def test_counting_ends_in_a_folder_of_many(self) -> None:
        for name in "abc":
            open(os.path.join(self.folder, name), "w").close()
        with mock.patch.object(_data, "MAX_ENTRIES", 2):
            (found,) = self.listed({"path": self.folder, "writable": False})
        self.assertEqual((found["entries"], found["more"]), (2, True))


if __name__ == "__main__":
    unittest.main()
