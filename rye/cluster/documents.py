"""What a cluster keeps: the settings and mappings of both indexes, and one document per item.

Words are cut by rye alone. A text travels as its terms, ``file|filesystem system`` being ``file`` and a joined form at
one position and ``system`` at the next; the cluster's analyzer only splits at spaces and bars. Positions are kept,
norms are not: lengths are fields of their own, so that scores can be computed as :mod:`rye.search.score` does.
"""

from __future__ import annotations

import base64
import hashlib
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from rye.cluster import edges
from rye.cluster.vectors import FIELDS as VECTOR_FIELDS
from rye.index import analysis, schema
from rye.index.arrays import Bools, Ints
from rye.index.docvalues import name_key
from rye.index.postings import POSITION_BITS
from rye.index.schema import FIELD_BITS, SEPARATOR, TEXT_FIELDS, TYPE_NAMES, Version
from rye.index.segment import Segment
from rye.search.fields import kind_of

FORMAT = 9
"""The version of the documents; a registry in another version has to be published again."""

_BLOCK = 1_000
"""Documents whose words are put together at a time: of 4,000 at once, each takes 1.4 times as long (1.5 ms for 1.1)."""

_LONGEST = 1_000_000
"""The longest term, in characters, that the cluster does not split."""

_FIELD_MASK = (1 << FIELD_BITS) - 1


_ANALYSIS = {
    "tokenizer": {
        "spaces": {"type": "whitespace", "max_token_length": _LONGEST},
        "signs": {"type": "char_group", "tokenize_on_chars": [" ", "|"], "max_token_length": _LONGEST},
    },
    "filter": {"bars": {"type": "pattern_capture", "preserve_original": False, "patterns": ["([^|]+)"]}},
    "analyzer": {
        "terms": {"type": "custom", "tokenizer": "spaces", "filter": ["bars"]},
        "words": {"type": "custom", "tokenizer": "signs"},
    },
}
"""Terms are split at spaces, each with the joined forms at its place behind bars; in the field of all, at both."""


def settings(shards: int, replicas: int) -> dict[str, Any]:
    """Return the settings and mappings of the index of items."""
    text = {"type": "text", "analyzer": "terms", "norms": False}
    linear = {"type": "scripted", "script": {"source": "return query.boost * doc.freq;"}}
    placed = {"similarity": "linear", "copy_to": ["all"], "position_increment_gap": analysis.VALUE_GAP}
    keyword, integer = {"type": "keyword"}, {"type": "integer"}
    unread = keyword | {"index": False, "doc_values": False}
    return {
        "settings": {
            "index": _size(shards, replicas) | {"similarity": {"linear": linear}},
            "analysis": _ANALYSIS,
        },
        "mappings": {
            "dynamic": "strict",
            "properties": {
                **{f"t_{name}": text | placed for name in TEXT_FIELDS},
                **{f"n_{name}": integer for name in TEXT_FIELDS},
                "all": text | {"analyzer": "words", "index_options": "docs", "similarity": "boolean"},
                **dict.fromkeys(("entry", "order", "state", "id", "type", "path", "by_name", "mark", "owner"), keyword),
                "root": integer,
                "kind": integer,
                "priority": integer,
                "time": {"type": "double"},
                "raw": unread,
                "raw64": {"type": "binary"},
                "detached": {"type": "binary"},
                "skill": unread,
                **VECTOR_FIELDS,
                **edges.FIELDS,
            },
        },
    }


def word_settings(replicas: int) -> dict[str, Any]:
    """Return the settings and mappings of the dictionary."""
    keyword, number = {"type": "keyword"}, {"type": "integer", "index": False}
    words = {"word": keyword, "stem": keyword | {"doc_values": False}, "df": number, "fields": number}
    lists = {"list": {"type": "binary", "store": True}}  # the signed list of a root is a document here, without a word
    # half of the work of a first publish is the dictionary: nothing is kept of it that is not looked up
    mappings = {"dynamic": "strict", "_source": {"enabled": False}, "properties": words | lists}
    return {"settings": {"index": _size(1, replicas)}, "mappings": mappings}


def _size(shards: int, replicas: int) -> dict[str, Any]:
    sizes = {"number_of_shards": shards, "number_of_replicas": replicas}
    # nothing is durable before the flush at the end, and nothing before it serves
    return sizes | {"refresh_interval": "-1", "max_result_window": 100_000, "translog.durability": "async"}


def number_key(value: float) -> str:
    """Return a text whose order is that of finite numbers."""
    bits = int(struct.unpack(">Q", struct.pack(">d", value + 0.0))[0])
    return f"{bits ^ (0xFFFFFFFFFFFFFFFF if bits >> 63 else 1 << 63):016x}"


def date_key(seconds: float) -> str:
    """Return a text whose order is that of moments, in seconds since 1970."""
    return f"{round((seconds + 1e12) * 1e6):022d}"


def version_key(parsed: Version) -> str:
    """Return a text whose order is that of versions; ``!`` comes before all that an identifier may hold."""
    numbers, release, identifiers = parsed
    after = "".join(f"1{text}!" if kind else f"0{value:018d}" for kind, value, text in identifiers)
    return "".join(f"{value:018d}" for value in numbers) + f"!{release}{after}"


@lru_cache(1 << 16)
def _order_keys(entry: str) -> tuple[str, ...]:
    """Return the keys by which a keyword term is compared as a version, date or number; none where it is none."""
    key, _, folded = entry.partition(SEPARATOR)
    match kind_of(key):
        case "version":
            if (version := schema.version(folded)) is not None:
                return (f"{key}{SEPARATOR}v{version_key(version)}",)
        case "date":
            if (span := schema.period(folded)) is not None:
                return (f"{key}{SEPARATOR}d{date_key(span[0])}",)
        case _:
            if (value := schema.number(folded)) is not None:
                return (f"{key}{SEPARATOR}n{number_key(value)}",)
    return ()


def documents(segment: Segment, docs: Ints) -> Iterator[dict[str, Any]]:
    """Yield what a cluster is given of some documents of a segment: all but bytes, root, owner and states.

    Words are taken from the postings: they were cut when the item was indexed.

    Args:
        segment: The segment.
        docs: Their numbers, ascending.
    """
    for start in range(0, len(docs), _BLOCK):
        block = docs[start : start + _BLOCK]
        texts, entries = _texts(segment, block), _entries(segment, block)
        for doc, relations in zip(block.tolist(), edges.fields_of(segment, block), strict=True):
            item_id, time = segment.ids[doc], float(segment.times[doc])
            kind = int(segment.types[doc])
            source: dict[str, Any] = {"id": item_id, "type": TYPE_NAMES[kind], "kind": kind}
            source |= relations
            source["path"], source["by_name"] = segment.paths.of(doc, item_id), name_key(item_id)
            for number, values in texts.get(doc, ()):
                if size := int(segment.lengths[number, doc]):
                    source[f"t_{TEXT_FIELDS[number]}"] = values
                    source[f"n_{TEXT_FIELDS[number]}"] = size
            source["entry"] = [entry for entry in entries.get(doc, ()) if entry[-1] != SEPARATOR]
            if signer := segment.evidence[doc].fingerprint:
                source["entry"].append(f"signer{SEPARATOR}{signer}")
            source["order"] = sorted({key for entry in source["entry"] for key in _order_keys(entry)})
            if not math.isnan(time):
                source["time"] = time
            yield source


def _texts(segment: Segment, docs: Ints) -> dict[int, list[tuple[int, list[str]]]]:
    """Return the fields of some documents, by number, and the values of each as the cluster splits them."""
    wanted = np.zeros(segment.docs, bool)
    wanted[docs] = True
    chosen = np.flatnonzero(wanted[segment.places(slice(None))[0]])
    if not len(chosen):
        return {}
    owners = np.searchsorted(segment.term_postings, chosen.astype(segment.term_postings.dtype), side="right") - 1
    terms, of_posting = np.unique(owners, return_inverse=True)
    keys, of_token = segment.occurrences(chosen)
    order = np.argsort(keys, kind="stable")
    slots, places = keys[order] >> POSITION_BITS, keys[order] & ((1 << POSITION_BITS) - 1)
    steps = np.diff(places, prepend=0)
    first = np.diff(slots, prepend=-1) != 0  # the first term of a field
    value = first | (steps >= analysis.VALUE_GAP)  # the first term of a value
    words = segment.terms.take(terms)
    # the word of each token behind a bar where it is at the place of the one before, else behind a space
    spellings = np.asarray([*(f" {word}" for word in words), *(f"|{word}" for word in words), *words], object)
    kinds = np.where(value, 2, np.where(steps == 0, 1, 0))
    tokens = spellings[of_posting[of_token[order]] + kinds * len(words)].tolist()
    starts = np.flatnonzero(value)
    stops = [*starts[1:].tolist(), len(tokens)]
    fields_by_doc: dict[int, list[tuple[int, list[str]]]] = {}
    for slot, is_new, start, stop in zip(
        slots[starts].tolist(), first[starts].tolist(), starts.tolist(), stops, strict=True
    ):
        fields = fields_by_doc.setdefault(slot >> FIELD_BITS, [])
        if is_new:
            fields.append((slot & _FIELD_MASK, []))
        fields[-1][1].append("".join(tokens[start:stop]))
    return fields_by_doc


def _entries(segment: Segment, docs: Ints) -> dict[int, list[str]]:
    """Return the keyword terms of some documents, in their order."""
    wanted = np.zeros(segment.docs, bool)
    wanted[docs] = True
    at = np.flatnonzero(wanted[segment.keyword_owners[:]])
    numbers = np.searchsorted(segment.keyword_bounds, at.astype(segment.keyword_bounds.dtype), side="right") - 1
    distinct, which = np.unique(numbers, return_inverse=True)
    texts = segment.keywords.take(distinct)
    by_doc: dict[int, list[str]] = {}
    for doc, number in zip(segment.keyword_owners[at].tolist(), which.tolist(), strict=True):
        by_doc.setdefault(doc, []).append(texts[number])
    return by_doc


def as_text(data: bytes) -> dict[str, str]:
    r"""Return the bytes of a file as fields of a document: as text where they are UTF-8, which takes half the room.

    >>> as_text(b"Steps"), as_text(b"\xff")
    ({'raw': 'Steps'}, {'raw64': '/w=='})
    """
    try:
        return {"raw": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"raw64": base64.b64encode(data).decode("ascii")}


def as_bytes(source: Mapping[str, Any]) -> bytes:
    """Return the bytes that :func:`as_text` made fields of.

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


class Word(NamedTuple):
    """In how many items a word stands, and in which fields, one bit each."""

    df: int
    fields: int


def words_of(source: Mapping[str, Any]) -> dict[str, int]:
    """Return the words of a document on a cluster, each with its fields, one bit each."""
    words: dict[str, int] = {}
    for number, name in enumerate(TEXT_FIELDS):
        for value in source.get(f"t_{name}", ()):
            for word in value.replace("|", " ").split():
                words[word] = words.get(word, 0) | 1 << number
    return words


def word_counts(segment: Segment, docs: Bools) -> dict[str, Word]:
    """Return the words of some documents of a segment.

    Args:
        segment: The segment.
        docs: Shape ``(docs,)``: which documents.
    """
    owners, fields = segment.places(slice(None))
    chosen = docs[owners]
    if not chosen.any():
        return {}
    bounds: Ints = segment.term_postings.astype(np.int64)
    terms = np.repeat(np.arange(len(segment.terms)), bounds[1:] - bounds[:-1])[chosen]
    owners, fields = owners[chosen], 1 << fields[chosen]
    is_first = np.diff(terms, prepend=-1) != 0
    starts = np.flatnonzero(is_first)
    # postings are in the order of term, document and field: a pair of term and document begins where either changes
    pairs = is_first | (np.diff(owners, prepend=-1) != 0)
    df, bits = np.add.reduceat(pairs, starts, dtype=np.int64), np.bitwise_or.reduceat(fields, starts)
    words = segment.terms.take(terms[starts])
    return {word: Word(*row) for word, *row in zip(words, df.tolist(), bits.tolist(), strict=True)}


def word_id(word: str) -> str:
    """Return what the dictionary calls a word; ids have a greatest length there."""
    digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
    return base64.urlsafe_b64encode(digest[:15]).decode("ascii")  # 20 characters that the cluster keeps as 15 bytes


def marks_of(segment: Segment, docs: Ints, facts: Sequence[str], states: Mapping[str, Bools]) -> list[str]:
    """Return the digest of what each document depends on; it changes with the document.

    Args:
        segment: The segment.
        docs: Its documents.
        facts: What all of them share: their owner and root.
        states: By state, which documents are in it.
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
