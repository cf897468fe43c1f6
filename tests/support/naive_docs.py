"""The twin's reading of items: what each field of an item holds, which states it is in, what it shadows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rye.items.model import Item
from tests.support.naive_analysis import FieldText, analyze
from tests.support.naive_values import flatten

WEIGHTS: Mapping[str, float] = {
    "title": 7.0,
    "name": 7.0,
    "description": 2.5,
    "category": 2.0,
    "content": 4.0,
    "tags": 4.0,
    "headings": 3.0,
    "symbols": 3.0,
    "id": 1.0,
}
"""The text fields and their weights in knowledge."""

SHORT_WEIGHTS: Mapping[str, float] = {
    "title": 7.0,
    "name": 7.0,
    "description": 4.7,
    "category": 3.5,
    "content": 2.3,
    "tags": 4.7,
    "headings": 3.5,
    "symbols": 3.5,
    "id": 1.2,
}
"""Their weights in directives and tools."""

LENGTH_NORMALISATION: Mapping[str, float] = {"content": 0.75, "description": 0.75, "title": 0.5}
"""b of the fields whose b is not :data:`OTHER_B`."""

OTHER_B = 0.3
K1 = 9.0

LEVELS: Mapping[int, frozenset[str]] = {
    1: frozenset({"title", "name", "id", "description", "category", "tags"}),
    2: frozenset({"content", "headings", "symbols"}),
}

ALIASES: Mapping[str, str] = {
    "tag": "tags",
    "heading": "headings",
    "symbol": "symbols",
    "body": "content",
    "source": "space",
}

KEYWORD_FIELDS = (
    "type",
    "space",
    "bundle",
    "path",
    "author",
    "version",
    "created",
    "updated",
    "signer",
    "is",
)

SPACES = ("project", "user", "system")
"""The spaces in order of priority."""


@dataclass(frozen=True, slots=True)
class NaiveDoc:
    """One item where it was found.

    Attributes:
        item: The file as read.
        source: ``project``, ``user`` or ``system:<bundle>``.
        path: The file's path, as a hit shows it.
        bundle: Bundle id in system space, else empty.
        verdict: One of the six.
        signer: Fingerprint of the key, or empty.
    """

    item: Item
    source: str
    path: str
    bundle: str = ""
    verdict: str = "unsigned"
    signer: str = ""

    @property
    def space(self) -> str:
        """``project``, ``user`` or ``system``."""
        return self.source.partition(":")[0]

    @property
    def priority(self) -> int:
        """Rank of the space: project 0, user 1, system 2."""
        return SPACES.index(self.space)


@dataclass(frozen=True, slots=True)
class Corpus:
    """The items of the searched spaces, and for each of them what its fields hold."""

    docs: tuple[NaiveDoc, ...]
    texts: tuple[Mapping[str, FieldText], ...]
    values: tuple[Mapping[str, tuple[str, ...]], ...]

    @property
    def metadata_keys(self) -> frozenset[str]:
        """Every metadata key that some searched item has a value for."""
        return frozenset(key for doc in self.docs for key in flatten(doc.item.metadata))

    def document_frequencies(self, fields: Sequence[str]) -> dict[str, int]:
        """Return each term of these fields with the number of items that have it in one of them."""
        found: dict[str, int] = {}
        for texts in self.texts:
            for term in {term for field in fields for term in texts[field].positions}:
                found[term] = found.get(term, 0) + 1
        return found

    def average_length(self, field: str) -> float:
        """Return the mean length of a field over the items that have it."""
        lengths = [texts[field].length for texts in self.texts if texts[field].length]
        return sum(lengths) / len(lengths) if lengths else 0.0


def read_corpus(docs: Sequence[NaiveDoc], space: str = "all") -> Corpus:
    """Read the items of one space or of all; what is shadowed depends on all of them."""
    searched = tuple(doc for doc in docs if space in ("all", doc.space))
    texts = tuple({field: _analyzed(values) for field, values in text_values(doc.item).items()} for doc in searched)
    return Corpus(searched, texts, tuple(field_values(doc, docs) for doc in searched))


_analyzed = lru_cache(maxsize=10_000)(analyze)


def text_values(item: Item) -> dict[str, tuple[str, ...]]:
    """Return what stands in each text field of an item."""
    return {
        "title": (item.title,),
        "name": (item.name, *aliases(item)),
        "description": (item.description,),
        "category": (item.category,),
        "content": (item.body,),
        "tags": item.tags,
        "headings": tuple(section.heading_path[-1] for section in item.sections if section.heading_path),
        "symbols": tuple(symbol.name for symbol in item.symbols),
        "id": (item.id,),
    }


def aliases(item: Item) -> Iterator[str]:
    """Yield the other names that a note gives itself, in a list or separated by commas."""
    for key in ("aliases", "alias"):
        given = item.metadata.get(key, [])
        yield from (str(each).strip() for each in (given.split(",") if isinstance(given, str) else given))


def field_values(doc: NaiveDoc, docs: Sequence[NaiveDoc]) -> dict[str, tuple[str, ...]]:
    """Return the exact values of every field of an item, without empty ones; its own fields hide metadata keys."""
    item = doc.item
    values = {
        "type": (str(item.type),),
        "space": (doc.space,),
        "bundle": (doc.bundle,),
        "path": (doc.path,),
        "author": (item.author,),
        "version": (item.version,),
        "created": (item.created,),
        "updated": (item.updated,),
        "signer": (doc.signer,),
        "is": tuple(sorted(states(doc, docs))),
    }
    known = values | text_values(item) | {"name": (item.name,)}
    filled = {field: tuple(value for value in found if value) for field, found in known.items()}
    return flatten(item.metadata) | filled


def states(doc: NaiveDoc, docs: Sequence[NaiveDoc]) -> set[str]:
    """Return everything that ``is:`` finds this item by; of two bundles the one that comes first in ``docs`` wins."""
    found = {doc.verdict} | withdrawn(doc)
    if doc.verdict != "unsigned":
        found.add("signed")
    sources = list(dict.fromkeys(other.source for other in docs))
    rank = {source: (SPACES.index(source.partition(":")[0]), sources.index(source)) for source in sources}
    for other in docs:
        if (other.item.type, other.item.id) == (doc.item.type, doc.item.id):
            if rank[other.source] < rank[doc.source]:
                found.add("shadowed")
            elif rank[other.source] > rank[doc.source]:
                found.add("shadowing")
    return found


def withdrawn(doc: NaiveDoc) -> set[str]:
    """Return which of ``superseded``, ``deprecated`` and ``yanked`` an item says of itself."""
    flat = flatten(doc.item.metadata)
    status = {value.casefold() for value in flat.get("status", ())} & {"superseded", "deprecated", "yanked"}
    if flat.get("superseded_by"):
        status.add("superseded")
    for state in ("deprecated", "yanked"):
        if "true" in {value.casefold() for value in flat.get(state, ())}:
            status.add(state)
    return status
