"""Facets are what counting the values of every match, one after the other, gives."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rye.index.text.schema import fold_value
from tests.support import naive
from tests.support.naive_docs import NaiveDoc, field_values, read_corpus
from tests.support.query_strategies import METADATA_KEYS, Case, cases
from tests.support.signed import EVE, NOW
from tests.support.spacesim import SpaceSim, no_own_items
from tests.support.strategies import as_file

NAMES = ("type", "space", "category", "tag", "verdict", "signer", "bundle", "author", "version")
KEYS = {"tag": "tags", "verdict": "is"}
SLOW = settings(
    max_examples=settings().max_examples // 2,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    deadline=None,
)


@pytest.fixture(scope="module", autouse=True)
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Leave out rye's own items: each example decides what there is."""
    with no_own_items(tmp_path_factory.mktemp("none")):
        yield


def values_of(doc: NaiveDoc, docs: Sequence[NaiveDoc], name: str) -> set[str]:
    """Return the values of an item for a facet, each once, as they are compared."""
    if name == "verdict":
        return {doc.verdict}
    return {fold_value(value) for value in field_values(doc, docs).get(KEYS.get(name, name), ())} - {""}


@st.composite
def faceted(draw: st.DrawFn) -> tuple[Case, list[str], dict[str, int]]:
    """Draw a search, how each file is signed, and which facets are asked for with how many values."""
    case = draw(cases(verdicts=("unsigned",)))
    treatments = [draw(st.sampled_from(["unsigned", "signed", "unknown"])) for _ in case.docs]
    keys = sorted(read_corpus(case.docs, case.options.space).metadata_keys & METADATA_KEYS)
    drawn = draw(st.lists(st.sampled_from([*NAMES, *keys]), max_size=4, unique=True))
    names = dict.fromkeys([*drawn, "signer"])  # always: few items have one, so few examples would count the others
    return case, treatments, {name: draw(st.sampled_from([1, 2, 10])) for name in names}


@given(faceted())
@SLOW
def test_facets_count_every_match_and_not_the_page(drawn: tuple[Case, list[str], dict[str, int]]) -> None:
    """For any query over any items: values, their numbers and order, what is not listed, and who has none."""
    case, treatments, asked = drawn
    options = case.options
    with tempfile.TemporaryDirectory() as folder:
        sim = SpaceSim(Path(folder), bundles=("alpha", "beta"))
        for doc, treatment in zip(case.docs, treatments, strict=True):
            path, content = as_file(doc.item)
            sim.write(doc.source, path, content)
            if treatment != "unsigned":
                sim.sign(doc.source, path, EVE if treatment == "unknown" else None)
        docs = sim.docs(NOW)
        every = naive.search(docs, case.query, options=replace(options, limit=1000, offset=0))
        found = sim.registry().search(
            str(case.query),
            scope=options.scope,
            space=options.space,
            limit=options.limit,
            offset=options.offset,
            fields={name: str(node) for name, node in options.fields.items()},
            filters=options.filters,
            level=options.level,
            include_superseded=options.include_superseded,
            relax=options.relax,
            facets=[f"{name}:{most}" for name, most in asked.items()],
            mode="keyword",
        )
    assert list(found.facets) == list(asked)
    for name, most in asked.items():
        values = [values_of(doc, docs, name) for doc in every.docs]
        ordered = sorted(Counter(value for one in values for value in one).items(), key=lambda row: (-row[1], row[0]))
        facet = found.facets[name]
        assert list(facet.values) == ordered[:most], name
        assert (facet.other_values, facet.others) == (len(ordered[most:]), sum(count for _, count in ordered[most:]))
        assert facet.missing == sum(not one for one in values), name
