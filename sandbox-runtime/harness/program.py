"""The guest's code, from text to something that can be run: unwrapped, parsed, compiled. Runs nothing.

The code is compiled in parts: all but the last expression, then that expression, whose value is the result, as in a
REPL. Top-level `await` is compiled natively; a top-level `return` by way of harness.top_level_return.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import warnings
from types import CodeType
from typing import NamedTuple

from harness.top_level_return import has_top_level_return, unwrap_code, wrap_in_function

MAIN_FILE = "main.py"

# What compile() raises for code that is not Python: ValueError for NUL characters and lone surrogates, the last two
# for nesting that the parser cannot hold.
NOT_COMPILABLE = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError)

_FENCED = re.compile(
    r"\s*(?P<fence>`{3,}|~{3,})[ \t]*(?:python3?|py)?[ \t]*\n(?P<code>.*?)\n?[ \t]*(?P=fence)\s*",
    re.DOTALL | re.IGNORECASE,
)


class Program(NamedTuple):
    """`parts` run in order, the last one's value is the result; any of them may be a coroutine.

    `warnings` are the compiler's, each with the name of its builtin category, its text and its line.
    """

    source: str
    parts: tuple[CodeType, ...]
    warnings: tuple[tuple[str, str, int], ...]

    @property
    def is_async(self) -> bool:
        """Whether the code awaits at its top level."""
        return any(part.co_flags & inspect.CO_COROUTINE for part in self.parts)


def compile_program(text: str) -> Program:
    """Raises one of NOT_COMPILABLE, with line and caret where there are any."""
    source = unwrap(text)
    remember_source(source)
    with warnings.catch_warnings(record=True) as caught:
        tree = ast.parse(source, MAIN_FILE)
        parts = [wrap_in_function(tree)] if has_top_level_return(tree) else _split_last_expression(tree)
        codes = tuple(_compile(part) for part in parts)
    return Program(source, codes, tuple((w.category.__name__, str(w.message), w.lineno) for w in caught))


def remember_source(source: str) -> None:
    """Lets this process's tracebacks, and inspect.getsource, quote the program, which is no file."""
    linecache.cache[MAIN_FILE] = (len(source), None, [f"{line}\n" for line in source.split("\n")], MAIN_FILE)


def unwrap(text: str) -> str:
    """The code without a byte order mark, with plain newlines, and out of the Markdown fence around all of it."""
    source = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    fenced = _FENCED.fullmatch(source)
    return source if fenced is None else fenced["code"]


def _split_last_expression(tree: ast.Module) -> list[ast.Module | ast.Expression]:
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        return [tree]
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    return [tree, ast.Expression(last.value)]


def _compile(tree: ast.Module | ast.Expression) -> CodeType:
    mode = "eval" if isinstance(tree, ast.Expression) else "exec"
    # dont_inherit: our own `from __future__` imports are not the guest's.
    return unwrap_code(compile(tree, MAIN_FILE, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True))
