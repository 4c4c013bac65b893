"""Which tools a program names in so many words, found on its syntax tree: mcp_github.create_issue and its like.

Runs nothing and knows no server: the host compares. A name counts only where the program can have meant nothing else;
what it binds itself, what it may catch and what it makes depend on a look at the servers is left to the run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Set

from harness.frames import MAX_NAME_CHARS, MAX_NAMED_TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Programs that look for themselves what there is, that reach names by text, or that have another way to catch.
_DYNAMIC = (
    r"\b(?:hasattr|getattr|setattr|delattr|dir|vars|globals|locals|exec|eval|builtins|importlib|__import__|modules"
    r"|LOADED_MCP_SERVERS|MCP_AVAILABLE_SERVERS|MCP_DISCOVERED_SERVERS|load_server|discovered_servers|describe_server"
    r"|list_servers\w*|list_tools\w*|list_loaded_server_metadata|query_tool_docs\w*|search_tool_docs\w*"
    r"|suppress|raises|assertRaises\w*|contextmanager|asynccontextmanager|\w*ExitStack|__a?exit__)\b"
)
# With one of these, what a function raises need not end the program, or its call is left to another run.
_DETACHED = r"\b(?:except|return_exceptions|exception|create_task|ensure_future|submit|Thread|save_tool)\b"
_TRIES = {ast.Try, getattr(ast, "TryStar", ast.Try)}
_LEAVES = {ast.Constant, ast.Load, ast.Store, ast.Del}
_PLACES = {ast.Name, ast.Attribute, ast.Subscript}
_FUNCTIONS = {ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.GeneratorExp}

_CALL_TOOL = {("mcp", "runtime", "call_tool"), ("mcp", "runtime", "call_tool_raw")}
# mcp.servers.<server>.<tool> and a call's name have no more; cutting longer ones short keeps the walk linear.
_MAX_STEPS = 5


class NamedTool:
    """`server` and `tool` are names or aliases; without a tool only the server is named. `line` is that of main.py."""

    def __init__(self, server: str, tool: str | None, line: int) -> None:
        self.server = server
        self.tool = tool
        self.line = line


class _Item(str):
    """A step of a path that was written as a subscript, ["x"]; the others are attributes."""

    __slots__ = ()


_Path = tuple[str, ...]


def named_tools(source: str, tree: ast.Module) -> list[NamedTool]:
    """In the order of their lines, each pair once, at most MAX_NAMED_TOOLS."""
    if re.search(_DYNAMIC, source):
        return []
    names = _Names(tree, _TRIES | _FUNCTIONS if re.search(_DETACHED, source) else _TRIES)
    if names.binds_anything or any(_looks_at_all_servers(path) for path, _, _ in names.read):
        return []
    first: dict[tuple[str, str | None], NamedTool] = {}
    for found in sorted(names.tools(), key=lambda named: named.line):
        if len(found.server) <= MAX_NAME_CHARS and len(found.tool or "") <= MAX_NAME_CHARS:
            first.setdefault((found.server, found.tool), found)
    return list(first.values())[:MAX_NAMED_TOOLS]


class _Names:
    """What one walk over a program finds; parts of `unsafe` kinds may raise without anybody noticing."""

    def __init__(self, tree: ast.Module, unsafe: Set[type[ast.AST]]) -> None:
        self.binds_anything = False
        # Paths that are read, their lines, and whether an exception there would end the program.
        self.read: list[tuple[_Path, int, bool]] = []
        self._calls: list[tuple[_Path, str, str, int]] = []
        self._imports: list[NamedTool] = []
        self._bound: set[str] = set()
        # Names that stand for something of ours; `as` may call it otherwise.
        self._ours: dict[str, _Path] = {"mcp": ("mcp",), "runtime": ("mcp", "runtime")}
        self._unsafe = unsafe
        self._walk(tree)

    def tools(self) -> Iterator[NamedTool]:
        """All of them, in no order."""
        yield from self._imports
        for path, server, tool, line in self._calls:
            if self._meant(path) in _CALL_TOOL:
                yield NamedTool(server, tool, line)
        read = [(meant, line, counts) for path, line, counts in self.read if (meant := self._meant(path))]
        servers = [(_server_in(meant), line, counts) for meant, line, counts in read]
        # A server that is passed on, or asked for its own attributes, may be looked at by whoever gets it.
        looked_at = {
            found[0] for found, _, _ in servers if found and not (found[1] and _is_tool(found[1][0]))
        }
        for found, line, counts in servers:
            if found and counts and found[0] not in looked_at:
                server, (tool, *_) = found
                yield NamedTool(server, str(tool), line)

    def _meant(self, path: _Path) -> _Path | None:
        """The path by our own names; None where the program has given its first name another meaning."""
        if path[0] in self._bound:
            return None
        return (*self._ours.get(path[0], path[:1]), *path[1:])

    def _walk(self, tree: ast.AST) -> None:
        # Not by recursion: a sum of ten thousand terms is as many levels deep.
        waiting: list[tuple[ast.AST, bool]] = [(tree, True)]
        while waiting:
            node, counts = waiting.pop()
            if node.__class__ in _LEAVES:
                continue
            if node.__class__ in _PLACES:
                path = _path_of(node)
                if path is not None:
                    self._on_path(node, path, counts)
                    continue
            elif isinstance(node, ast.Call):
                if counts:
                    self._on_call(node)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                self._on_import(node, counts)
                continue
            elif node.__class__ in self._unsafe:
                # A try without handlers catches nothing.
                counts = counts and getattr(node, "handlers", None) == []
            for field in node._fields:
                value: Any = getattr(node, field, None)
                if value.__class__ is list:
                    for item in value:
                        if item.__class__ is str:
                            # Of `global` and `nonlocal`.
                            self._bound.add(item)
                        elif item is not None:
                            waiting.append((item, counts))
                elif value.__class__ is str:
                    # Of def, class, except, as, an argument or a pattern.
                    self._bound.add(value)
                elif isinstance(value, ast.AST):
                    waiting.append((value, counts))

    def _on_path(self, node: Any, path: _Path, counts: bool) -> None:
        if isinstance(node.ctx, ast.Load):
            self.read.append((path, node.lineno, counts))
        else:
            self._bound.update(path)

    def _on_call(self, node: ast.Call) -> None:
        if len(node.args) + len(node.keywords) < 2:
            return
        given: dict[str | None, ast.expr] = dict(zip(("server", "tool"), node.args))
        given.update({keyword.arg: keyword.value for keyword in node.keywords})
        server, tool = (getattr(given.get(name), "value", None) for name in ("server", "tool"))
        path = _path_of(node.func)
        if path is not None and isinstance(server, str) and isinstance(tool, str):
            self._calls.append((path, server, tool, node.lineno))

    def _on_import(self, node: ast.Import | ast.ImportFrom, counts: bool) -> None:
        base: _Path = ()
        if isinstance(node, ast.ImportFrom):
            base = (*["."] * node.level, *(node.module or "").split("."))
        for alias in node.names:
            if alias.name == "*":
                self.binds_anything = True
                continue
            path = (*base, *alias.name.split("."))
            whole = bool(base) or alias.asname is not None
            name, bound = alias.asname or path[-1 if base else 0], path if whole else path[:1]
            if path[0] != "mcp" or self._ours.setdefault(name, bound) != bound:
                self._bound.add(name)
            if counts and path[:2] == ("mcp", "servers") and len(path) > 2:
                tool = path[3] if len(path) > 3 and _is_tool(path[3]) else None
                self._imports.append(NamedTool(path[2], tool, node.lineno))


def _path_of(node: ast.AST) -> _Path | None:
    """("mcp_github", "create_issue") for mcp_github.create_issue as for mcp_github["create_issue"]."""
    steps: list[str] = []
    for _ in range(_MAX_STEPS):
        if isinstance(node, ast.Name):
            return (node.id, *reversed(steps))
        if isinstance(node, ast.Attribute):
            steps.append(node.attr)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            if not isinstance(node.slice.value, str):
                return None
            steps.append(_Item(node.slice.value))
        else:
            return None
        node = node.value
    return None


def _is_tool(step: str) -> bool:
    """Python's own attributes are no tools; a subscript always is one."""
    return isinstance(step, _Item) or not (step.startswith("__") and step.endswith("__"))


def _looks_at_all_servers(path: _Path) -> bool:
    return path[0] == "mcp_servers" and not (len(path) > 1 and isinstance(path[1], _Item))


def _server_in(path: _Path) -> tuple[str, _Path] | None:
    """The server that a path leads to, and the steps from there."""
    if path[0] == "mcp_servers":
        return path[1], path[2:]
    if path[0].startswith("mcp_"):
        return path[0][len("mcp_") :], path[1:]
    if path[:2] == ("mcp", "servers") and len(path) > 2:
        return path[2], path[3:]
    return None
