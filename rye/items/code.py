"""Reads tools that are code: Python, JavaScript, TypeScript and shell. Nothing is compiled or run.

Everything that a search shows of a file (metadata, description, text) is read immediately, without a parser. Symbols
and imports are read by tree-sitter on first access. A text that exceeds the time budget has none.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache, partial
from time import thread_time
from typing import TYPE_CHECKING, NamedTuple

from rye.items import comments
from rye.items.definitions import PythonCollector, ScriptCollector, ShellCollector
from rye.items.model import Deferred, Documented, Draft, Import, Symbol
from rye.items.values import cut_blank_head

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

CODE_ENDINGS = (
    *(".py", ".pyw", ".pyc", ".pyd", ".so", ".dll", ".dylib", ".pth"),
    *(".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".node", ".wasm"),
    *(".sh", ".bash", ".zsh", ".fish", ".ps1", ".psm1", ".bat", ".cmd", ".exe", ".com"),
    *(".rb", ".pl", ".pm", ".php", ".lua", ".tcl", ".r", ".jl", ".awk", ".class", ".jar"),
    "/package.json",
)
"""File name endings, after a slash, that programs in the same folder load as code."""

SECONDS, SECONDS_PER_BYTE = 0.25, 1.5e-6
"""CPU time budget of parsing; real code takes a tenth of it. Some inputs take the parser quadratic time."""

_LAST = (1 << 32) - 1
"""The largest offset that tree-sitter supports."""

_MOST_RESUMED = 10
"""Maximum number of passes that resume parsing after a syntax error."""

_READERS = {".py": PythonCollector, ".sh": ShellCollector}


class Definitions(NamedTuple):
    """The definitions and imports of code, in file order."""

    symbols: tuple[Symbol, ...] = ()
    imports: tuple[Import, ...] = ()
    documented: tuple[Documented, ...] = ()


def read_python(text: str) -> Draft:
    """Read a Python tool."""
    stated = comments.ryeos_header(text)
    prose = comments.docstring(text) or ("" if stated else comments.header(text, "#")[1])
    return _draft(text, ".py", stated or comments.python_constants(text), prose)


def read_script(text: str, suffix: str) -> Draft:
    """Read a tool of JavaScript, TypeScript or shell."""
    metadata, prose = comments.header(text, "#" if suffix == ".sh" else "//")
    return _draft(text, suffix, metadata | comments.script_constants(text), prose)


def _draft(text: str, suffix: str, metadata: dict[str, object], prose: str) -> Draft:
    body, line = cut_blank_head(text)
    definitions = cache(partial(read_definitions, body, suffix, line))
    return Draft(
        metadata=metadata,
        body=body,
        body_line=line,
        paragraph=lambda: prose,
        symbols=Deferred(lambda: definitions().symbols),
        imports=Deferred(lambda: definitions().imports),
        documented=Deferred(lambda: definitions().documented),
    )


@cache
def _language(suffix: str) -> Language:
    from tree_sitter import Language

    if suffix == ".py":
        import tree_sitter_python

        return Language(tree_sitter_python.language())
    if suffix == ".sh":
        import tree_sitter_bash

        return Language(tree_sitter_bash.language())
    if suffix in {".ts", ".tsx"}:
        import tree_sitter_typescript as typescript

        return Language(typescript.language_tsx() if suffix == ".tsx" else typescript.language_typescript())
    import tree_sitter_javascript

    return Language(tree_sitter_javascript.language())


def _parse(source: bytes, suffix: str, start: int, deadline: float) -> Node | None:
    """Return the syntax tree of the code from an offset on, or None if that takes too long."""
    from tree_sitter import Parser, Point, Range

    view, rest = memoryview(source), Range(Point(source.count(b"\n", 0, start), 0), Point(_LAST, _LAST), start, _LAST)
    try:
        return (
            Parser(_language(suffix), included_ranges=[rest])
            .parse(
                lambda offset, _: view[offset : offset + (1 << 16)],
                progress_callback=lambda *_: thread_time() > deadline,
            )
            .root_node
        )
    except ValueError:
        return None


def read_definitions(text: str, suffix: str, line: int = 1) -> Definitions:
    """Return symbols, imports and documentation of code.

    If a syntax error hides statements that begin a line, the code is parsed again from the first of them.

    Args:
        text: The code.
        suffix: The extension of its file, which decides the language.
        line: The line of the file on which the code begins.
    """
    source = text.encode()
    reader = _READERS.get(suffix, ScriptCollector)(source, line)
    imports = list[Import]()
    deadline = thread_time() + SECONDS + SECONDS_PER_BYTE * len(source)
    start, stop = 0, -1
    for left in reversed(range(_MOST_RESUMED)):
        root = _parse(source, suffix, start, deadline)
        if root is None:
            break
        stop = _resumption(root, source, reader.resumed) if left else _LAST
        reader.read(root, stop)
        imports += _imports(root, source, suffix, range(line, line + source.count(b"\n", 0, stop) + 1))
        if stop == _LAST:
            break
        start = stop
    return Definitions(tuple(reader.symbols), tuple(imports), tuple(reader.documented))


def _resumption(root: Node, source: bytes, resumed: re.Pattern[bytes]) -> int:
    """Return the offset of the first statement that begins a line within an error."""
    for error in (child for child in root.named_children if child.type == "ERROR") if root.has_error else ():
        if match := resumed.search(source, error.start_byte + 1, error.end_byte):
            return match.start()
    return _LAST


_PYTHON_IMPORTS = "[(import_statement) (import_from_statement)] @taken"
_SCRIPT_IMPORTS = """
    (import_statement source: (string) @taken)
    (export_statement source: (string) @taken)
    (call_expression function: [(import) (identifier)] @by arguments: (arguments . [(string) (template_string)] @taken))
"""


@cache
def _import_query(suffix: str) -> Query:
    from tree_sitter import Query

    # no predicates: they read the source of the tree, and crash if a function returned it
    return Query(_language(suffix), _PYTHON_IMPORTS if suffix == ".py" else _SCRIPT_IMPORTS)


def _taken(root: Node, source: bytes, suffix: str) -> Iterator[Node]:
    """Yield the import statements of Python, else the string of each import."""
    from tree_sitter import QueryCursor

    matches = [groups for _, groups in QueryCursor(_import_query(suffix)).matches(root)]
    for groups in sorted(matches, key=lambda groups: groups["taken"][0].start_byte):
        if "by" not in groups or _text(source, groups["by"][0]) in {"import", "require"}:
            yield groups["taken"][0]


def _imports(root: Node, source: bytes, suffix: str, lines: range) -> Iterator[Import]:
    """Yield the imports from outside Python's standard library; in other languages, those of relative files."""
    if suffix == ".sh" or (b"import" if suffix == ".py" else b"./") not in source:
        return
    for node in _taken(root, source, suffix):
        row = lines.start + node.start_point.row
        if row not in lines:
            break
        if suffix == ".py":
            names = (name for name in _modules(node, source) if name.partition(".")[0] not in sys.stdlib_module_names)
            yield from (Import(name, row) for name in names)
        else:
            path = _text(source, node)[1:-1]
            if path.startswith(("./", "../")) and "\\" not in path and "${" not in path:
                yield Import(path, row)


def _modules(node: Node, source: bytes) -> Iterator[str]:
    names = ["".join(_text(source, child).split(" as ")[0].split()) for child in node.children_by_field_name("name")]
    module = node.child_by_field_name("module_name")
    if module is None:
        yield from names
        return
    taken_from = "".join(_text(source, module).split())
    if taken_from.strip("."):
        yield taken_from
        taken_from = f"{taken_from}."
    yield from (f"{taken_from}{name}" for name in names)


def _text(source: bytes, node: Node) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")
