"""``Registry.search`` over real files answers what a brute-force reading of the same files answers."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rye import Registry, SearchResponse, SearchResult
from tests.support import naive
from tests.support.naive_docs import NaiveDoc, states
from tests.support.query_strategies import Case, cases
from tests.support.signed import EVE, NOW
from tests.support.spacesim import SpaceSim, no_own_items
from tests.support.strategies import as_file

BUNDLES = ("alpha", "beta")
SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
TREATMENTS = ("unsigned", "signed", "signed", "unknown", "changed")


@pytest.fixture(scope="module", autouse=True)
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Leave out rye's own items: each example decides what there is."""
    with no_own_items(tmp_path_factory.mktemp("none")):
        yield


def lay(sim: SpaceSim, docs: Sequence[NaiveDoc]) -> None:
    """Write the file of every item."""
    for doc in docs:
        path, content = as_file(doc.item)
        sim.write(doc.source, path, content)


def ask(registry: Registry, case: Case, **more: Any) -> SearchResponse:
    """Search for what a case asks."""
    options = case.options
    return registry.search(
        str(case.query),
        scope=options.scope,
        space=options.space,
        limit=options.limit,
        offset=options.offset,
        sort_by=options.sort_by,
        fields={name: str(node) for name, node in options.fields.items()},
        filters=options.filters,
        level=options.level,
        relax=options.relax,
        include_superseded=options.include_superseded,
        **more,
    )


def key(hit: SearchResult) -> tuple[str, str, str]:
    """Return type, id and source of a hit."""
    return hit.type, hit.id, f"{hit.source}:{hit.bundle}" if hit.bundle else hit.source


def compare(response: SearchResponse, expected: naive.NaiveAnswer, docs: Sequence[NaiveDoc]) -> None:
    """Hold an answer with explanations against the twin's."""
    assert tuple(map(key, response.results)) == expected.ids
    assert response.total == expected.total
    assert response.stage == expected.stage
    assert tuple(hit.exact for hit in response.results) == expected.exact
    for hit, score, doc in zip(response.results, expected.scores, expected.docs, strict=True):
        assert abs(hit.score - score) <= 0.5e-4 + 1e-9
        assert hit.explain is not None
        shares = math.fsum(trace.contribution for trace in hit.explain)
        assert shares == pytest.approx(score, abs=1e-6) or (not hit.explain and score == 1.0)
        assert str(hit.signature.verdict) == doc.verdict
        known = states(doc, docs)
        assert (bool(hit.shadowed_by), bool(hit.shadows)) == ("shadowed" in known, "shadowing" in known)
    following = response.offset + response.limit
    assert response.next_offset == (following if following < expected.total else None)
    assert not response.stale


def check(sim: SpaceSim, case: Case) -> None:
    """Answer a case by the registry and by the twin, from the files as they are."""
    docs = sim.docs(NOW)
    compare(ask(sim.fresh(), case, explain=True), naive.search(docs, case.query, options=case.options), docs)


@given(cases(verdicts=("unsigned",)))
@SLOW
def test_a_search_answers_what_reading_every_file_answers(case: Case) -> None:
    """Hits, their order, totals, stage, what is exact, and scores: for any query and any options over any items."""
    with tempfile.TemporaryDirectory() as folder:
        sim = SpaceSim(Path(folder), bundles=BUNDLES)
        lay(sim, case.docs)
        check(sim, case)


@st.composite
def signed_cases(draw: st.DrawFn) -> tuple[Case, list[str]]:
    """Draw a search, and for each item how its file is signed."""
    case = draw(cases(most=6))
    return case, [draw(st.sampled_from(TREATMENTS)) for _ in case.docs]


def treat(sim: SpaceSim, doc: NaiveDoc, treatment: str) -> None:
    """Sign the file of an item with the key trusted there or one that nobody knows, and maybe change it afterwards."""
    path, _ = as_file(doc.item)
    if treatment != "unsigned":
        place = sim.sign(doc.source, path, EVE if treatment == "unknown" else None)
        if treatment == "changed":
            place.write_bytes(place.read_bytes() + b"\n")


@given(signed_cases())
@SLOW
def test_verdicts_are_searched_as_they_are(drawn: tuple[Case, list[str]]) -> None:
    """Items signed well, by a stranger, changed afterwards or not at all: ``is:`` and every hit say what is true."""
    case, treatments = drawn
    with tempfile.TemporaryDirectory() as folder:
        sim = SpaceSim(Path(folder), bundles=BUNDLES)
        lay(sim, case.docs)
        for doc, treatment in zip(case.docs, treatments, strict=True):
            treat(sim, doc, treatment)
        check(sim, case)
