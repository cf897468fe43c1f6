"""What a cluster stores: the settings and mapping of an index, and one document for each item.

Only rye tokenizes text. A text is sent as its terms: in ``file|filesystem system``, ``file`` and the joined form
``filesystem`` share a position, and ``system`` is at the next. The cluster's analyzer only splits at spaces and bars.
Each text field has its words in ``t_NAME`` and their stems, at the same positions, in ``s_NAME``. ``t_all`` and
``s_all`` combine all fields; they are sent as distinct terms with their counts.
"""

from __future__ import annotations

import base64
import hashlib
import math
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import numpy as np

from rye.cluster.vectors import FIELDS as VECTOR_FIELDS
from rye.index.segment.docvalues import name_key
from rye.index.segment.segment import Segment
from rye.index.storage.arrays import Bools, Ints
from rye.index.text import analysis, schema
from rye.index.text.schema import (
    SEPARATOR,
    TEXT_FIELDS,
    ItemPlace,
    keyword_columns,
    keyword_terms,
    sort_time,
    text_columns,
)
from rye.items.model import TYPE_NAMES, TYPE_NUMBER, Item
from rye.items.references import BY_NAME, TYPE_BITS, TYPED, Lookup, key_of, name_of
from rye.items.relations import Edge
from rye.items.values import Version, version
from rye.search.contract.fields import TEXT_FIELDS as WEIGHTS
from rye.search.contract.fields import kind_of

FORMAT: Final = 11
"""The version of the document format. A registry in another version must be published again."""

_LONGEST: Final = 1_000_000
"""Characters of the longest term that the cluster does not split."""

_MOST_SPELLINGS: Final = 1 << 17

_ANALYSIS: Final = {
    "tokenizer": {"spaces": {"type": "whitespace", "max_token_length": _LONGEST}},
    "filter": {
        "bars": {"type": "pattern_capture", "preserve_original": False, "patterns": ["([^|]+)"]},
        "counts": {"type": "delimited_term_freq", "delimiter": "|"},
    },
    "analyzer": {
        "terms": {"type": "custom", "tokenizer": "spaces", "filter": ["bars"]},
        "counted": {"type": "custom", "tokenizer": "spaces", "filter": ["counts"]},
    },
}
"""Splits terms at spaces. A bar separates a term from the joined forms at its position, or from its count."""

_SIMILARITY: Final = {"all": {"type": "BM25", "k1": 3.0, "b": 0.6}}
"""The similarity of the combined field. A title word counts there as often as its weight says, as in BM25F."""


def settings(shards: int, replicas: int) -> dict[str, Any]:
    """Return the settings and mapping of an index."""
    text = {"type": "text", "analyzer": "terms", "position_increment_gap": analysis.VALUE_GAP}
    combined = {"type": "text", "analyzer": "counted", "similarity": "all", "index_options": "freqs"}
    keyword, integer, binary = ({"type": kind} for kind in ("keyword", "integer", "binary"))
    unread = keyword | {"index": False, "doc_values": False}
    # the flush at the end makes all durable, and the index is not live before
    sizes = {"number_of_shards": shards, "number_of_replicas": replicas, "refresh_interval": "-1"}
    return {
        "settings": {
            "index": sizes | {"max_result_window": 100_000, "translog.durability": "async", "similarity": _SIMILARITY},
            "analysis": _ANALYSIS,
        },
        "mappings": {
            "dynamic": "strict",
            "properties": {
                **{f"{kind}_{name}": text for name in TEXT_FIELDS for kind in "ts"},
                **dict.fromkeys(("t_all", "s_all"), combined),
                **dict.fromkeys(("entry", "order", "state", "id", "type", "path", "by_name", "mark", "owner"), keyword),
                **dict.fromkeys(("root", "priority"), integer),
                **dict.fromkeys(("raw", "skill"), unread),
                **dict.fromkeys(("raw64", "detached", "list"), binary),
                **dict.fromkeys(("refers", "called"), keyword),
                "time": {"type": "double"},
                **VECTOR_FIELDS,
            },
        },
    }


def number_key(value: float) -> str:
    """Return a text for a finite number; such texts sort like their numbers."""
    bits = int(struct.unpack(">Q", struct.pack(">d", value + 0.0))[0])
    return f"{bits ^ (0xFFFFFFFFFFFFFFFF if bits >> 63 else 1 << 63):016x}"


def date_key(seconds: float) -> str:
    """Return a text for a time in seconds since 1970; such texts sort like their times."""
    return f"{round((seconds + 1e12) * 1e6):022d}"


def version_key(parsed: Version) -> str:
    """Return a text for a version; such texts sort like their versions.

    ``!`` sorts before every character of an identifier.
    """
    numbers, release, identifiers = parsed
    after = "".join(f"1{text}!" if kind else f"0{value:018d}" for kind, value, text in identifiers)
    return "".join(f"{value:018d}" for value in numbers) + f"!{release}{after}"


@lru_cache(1 << 16)
def _order_keys(entry: str) -> tuple[str, ...]:
    """Return the keys that compare a keyword term as a version, date or number; empty if it is none of these."""
    key, _, folded = entry.partition(SEPARATOR)
    match kind_of(key):
        case "version":
            if (parsed := version(folded)) is not None:
                return (f"{key}{SEPARATOR}v{version_key(parsed)}",)
        case "date":
            if (span := schema.period(folded)) is not None:
                return (f"{key}{SEPARATOR}d{date_key(span[0])}",)
        case _:
            if (value := schema.number(folded)) is not None:
                return (f"{key}{SEPARATOR}n{number_key(value)}",)
    return ()


class _Spellings(dict[str, str]):
    """A cache of a function's results for texts, filled on demand."""

    def __init__(self, spell: Callable[[str], str]) -> None:
        super().__init__()
        self._spell = spell

    def __missing__(self, text: str) -> str:
        if len(self) >= _MOST_SPELLINGS:
            self.clear()
        spelled = self[text] = self._spell(text)
        return spelled


def _terms(chunk: str) -> str:
    """Return the terms of a chunk of text as the cluster splits them."""
    if chunk.isalpha() and chunk.islower() and analysis.is_short(chunk):  # the common case: one plain word
        return chunk
    tokens = sorted(analysis.analyze_chunk(chunk), key=attrgetter("offset"))
    return " ".join("|".join(token.term for token in place) for _, place in groupby(tokens, attrgetter("offset")))


def _stems(chunk: str) -> str:
    """Return the stems of the terms of a chunk, in the same form."""
    places = (map(analysis.stem, place.split("|")) for place in _SPELLINGS["t"][chunk].split(" "))
    return " ".join("|".join(dict.fromkeys(stems)) for stems in places)


_SPELLINGS: Final = {"t": _Spellings(_terms), "s": _Spellings(_stems)}


def _texts(item: Item) -> Iterator[tuple[str, list[str] | str]]:
    """Yield the name of each non-empty text field of a document, and its values as the cluster splits them.

    The combined fields come last: each term with its count, multiplied by the weight of its field relative to that of
    the content.
    """
    combined: dict[str, list[str]] = {kind: [] for kind in _SPELLINGS}
    for number, values, _ in text_columns([item]):
        name = TEXT_FIELDS[number]
        chunks = list(filter(None, (analysis.chunks(analysis.normalize(value)) for value in values)))
        for kind, spellings in _SPELLINGS.items() if chunks else ():
            texts = [" ".join(map(spellings.__getitem__, value_chunks)) for value_chunks in chunks]
            yield f"{kind}_{name}", texts
            combined[kind] += " ".join(texts).replace("|", " ").split() * _times(name, str(item.type))
    for kind, terms in combined.items():
        yield f"{kind}_all", " ".join(map("%s|%d".__mod__, Counter(terms).items()))


@cache
def _times(field: str, item_type: str) -> int:
    weights = [WEIGHTS[name].weight_in(item_type) for name in (field, "content")]
    return max(1, round(weights[0] / weights[1]))


def _entries(item: Item, place: ItemPlace, signer: str) -> list[str]:
    """Return the keyword terms of an item."""
    columns = [(key, values) for key, values, _ in keyword_columns([item], [place])]
    own = {"key": f"{item.type}:{item.id}", "path": place.path, "id": item.id, "name": item.name, "title": item.title}
    columns += [(key, [value]) for key, value in own.items()]
    entries = [term for key, values in columns for term in keyword_terms(key, list(filter(None, values)))]
    entries += [f"signer{SEPARATOR}{signer}"] if signer else []
    return [entry for entry in dict.fromkeys(entries) if entry[-1] != SEPARATOR]


def document(item: Item, place: ItemPlace, signer: str, edges: Sequence[Edge]) -> dict[str, Any]:
    """Return the fields of an item's document, except bytes, root, owner, states and vectors.

    Args:
        item: The item.
        place: Where its file is.
        signer: The fingerprint that its signature names; empty for none.
        edges: The references of the item.
    """
    entries = _entries(item, place, signer)
    time = sort_time(item.updated, item.created)
    return {
        **dict(_texts(item)),
        "id": item.id,
        "type": str(item.type),
        "path": place.path,
        "by_name": name_key(item.id),
        "entry": entries,
        "order": sorted({key for entry in entries for key in _order_keys(entry)}),
        "called": called(item),
        "refers": list(dict.fromkeys(word for edge in edges for word in words(edge.lookups))),
        **({} if math.isnan(time) else {"time": time}),
    }


def words(lookups: Iterable[Lookup]) -> list[str]:
    """Return the words that look up references: the kind of lookup, then the key in 16 hex digits."""
    return [f"{how}{key:016x}" for how, key in lookups]


def called(item: Item) -> list[str]:
    """Return the words by which references find an item: its id and its name, each with and without its type."""
    pairs = ((key_of(text, TYPE_NUMBER[item.type]), how) for text, how in ((item.id, 0), (name_of(item.id), BY_NAME)))
    return words(
        lookup
        for key, how in pairs
        for lookup in (Lookup(how, key >> TYPE_BITS << TYPE_BITS), Lookup(how | TYPED, key))
    )


def as_text(data: bytes) -> dict[str, str]:
    r"""Return the bytes of a file as fields of a document: as text if they are UTF-8, which takes half the space.

    >>> as_text(b"Steps"), as_text(b"\xff")
    ({'raw': 'Steps'}, {'raw64': '/w=='})
    """
    try:
        return {"raw": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"raw64": base64.b64encode(data).decode("ascii")}


def as_bytes(source: Mapping[str, Any]) -> bytes:
    """Return the bytes that :func:`as_text` stored in the fields of a document.

    Raises:
        ValueError: The document has other fields.
    """
    text, encoded = source.get("raw"), source.get("raw64")
    if isinstance(text, str) and encoded is None:
        return text.encode("utf-8")
    if isinstance(encoded, str) and text is None:
        return base64.b64decode(encoded, validate=True)
    message = "a document has no bytes"
    raise ValueError(message)


def marks_of(segment: Segment, docs: Ints, facts: Sequence[str], states: Mapping[str, Bools]) -> list[str]:
    """Return a digest of everything that each document depends on, so it changes with the document.

    Args:
        segment: The segment.
        docs: The documents in the segment.
        facts: The owner and root, which all documents share.
        states: For each state, which documents are in it.
    """
    shared = SEPARATOR.join((str(FORMAT), *facts)).encode("utf-8", "surrogatepass")
    evidence, lines = segment.evidence, np.full(segment.docs, -1)
    lines[np.setdiff1d(np.arange(segment.docs), evidence.bare)] = np.arange(len(evidence.lines))
    names = [name.encode() for name in states]
    rests, times = evidence.rests.everything, evidence.times.everything
    marks = []
    for doc, path in zip(docs.tolist(), segment.paths.take(docs), strict=True):
        at = int(lines[doc])
        rest = f"{TYPE_NAMES[segment.types[doc]]}{SEPARATOR}{path}{SEPARATOR}{rests[evidence.rest_of[doc]]}{SEPARATOR}"
        parts = [shared, rest.encode("utf-8", "surrogatepass"), times[evidence.time_of[doc]].encode()]
        parts += [evidence.raw_content_digests[doc].tobytes(), evidence.lines[at].tobytes() if at >= 0 else b""]
        parts += [name for name, mask in zip(names, states.values(), strict=True) if mask[doc]]
        marks.append(hashlib.sha256(SEPARATOR.encode().join(parts)).hexdigest())
    return marks
