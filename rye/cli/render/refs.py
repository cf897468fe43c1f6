"""The relations around an item: as text for a reader, and as drawings in the languages of Graphviz and Mermaid.

Ids and references are hostile. In a drawing they stand only inside quotes, with everything written as an escape that
the language, or the HTML that it becomes, could take for its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from rye.cli.render.parts import standing
from rye.cli.terminal import Terminal
from rye.cli.text import cells, inline, pad
from rye.registry.relations import RelatedItem, Relation, Relations

__all__ = ["DRAWINGS", "render_refs"]

_UNSAFE_IN_MERMAID = re.compile(
    r"[^\w ./:+@,-]"
    r"|s(?=tyle)|c(?=lassDef)"  # of a line with these words and a colon Mermaid takes the last semicolon away
    r"|^[-+\d]"  # a list
    r"|(?<![^\W_])_|_(?![^\W_])"  # emphasis
)
_ARROWS = {"out": ("→", "->"), "in": ("←", "<-")}


def render_refs(found: Relations, terminal: Terminal) -> Iterator[str]:
    """Yield a header, then of each item in the middle of relations the ones that go out, and the ones that come in."""
    items = {item.ref: item for item in found.items}
    head = f"[{len(found.relations)} of {found.total} relations -- {found.direction}, depth {found.depth}]"
    yield terminal.style(head, bold=True)
    yield _item(found.item, items, terminal)
    width = max((cells(each.kind) for each in found.relations), default=0)
    for relation in found.relations:
        outward = _goes_out(relation, found.direction, items)
        indent = "  " * relation.distance
        arrow = _ARROWS["out" if outward else "in"][0 if terminal.unicode else 1]
        near, far = (
            (relation.item, relation.target) if outward else (relation.target or relation.written, relation.item)
        )
        between = "" if relation.distance == 1 else f"{inline(near)} {arrow} "
        yield f"{indent}{pad(relation.kind, width)} {between or f'{arrow} '}{_end(relation, far, items, terminal)}"


def _goes_out(relation: Relation, direction: str, items: Mapping[str, RelatedItem]) -> bool:
    """Return whether the nearer end of a relation is the item that refers."""
    if direction != "both":
        return direction == "out"
    return items[relation.item].distance < relation.distance


def _end(relation: Relation, far: str, items: Mapping[str, RelatedItem], terminal: Terminal) -> str:
    where = terminal.dim(f"line {relation.line}" + (f", as {inline(relation.written)}" if far else ""))
    if far:
        return f"{_item(far, items, terminal)}  {where}"
    meant = f": {inline(', '.join(relation.candidates))}" if relation.candidates else ""
    state = terminal.style(f"{relation.state}{meant}", "yellow")
    return f"{inline(relation.written)}  {state}  {where}"


def _item(ref: str, items: Mapping[str, RelatedItem], terminal: Terminal) -> str:
    item, name = items[ref], terminal.style(inline(ref), "cyan", bold=True)
    facts = [name, terminal.verdict(item.verdict or "unreadable"), inline(item.source)]
    facts += [standing(item.states, item.successor, terminal), inline(item.title)]
    return "  ".join(filter(None, facts))


def render_dot(found: Relations) -> Iterator[str]:
    """Yield a directed graph in the DOT language; what is not there is dashed, as are ambiguous relations."""
    nodes = _Nodes(found)
    yield "digraph rye {"
    yield "  rankdir=LR;"
    yield "  node [shape=box];"
    lines = [_dot_edge(nodes, relation) for relation in found.relations]
    for number, (label, there) in enumerate(nodes.labels):
        style = "" if there else ", style=dashed"
        yield f"  n{number} [label={_dot(label)}{style}];"
    for line in lines:
        yield from line
    yield "}"


def _dot_edge(nodes: _Nodes, relation: Relation) -> list[str]:
    style = ", style=dashed" if relation.state == "ambiguous" else ""
    return [f"  n{start} -> n{end} [label={_dot(relation.kind)}{style}];" for start, end in nodes.ends_of(relation)]


def _dot(text: str) -> str:
    """Return a quoted string: in a label a backslash begins an escape, so it is doubled, and ``&`` an entity."""
    escaped = inline(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def render_mermaid(found: Relations) -> Iterator[str]:
    """Yield a flowchart in the language of Mermaid; what is not there is round, ambiguous relations are dotted."""
    nodes = _Nodes(found)
    yield "flowchart LR"
    lines = [
        f"  n{start} {'-.->' if relation.state == 'ambiguous' else '-->'}|{relation.kind}| n{end}"
        for relation in found.relations
        for start, end in nodes.ends_of(relation)
    ]
    for number, (label, there) in enumerate(nodes.labels):
        opening, closing = ("[", "]") if there else ("(", ")")
        yield f'  n{number}{opening}"{_mermaid(label)}"{closing}'
    yield from lines


def _mermaid(text: str) -> str:
    return _UNSAFE_IN_MERMAID.sub(lambda match: f"#{ord(match[0])};", inline(text))


class _Nodes:
    """Numbers for what stands in a drawing, given as it is met; the item asked about is the first."""

    def __init__(self, found: Relations) -> None:
        self._numbers: dict[tuple[str, bool], int] = {}
        self._number(found.item, there=True)

    @property
    def labels(self) -> list[tuple[str, bool]]:
        """What each is called, and whether it is there."""
        return list(self._numbers)

    def _number(self, label: str, *, there: bool) -> int:
        return self._numbers.setdefault((label, there), len(self._numbers))

    def ends_of(self, relation: Relation) -> list[tuple[int, int]]:
        """Return where a relation begins and ends, once for each thing that it may mean."""
        start = self._number(relation.item, there=True)
        targets = (relation.target,) if relation.target else relation.candidates
        if not targets:
            return [(start, self._number(relation.written, there=False))]
        return [(start, self._number(target, there=True)) for target in targets]


DRAWINGS: Mapping[str, Callable[[Relations], Iterator[str]]] = {"dot": render_dot, "mermaid": render_mermaid}
"""Every form of a drawing, by the word that ``--format`` takes."""
