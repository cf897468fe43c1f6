"""Reads tools that are code: Python by its syntax tree, other scripts by their text. Nothing is compiled or run.

Header comments, simple constants, functions and classes are read; no text is an error.
"""

from __future__ import annotations

import ast
import re
import sys
import threading
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from textwrap import dedent
from typing import Any

from rye.errors import ItemError
from rye.items.documented import comments_above, first_line, python_definition, signature_line
from rye.items.model import LONGEST_NAME, STATED_KEYS, Draft, Import, Symbol
from rye.items.values import clean, cut_blank_head, first_paragraph, jsonable

_SHEBANG = re.compile(r"(?:#![^\n]*\n)?+(?:[ \t]*\n|[ \t]*['\"]use strict['\"];?[ \t]*\n)*+")
_BLOCK_LINE = re.compile(r"^[ \t]*\**[ \t]?")
_TAG = re.compile(r"@([A-Za-z_][\w.-]*)(?:[ \t]*[:=])?(?:[ \t]+(.*))?")
_PAIR = re.compile(r"([a-z_][\w-]{0,39}):[ \t]+(\S.*)")

_CONSTANT = re.compile(
    r"^(?:(?:export|const|let|var|readonly)[ \t]+)*+__([a-z]\w*?)__[ \t]*(?::[^=\n]{1,100})?=[\s(]*+"
    r"(?:\"((?:[^\"\\\n]|\\.)*+)\"|'((?:[^'\\\n]|\\.)*+)'|`((?:[^`\\]|\\.)*+)`"
    r"|(\[[^\[\]]{0,2000}\])|(-?\d[\w.]*|true|false|True|False))",
    re.MULTILINE,
)
_QUOTED = re.compile(r"\"((?:[^\"\\\n]|\\.)*+)\"|'((?:[^'\\\n]|\\.)*+)'")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": " "}
_WORDS = {"true": True, "True": True, "false": False, "False": False}

_LONGEST_SIGNATURE = 1_000
_FEW_LINES = 20
"""Lines in which the signature of a Python definition is looked for where there is no syntax tree."""

_SH_SYMBOL = re.compile(r"^(?:function[ \t]+([\w:.-]+)|([\w:.-]+)[ \t]*\(\))", re.MULTILINE)
_PY_DOCSTRING = re.compile(r"(?:[ \t]*+(?:#[^\n]*+)?+\n)*+[rRuU]?(\"\"\"|''\')(.*?)\1", re.DOTALL)
_PY_SYMBOL = re.compile(r"([ \t]*)(?:async[ \t]+)?(def|class)[ \t]+(\w+)")


def header(text: str, mark: str) -> tuple[dict[str, Any], str]:
    """Return the ``key: value`` lines and the prose of a script's first comment: ``#``, or ``//`` and ``/* */``."""
    metadata: dict[str, Any] = {}
    prose: list[str] = []
    for raw in _comment(text, mark):
        line = raw.strip()
        found = _TAG.fullmatch(line) or _PAIR.fullmatch(line)
        if found:
            metadata.setdefault(found[1].lower().strip("_"), clean(found[2] or "").strip())
        else:
            prose.append(line)
    return metadata, "\n".join(prose).strip("\n").split("\n\n", 1)[0]


def _comment(text: str, mark: str) -> Iterator[str]:
    """Yield the lines of the comment before any code, without their marks."""
    start = _SHEBANG.match(text)
    offset = start.end() if start else 0
    if mark == "//" and text.startswith("/*", offset):
        end = text.find("*/", offset)
        for line in text[offset + 2 : end if end >= 0 else offset + 2].split("\n"):
            yield _BLOCK_LINE.sub("", line, count=1)
        return
    while text.startswith(mark, offset):
        end = text.find("\n", offset)
        end = len(text) if end < 0 else end
        yield text[offset + len(mark) : end].lstrip(mark[0])
        offset = end + 1


def _ryeos_header(text: str) -> dict[str, Any]:
    """Return what the comment ``# ryeos-tool:`` that begins a Python tool states in YAML; empty where it is not valid.

    As for RyeOS the whole comment is indented below its first line.
    """
    first, *lines = (line.removeprefix(" ") for line in chain(_comment(text, "#"), [""]))
    if first.rstrip() != "ryeos-tool:" or any(line.strip() and line[0] != " " for line in lines):
        return {}
    from rye.items import yaml

    try:
        stated = yaml.load(dedent("\n".join(lines)), as_text=STATED_KEYS, unambiguous=True)
    except ItemError:
        return {}
    return stated if isinstance(stated, dict) else {}


def read_javascript(text: str) -> Draft:
    """Read a tool of JavaScript or TypeScript."""
    from rye.items.javascript import definitions
    from rye.items.javascript_text import blanked, imported, without_comments

    code = blanked(text)
    symbols, taken = list[Symbol](), list[Import]()
    line, counted = 1, 0  # lines are counted on from the import or definition before
    for path, start in imported(text, code):
        line, counted = line + text.count("\n", counted, start), start
        taken.append(Import(path, line))
    line, counted = 1, 0
    for name, kind, start, signature_end, end in definitions(code):
        line, counted = line + text.count("\n", counted, start), start
        signature = without_comments(text[start : min(signature_end, start + _LONGEST_SIGNATURE)])
        symbols.append(Symbol(name, kind, line, line + text.count("\n", start, end), signature_line(signature)))
    return _draft(text, "//", _with_comments(text, symbols), tuple(taken))


def read_shell(text: str) -> Draft:
    """Read a ``.sh`` tool."""
    found = [(match[1] or match[2], "function", match.start()) for match in _SH_SYMBOL.finditer(text)]
    return _draft(text, "#", _with_comments(text, list(_braced(text, found))))


def _with_comments(text: str, symbols: Sequence[Symbol]) -> tuple[Symbol, ...]:
    """Return definitions with the first line of what the comment above each says."""
    comments = comments_above(text.split("\n"), symbols) if symbols else ()
    return tuple(
        Symbol(one.name, one.kind, one.line, one.end_line, one.signature, first_line(said)) if said else one
        for one, (_, said) in zip(symbols, comments, strict=True)
    )


def read_broken_python(text: str) -> Draft:
    """Read a ``.py`` tool by its text alone; it may be written for another version of Python."""
    draft = _draft(text, "#", tuple(_indented(text)))
    if stated := _ryeos_header(text):
        draft = replace(draft, metadata=stated, paragraph="")
    docstring = _PY_DOCSTRING.match(text)
    return replace(draft, paragraph=first_paragraph(docstring[2])) if docstring else draft


def _draft(text: str, mark: str, symbols: tuple[Symbol, ...], imports: tuple[Import, ...] = ()) -> Draft:
    metadata, prose = header(text, mark)
    if "__" in text:  # most scripts have no constants of this kind, and need not be searched for them
        metadata |= {match[1]: _value(match) for match in _CONSTANT.finditer(text)}
    body, line = cut_blank_head(text)
    return Draft(metadata=metadata, body=body, body_line=line, symbols=symbols, imports=imports, paragraph=prose)


def _value(match: re.Match[str]) -> Any:
    _, double, single, template, listed, word = match.groups()
    if listed is not None:
        return [_unescape(item[1] if item[1] is not None else item[2]) for item in _QUOTED.finditer(listed)]
    if word is not None:
        return _WORDS.get(word, word)
    return _unescape(next(value for value in (double, single, template) if value is not None))


def _unescape(text: str) -> str:
    return clean(_ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), text))


def _braced(text: str, found: list[tuple[str, str, int]]) -> Iterator[Symbol]:
    """Give each definition its end: the next ``}`` in the first column before another definition begins."""
    if not found:
        return
    breaks = [match.start() for match in re.finditer("\n", text)]
    closings = [match.start() for match in re.finditer("^}", text, re.MULTILINE)]
    starts = [start for _, _, start in found] + [len(text) + 1]
    for index, (name, kind, start) in enumerate(found):
        line = bisect_right(breaks, start) + 1
        end_of_line = breaks[line - 1] if line <= len(breaks) else len(text)
        first = text[start:end_of_line].rstrip()
        end = line
        if first.count("{") > first.count("}") or not first.endswith((";", "}")):
            following = bisect_right(closings, start)
            if following < len(closings) and closings[following] < starts[index + 1]:
                end = bisect_right(breaks, closings[following]) + 1
        yield Symbol(name, kind, line, end, signature_line(first.partition("{")[0]))


def _indented(text: str) -> Iterator[Symbol]:
    """Find ``def`` and ``class`` lines; each ends before the next line that is not indented deeper."""
    open_: list[tuple[int, str, str, int]] = []
    done: list[Symbol] = []
    last, lines = 0, text.split("\n")
    for number, line in enumerate(lines, 1):
        stripped = line.lstrip(" \t")
        if not stripped or stripped[0] == "#":
            continue
        indent = len(line) - len(stripped)
        while open_ and open_[-1][0] >= indent:
            done.append(Symbol(open_[-1][1], open_[-1][2], open_[-1][3], last))
            open_.pop()
        last = number
        if match := _PY_SYMBOL.match(line):
            kind = "class" if match[2] == "class" else "method" if indent else "function"
            open_.append((indent, match[3], kind, number))
    done += [Symbol(name, kind, start, last) for _, name, kind, start in open_]
    for symbol in sorted(done, key=lambda symbol: symbol.line):
        signature, said = python_definition(lines, symbol.line - 1, min(symbol.end_line, symbol.line + _FEW_LINES))
        yield symbol._replace(signature=signature_line(signature), docstring=first_line(said))


_NO_METADATA = frozenset({"__all__", "__annotations__", "__dict__", "__doc__", "__name__", "__path__", "__slots__"})
_DUNDER = re.compile("__.+__")
_MAX_PARSED = 1 << 18  # a syntax tree takes up to a thousand bytes for each character


def read_python(text: str) -> Draft:
    """Read a ``.py`` tool; one that does not parse, or is larger than 256 KiB, is read by its text alone."""
    tree = _parse(text) if len(text) <= _MAX_PARSED else None
    if tree is None:
        return read_broken_python(text)
    body, line = cut_blank_head(text)
    stated = _ryeos_header(text)
    metadata = stated or {name.strip("_"): value for name, value in _dunders(tree.body)}
    paragraph = first_paragraph(ast.get_docstring(tree, clean=True) or "") or ("" if stated else header(text, "#")[1])
    return Draft(
        metadata=metadata,
        body=body,
        body_line=line,
        symbols=tuple(_symbols(tree.body, text)),
        imports=tuple(_imports(tree.body, text)),
        paragraph=paragraph,
    )


_ONE_AT_A_TIME = threading.Lock()
"""Filters of warnings are of the whole process, and CPython 3.11 counts the depth of all threads' trees together."""


def _parse(text: str) -> ast.Module | None:
    """Return the syntax tree, or None when the parser makes none, for whatever reason."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tool's own string escapes are not ours to warn about
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _dunders(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, Any]]:
    """Yield the module constants named ``__x__`` whose values are literals."""
    for statement in statements:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target, value = statement.target, statement.value
        else:
            continue
        if not isinstance(target, ast.Name) or not _DUNDER.fullmatch(target.id) or target.id in _NO_METADATA:
            continue
        try:
            yield target.id, jsonable(ast.literal_eval(value))
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, ItemError):
            continue  # not a literal, so nothing that can be known without running it


def _symbols(statements: list[ast.stmt], text: str) -> Iterator[Symbol]:
    """Yield functions, classes and methods in file order, methods as ``Class.method``; none from inside functions."""
    lines = text.split("\n")
    stack: list[tuple[ast.AST, str]] = [(statement, "") for statement in reversed(statements)]
    while stack:
        node, owner = stack.pop()
        below: Sequence[ast.AST] = ()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if len(owner) + len(node.name) > LONGEST_NAME:
                continue
            kind = "class" if isinstance(node, ast.ClassDef) else "method" if owner else "function"
            line, end = node.lineno, node.end_lineno or node.lineno
            yield Symbol(owner + node.name, kind, line, end, _signature(node, lines), _first_line(node))
            if isinstance(node, ast.ClassDef):
                below, owner = node.body, f"{owner}{node.name}."
        elif isinstance(node, ast.If | ast.Try | ast.With):  # definitions may be conditional
            below = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt | ast.ExceptHandler)]
        elif isinstance(node, ast.ExceptHandler):
            below = node.body
        stack += [(child, owner) for child in reversed(below)]


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, lines: Sequence[str]) -> str:
    at = node.lineno - 1
    whole = lines[at].strip()
    if whole.endswith("):") and whole.count("(") == whole.count(")") and node.body[0].lineno > node.lineno:
        return signature_line(whole[:-1])  # most are one line, whose colon is easily found
    return signature_line(python_definition(lines, at, node.body[0].lineno)[0])


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    first = node.body[0]
    said = first.value.value if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else None
    return first_line(said) if isinstance(said, str) else ""


def _imports(statements: list[ast.stmt], text: str) -> Iterator[Import]:
    """Yield the modules of imports, and each name taken from one, which may be a module too; none of Python's own."""
    found = [each for each in statements if isinstance(each, ast.Import | ast.ImportFrom)]
    if text.count("import") > len(found):  # as each has the word once, there may be more within other statements
        found = [each for each in _statements(statements) if isinstance(each, ast.Import | ast.ImportFrom)]
    for one in found:
        names = [alias.name for alias in one.names]
        if isinstance(one, ast.ImportFrom):
            module = "." * one.level + (one.module or "")
            inner = [f"{module}{'.' if one.module else ''}{name}" for name in names if name != "*"]
            names = [module, *inner] if one.module else inner
        for name in names:
            if name.partition(".")[0] not in sys.stdlib_module_names:
                yield Import(name, one.lineno)


def _statements(statements: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield statements and those within them, in file order."""
    stack: list[ast.AST] = [*reversed(statements)]
    while stack:
        node = stack.pop()
        yield node
        below = [getattr(node, name, ()) for name in ("body", "handlers", "cases", "orelse", "finalbody")]
        stack += [each for each in chain.from_iterable(below) if isinstance(each, ast.AST)][::-1]
