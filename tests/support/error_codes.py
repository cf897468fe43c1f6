"""Every error code in a source tree, read out of the code, so that a test can compare it with the documentation.

A code is the first argument of an error family. It may stand there as text, be put together (an f-string), come from
a local variable, or be handed on by a function that raises for others, whose callers then state it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Codes", "read_codes"]


@dataclass(slots=True)
class Codes:
    """What was found.

    Attributes:
        literal: Codes as text.
        composed: Regular expressions of codes that are put together when raised.
        unknown: Files in which a code cannot be found by reading.
    """

    literal: set[str] = field(default_factory=set)
    composed: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)


def read_codes(paths: Iterable[Path], families: Collection[str]) -> Codes:
    """Return the codes in these files that errors of these classes are raised with."""
    found = Codes()
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        helpers = {
            function.name: at
            for function in functions
            for call in _calls(function)
            if _name(call) in families and (at := _parameter(function, call.args[0])) is not None
        }
        places = dict.fromkeys(families, 0) | helpers
        inside = {id(call): function for function in functions for call in _calls(function)}
        for call in _calls(tree):
            at = places.get(_name(call))
            if at is not None and at < len(call.args):
                function = inside.get(id(call))
                if _name(call) in families and function and _parameter(function, call.args[0]) is not None:
                    continue
                _take(call.args[at], function, found, path.name)
    return found


def _calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]


def _name(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _parameter(function: ast.FunctionDef, node: ast.expr) -> int | None:
    names = [argument.arg for argument in function.args.args if argument.arg not in {"self", "cls"}]
    return names.index(node.id) if isinstance(node, ast.Name) and node.id in names else None


def _take(node: ast.expr, function: ast.FunctionDef | None, found: Codes, file: str) -> None:
    if isinstance(node, ast.Constant):
        found.literal.add(str(node.value))
    elif isinstance(node, ast.JoinedStr):
        parts = [str(part.value) if isinstance(part, ast.Constant) else "[a-z_-]+" for part in node.values]
        found.composed.add("".join(parts))
    elif isinstance(node, ast.IfExp):
        _take(node.body, function, found, file)
        _take(node.orelse, function, found, file)
    elif isinstance(node, ast.Name) and function and (values := _assigned(function, node.id)):
        for value in values:
            _take(value, None, found, file)
    else:
        found.unknown.add(file)


def _assigned(function: ast.FunctionDef, name: str) -> list[ast.expr]:
    """Return what a local variable is set to, also as part of a tuple."""
    values: list[ast.expr] = []
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign):
            continue
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id == name:
            values.append(node.value)
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = zip(target.elts, node.value.elts, strict=True)
            values += [value for one, value in pairs if isinstance(one, ast.Name) and one.id == name]
    return values
