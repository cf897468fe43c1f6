"""Python tools through ``ast``: literal dunders, docstring, symbols. The code is parsed, never compiled or run."""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from rye.errors import ItemError
from rye.items._draft import Draft
from rye.items._text import clean, cut_blank_head, first_paragraph
from rye.items._values import jsonable
from rye.items.model import Symbol

_NO_METADATA = frozenset({"__all__", "__annotations__", "__dict__", "__doc__", "__name__", "__path__", "__slots__"})
_MAX_PARSED = 1 << 18  # a syntax tree takes up to a thousand bytes for each character
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def read_python(text: str) -> Draft:
    """Read a ``.py`` tool; one that does not parse, or is larger than 256 KiB, is read by its text alone."""
    tree = _parse(text) if len(text) <= _MAX_PARSED else None
    if tree is None:
        from rye.items._script import read_broken_python

        return read_broken_python(text)
    body, line = cut_blank_head(text)
    metadata = {}
    for name, value in _dunders(tree.body):
        metadata[name.strip("_")] = value
    paragraph = first_paragraph(ast.get_docstring(tree, clean=True) or "")
    if not paragraph:
        from rye.items._script import header

        paragraph = header(text, "#").prose
    return Draft(metadata=metadata, body=body, body_line=line, symbols=tuple(_symbols(tree.body)), paragraph=paragraph)


_ONE_AT_A_TIME = threading.Lock()
"""Filters of warnings are of the whole process, and CPython 3.11 counts the depth of all threads' trees together."""


def _parse(text: str) -> ast.Module | None:
    """Return the syntax tree, or None for whatever keeps the parser from making one."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tool's own string escapes are not ours to warn about
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _dunders(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, Any]]:
    for statement in statements:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target = statement.target
        else:
            continue
        if not isinstance(target, ast.Name) or not _is_metadata(target.id):
            continue
        if isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str):
            yield target.id, clean(statement.value.value)  # as jsonable does it
            continue
        try:
            value = ast.literal_eval(statement.value) if statement.value is not None else None
            yield target.id, jsonable(value)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, ItemError):
            continue  # not a literal, so nothing that can be known without running it


def _is_metadata(name: str) -> bool:
    return len(name) > 4 and name.startswith("__") and name.endswith("__") and name not in _NO_METADATA


def _symbols(statements: list[ast.stmt]) -> Iterator[Symbol]:
    """Yield functions, classes and methods in file order, methods as ``Class.method``; none from inside functions."""
    stack: list[tuple[ast.stmt, str]] = [(statement, "") for statement in reversed(statements)]
    while stack:
        node, owner = stack.pop()
        if isinstance(node, _FUNCTIONS):
            yield _symbol(node, owner, "method" if owner else "function")
        elif isinstance(node, ast.ClassDef):
            yield _symbol(node, owner, "class")
            stack += [(child, f"{owner}{node.name}.") for child in reversed(node.body)]
        elif isinstance(node, ast.If | ast.Try | ast.With):
            stack += [(child, owner) for child in reversed(_nested(node))]


def _symbol(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, owner: str, kind: str) -> Symbol:
    return Symbol(owner + node.name, kind, node.lineno, node.end_lineno or node.lineno)


def _nested(node: ast.If | ast.Try | ast.With) -> list[ast.stmt]:
    """Return the statements below a conditional definition, in file order."""
    if isinstance(node, ast.Try):
        handlers = [statement for handler in node.handlers for statement in handler.body]
        return [*node.body, *handlers, *node.orelse, *node.finalbody]
    return [*node.body, *node.orelse] if isinstance(node, ast.If) else list(node.body)
