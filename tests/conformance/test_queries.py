"""Every query of the corpus gives just what its snapshot says."""

from __future__ import annotations

from collections import Counter

import pytest

from rye.query import parse
from rye.query.flaws import FLAWS
from tests.conformance.corpus import Entry, bad, entries, good

GOOD = list(entries("ok"))
BAD = list(entries("err"))
LIMITS = {"too-long", "too-deep", "too-many-leaves"}


@pytest.mark.parametrize("entry", GOOD, ids=str)
def test_good_query_prints_and_dumps_as_recorded(entry: Entry) -> None:
    """The canonical text and the tree are those of the snapshot."""
    assert good(entry.query) == entry.expected


@pytest.mark.parametrize("entry", BAD, ids=str)
def test_bad_query_is_refused_as_recorded(entry: Entry) -> None:
    """Code, place, message, picture and suggestion are those of the snapshot."""
    assert bad(entry.query) == entry.expected


@pytest.mark.parametrize("entry", GOOD, ids=str)
def test_canonical_text_is_stable(entry: Entry) -> None:
    """What a good query prints as means the same and prints as itself."""
    ast = parse(entry.query).ast
    again = parse(str(ast)).ast
    assert again == ast
    assert str(again) == str(ast)


@pytest.mark.parametrize("entry", BAD, ids=str)
def test_suggestion_for_a_bad_query_parses(entry: Entry) -> None:
    """The last line of each snapshot is itself a good query."""
    suggestion = entry.expected[-1]
    assert suggestion.startswith("> ")
    parse(suggestion.removeprefix("> "))


def test_corpus_is_as_large_as_promised_and_repeats_nothing() -> None:
    """At least 60 good and 120 bad queries, none of them twice."""
    assert len(GOOD) >= 60
    assert len(BAD) >= 120
    counted = Counter(entry.query for entry in (*GOOD, *BAD))
    assert [query for query, count in counted.items() if count > 1] == []


def test_corpus_meets_every_flaw() -> None:
    """Each code occurs, but for those that need thousands of characters."""
    met = {entry.expected[0].split()[1] for entry in BAD}
    assert met == set(FLAWS) - LIMITS
