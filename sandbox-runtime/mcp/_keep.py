"""A function as text that stands by itself: its source, and the imports of this run that it uses.

Compiles the source and looks at the names that it would look up; runs nothing of it. What a later run could not find
is refused here, where whoever wrote the function can still mend it.
"""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import keyword
import sys
from collections.abc import Callable, Collection, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from mcp._errors import some_of
from mcp._proxy import ToolFunction

# Of what a saved function may not be called, since `from user_tools import …` would hide what every run has.
OWN_PREFIX = "mcp_"
FILE = "<saved>"


class Kept(NamedTuple):
    """What is saved of a function. `signature` and `description` are for lists."""

    name: str
    source: str
    signature: str
    description: str


def keep(func: Callable[..., Any], bound: Collection[str]) -> Kept:
    """`bound` are the names that every run has. TypeError or ValueError says what cannot be kept, and what to do."""
    if not isinstance(func, FunctionType) or func.__name__ == "<lambda>":
        raise TypeError("save_tool() takes a function made with def or async def")
    name = func.__name__
    if name.startswith(("__", OWN_PREFIX)) or name in bound or keyword.iskeyword(name):
        raise ValueError(f"{name}() needs another name to be saved: this name has a meaning of its own")
    if func.__closure__:
        raise ValueError(
            f"{name}() uses {some_of(func.__code__.co_freevars)} of the function around it, which a later run does "
            "not have; make it an argument"
        )
    source = _source_of(func)
    imports = sorted(_imports_for(func, source, bound))
    return Kept(name, "\n".join([*imports, source]), _signature_of(func), _description_of(func))


def _source_of(func: FunctionType) -> str:
    try:
        lines, _ = inspect.getsourcelines(func.__code__)
    except (OSError, TypeError):
        raise ValueError(f"the source of {func.__name__}() cannot be found") from None
    source = "".join(lines)
    if source[:1].isspace():
        # Not dedent(), which would change the texts inside.
        source = f"if True:\n{source}"
    node = _only_definition(source)
    if node is None or node.name != func.__name__:
        raise ValueError(
            f"the source of {func.__name__}() is that of something else, such as a decorator's function"
        )
    if node.decorator_list:
        decorator = ast.unparse(node.decorator_list[0])
        raise ValueError(
            f"{func.__name__}() has the decorator @{decorator}, which cannot be saved; "
            f"define it without, and call save_tool({func.__name__})"
        )
    return source


def _only_definition(source: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    try:
        first = ast.parse(source).body[0]
    except (SyntaxError, IndexError):
        return None
    node = first.body[0] if isinstance(first, ast.If) else first
    return node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None


def _imports_for(func: FunctionType, source: str, bound: Collection[str]) -> Iterator[str]:
    """An import statement for each module, class or function of a module that the source takes from this run."""
    code = compile(source, FILE, "exec", annotations.compiler_flag, dont_inherit=True)
    missing: list[str] = []
    for name in dict.fromkeys(_looked_up(code)):
        # A class body looks for `__name__`, which every module has.
        if name in (func.__name__, "__name__") or name in bound or name not in func.__globals__:
            continue
        statement = _import_of(name, func.__globals__[name], source)
        if statement:
            yield statement
        elif statement is None:
            missing.append(name)
    if missing:
        raise ValueError(
            f"{func.__name__}() uses {some_of(missing)} of this run, which a later run does not have; define it inside "
            "the function, make it an argument, or save it too and import it inside: from user_tools import …"
        )


def _looked_up(code: CodeType) -> Iterator[str]:
    """Names that the code, or code inside it, looks for outside of functions."""
    own = {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_NAME"}
    for step in dis.get_instructions(code):
        if (
            step.opname in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")
            and step.argval not in own
        ):
            yield step.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _looked_up(constant)


def _import_of(name: str, value: Any, source: str) -> str | None:
    """The statement that gives `name` this value again; empty where none is needed, None where there is none."""
    if vars(builtins).get(name) is value:
        return ""
    if isinstance(value, ModuleType):
        return _import_of_module(name, value, source)
    if isinstance(value, ToolFunction):
        return _from(*value.home, name)
    module = getattr(value, "__module__", None)
    called = getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(called, str) or module in ("__main__", "builtins"):
        return None
    return _from(module, called, name) if getattr(sys.modules.get(module), called, None) is value else None


def _import_of_module(name: str, module: ModuleType, source: str) -> str:
    if module.__name__ != name:
        return f"import {module.__name__} as {name}"
    # `import concurrent.futures` binds `concurrent` alone.
    parts = [other for other in list(sys.modules) if other.startswith(f"{name}.") and other in source]
    return f"import {', '.join([name, *sorted(parts)])}"


def _from(module: str, called: str, name: str) -> str:
    return f"from {module} import {called}" + ("" if called == name else f" as {name}")


def _signature_of(func: FunctionType) -> str:
    lead = "async " if inspect.iscoroutinefunction(func) else ""
    return f"{lead}{func.__name__}{inspect.signature(func)}"


def _description_of(func: FunctionType) -> str:
    return (inspect.getdoc(func) or "").partition("\n")[0]
