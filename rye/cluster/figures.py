"""What a registry on a cluster holds, in figures: counts and sums of the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rye.cluster.client import Cluster
from rye.cluster.conditions import Clause
from rye.cluster.faults import reading
from rye.index.schema import HIDDEN_STATES, SEPARATOR, TEXT_FIELDS, TYPE_NAMES
from rye.search.facets import FACETS, Figures

MOST_VALUES = 50_000
"""Categories, and tags, that are counted at most."""

_SHADOWS = ("shadowed", "shadowing")


def figures_of(cluster: Cluster, index: str, clauses: Sequence[Clause]) -> list[Figures]:
    """Return the figures of the items that each clause matches.

    Verdicts and signers, terms, and items with the same bytes or name are not counted.

    Raises:
        EnvironmentFault: The cluster does not answer in full.
    """
    counted: dict[str, Any] = {f"n_{name}": {"sum": {"field": f"n_{name}"}} for name in TEXT_FIELDS}
    counted |= {"type": _values("type", TYPE_NAMES), "state": _values("state", _SHADOWS)}
    counted["is"] = _values("entry", [f"is{SEPARATOR}{state}" for state in HIDDEN_STATES])
    for name in ("category", "tag"):
        include = f"{FACETS.get(name, name)}\\{SEPARATOR}.*"
        counted[name] = {"terms": {"field": "entry", "include": include, "size": MOST_VALUES}}
    body = {"size": 0, "track_total_hits": True, "aggs": counted}
    answers = cluster.searches(index, [body | {"query": {"bool": {"filter": [clause]}}} for clause in clauses])
    with cluster.faults(), reading():
        return [_read(int(answer["hits"]["total"]["value"]), answer["aggregations"]) for answer in answers]


def _values(field: str, values: Sequence[str]) -> dict[str, Any]:
    return {"terms": {"field": field, "include": list(values), "size": len(values)}}


def _read(items: int, found: dict[str, Any]) -> Figures:
    rows = [row for name in ("type", "state", "is") for row in found[name]["buckets"]]
    counts = {str(row["key"]).rpartition(SEPARATOR)[2]: int(row["doc_count"]) for row in rows}
    types = sorted((name for name in TYPE_NAMES if counts.get(name)), key=lambda name: (-counts[name], name))
    return Figures(
        items=items,
        types={name: counts[name] for name in types},
        verdicts={},
        signers={},
        categories=len(found["category"]["buckets"]),
        tags=len(found["tag"]["buckets"]),
        terms=0,
        words=sum(round(float(found[f"n_{name}"]["value"])) for name in TEXT_FIELDS),
        duplicates=0,
        ambiguous=0,
        **{state: counts.get(state, 0) for state in (*HIDDEN_STATES, *_SHADOWS)},
    )
