"""What the interpreter does at its end, as far as anybody outside could see: files that are open are written,
finalizers and the `finally` of generators are run. The rest, tearing down what dies with the process, is left out.

Relies on the collector: what was there before is set aside, so that this costs in proportion to what the code made.
Keeps to a bound of time, since a finalizer that does not come to an end would else take the whole run with it.
"""

from __future__ import annotations

import atexit
import sys
import threading
from _io import _IOBase, _TextIOBase
from collections.abc import Callable
from fcntl import F_GETFL, fcntl
from gc import collect, freeze, get_objects
from os import O_ACCMODE, O_RDONLY, fstat, listdir, write
from signal import ITIMER_REAL, SIG_DFL, SIG_UNBLOCK, SIGALRM
from signal import pthread_sigmask as set_mask
from signal import setitimer as set_timer
from signal import signal as set_handler
from stat import S_ISREG
from types import ModuleType

from harness.failure import is_users
from harness.stdio import complain, complain_of, flush_stdio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

# Files are written within moments. What takes longer most likely takes for ever.
ENDS_WITHIN_S = 5.0
CUT_SHORT = "The clean-up of what the code had left open did not end within"

# Kept from before the code, which may put something else in the place of each.
_steps = (threading._shutdown, atexit._run_exitfuncs)  # type: ignore[attr-defined]
_threads = sys._current_frames
_modules = sys.modules


class Ending:
    """Of one process and its children. To be made when all is there but what the code makes."""

    def __init__(self) -> None:
        self._known = frozenset(_modules)
        self._threads = len(_threads()) + 1
        self._left: list[object] = []
        self._has_files = False
        self._stdio = (sys.stdout, sys.stderr)
        freeze()

    def finish(self, code: int, leave: Callable[[int], NoReturn]) -> NoReturn:
        """In the interpreter's order; ends by `leave`, with the exit status. Its caller holds no name of the code."""
        for step in (*_steps, flush_stdio):
            try:
                step()
            except SystemExit as request:
                code = exit_code(request)
            except BaseException as error:
                complain_of(error)

        def cut_short(*_: object) -> None:
            write(2, f"{CUT_SHORT} {ENDS_WITHIN_S:g} s: what was still to be written is lost.\n".encode())
            leave(code)

        set_handler(SIGALRM, cut_short)
        set_mask(SIG_UNBLOCK, (SIGALRM,))
        set_timer(ITIMER_REAL, ENDS_WITHIN_S)
        for step in (self._drop_names, self._finalize, _flush_c_library):
            try:
                step()
            except BaseException as error:
                complain_of(error)
        leave(code)

    def _drop_names(self) -> None:
        """Of the code and of its modules. What nothing else holds ends here, as the interpreter would have it."""
        # What is in a cycle would be ended in any order, and a file before what writes into it.
        self._has_files = flush_files(only_buffers=True)
        sys.stdout, sys.stderr = self._stdio
        for name in _modules.keys() - self._known:
            if _is_codes(_modules[name]):
                del _modules[name]
        _modules.pop("__main__", None)
        collect()

    def _finalize(self) -> None:
        """What something else still holds: a handler, a library, a builtin name."""
        # Kept, so that nothing of it is finalized a second time.
        self._left = get_objects()
        kinds = set(filter(_has_finalizer, set(map(type, self._left))))
        # What threads hold they go on using, and the interpreter leaves it alone, too.
        if kinds and len(_threads()) <= self._threads:
            for left in [left for left in self._left if type(left) in kinds]:
                try:
                    type(left).__del__(left)  # type: ignore[attr-defined]
                except BaseException as error:
                    complain_of(error)
        if kinds or self._has_files:
            flush_files(only_buffers=True)


def rehearse() -> None:
    """Does once what an ending does: what is done for the first time takes several times as long."""
    Ending()
    flush_files()
    set_handler(SIGALRM, SIG_DFL)
    set_timer(ITIMER_REAL, 0)
    collect()


def _is_codes(module: object) -> bool:
    """Whether the code has brought a module itself, as a file or made by hand."""
    if not isinstance(module, ModuleType):
        return False
    file = vars(module).get("__file__")
    return is_users(file) if isinstance(file, str) else vars(module).get("__spec__") is None


def exit_code(request: SystemExit) -> int:
    """As CPython makes one of it; what is no number is printed."""
    if request.code is None:
        return 0
    if isinstance(request.code, int):
        return request.code & 0xFF
    try:
        complain(f"{request.code}\n")
    except BaseException:
        # Its own text is not to be had.
        pass
    return 1


def flush_files(only_buffers: bool = False) -> bool:
    """Has what is buffered written into files, by every object that is open on one, and says whether any file is.

    Closes nothing. Costs next to nothing where no file is open for writing. `only_buffers` leaves out what does more
    than buffer, such as compress, and which writes another file when it is flushed.
    """
    written = _written_files()
    if not written:
        return False
    objects = get_objects()
    kinds = {kind for kind in set(map(type, objects)) if issubclass(kind, _IOBase)}
    files: list[Any] = [file for file in objects if type(file) in kinds]
    # From the top: text, what is compressed, bytes. Each may put something into that below.
    for file in sorted(files, key=_layer):
        try:
            is_meant = not only_buffers or type(file).__module__ == "_io"
            if is_meant and not file.closed and file.fileno() in written:
                file.flush()
        except BaseException:
            # The disk is full, or the object is no file but in name. Whoever goes on to use it is told.
            continue
    return True


def _layer(file: object) -> tuple[bool, bool]:
    return not isinstance(file, _TextIOBase), type(file).__module__ == "_io"


def _has_finalizer(kind: type) -> bool:
    """A plain file has none that counts: it has been flushed, and what writes into it has not yet."""
    try:
        return hasattr(kind, "__del__") and kind.__module__ != "_io"
    except BaseException:
        return False


def _written_files() -> set[int]:
    """Descriptors that lead to a regular file and may be written."""
    found = set()
    try:
        names = listdir("/proc/self/fd")
    except OSError:
        # Only the tests run the harness where there is no such folder.
        names = [str(fd) for fd in range(3, 100)]
    for name in names:
        fd = int(name)
        try:
            is_written = fcntl(fd, F_GETFL) & O_ACCMODE != O_RDONLY
            if is_written and S_ISREG(fstat(fd).st_mode):
                found.add(fd)
        except OSError:
            # That by which the folder was read.
            continue
    return found


def _flush_c_library() -> None:
    """What C has buffered, of this process and its libraries."""
    # Without it nothing here comes near a buffer of C.
    if "ctypes" not in _modules and "cffi" not in _modules:
        return
    import _ctypes

    _ctypes.call_function(_ctypes.dlsym(_ctypes.dlopen(None, 0), "fflush"), (0,))  # type: ignore[arg-type]
