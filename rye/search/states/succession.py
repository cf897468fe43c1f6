"""Find the item that replaces a superseded, deprecated or yanked one, as named by its own ``superseded_by``.

Anybody can write ``supersedes`` for any item, so that is ignored here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rye.index.build.reader import Part, Reader
from rye.items.relations import KIND_NUMBER
from rye.search.states.graph import graph_of
from rye.trust.model import Signature, Verdict

_SUPERSEDED_BY = KIND_NUMBER["superseded_by"]


class _Successor(NamedTuple):
    """A successor: the item it names, or only the text if it names none or several."""

    name: str
    item: int | None = None


class Succession:
    """The successors of the items of all spaces.

    ``signature`` judges a document of a part by its indexed evidence.
    """

    def __init__(self, everywhere: Reader, signature: Callable[[Part, int], Signature]) -> None:
        self._reader = everywhere
        self._signature = signature

    def of(self, doc: int) -> str:
        """Return ``type:id`` of the replacement of a document, or its text as written if it names no single item."""
        return self._find(doc).name

    def names(self, doc: int) -> tuple[str, str]:
        """Return descriptions of a document and of its replacement, if it has one.

        Source and verdict are added to the document if it is not trusted, and to the replacement if its verdict
        differs.
        """
        verdict, successor = self._verdict(doc), self._find(doc)
        subject = self._name(doc) if verdict is Verdict.TRUSTED else self._whose(doc)
        same = successor.item is None or self._verdict(successor.item) is verdict
        return subject, successor.name if same or successor.item is None else self._whose(successor.item)

    def warnings(self, doc: int) -> list[str]:
        """Return a warning if the replacement of a trusted document is not trusted."""
        name, item = self._find(doc)
        if item is None or self._verdict(doc) is not Verdict.TRUSTED:
            return []
        verdict, (part, _) = self._verdict(item), self._reader.locate(item)
        is_trusted = verdict is Verdict.TRUSTED
        return [] if is_trusted else [f"{name} of {part.root.source}, which takes its place, is {verdict}"]

    def _find(self, doc: int) -> _Successor:
        """Return the first item that a document names as its successor, except itself; an ambiguous name stays text."""
        graph = graph_of(self._reader)
        edges = graph.stated_by(np.asarray([doc]))
        for number in np.flatnonzero(edges.kinds == _SUPERSEDED_BY).tolist():
            named = edges.named[edges.starts[number] : edges.starts[number + 1]].tolist()
            if len(named) != 1:
                return _Successor(graph.written(edges.targets[[number]])[0])
            if named[0] != graph.item_of(doc):
                return _Successor(self._name(named[0]), named[0])
        return _Successor("")

    def _verdict(self, doc: int) -> Verdict:
        return self._signature(*self._reader.locate(doc)).verdict

    def _name(self, doc: int) -> str:
        return ":".join(self._reader.key_of(doc))

    def _whose(self, doc: int) -> str:
        return f"{self._name(doc)} of {self._reader.locate(doc)[0].root.source} ({self._verdict(doc)})"
