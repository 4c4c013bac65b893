"""Makes a top-level `return` work: the program becomes the body of a function whose names are all global.

Return inside try, with and loops keeps its exact meaning, which raising an exception in its place would not. Only
programs that need it are treated so; `from x import *` cannot stand in a function, and Python says so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from types import CodeType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Union

    _Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]

_NAME = "<program>"


def has_top_level_return(tree: ast.Module) -> bool:
    """Whether a `return` stands outside every function and class."""
    return _TopLevel(tree).returns


def wrap_in_function(tree: ast.Module) -> ast.Module:
    """The same program as one function definition; its last expression is returned."""
    top = _TopLevel(tree)
    body = [_without_annotation(statement) for statement in tree.body]
    # These two count only at the very top of a module.
    preamble = [s for s in body if isinstance(s, ast.ImportFrom) and s.module == "__future__"]
    body = [statement for statement in body if statement not in preamble]
    if body and isinstance(body[-1], ast.Expr):
        body[-1] = ast.copy_location(ast.Return(body[-1].value), body[-1])
    if top.bound:
        body.insert(0, ast.Global(sorted(top.bound)))
    source = f"{'async ' if top.awaits else ''}def f(): pass"
    function = ast.parse(source).body[0]
    assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
    function.name = _NAME
    function.body = body
    return ast.fix_missing_locations(ast.Module([*preamble, function], []))


def unwrap_code(code: CodeType) -> CodeType:
    """The function's own code, called `<module>` in tracebacks; any other code as it is."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and constant.co_name == _NAME:
            names: dict[str, Any] = {"co_name": "<module>"}
            if hasattr(constant, "co_qualname"):
                names["co_qualname"] = "<module>"
            return constant.replace(**names)
    return code


def _without_annotation(statement: ast.stmt) -> ast.stmt:
    """`x: int = 1` as `x = 1`, since an annotated name cannot be declared global."""
    return _Plain().visit(statement)


class _Plain(ast.NodeTransformer):
    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if not isinstance(node.target, ast.Name):
            return node
        plain = ast.Pass() if node.value is None else ast.Assign([node.target], node.value)
        return ast.copy_location(plain, node)

    def _leave_alone(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _leave_alone


class _TopLevel(ast.NodeVisitor):
    """What the module's own scope does: the names that it binds, whether it returns, whether it awaits."""

    def __init__(self, tree: ast.Module) -> None:
        self.bound: set[str] = set()
        self.returns = False
        self.awaits = False
        self._in_comprehension = False
        self.visit(tree)

    def visit_Return(self, node: ast.Return) -> None:
        self.returns = True
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if not self._in_comprehension and not isinstance(node.ctx, ast.Load):
            self.bound.add(node.id)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        # Binds in the enclosing scope even from inside a comprehension.
        self.bound.add(node.target.id)
        self.visit(node.value)

    def visit_Import(self, node: ast.Import) -> None:
        self.bound.update((name.asname or name.name).split(".")[0] for name in node.names if name.name != "*")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module != "__future__":
            self.bound.update(name.asname or name.name for name in node.names if name.name != "*")

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name is not None:
            self.bound.add(node.name)
        self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> None:
        is_async_for = isinstance(node, ast.comprehension) and node.is_async
        if is_async_for or isinstance(node, (ast.Await, ast.AsyncFor, ast.AsyncWith)):
            self.awaits = True
        elif type(node).__name__ in ("MatchAs", "MatchStar", "MatchMapping"):
            # Named by text, since Python 3.9 has no match statement.
            captured = getattr(node, "name", None) or getattr(node, "rest", None)
            self.bound.update([captured] if captured else [])
        super().generic_visit(node)

    def _visit_comprehension(self, node: ast.AST) -> None:
        outer, self._in_comprehension = self._in_comprehension, True
        self.generic_visit(node)
        self._in_comprehension = outer

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def _visit_definition(self, node: _Function) -> None:
        self.bound.add(node.name)
        self._visit_all([*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)])

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_definition

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.bound.add(node.name)
        self._visit_all([*node.decorator_list, *node.bases, *node.keywords])

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_all([*node.args.defaults, *filter(None, node.args.kw_defaults)])

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)
