"""As much of the query language of OpenSearch as a search by words, filters and vectors asks for.

Which documents match, and the parts of scores that are constant or from vectors. A word scores 1.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from rapidfuzz.distance import OSA

from rye.cluster.vectors import SIMILARITY

Source = dict[str, Any]


def values(source: Source, field: str) -> list[Any]:
    """Return the values of a field; of a text, its words."""
    if field[:2] in {"t_", "s_"}:
        return [word for text in source.get(field, ()) for word in re.split(r"[ |]", text)]
    held = source.get(field, [])
    return held if isinstance(held, list) else [held]


def matches(query: Any, id_: str, source: Source) -> bool:
    """Return whether a document matches a query."""
    if not query:
        return True
    ((kind, row),) = query.items()
    match kind:
        case "match_all":
            return True
        case "match_none":
            return False
        case "ids":
            return id_ in row["values"]
        case "constant_score":
            return matches(row["filter"], id_, source)
        case "exists":
            return row["field"] in source
        case "dis_max":
            return any(matches(each, id_, source) for each in row["queries"])
        case "script_score":
            least = row.get("min_score")
            return matches(row["query"], id_, source) and (least is None or score(query, id_, source) >= least)
        case "bool":
            needed = [*row.get("filter", ()), *row.get("must", ())]
            some = row.get("should", ())
            optional = row.get("minimum_should_match", 0 if needed else 1) == 0
            return (
                all(matches(each, id_, source) for each in needed)
                and not any(matches(each, id_, source) for each in row.get("must_not", ()))
                and (optional or not some or any(matches(each, id_, source) for each in some))
            )
    ((field, wanted),) = row.items()
    return any(_fits(kind, value, wanted) for value in values(source, field)) or (
        kind == "match_phrase" and f" {wanted['query']} " in f" {' '.join(values(source, field))} "
    )


def _fits(kind: str, value: Any, wanted: Any) -> bool:
    """Return whether one value of a field fits."""
    match kind:
        case "term":
            return bool(value == (wanted["value"] if isinstance(wanted, dict) else wanted))
        case "terms":
            return bool(value in wanted)
        case "prefix":
            return str(value).startswith(wanted)
        case "wildcard":
            pattern = re.escape(wanted["value"]).replace(r"\*", ".*").replace(r"\?", ".")
            return re.fullmatch(pattern, str(value)) is not None
        case "fuzzy":
            start = wanted["prefix_length"]
            near = OSA.distance(str(value), wanted["value"]) <= wanted["fuzziness"]
            return bool(near and str(value)[:start] == wanted["value"][:start])
        case "range":
            ends = {"gt": value.__gt__, "gte": value.__ge__, "lt": value.__lt__, "lte": value.__le__}
            return all(ends[name](end) is True for name, end in wanted.items())
        case "match_phrase":
            return False
    message = f"the fake knows no query {kind}"
    raise AssertionError(message)


def score(query: Any, id_: str, source: Source) -> float:
    """Return the score of a document that matches, without that of words."""
    ((kind, row),) = query.items() if query else (("match_all", {}),)
    match kind:
        case "constant_score":
            return float(row["boost"])
        case "dis_max":
            return max(score(each, id_, source) for each in row["queries"] if matches(each, id_, source))
        case "term" | "wildcard" | "match_phrase" | "fuzzy":
            return 1.0
        case "bool":
            counted = [*row.get("must", ()), *row.get("should", ())]
            return sum(score(each, id_, source) for each in counted if matches(each, id_, source))
        case "script_score" if row["script"]["source"] == SIMILARITY:
            return _meaning(row["script"]["params"], source)
    return 0.0


def names(query: Any, id_: str, source: Source) -> list[str]:
    """Return the names of the clauses that a document matches."""
    if isinstance(query, dict):
        own = [query["_name"]] if "_name" in query and matches(query["filter"], id_, source) else []
        return own + [name for each in query.values() for name in names(each, id_, source)]
    return [name for each in query for name in names(each, id_, source)] if isinstance(query, list) else []


def _meaning(params: dict[str, Any], source: Source) -> float:
    """Return what the script of similarities does."""
    held = np.frombuffer(base64.b64decode(source.get("vectors", "")), ">i2").astype(np.float64)
    products = held.reshape(-1, len(params["q"])) @ np.asarray(params["q"])
    best = float(products.max()) if products.size else -np.inf
    factor = params["f"][source["root"]] if params["f"] else 1.0
    return 1.0 + max(best, 0.0) * factor if best >= params["t"] else 0.0


def key(name: str, ascending: bool, value: Any) -> Any:  # noqa: FBT001
    """Return what a value is sorted by."""
    if value is None:
        return (1, 0)
    assert ascending or not isinstance(value, str), name
    return (0, value if ascending else -value)


def order(sort: list[Any], id_: str, source: Source, points: float) -> tuple[Any, ...]:
    """Return what a document is sorted by."""
    rows = []
    for each in sort:
        ((name, how),) = each.items() if isinstance(each, dict) else ((each, "desc" if each == "_score" else "asc"),)
        how = how["order"] if isinstance(how, dict) else how
        value = points if name == "_score" else None if name == "_doc" else source.get(name)
        rows.append(key(name, how == "asc", value))
    return (*rows, str(source.get("mark", id_)))


def aggregated(wanted: dict[str, Any], found: list[tuple[str, Source]]) -> Iterator[tuple[str, Any]]:
    """Yield the answer to each aggregation over some documents."""
    for name, how in wanted.items():
        kind, row = next(pair for pair in how.items() if pair[0] != "aggs")
        if kind == "filter":
            inside = [pair for pair in found if matches(row, *pair)]
            yield name, {"doc_count": len(inside), **dict(aggregated(how.get("aggs", {}), inside))}
        elif kind == "terms" and "aggs" in how:  # the marks of those that have each value
            having = {word: [one for _, one in found if word in values(one, row["field"])] for word in row["include"]}
            marks = [[{"fields": {"mark": [one["mark"]]}} for one in some] for some in having.values() if some]
            yield name, {"buckets": [{"first": {"hits": {"hits": some}}} for some in marks]}
        elif kind == "terms":
            counts = Counter(value for _, source in found for value in values(source, row["field"]))
            kept = [(value, number) for value, number in counts.items() if re.fullmatch(row["include"], value)]
            yield name, {"sum_other_doc_count": 0, "buckets": [{"key": each, "doc_count": n} for each, n in kept]}
        else:
            held = [value for _, source in found for value in values(source, row["field"])]
            total = float(sum(held)) if kind != "value_count" else len(held)
            yield name, {"value": total / max(len(held), 1) if kind == "avg" else total}
