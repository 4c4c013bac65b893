"""The guest's code, from text to something that can be run: unwrapped, parsed, compiled. Runs nothing.

The code is compiled in parts: all but the last expression, then that expression, whose value is the result, as in a
REPL. Top-level `await` is compiled natively; a top-level `return` by way of harness.top_level_return.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import re
import warnings
from collections.abc import Sequence
from types import CodeType

from harness.named_tools import NamedTool, named_tools
from harness.top_level_return import has_top_level_return, unwrap_code, wrap_in_function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Of code that is no file.
MAIN_FILE = "main.py"

# Of a later call in a session: its tracebacks quote its own lines, and not those of the call before.
_LATER_CALL = re.compile(r"main-\d+\.py")

# As in inspect, which takes longer to load than all of this.
CO_COROUTINE = 0x80

# What compile() raises for code that is not Python: ValueError for NUL characters and lone surrogates, the last two
# for nesting that the parser cannot hold.
NOT_COMPILABLE = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError)

# A fence's first line: a language, {python} or title="main.py" may follow. What looks like code is none of these.
_OPENING = re.compile(r"(?P<fence>`{3,}|~{3,})[ \t]*\{?[\w.+-]*\}?(?:[ \t]+\w+=\S*)*[ \t]*")

_START = re.compile(r"(?:[ \t]*\n)*([ \t]*)")

# Of a line that is quoted in a complaint: what a person reads around the caret.
MAX_QUOTED_CHARS = 160


class Program:
    """`parts` run in order, the last one's value is the result; any of them may be a coroutine.

    `file` is its name in tracebacks. `warnings` are the compiler's, each with its builtin category's name, its text and
    its line.
    """

    def __init__(
        self,
        file: str,
        source: str,
        parts: tuple[CodeType, ...],
        warnings: tuple[tuple[str, str, int], ...],
    ) -> None:
        self.file = file
        self.source = source
        self.parts = parts
        self.warnings = warnings

    def parted(self) -> tuple[Any, ...]:
        """What it is made of, for marshal, which carries no class: `Program(*parted)` is the same again."""
        return self.file, self.source, self.parts, self.warnings

    @property
    def is_async(self) -> bool:
        """Whether the code awaits at its top level."""
        return any(part.co_flags & CO_COROUTINE for part in self.parts)


def is_main(file: str) -> bool:
    """Whether it is the name of a program that is no file."""
    return file == MAIN_FILE or _LATER_CALL.fullmatch(file) is not None


def name_of_call(number: int) -> str:
    """How the program of a session's call is named; calls count from 1."""
    return MAIN_FILE if number == 1 else f"main-{number}.py"


def compile_program(
    text: str, file: str | None = None, name: str = MAIN_FILE
) -> tuple[Program, Sequence[NamedTool]]:
    """The program, and the tools that it names; or one of NOT_COMPILABLE, with line and caret where there are any.

    A program in a `file` has no value: it is compiled in one part, so that an awaitable in its last line is left alone.
    One that is no file is called `name`.
    """
    is_cell = file is None
    file = file or name
    source = unwrap(text)
    remember_source(source, file)
    with warnings.catch_warnings(record=True) as caught:
        tree = ast.parse(source, file)
        # Before the tree is taken apart.
        named = named_tools(source, tree) if "mcp" in source else ()
        if has_top_level_return(tree):
            parts: list[ast.Module | ast.Expression] = [wrap_in_function(tree)]
        else:
            parts = _split_last_expression(tree) if is_cell else [tree]
        codes = tuple(_compile(part, file) for part in parts)
    told = tuple((w.category.__name__, str(w.message), w.lineno) for w in caught)
    return Program(file, source, codes, told), named


def shorten_line(error: BaseException) -> None:
    """Leaves of a long line that a syntax error quotes what stands around its caret; the rest would hide that."""
    if (
        not isinstance(error, SyntaxError)
        or error.offset is None
        or len(error.text or "") <= MAX_QUOTED_CHARS
    ):
        return
    start = max(0, error.offset - MAX_QUOTED_CHARS // 2)
    error.text = (error.text or "")[start : start + MAX_QUOTED_CHARS]
    error.offset -= start
    # Its end may stand in another line, or not be known; without one a single caret is drawn.
    if hasattr(error, "end_offset"):
        error.end_offset = None


def remember_source(source: str, file: str) -> None:
    """Lets this process's tracebacks, and inspect.getsource, quote the program, which is no file."""
    linecache.cache[file] = (len(source), None, [f"{line}\n" for line in source.split("\n")], file)


def show_warnings(program: Program) -> None:
    """The compiler's, in this process, as it would have shown them itself."""
    for category, text, line in program.warnings:
        warnings.showwarning(text, getattr(builtins, category), program.file, line)


def unwrap(text: str) -> str:
    """The code without a byte order mark, with plain newlines, out of its Markdown fence and at the left margin."""
    return _at_the_margin(_out_of_fence(text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")))


def _at_the_margin(source: str) -> str:
    # Not textwrap.dedent, which changes blank lines, also those in strings. A program that starts with an indented
    # statement is none, so nothing that is one becomes another.
    start = _START.match(source)
    margin = start[1] if start else ""
    lines = source.split("\n") if margin else []
    if not lines or any(line.strip() and not line.startswith(margin) for line in lines):
        return source
    return "\n".join(line[len(margin) :] for line in lines)


def _out_of_fence(source: str) -> str:
    """What stands in the fence around all of the text; the text itself where there is none."""
    first, _, rest = source.strip().partition("\n")
    opening = _OPENING.fullmatch(first)
    if opening is None:
        return source
    fence = opening["fence"]
    code, _, last = rest.rpartition("\n")
    if last.strip().startswith(fence) and not last.strip(fence[0] + " \t"):
        return code
    # Its end is often forgotten. Backticks begin no line of Python; tildes are operators.
    return rest if rest and fence[0] == "`" else source


def _split_last_expression(tree: ast.Module) -> list[ast.Module | ast.Expression]:
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        return [tree]
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    return [tree, ast.Expression(last.value)]


def _compile(tree: ast.Module | ast.Expression, file: str) -> CodeType:
    mode = "eval" if isinstance(tree, ast.Expression) else "exec"
    # dont_inherit: our own `from __future__` imports are not the guest's.
    return unwrap_code(compile(tree, file, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True))
