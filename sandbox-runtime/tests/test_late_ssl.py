"""asyncio without ssl, until somebody asks for it: it behaves as where both were loaded together."""

from __future__ import annotations

import unittest

from tests.host import Host, run

# Ciphers without a certificate, so that there is no key to keep.
WITH_ITS_OWN = """
import asyncio, ssl
def context(kind):
    made = ssl.SSLContext(kind)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    made.maximum_version = ssl.TLSVersion.TLSv1_2
    made.set_ciphers("aNULL:@SECLEVEL=0")
    return made
async def answer(reader, writer):
    writer.write(b"to " + await reader.readline())
    writer.close()
server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context(ssl.PROTOCOL_TLS_SERVER))
port = server.sockets[0].getsockname()[1]
reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context(ssl.PROTOCOL_TLS_CLIENT))
writer.write(b"you\\n")
(await reader.readline()).decode()
"""
WITH_ITS_NAME_ALONE = """
import asyncio
async def answer(reader, writer):
    writer.write(b"no TLS here" * 99)
server = await asyncio.start_server(answer, "127.0.0.1", 0)
port = server.sockets[0].getsockname()[1]
try:
    await asyncio.open_connection("127.0.0.1", port, ssl=True)
except OSError as error:
    failure = type(error).__name__
failure
"""
OVER_SOCKETS = """
import asyncio, socket
near, far = socket.socketpair()
near.setblocking(False)
far.setblocking(False)
loop = asyncio.get_running_loop()
await loop.sock_sendall(near, b"x")
(await loop.sock_recv(far, 1)).decode()
"""
NAMES = "{m: sorted(vars(v)) for m, v in sys.modules.items() if m.startswith('asyncio')}"
SAME_NAMES = f"""
import asyncio, json, ssl, subprocess, sys
asyncio.base_events.ssl.SSLContext
plain = subprocess.run([sys.executable, "-I", "-c", "import asyncio, sys; print({NAMES})"], stdout=subprocess.PIPE)
[{NAMES} == eval(plain.stdout), asyncio.base_events.ssl is asyncio.sslproto.ssl is ssl]
"""
CASES = {
    WITH_ITS_OWN: "to you\n",
    WITH_ITS_NAME_ALONE: "SSLError",
    OVER_SOCKETS: "x",
    SAME_NAMES: [True, True],
}


class LateSslTest(unittest.TestCase):
    def test_code_that_needs_it_has_it(self) -> None:
        for code, value in CASES.items():
            with self.subTest(code):
                host = run(code)
                self.assertEqual(host.value, value, host.frames)
                self.assertEqual(run_late(code).value, value)

    def test_a_sandbox_that_waits_has_loaded_asyncio_and_not_ssl(self) -> None:
        host = run_late("import sys\n['asyncio' in sys.modules, 'ssl' in sys.modules, '_ssl' in sys.modules]")
        self.assertEqual(host.value, [True, False, False])

    def test_one_that_is_told_to_load_it_ahead_has_both_as_they_are(self) -> None:
        told = "import asyncio, ssl\nasyncio.base_events.ssl is ssl"
        self.assertIs(run_late(told, "ssl").value, True)


def run_late(code: str, *preimport: str) -> Host:
    """Runs it in a sandbox that has loaded everything ahead: the last of all, which does not load, says so."""
    with Host(preimport=[*preimport, "asyncio", "no_such_module"]) as host:
        host.wait_for(lambda host: bool(host.of_type("unloaded")))
        host.start(code)
        return host.finish()


if __name__ == "__main__":
    unittest.main()
