"""The Python fallback runs by its own loader, whatever there is around it, with all that the harness needs."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tests.host import ROOT

# A harness that has greeted has imported nearly all that it ever does; the rest is imported within functions.
CODE = """
import sys
from harness.main import main
import binascii, inspect, json, linecache, subprocess, tempfile, tokenize, traceback
import mcp.runtime
print(json.dumps({"prefix": [sys.prefix, sys.exec_prefix], "executable": sys.executable, "path": sys.path}))
"""


class PythonFallbackTest(unittest.TestCase):
    def test_runs_from_a_folder_of_its_own(self) -> None:
        script = ROOT / "harness" / "python_fallback.py"
        printed = subprocess.run(
            [sys.executable, "-I", script], stdout=subprocess.PIPE, text=True, check=True
        )
        with tempfile.TemporaryDirectory() as name:
            root = Path(name).resolve()
            for line in printed.stdout.splitlines():
                path, data = line.split(" ")
                file = root / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(base64.b64decode(data))
                file.chmod(0o755)
            argv = [root / "loader", "--library-path", root / "shared", root / "bin/python3"]
            code = f"import sys; sys.path.append({str(ROOT)!r})\n{CODE}"
            ran = subprocess.run([*argv, "-I", "-c", code], capture_output=True, text=True, env={})
            self.assertEqual(ran.stderr, "")
            seen = json.loads(ran.stdout)
            self.assertEqual(seen["prefix"], [name, name])
            self.assertEqual(seen["executable"], f"{name}/bin/python3")
            elsewhere = [path for path in seen["path"] if not path.startswith((name, str(ROOT)))]
            self.assertEqual(elsewhere, [])
            self.assertEqual([*root.rglob("*crypto*"), *root.rglob("test")], [], "more than it needs")


if __name__ == "__main__":
    unittest.main()
