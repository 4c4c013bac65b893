"""ssl and inspect, which asyncio imports and most code does not use: loaded by their first use, and then as ever."""

from __future__ import annotations

import subprocess
import sys
import unittest

from tests.host import ROOT

AHEAD = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from harness.later import loaded_later
with loaded_later():
    import asyncio
"""


@unittest.skipUnless("_ssl" in sys.builtin_module_names or __import__("ssl"), "a Python without OpenSSL")
class LaterTest(unittest.TestCase):
    def says(self, code: str) -> str:
        command = [sys.executable, "-I", "-c", AHEAD + code]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def test_asyncio_and_what_only_names_it_do_not_load_it(self) -> None:
        code = """
import ssl, http.client, urllib.request
print('_ssl' in sys.modules, ssl.__name__, ssl.__file__[-6:])
"""
        self.assertEqual(self.says(code), "False ssl ssl.py")

    def test_the_first_name_that_is_asked_for_loads_it_for_all(self) -> None:
        code = """
import ssl, types
print(type(ssl.create_default_context()) is ssl.SSLContext, asyncio.base_events.ssl is ssl)
print(issubclass(asyncio.sslproto.SSLProtocol, asyncio.BaseProtocol), type(ssl) is types.ModuleType)
print(ssl.__spec__.loader is ssl.__loader__, type(ssl.__loader__).__module__)
"""
        self.assertEqual(
            self.says(code).split("\n"), ["True True", "True True", "True _frozen_importlib_external"]
        )

    def test_a_loop_and_a_process_run_without_what_describes_code(self) -> None:
        code = """
import asyncio, subprocess
async def work():
    await asyncio.gather(asyncio.sleep(0), asyncio.to_thread(int))
asyncio.run(work())
subprocess.run([sys.executable, "-c", ""])
print('dis' in sys.modules, end=" ")
import inspect
from dataclasses import dataclass
@dataclass
class Point:
    x: int = 1
print(repr(Point()), inspect.signature(Point), 'dis' in sys.modules)
"""
        self.assertEqual(self.says(code), "False Point(x=1) (x: int = 1) -> None True")

    def test_each_way_to_name_it_finds_all_of_it(self) -> None:
        for code in (
            "from ssl import SSLContext",
            "from ssl import *\nSSLContext",
            "import ssl\nassert 'SSLContext' in dir(ssl)",
            "import ssl\nfrom inspect import getmembers\nassert 'SSLContext' in dict(getmembers(ssl))",
            "import ssl, importlib\nassert importlib.reload(ssl).SSLContext",
            "import ssl\nfrom unittest.mock import patch\nwith patch('ssl.SSLContext', 1): assert ssl.SSLContext == 1",
        ):
            with self.subTest(code=code):
                self.assertEqual(self.says(code + "\nprint('_ssl' in sys.modules)"), "True")

    def test_what_it_has_not_is_told_as_of_any_module(self) -> None:
        code = """
import ssl
for _ in range(2):
    try:
        ssl.nothing
    except AttributeError as error:
        print(error)
"""
        self.assertEqual(self.says(code).split("\n"), ["module 'ssl' has no attribute 'nothing'"] * 2)

    def test_threads_that_ask_at_once_all_find_it(self) -> None:
        code = """
import ssl
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(20) as pool:
    print(len(set(pool.map(lambda _: id(ssl.SSLContext), range(200)))))
"""
        self.assertEqual(self.says(code), "1")

    def test_what_keeps_it_from_loading_is_told_each_time(self) -> None:
        code = """
import ssl
sys.modules["_ssl"] = None
for _ in range(2):
    try:
        ssl.SSLContext
    except ImportError as error:
        print(type(error).__name__)
del sys.modules["_ssl"]
print(ssl.SSLContext.__name__)
"""
        self.assertEqual(self.says(code).split("\n"), ["ModuleNotFoundError"] * 2 + ["SSLContext"])


if __name__ == "__main__":
    unittest.main()
