"""Where the container's entry point leads: moves the streams out of the way, greets, and hands over to the supervisor.

Imports before the greeting only what the greeting needs, since a host waits for it: tests/test_greeting.py has the
list. All else is loaded right after it, in a sandbox that has no guest yet, and so before any code that it may run.
"""

from __future__ import annotations

import os
import sys

from harness import HARNESS_FAILED
from harness.frames import HARNESS_VERSION, PROTOCOL_VERSION
from harness.streams import take_streams, write_all

# Only type checkers look: the module that has it takes as long to load as all of the above.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Serves one run and ends the process, and with it, as PID 1, the container.

    The first argument says what is done while it waits, as JSON: commands to run, and an interpreter that is to wait
    with it (harness/waiting.py). The others name modules to load ahead.
    """
    streams = take_streams()
    greet(streams.supervisor_out)
    try:
        import gc
        from json import loads

        # What is loaded stays, so that to look for what of it is garbage is a tenth of the loading for nothing.
        gc.disable()
        from harness.supervisor import supervise

        plan = loads(sys.argv[1])
        supervise(streams, plan["ahead"], sys.argv[2:], plan.get("waits"))
    except BaseException:
        from traceback import format_exc

        # No frame: the host logs lines that are none, and the missing `exited` tells it that the sandbox is lost.
        write_all(streams.supervisor_out, format_exc().encode("ascii", "backslashreplace"))
    os._exit(HARNESS_FAILED)


def greet(supervisor_out: int) -> None:
    """Says `hello`, as harness/wire.py would write it."""
    python = ".".join(map(str, sys.version_info[:3]))
    hello = f'"type":"hello","protocol":{PROTOCOL_VERSION},"harness":"{HARNESS_VERSION}","python":"{python}"'
    write_all(supervisor_out, f"{{{hello}}}\n".encode("ascii"))
