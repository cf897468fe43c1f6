"""Search as you type: a line to type in, the hits so far, and the item that is chosen among them.

What is shown is made here without any terminal, as lines of harmless text with styles; :mod:`rye.cli.screen` draws it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from rye._text import block, inline
from rye.cli.render.parts import passage, signed_by
from rye.cli.terminal import VERDICT_MARKS
from rye.errors import RyeError
from rye.registry import LoadedItem, PrefixQuery, Replaced, SearchResponse, SearchResult
from rye.surface.text import header, source_name, standing

if TYPE_CHECKING:
    from rye.registry import Registry

Line: TypeAlias = list[tuple[str, str]]
"""Pieces of one line: style and harmless text."""

_HITS = 100
_LINES = 500
_OTHER_MARKS = ("!", "!", "red")
_LIGHT = "\x00"


class Browser:
    """What a person sees while typing a query.

    Args:
        registry: What is searched.
        options: Of every search: scope, space, filters and the like.
        unicode: Whether marks can be shown.
    """

    def __init__(self, registry: Registry, options: Mapping[str, Any], *, unicode: bool = True) -> None:
        self._registry = registry
        self._options = dict(options) | {"limit": _HITS}
        self.unicode = unicode
        self._response: SearchResponse | None = None
        self._error = ""
        self._loaded: tuple[SearchResult | None, LoadedItem | str] = (None, "")
        self.text = ""
        self.place = 0

    def look(self, text: str) -> None:
        """Search for what is typed so far; what cannot be asked leaves the hits as they are and says why."""
        try:
            self._response = self._registry.search(PrefixQuery(text), lenient=True, **self._options)
            self._error = ""
        except RyeError as error:
            self._error = inline(error.message)
        self.text, self.place = text, 0

    @property
    def hits(self) -> tuple[SearchResult, ...]:
        """The hits of what was last looked for."""
        return self._response.results if self._response else ()

    @property
    def chosen(self) -> SearchResult | None:
        """The hit that is marked."""
        return self.hits[self.place] if self.hits else None

    def move(self, steps: int) -> None:
        """Move the selection by ``steps`` hits, to the last or first hit at most."""
        self.place = max(0, min(self.place + steps, len(self.hits) - 1))

    def load(self, hit: SearchResult) -> LoadedItem:
        """Read and verify the item of a hit.

        Raises:
            RyeError: It is gone or cannot be read.
        """
        return self._registry.load(hit.type, hit.id, hit.source)

    def status(self) -> Line:
        """Return how many hits there are, or what is wrong."""
        if self._error or self._response is None:
            return [("class:error", self._error)]
        found = self._response
        said = header(len(found.results), found.total, "results", found.stage)
        replaced = [inline(text) for text in found.warnings if isinstance(text, Replaced)]
        if replaced:
            return [("bold", said), *(("class:note", f"  {text}") for text in replaced)]
        notes = [f"did you mean: {inline(found.did_you_mean)}"] if found.did_you_mean else []
        notes += [inline(text) for text in found.warnings if text.startswith("left out of the query")]
        notes += [f"{count} {inline(state)} hidden" for state, count in found.hidden.items()]
        return [("bold", said), ("class:dim", f"  {notes[0]}" if notes else "")]

    def rows(self) -> list[Line]:
        """Return a line for each hit, the chosen one marked."""
        return [self._row(hit, chosen=at == self.place) for at, hit in enumerate(self.hits)]

    def _row(self, hit: SearchResult, *, chosen: bool) -> Line:
        style = "reverse" if chosen else ""
        said = inline(hit.title or hit.description)
        name = inline(f"{hit.type}:{hit.id}")
        row = [(f"{style} {self._colour(hit)}", f"{self._mark(hit)} "), (f"{style} class:name", name)]
        row += [(f"{style} class:{kind}", f"  {text}") for kind, text in _remarkable(hit)]
        return [*row, (style, f"  {said}" if said else "")]

    def _mark(self, hit: SearchResult) -> str:
        mark, plain, _ = VERDICT_MARKS.get(str(hit.signature.verdict), _OTHER_MARKS)
        return mark if self.unicode else plain

    def _colour(self, hit: SearchResult) -> str:
        return f"ansi{VERDICT_MARKS.get(str(hit.signature.verdict), _OTHER_MARKS)[2]}"

    def preview(self) -> list[Line]:
        """Return the chosen item: what it is, whether it can be believed, where it matched, and its content."""
        hit = self.chosen
        if hit is None:
            return []
        return list(self._preview(hit))

    def _preview(self, hit: SearchResult) -> Iterator[Line]:
        yield [("class:name", inline(f"{hit.type}:{hit.id}"))]
        if hit.title:
            yield [("bold", inline(hit.title))]
        signature = hit.signature
        yield [
            (self._colour(hit), f"{self._mark(hit)} {signature.verdict}"),
            ("class:dim", f"  {inline(signature.reason)}"),
        ]
        if signed_by(signature):
            yield [("class:dim", signed_by(signature))]
        yield [("class:dim", f"{source_name(hit.source, hit.bundle)}  {inline(hit.path)}")]
        for word, sources in (("shadows", hit.shadows), ("shadowed by", hit.shadowed_by)):
            if sources:
                yield [("class:note", f"{word} {inline(', '.join(sources))}")]
        if hit.states:
            yield [("class:note", standing(hit.states, hit.successor))]
        yield from ([("class:error", inline(text))] for text in self._warnings(hit))
        yield []
        if hit.highlights.get("preview"):
            yield from _lighted(hit)
            yield []
        yield from self._content(hit)

    def _item(self, hit: SearchResult) -> LoadedItem | str:
        """Return the item of a hit, read once, or why it cannot be read."""
        if self._loaded[0] is not hit:
            try:
                self._loaded = hit, self.load(hit)
            except RyeError as error:
                self._loaded = hit, error.message
        return self._loaded[1]

    def _warnings(self, hit: SearchResult) -> tuple[str, ...]:
        found = self._item(hit)
        return () if isinstance(found, str) else found.warnings

    def _content(self, hit: SearchResult) -> Iterator[Line]:
        found = self._item(hit)
        if isinstance(found, str):
            yield [("class:error", inline(found))]
            return
        lines = block(found.content).expandtabs(4).splitlines()
        for line in lines[:_LINES]:
            yield [("", line)]
        if len(lines) > _LINES:
            yield [("class:dim", f"and {len(lines) - _LINES} more lines")]


def _remarkable(hit: SearchResult) -> Iterator[tuple[str, str]]:
    """Yield style and text of what sets a hit apart from others of its name, or speaks against it."""
    if hit.exact:
        yield "exact", "exact"
    if hit.shadows or hit.shadowed_by:
        place = f"shadowed by {', '.join(hit.shadowed_by)}" if hit.shadowed_by else f"shadows {', '.join(hit.shadows)}"
        yield "note", f"{source_name(hit.source, hit.bundle)}, {inline(place)}"
    if hit.states:
        yield "note", standing(hit.states, hit.successor)


def _lighted(hit: SearchResult) -> Iterator[Line]:
    """Yield the passage in which the query matched, the matches lighted."""
    marked = passage(hit.preview, hit.highlights["preview"], light=lambda run: f"{_LIGHT}{run}{_LIGHT}", width=None)
    for line in marked:
        pieces = line.split(_LIGHT)
        yield [("class:match" if at % 2 else "italic", piece) for at, piece in enumerate(pieces) if piece]
