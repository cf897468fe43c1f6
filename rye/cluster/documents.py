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
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

from rye.index import analysis, schema
from rye.index.docvalues import name_key
from rye.index.schema import SEPARATOR, TEXT_FIELDS, ItemPlace, Version
from rye.items import Item
from rye.search.fields import kind_of

FORMAT = 3
"""Of the documents; a cluster with those of another format has to be published to anew."""


def settings(shards: int, replicas: int) -> dict[str, Any]:
    """Return the settings and mappings of the index of items."""
    text = {"type": "text", "analyzer": "terms", "norms": False}
    linear = {"type": "scripted", "script": {"source": "return query.boost * doc.freq;"}}
    placed = {"similarity": "linear", "copy_to": ["all"], "position_increment_gap": analysis.VALUE_GAP}
    keyword, whole = {"type": "keyword"}, {"type": "integer"}
    return {
        "settings": {
            "index": _size(shards, replicas) | {"similarity": {"linear": linear}},
            "analysis": {
                "tokenizer": {"spaces": {"type": "whitespace", "max_token_length": 1_000_000}},
                "filter": {"bars": {"type": "pattern_capture", "preserve_original": False, "patterns": ["([^|]+)"]}},
                "analyzer": {"terms": {"type": "custom", "tokenizer": "spaces", "filter": ["bars"]}},
            },
        },
        "mappings": {
            "dynamic": "strict",
            "properties": {
                **{f"t_{name}": text | placed for name in TEXT_FIELDS},
                **{f"n_{name}": whole for name in TEXT_FIELDS},
                "all": text | {"index_options": "docs", "similarity": "boolean"},
                **dict.fromkeys(("entry", "order", "shadow", "id", "type", "path", "by_name", "mark"), keyword),
                "root": whole,
                "priority": whole,
                "time": {"type": "double"},
                "raw": {"type": "binary"},
                "detached": {"type": "binary"},
                "skill": {"type": "keyword", "index": False, "doc_values": False},
            },
        },
    }


def word_settings(replicas: int) -> dict[str, Any]:
    """Return the settings and mappings of the dictionary."""
    keyword, whole = {"type": "keyword"}, {"type": "integer"}
    words = {"word": keyword, "stem": keyword, "df": whole, "fields": whole}
    return {"settings": {"index": _size(1, replicas)}, "mappings": {"dynamic": "strict", "properties": words}}


def _size(shards: int, replicas: int) -> dict[str, Any]:
    sizes = {"number_of_shards": shards, "number_of_replicas": replicas}
    return sizes | {"refresh_interval": "-1", "max_result_window": 100_000}


@lru_cache(1 << 16)
def _of_chunk(chunk: str) -> tuple[str, int]:
    """Return a chunk as the cluster is given it, and how many parts it has."""
    if analysis.is_lone(chunk):
        return chunk, 0
    tokens = sorted(analysis.analyze_chunk(chunk), key=lambda token: (token.offset, not token.part))
    groups = ["|".join(token.term for token in some) for _, some in groupby(tokens, key=lambda token: token.offset)]
    return " ".join(groups), len(groups)


def terms_of(text: str) -> tuple[str, int]:
    """Return a text as the cluster is given it, and its length in parts.

    Operators and symbols stand at the position of the word behind them, and count nothing in the length.

    >>> terms_of("the -> fileSystem")
    ('the ->|file|filesystem system', 3)
    """
    words, lone, length = list[str](), list[str](), 0
    for chunk in analysis.chunks(analysis.normalize(text)):
        terms, parts = _of_chunk(chunk)
        lone.append(terms)
        if parts:
            words.append("|".join(lone))
            lone, length = [], length + parts
    return " ".join([*words, "|".join(lone)]).rstrip(), length


def number_key(value: float) -> str:
    """Return a text whose order is that of finite numbers."""
    bits = int(struct.unpack(">Q", struct.pack(">d", value + 0.0))[0])
    return f"{bits ^ (0xFFFFFFFFFFFFFFFF if bits >> 63 else 1 << 63):016x}"


def date_key(seconds: float) -> str:
    """Return a text whose order is that of moments, in seconds since 1970."""
    return f"{round((seconds + 1e12) * 1e6):022d}"


def version_key(found: Version) -> str:
    """Return a text whose order is that of versions; ``!`` comes before all that an identifier may hold."""
    numbers, release, identifiers = found
    after = "".join(f"1{text}!" if kind else f"0{value:018d}" for kind, value, text in identifiers)
    return "".join(f"{value:018d}" for value in numbers) + f"!{release}{after}"


def _order_keys(key: str, folded: str) -> Iterator[str]:
    match kind_of(key):
        case "version":
            if (version := schema.version(folded)) is not None:
                yield f"{key}{SEPARATOR}v{version_key(version)}"
        case "date":
            if (span := schema.period(folded)) is not None:
                yield f"{key}{SEPARATOR}d{date_key(span[0])}"
        case _:
            if (value := schema.number(folded)) is not None:
                yield f"{key}{SEPARATOR}n{number_key(value)}"


def document(item: Item, place: ItemPlace, data: bytes, detached: bytes | None) -> dict[str, Any]:
    """Return the document of one item, but for its place among the others."""
    found: dict[str, Any] = {"id": item.id, "type": str(item.type), "path": place.path}
    for at, texts, _ in schema.text_columns([item]):
        terms = [terms_of(text) for text in texts]
        if size := sum(count for _, count in terms):
            found[f"t_{TEXT_FIELDS[at]}"] = [text for text, count in terms if count]
            found[f"n_{TEXT_FIELDS[at]}"] = size
    own = {"key": f"{item.type}:{item.id}", "path": place.path, "id": item.id, "name": item.name, "title": item.title}
    pairs = [(key, [value]) for key, value in own.items()]
    pairs += [(key, list(values)) for key, values, _ in schema.keyword_columns([item], [place])]
    # entry → its key and value; those with an empty value are none
    entries = {
        entry: (key, entry[len(key) + 1 :])
        for key, values in pairs
        for entry in schema.keyword_terms(key, values)
        if entry[len(key) + 1 :]
    }
    found["entry"] = sorted(entries)
    found["order"] = sorted({one for key, value in entries.values() for one in _order_keys(key, value)})
    time = schema.sort_time(item.updated, item.created)
    if not math.isnan(time):
        found["time"] = time
    found["by_name"] = name_key(item.id)
    found["raw"] = base64.b64encode(data).decode("ascii")
    if detached is not None:
        found["detached"] = base64.b64encode(detached).decode("ascii")
    return found


def mark_of(facts: Sequence[str]) -> str:
    """Return the digest of what a document depends on; it changes with the document."""
    return hashlib.sha256(SEPARATOR.join((str(FORMAT), *facts)).encode("utf-8", "surrogatepass")).hexdigest()
