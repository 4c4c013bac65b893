"""Sets timers that have the code go on whenever it was stopped, over twelve seconds."""

import ctypes
import signal
import struct

CLOCK_MONOTONIC = 1
FIRST_MS = 700
EVERY_MS = 150
TIMERS = 80


def go_on(*_: object) -> None:
    pass


signal.signal(signal.SIGCONT, go_on)
libc = ctypes.CDLL(None, use_errno=True)
event = ctypes.create_string_buffer(struct.pack("qii", 0, signal.SIGCONT, 0), 64)
for number in range(TIMERS):
    timer = ctypes.c_void_p()
    if libc.timer_create(CLOCK_MONOTONIC, event, ctypes.byref(timer)):
        raise OSError(ctypes.get_errno(), "timer_create")
    at = FIRST_MS + number * EVERY_MS
    once = ctypes.create_string_buffer(struct.pack("qqqq", 0, 0, at // 1000, at % 1000 * 1_000_000))
    if libc.timer_settime(timer, 0, once, None):
        raise OSError(ctypes.get_errno(), "timer_settime")
