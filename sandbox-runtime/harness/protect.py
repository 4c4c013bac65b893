"""Closes the supervisor's process to everybody who has the same user: the guest, and whatever the guest starts.

Relies on Linux. A process that is not dumpable can be neither traced nor read nor written through /proc by a process
without capabilities, and its files in /proc belong to root.
"""

from __future__ import annotations

import sys

# linux/prctl.h
PR_SET_DUMPABLE = 4


def close_to_others() -> None:
    """To be called before there is a guest. Raises OSError or ImportError where it cannot be done.

    A fork inherits it, and an exec ends it.
    """
    _set_dumpable(False)


def open_to_itself() -> None:
    """Undoes it in a forked process, which otherwise may not use its own files in /proc."""
    _set_dumpable(True)


def _set_dumpable(is_dumpable: bool) -> None:
    if sys.platform != "linux":
        # Only the tests run the harness elsewhere.
        return
    # What ctypes is made of: ctypes itself takes ten milliseconds to load, this takes one.
    import _ctypes

    # None is the program itself, whose C library has it.
    prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
    if _ctypes.call_function(prctl, (PR_SET_DUMPABLE, int(is_dumpable), 0, 0, 0)) != 0:
        raise OSError("prctl(PR_SET_DUMPABLE) was refused")
