"""An exception as the host shows it: type, message and the traceback that a reader of main.py understands.

Relies on the traceback module for CPython's own layout (chains, groups, carets, suggestions). Leaves out our own frames
and those of libraries, of which one line says where the exception arose. Never raises, whatever the exception's own
methods do.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from traceback import format_exception

from harness import HARNESS_FAILED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_OWN_FOLDERS = tuple(
    os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), name, "")
    for name in ("harness", "mcp")
)
# Where installed Python is. What the code has written itself is elsewhere: main.py, user_tools/, /workspace, /tmp.
_LIBRARY_FOLDERS = tuple(
    os.path.join(path, "")
    for path in (sys.prefix, sys.base_prefix, os.path.dirname(os.path.abspath(os.__file__)))
)
_LIBRARY_PARTS = ("/site-packages/", "/dist-packages/")
_NO_FILES = ("<frozen ", "<__array_function__ ")
# Compiled modules name the files that they were made of.
_COMPILED = (".pyx", ".pxi", ".pxd")
MAX_MESSAGE_CHARS = 20_000
# A traceback longer than this keeps its first lines (where it began) and most of its last (what went wrong).
MAX_LINES = 200
HEAD_LINES = 40
# Of module names that are compared.
MIN_NAME_CHARS = 4
MAX_NAME_CHARS = 50
# One wrong letter in four; a package that is not installed is likened to nothing.
MIN_LIKENESS = 0.85


def describe_failure(error: BaseException) -> dict[str, Any]:
    """The `error` of a `raised` or `refused` frame."""
    return {
        "type": _type_name(error),
        "message": clip(message_of(error)),
        "traceback": _traceback_lines(error),
    }


def harness_failure(error: BaseException) -> dict[str, Any]:
    """The guest's last word where it is not the code that has failed, but what runs it. Never raises."""
    said, lines = "nothing is known of how", list[str]()
    try:
        said = f"{_type_name(error)}: {clip(message_of(error))}"
        lines = "".join(format_exception(type(error), error, error.__traceback__)).rstrip("\n").split("\n")
    except BaseException:
        # Code may have replaced what every function of the library calls, as len() or type().
        lines = []
    message = (
        f"The program that runs the code in the sandbox has failed, not the code: {said}. If the code has replaced "
        "parts of the standard library, that may be the reason; else send it again"
    )
    # Readers are shown the traceback alone, which ends with the message.
    told = {
        "type": "HarnessError",
        "message": message,
        "traceback": [*lines[-MAX_LINES:], f"HarnessError: {message}"],
    }
    return {"type": "raised", "error": told, "exitCode": HARNESS_FAILED}


def clip(text: str, max_chars: int = MAX_MESSAGE_CHARS) -> str:
    """At most `max_chars` characters; what is cut is counted."""
    if len(text) <= max_chars:
        return text
    return f"{text[:max_chars]}… ({len(text) - max_chars} more characters)"


def _type_name(error: BaseException) -> str:
    name = type(error).__qualname__
    module = type(error).__module__
    return name if module in ("builtins", "__main__", "mcp") else f"{module}.{name}"


def message_of(error: BaseException) -> str:
    """Its own text, or why there is none."""
    try:
        return str(error)
    except BaseException as failure:
        return f"<str() of the exception raised {type(failure).__name__}>"


def _traceback_lines(error: BaseException) -> list[str]:
    try:
        report = traceback.TracebackException(type(error), error, error.__traceback__)
        for part in _parts(report):
            part.stack = _own_code_only(part.stack)
        text = "".join(report.format())
    except BaseException as failure:
        return [f"{_type_name(error)}: <the traceback cannot be shown: {type(failure).__name__}>"]
    lines = [clip(line) for line in text.rstrip("\n").split("\n")]
    lines[-1] += _suggested_module(error, lines[-1])
    if len(lines) <= MAX_LINES:
        return lines
    dropped = len(lines) - MAX_LINES
    return [*lines[:HEAD_LINES], f"  [… {dropped} lines dropped …]", *lines[HEAD_LINES - MAX_LINES :]]


def _parts(report: traceback.TracebackException) -> Iterator[traceback.TracebackException]:
    """The report, what it chains to, and the members of its groups."""
    seen: set[int] = set()
    waiting = [report]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        members = getattr(part, "exceptions", None) or []
        waiting += [linked for linked in (part.__cause__, part.__context__, *members) if linked is not None]


class _Stack(traceback.StackSummary):
    """The user's frames; `arose` is the line that stands for those of libraries below them."""

    arose = ""

    def format(self, *args: Any, **options: Any) -> list[str]:
        lines = super().format(*args, **options)
        return [*lines, self.arose] if self.arose else lines


def _own_code_only(stack: traceback.StackSummary) -> traceback.StackSummary:
    """The frames of the user's code: without ours, which ran it, and without those of libraries between them."""
    users = _Stack()
    below: list[traceback.FrameSummary] = []
    for frame in stack:
        if is_users(frame.filename):
            users.append(frame)
            below = []
        else:
            below.append(frame)
    # Below a call into our own code there is nothing that a reader could mend.
    if below and not any(frame.filename.startswith(_OWN_FOLDERS) for frame in below):
        users.arose = f"  … in {_place(below[-1])} (library)\n"
    return users


def is_users(file: str) -> bool:
    """Whether a file is the code's own, and no library's."""
    return not (
        file.startswith((*_OWN_FOLDERS, *_LIBRARY_FOLDERS, *_NO_FILES))
        or file.endswith(_COMPILED)
        or any(part in file for part in _LIBRARY_PARTS)
    )


def _place(frame: traceback.FrameSummary) -> str:
    """`json.decoder.raw_decode`: the module and function of a library's frame."""
    # Compiled modules say it themselves.
    if "." in frame.name:
        return frame.name
    file = frame.filename
    for part in _LIBRARY_PARTS:
        file = file.rpartition(part)[2]
    for folder in reversed(_LIBRARY_FOLDERS):
        file = file[len(folder) :] if file.startswith(folder) else file
    module = os.path.splitext(file)[0].replace("/", ".")
    if file.startswith("<frozen "):
        module = file[len("<frozen ") : -1]
    return f"{module.replace('.__init__', '')}.{frame.name}"


def _suggested_module(error: BaseException, said: str) -> str:
    """`. Did you mean: 'json'?` for a misspelt module, as Python itself says it from 3.15 on."""
    name = getattr(error, "name", None)
    if not isinstance(error, ModuleNotFoundError) or not isinstance(name, str):
        return ""
    if "Did you mean" in said or not said.endswith(f"No module named {name!r}"):
        return ""
    try:
        import difflib
        import importlib.util
        import pkgutil

        known = {
            *getattr(sys, "stdlib_module_names", ()),
            *(module.name for module in pkgutil.iter_modules()),
        }
        # Of shorter names every word of three letters is a neighbour.
        candidates = [word for word in known if len(word) >= MIN_NAME_CHARS and not word.startswith("_")]
        close = difflib.get_close_matches(name[:MAX_NAME_CHARS], candidates, 3, MIN_LIKENESS)
        # An image may lack a part of the standard library, such as tkinter.
        there = [word for word in close if word != name and importlib.util.find_spec(word) is not None]
    except BaseException:
        return ""
    return f". Did you mean: {there[0]!r}?" if there else ""
