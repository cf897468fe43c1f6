"""The catalogue of query fields: what each holds, how its values compare, and its weight."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from rye.index.build.reader import Floats, Part, Reader
from rye.index.segment.segment import Segment
from rye.index.storage.arrays import Numbers
from rye.index.text import schema
from rye.index.text.schema import FIELD_BITS, fold_value
from rye.index.text.schema import TEXT_FIELDS as INDEXED_FIELDS
from rye.items.model import TYPE_NAMES, ItemType
from rye.items.values import version
from rye.query import ast
from rye.trust.model import Verdict

K1 = 9.0
"""Saturation of term frequency in BM25F: the tf~ at which a term query contributes half of its maximum.

Field weights multiply tf~, so k1 is of their order: a word once in the title has a tf~ of about 7.
"""


class TextField(NamedTuple):
    """An analyzed field.

    Attributes:
        name: Its name in queries and responses.
        weight: Default weight w_field in knowledge.
        action_weight: Default weight in directives and tools.
        b: Length normalization b_field, 0 (none) to 1 (full).
        level: 1 for fields that name an item, 2 for its content.
        about: A description of the field.
        aliases: Other names in queries.
    """

    name: str
    weight: float
    action_weight: float
    b: float
    level: int
    about: str
    aliases: tuple[str, ...] = ()

    def weight_in(self, item_type: str) -> float:
        """Return the default weight in items of a type."""
        return self.weight if item_type == ItemType.KNOWLEDGE else self.action_weight


class KeywordField(NamedTuple):
    """A field compared as a whole; ``kind`` is how ranges compare its values: text, date or version."""

    name: str
    kind: str
    about: str
    aliases: tuple[str, ...] = ()


TEXT_FIELDS: Mapping[str, TextField] = {
    known.name: known
    for known in (
        TextField("title", 7.0, 7.0, 0.5, 1, "title from the metadata or the first heading"),
        TextField("name", 7.0, 7.0, 0.3, 1, "file name without extension, and aliases"),
        TextField("description", 2.5, 4.7, 0.75, 1, "description from the metadata, else the first paragraph"),
        TextField("category", 2.0, 3.5, 0.3, 1, "category from the metadata, else the folder"),
        TextField("content", 4.0, 2.3, 0.75, 2, "the whole body", ("body",)),
        TextField("tags", 4.0, 4.7, 0.3, 1, "tags from the metadata", ("tag",)),
        TextField("headings", 3.0, 3.5, 0.3, 2, "headings of a Markdown item", ("heading",)),
        TextField("symbols", 3.0, 3.5, 0.3, 2, "functions, classes and methods defined in a tool", ("symbol",)),
        TextField("id", 1.0, 1.2, 0.3, 1, "the id, path below the type's folder"),
    )
}

KEYWORD_FIELDS: Mapping[str, KeywordField] = {
    known.name: known
    for known in (
        KeywordField("type", "text", "directive, tool or knowledge"),
        KeywordField("space", "text", "project, user or system", ("source",)),
        KeywordField("bundle", "text", "bundle id of a system item"),
        KeywordField(
            "format", "text", "skill, command, agent, rule, prompt, instructions or server, or from the metadata"
        ),
        KeywordField("client", "text", "the client of agents whose file it is, or from the metadata"),
        KeywordField("skill", "text", "the skill, by its folder, whose file it is"),
        KeywordField("path", "text", "path below the space root"),
        KeywordField("author", "text", "author from the metadata"),
        KeywordField("version", "version", "version from the metadata"),
        KeywordField("created", "date", "date of creation from the metadata"),
        KeywordField("updated", "date", "date of the last change from the metadata"),
        KeywordField("signer", "text", "fingerprint of the key that signed the item, or subject of its certificate"),
        KeywordField("installed-from", "text", "where a skill came from, as its installer wrote"),
        KeywordField("is", "text", "a verdict or state", ("verdict",)),
        KeywordField("references", "text", "id or type:id of an item that it refers to, be it there or not"),
        KeywordField("referenced-by", "text", "id or type:id of an item that refers to it"),
    )
}

RELATION_FIELDS = ("references", "referenced-by")
"""Keyword fields answered from the references between items."""

UNORDERED = frozenset({"is", "signer", "installed-from", *RELATION_FIELDS})
"""Keyword fields without ranges and without typos."""

STATES: Mapping[str, str] = {
    **{str(verdict): f"the verdict is {verdict}" for verdict in Verdict},
    "signed": "there is a signature line, whatever its verdict",
    "shadowed": "a space of higher priority has the same type and id",
    "shadowing": "a space of lower priority has the same type and id",
    "superseded": "status superseded, or superseded_by names a successor",
    "deprecated": "status deprecated, or deprecated is set",
    "yanked": "status yanked, or yanked is set",
    "orphan": "no other item refers to it",
    "dangling": "it refers to what is not there",
}

STATE_SYNONYMS: Mapping[str, str] = {
    **dict.fromkeys(("verified", "valid", "authentic"), "trusted"),
    **dict.fromkeys(("invalid", "modified", "changed"), "tampered"),
    **dict.fromkeys(("obsolete", "outdated"), "superseded"),
    **dict.fromkeys(("broken", "missing"), "dangling"),
}
"""Other words for states, each with the state it means."""

ALIASES: Mapping[str, str] = {
    alias: known.name for table in (TEXT_FIELDS, KEYWORD_FIELDS) for known in table.values() for alias in known.aliases
}

if tuple(TEXT_FIELDS) != INDEXED_FIELDS:  # pragma: no cover - a slip of whoever edits one of the two tables
    message = "the text fields of search and index differ"
    raise AssertionError(message)

DATE_SUFFIXES = ("_at", "date", "created", "updated")


def canonical(name: str) -> str:
    """Return the canonical name of a field, given its name or an alias in any case."""
    folded = name.casefold()
    return ALIASES.get(folded, folded)


_FIELDS = frozenset({*TEXT_FIELDS, *KEYWORD_FIELDS})


def resolve(name: str, metadata_keys: frozenset[str], known: Container[str] = _FIELDS) -> str:
    """Return the field or metadata key that a name means, in any case; empty if there is none.

    Args:
        name: The name, or an alias of a field.
        metadata_keys: The metadata keys that items have. One in other letters counts if no other differs only in that.
        known: The fields that may be meant.
    """
    field = canonical(name)
    if field in known:
        return field
    if name in metadata_keys:
        return name
    alike = [key for key in metadata_keys if key.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else ""


def text_leaves(node: ast.Node) -> Iterator[ast.Node]:
    """Yield the words, wildcards and phrases that a query asks for, except under NOT and on keyword fields."""
    if isinstance(node, (ast.Word, ast.Wildcard, ast.Fuzzy, ast.Phrase)):
        yield node
    elif isinstance(node, ast.Not):
        return
    elif not isinstance(node, ast.Field) or canonical(node.name) in TEXT_FIELDS:
        for child in ast.children(node):
            yield from text_leaves(child)


def kind_of(key: str) -> str:
    """Return how values of a keyword field compare: as ``version``, ``date`` or ``text`` (numbers if both are)."""
    if key in KEYWORD_FIELDS:
        return KEYWORD_FIELDS[key].kind
    if key.endswith("version"):
        return "version"
    return "date" if key.endswith(DATE_SUFFIXES) else "text"


def nearest(name: str, valid: Iterable[str], cutoff: float = 0.6) -> list[str]:
    """Return up to three valid names similar to ``name``, best first; ``cutoff`` is the least similarity."""
    return difflib.get_close_matches(name, list(valid), cutoff=cutoff)


EXAMPLES = {
    "version": "2.0 or 1.4.0-beta",
    "date": "2026, 2026-02, 2026-02-18 or 2026-02-18T12:00Z",
    "text": "5, -0.5 or 1e300",
}
"""Examples of bounds, by kind of field. On text fields, numbers compare as numbers."""


def is_readable(kind: str, bound: str) -> bool:
    """Return whether a bound can be read as a value of this kind."""
    if kind == "version":
        return version(fold_value(bound)) is not None
    return schema.period(bound) is not None if kind == "date" else not schema.overflows(bound)


def between(kind: str, low: str | None, high: str | None, *, include: tuple[bool, bool]) -> Callable[[str], bool]:
    """Return a test of one folded value against two bounds, each included or not; None leaves a bound open.

    A value that cannot be read like the bounds does not match. On a field of kind ``text``, bounds that are all numbers
    compare as numbers, any others as text. A date as a bound is a whole period; a date as a value is its start.
    """
    texts = [bound for bound in (low, high) if bound is not None]
    if kind == "text" and texts and all(schema.number(text) is not None for text in texts):
        kind = "number"
    read = _READ[kind]
    least, most = (None if bound is None else read(fold_value(bound)) for bound in (low, high))

    def test(value: str) -> bool:
        span = read(value) if texts else None
        if span is None:
            return not texts
        at = span[0]
        if least is not None and not (at >= least[0] if include[0] else at > least[1]):
            return False
        return most is None or bool(at <= most[1] if include[1] else at < most[0])

    return test


def _point(value: Any) -> tuple[Any, Any] | None:
    return None if value is None else (value, value)


def _period(text: str) -> tuple[float, float] | None:
    span = schema.period(text)
    return span and (span[0], math.nextafter(span[1], -math.inf))


_READ: Mapping[str, Callable[[str], tuple[Any, Any] | None]] = {
    "version": lambda text: _point(version(text)),
    "date": _period,
    "number": lambda text: _point(schema.number(text)),
    "text": _point,
}
"""Readers of folded values and bounds by kind, as first and last point, which differ only for dates."""


Overrides = Mapping[str, Mapping[str, float]]
"""Item type → field → weight."""


_W = np.asarray([[known.weight_in(kind) for known in TEXT_FIELDS.values()] for kind in TYPE_NAMES], np.float64)
_B = np.asarray([known.b for known in TEXT_FIELDS.values()], np.float64)
FIELD_MASK = (1 << FIELD_BITS) - 1
"""The bits of a slot that hold the field number."""


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of the fields.

    Attributes:
        w: Shape ``(types, fields)``, or ``(roots · types, fields)`` if some root has its own weights.
        b: Shape ``(fields,)``: length normalization.
        average: Shape ``(fields,)``: mean lengths.
        first_rows: By source, the first row of ``w`` for a root; row 0 for a source not listed.
    """

    w: Floats
    b: Floats
    average: Floats
    first_rows: Mapping[str, int] = field(default_factory=dict)
    _tables: WeakKeyDictionary[Segment, Floats] = field(default_factory=WeakKeyDictionary, init=False)

    def normalized(self, part: Part, slots: Numbers) -> Floats:
        """Return ``w / (1 − b + b · length / average length)`` for documents and fields of a segment.

        Args:
            part: The segment.
            slots: As returned by :func:`rye.index.segment.postings.slot_keys`.
        """
        norms = part.segment.norms
        table = self._tables.get(part.segment)
        if table is None:
            rows = norms.types + self.first_rows.get(part.root.source, 0)
            table = (1.0 - self.b)[norms.fields] + (self.b / self.average)[norms.fields] * norms.lengths
            table = self._tables[part.segment] = self.w[rows, norms.fields] / table
        return table.take(norms.by_slot.take(slots))


def plain_weights(average: Floats) -> Weights:
    """Return the default weights, given the mean lengths of the fields."""
    return Weights(_W, _B, average)


def weight_row(chosen: Overrides, kind: str) -> list[float]:
    """Return the weight of each field for items of a type: the chosen weight, else the default."""
    own = chosen.get(kind, {})
    return [own.get(name, known.weight_in(kind)) for name, known in TEXT_FIELDS.items()]


_plain: WeakKeyDictionary[Reader, Weights] = WeakKeyDictionary()


def weights_for(reader: Reader, overrides: Sequence[Overrides] = ()) -> Weights:
    """Return the default weights with the overrides of each root, in the order of ``reader.snapshots``."""
    if not any(overrides):
        weights = _plain.get(reader)
        if weights is None:
            weights = _plain[reader] = plain_weights(reader.average_lengths)
        return weights
    table = [weight_row(chosen, kind) for chosen in overrides for kind in TYPE_NAMES]
    first_rows = {root.source: number * len(TYPE_NAMES) for number, (root, _) in enumerate(reader.snapshots)}
    return Weights(np.asarray(table), _B, reader.average_lengths, first_rows)
