"""Collects the definitions in a syntax tree: functions, classes, methods and types with signature and documentation.

The statements of a file, of its classes and of blocks such as ``if`` are read; the content of functions is not. Each
node is read once and nothing is recursive, so a tree may be arbitrarily deep and wide.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from rye.items.comments import clean_docstring
from rye.items.model import LONGEST_NAME, Documented, Symbol
from rye.items.values import cut_line

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST_LINE = 200
_LONGEST_SIGNATURE = 1_000
_STRING = r"(?P<string>\"(?:[^\"\\]++|\\.)*+\"?+|'(?:[^'\\]++|\\.)*+'?+|`(?:[^`\\]++|\\.)*+`?+)"
_HASH_COMMENT = re.compile(rf"{_STRING}|#[^\n]*+", re.DOTALL)
_SLASH_COMMENT = re.compile(rf"{_STRING}|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?+", re.DOTALL)
_AFTER_OPENING, _BEFORE_CLOSING = re.compile(r"(?<=[(\[]) "), re.compile(r",? (?=[)\]])")
_COMMENT_MARK = re.compile(r"[ \t]*(?:#+|/{2,}|/\*+|\*+/|\*(?!/))?[ \t]?")


def _first_line(documentation: str) -> str:
    line = documentation.lstrip()[: 4 * _LONGEST_LINE].partition("\n")[0]
    return "" if line.startswith("@") else cut_line(line, _LONGEST_LINE)


@dataclass(slots=True)
class _Level:
    """Statements that are read one after the other, and the comment above the next one.

    Attributes:
        nodes: The statements that are left.
        prefix: The prefix of the names in them.
        kind: ``file``, ``class`` or ``object``.
        comment: Nodes of the comment that may document the next statement.
        edge: The last row of that comment, including decorators below it.
        row: The last row of the previous statement.
    """

    nodes: Iterator[Node]
    prefix: str = ""
    kind: str = "file"
    comment: list[Node] = field(default_factory=list)
    edge: int = -1
    row: int = -1

    def is_documentation(self, node: Node) -> bool:
        """Return whether the comment is directly above a node, or before it on its line."""
        return bool(self.comment) and self.edge + 1 >= node.start_point.row


class Collector(ABC):
    """Collects the definitions of a tree, level by level, without recursion."""

    resumed: re.Pattern[bytes]
    """Matches the beginning of a line that is most likely a statement."""
    blocks: frozenset[str]
    """Nodes whose statements are treated as if they were outside."""
    comments = _HASH_COMMENT

    def __init__(self, source: bytes, line: int) -> None:
        self.symbols: list[Symbol] = []
        self.documented: list[Documented] = []
        self._source, self._line = source, line
        self._levels: list[_Level] = []
        head = source.partition(b"\n")[2] if source.startswith(b"#!") else source
        self._first_row = source[: len(source) - len(head.lstrip())].count(b"\n")

    def read(self, root: Node, stop: int) -> None:
        """Collect the definitions of a tree that begin before an offset."""
        self._levels.append(_Level(iter(root.named_children)))
        while self._levels:
            level = self._levels[-1]
            node = next(level.nodes, None)
            if node is None or node.start_byte >= stop:
                self._levels.pop()
            elif node.type == "comment":
                self._collect(node, level)
            elif node.type == "decorator":
                level.edge = node.end_point.row if level.is_documentation(node) else -1
            else:
                if not level.is_documentation(node):
                    level.comment = []
                if node.type in self.blocks:
                    self._enter(node, level.prefix, level.kind)
                else:
                    self._statement(node, level)
                level.comment, level.row = [], node.end_point.row

    def _collect(self, node: Node, level: _Level) -> None:
        if node.start_point.row == level.row and not level.comment:  # after a statement
            return
        if not level.is_documentation(node):
            level.comment = []
        level.comment.append(node)
        level.edge = node.end_point.row

    @abstractmethod
    def _statement(self, node: Node, level: _Level) -> None:
        """Add the definitions of a statement, and enter nodes that may hold more."""

    def _enter(self, node: Node | None, prefix: str, kind: str = "file") -> None:
        if node is not None and len(prefix) <= LONGEST_NAME:
            self._levels.append(_Level(iter(node.named_children), prefix, kind))

    def _add(self, name: str, kind: str, span: tuple[Node, int, Node], documentation: tuple[int, str]) -> bool:
        """Add a definition, unless its name is too long.

        Args:
            name: With its prefix.
            kind: See :class:`Symbol`.
            span: Its first node, the end offset of its signature, and its last node.
            documentation: The first row, including the documentation, and the text of the documentation.
        """
        if len(name) > LONGEST_NAME:
            return False
        first, signature_end, last = span
        begin, said = documentation
        line = self._line + first.start_point.row
        end_line = max(line, self._line + last.end_point.row - (last.end_point.column == 0))
        signature = self._signature(first.start_byte, signature_end)
        symbol = Symbol(name, kind, line, end_line, signature, _first_line(said))
        if said:
            self.documented.append(Documented(len(self.symbols), symbol, self._line + begin, said))
        self.symbols.append(symbol)
        return True

    def _comment(self, level: _Level) -> tuple[int, str]:
        """Return the first row and the text of the comment above a definition; empty for the comment of the file."""
        nodes, level.comment = level.comment, []
        if not nodes or nodes[0].start_point.row <= self._first_row:
            return 0, ""
        lines = chain.from_iterable(self._text(node).split("\n") for node in nodes)
        said = [line[mark.end() :].rstrip() for line in lines if (mark := _COMMENT_MARK.match(line))]
        said = [line[:-1].rstrip("*").rstrip() if line.endswith("*/") else line for line in said]
        return nodes[0].start_point.row, "\n".join(said).strip()

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _signature(self, start: int, end: int) -> str:
        text = self._source[start : min(end, start + _LONGEST_SIGNATURE)].decode("utf-8", "replace")
        text = self.comments.sub(lambda match: match["string"] or " ", text)
        line = cut_line(text, _LONGEST_LINE)
        return _AFTER_OPENING.sub("", _BEFORE_CLOSING.sub("", line)) if "\n" in text else line


_CLAUSES = {f"{name}_clause" for name in ("elif", "else", "except", "except_group", "finally")}


class PythonCollector(Collector):
    """Definitions of Python."""

    resumed = re.compile(rb"^(?:@|async def |class |def )", re.MULTILINE)
    blocks = frozenset({*_CLAUSES, "ERROR", "block", "if_statement", "try_statement", "with_statement"})

    def _statement(self, node: Node, level: _Level) -> None:
        definition = node.child_by_field_name("definition") or node
        name, body = definition.child_by_field_name("name"), definition.child_by_field_name("body")
        if definition.type not in {"class_definition", "function_definition"} or name is None:
            return
        is_class = definition.type == "class_definition"
        kind = "class" if is_class else "method" if level.prefix else "function"
        colon = next((child for child in reversed(definition.children) if child.type == ":"), name)
        said = self._docstring(body) if body else ""
        end = colon.start_byte if colon is not name else name.end_byte
        qualified = level.prefix + self._text(name)
        if self._add(qualified, kind, (definition, end, definition), (node.start_point.row, said)) and is_class:
            self._enter(body, f"{qualified}.")

    def _docstring(self, body: Node) -> str:
        first = next((child for child in body.named_children if child.type != "comment"), None)
        text = first.named_children[0] if first and first.type == "expression_statement" else None
        if text is None or text.type != "string" or any(part.type == "interpolation" for part in text.children):
            return ""
        opening, closing = text.children[0], text.children[-1]
        prefix = self._text(opening).lower()
        inside = self._source[opening.end_byte : closing.start_byte].decode("utf-8", "replace")
        return "" if "b" in prefix else clean_docstring(inside)


class ShellCollector(Collector):
    """Functions of a shell script."""

    resumed = re.compile(rb"^(?:function[ \t]+[\w:.-]+|[\w:.-]++[ \t]*+\(\))", re.MULTILINE)
    blocks = frozenset({*_CLAUSES, "ERROR", "case_item", "case_statement", "compound_statement", "do_group"}) | {
        *("for_statement", "if_statement", "list", "redirected_statement", "while_statement")
    }

    def _statement(self, node: Node, level: _Level) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if node.type == "function_definition" and name and body:
            self._add(self._text(name), "function", (node, body.start_byte, node), self._comment(level))


_WRAPPERS = frozenset({"ambient_declaration", "export_statement", "expression_statement"})
_MODULES = frozenset({"internal_module", "module", "statement_block"})
_FUNCTIONS = (
    *("arrow_function", "function_declaration", "function_expression", "function_signature"),
    *("generator_function", "generator_function_declaration"),
)
_METHODS = ("abstract_method_signature", "method_definition", "method_signature")
_KINDS = {
    **dict.fromkeys(("abstract_class_declaration", "class", "class_declaration"), "class"),
    **dict.fromkeys((*_FUNCTIONS, *_METHODS), "function"),
    "enum_declaration": "enum",
    "interface_declaration": "interface",
    "type_alias_declaration": "type",
}
_NAME_FIELDS = {"field_definition": "property", "pair": "key"}
_NAMES = frozenset({"identifier", "private_property_identifier", "property_identifier", "type_identifier"})
_EXPORTED = re.compile(r"(?:module\.)?exports\.([\w$]+)")


def _fits(node_type: str, kind: str, level: str) -> bool:
    """Return whether a definition is collected there: methods only in a class or object, which hold only functions."""
    return node_type not in _METHODS if level == "file" else kind == "function"


class ScriptCollector(Collector):
    """Definitions of JavaScript and TypeScript."""

    resumed = re.compile(
        rb"^(?:(?:abstract|async|declare|export) )*+(?:class|const|default|enum|function|interface|let|type) ",
        re.MULTILINE,
    )
    blocks = frozenset({"ERROR"})
    comments = _SLASH_COMMENT
    overload = ""
    """The qualified name of the last definition, if that is a signature without a body."""

    def _statement(self, node: Node, level: _Level) -> None:
        first = next((child for child in node.children if child.type != "decorator"), node)
        name = ""
        while node.type in _WRAPPERS:
            value = node.child_by_field_name("value")
            name = "default" if value and node.type == "export_statement" else ""
            inner = node.child_by_field_name("declaration") or value
            inner = inner or next((child for child in node.named_children if child.type != "decorator"), None)
            if inner is None:
                return
            node = inner
        if node.type in {"lexical_declaration", "variable_declaration"}:
            if node.named_child_count > 1:
                self._enter(node, level.prefix)
                self._levels[-1].comment, self._levels[-1].edge = level.comment, level.edge
                return
            node = node.named_children[0]
        if node.type in _MODULES:
            stated = node.child_by_field_name("name")
            inside = f"{self._text(stated)}." if stated and stated.type != "string" else ""
            self._enter(node.child_by_field_name("body") or node, level.prefix + inside)
        else:
            self._define(name, node, first, level)

    def _define(self, name: str, node: Node, first: Node, level: _Level) -> None:
        """Add the definition of a declaration, an assignment or a member, under its own name or the given one."""
        named = node.child_by_field_name(_NAME_FIELDS.get(node.type, "name"))
        value = node if node.type in _KINDS else node.child_by_field_name("value")
        if named and named.type in _NAMES:
            name = self._text(named)
        elif node.type == "assignment_expression":
            left, value = self._text(node.children[0]), node.child_by_field_name("right")
            exported = _EXPORTED.fullmatch(left)
            name = exported[1] if exported else "default" if left == "module.exports" else ""
            own = value.child_by_field_name("name") if value and name == "default" else None
            name = self._text(own) if own else name
        value = value or (node if name else None)
        while value and value.type in {"as_expression", "satisfies_expression"}:
            value = value.named_children[0]
        if not name or value is None:
            return
        kind = _KINDS.get(value.type, "")
        if value.type == "object" and level.kind == "file":
            is_module = node.type == "assignment_expression" and name == "default"
            self._enter(value, level.prefix if is_module else f"{level.prefix}{name}.", "object")
        elif kind and _fits(value.type, kind, level.kind):
            self._add_value(name, kind, (first, value), level)

    def _add_value(self, name: str, kind: str, span: tuple[Node, Node], level: _Level) -> None:
        first, value = span
        body = value.child_by_field_name("body")
        if kind == "function" and level.kind != "file" and level.prefix:
            kind = "method"
        qualified = level.prefix + name
        if self.overload == qualified:  # extend the first of several signatures
            self.symbols[-1] = self.symbols[-1]._replace(end_line=self._line + value.end_point.row)
        else:
            arrow = next((child for child in value.children if child.type == "=>"), None)
            head_end = arrow or body
            end = head_end.start_byte if head_end and kind != "type" else value.end_byte
            if self._add(qualified, kind, (first, end, value), self._comment(level)) and kind == "class":
                self._enter(body, f"{qualified}.", "class")
        self.overload = qualified if body is None and kind in {"function", "method"} else ""
