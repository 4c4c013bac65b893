"""Where the container's entry point leads: moves the streams out of the way and hands over to the supervisor."""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import NoReturn

from harness.failure import HARNESS_FAILED
from harness.streams import take_streams
from harness.supervisor import supervise
from harness.wire import write_all


def main() -> NoReturn:
    """Serves one run and ends the process, and with it, as PID 1, the container.

    The first argument is a JSON list of commands to run while it waits; the others name modules to load ahead.
    """
    streams = take_streams()
    try:
        supervise(streams, json.loads(sys.argv[1]), sys.argv[2:])
    except BaseException:
        # No frame: the host logs lines that are none, and the missing `exited` tells it that the sandbox is lost.
        write_all(streams.supervisor_out, traceback.format_exc().encode("ascii", "backslashreplace"))
    os._exit(HARNESS_FAILED)
