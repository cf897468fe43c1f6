"""What holds for every answer of the twin, whatever is asked."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import event, given, settings

from rye.query.ast import And, Node, Or
from tests.support.naive import NaiveAnswer, NaiveDoc, NaiveOptions, search
from tests.support.query_strategies import Case, cases, queries
from tests.support.strategies import docs


def whole(case: Case, options: NaiveOptions) -> NaiveAnswer:
    """Search without pages."""
    return search(case.docs, case.query, options=replace(options, limit=10_000, offset=0))


FEWER = settings(max_examples=settings().max_examples // 3)


@FEWER
@given(cases())
def test_an_answer_is_a_slice_of_the_whole(case: Case) -> None:
    """The page, its scores and its order are those of one long list; scores lie from 0 to 1."""
    page, full = search(case.docs, case.query, options=case.options), whole(case, case.options)
    start = case.options.offset
    assert page.ids == full.ids[start : start + case.options.limit]
    assert page.scores == full.scores[start : start + case.options.limit]
    assert page.total == full.total == len(full.ids)
    assert all(0 <= score <= 1 for score in full.scores)
    event(f"stage {page.stage}, {'some' if full.total else 'none'}")


@FEWER
@given(cases())
def test_the_order_of_the_items_changes_nothing(case: Case) -> None:
    """Neither hits nor scores depend on which item came first; only the rank of bundles may."""
    turned = replace(case, docs=sorted(case.docs, key=lambda doc: (doc.source, doc.path[::-1])))
    before = replace(case, docs=sorted(case.docs, key=lambda doc: (doc.source, doc.path)))
    assert whole(before, case.options) == whole(turned, case.options)


@FEWER
@given(docs(), queries(), queries())
def test_both_is_in_each_and_each_is_in_either(found: list[NaiveDoc], one: Node, other: Node) -> None:
    """AND is the intersection and OR the union of what the two find."""
    options = NaiveOptions(relax=False, limit=10_000)

    def ids(query: Node) -> set[tuple[str, str, str]]:
        return set(search(found, query, options=options).ids)

    assert ids(And((one, other))) == ids(one) & ids(other)
    assert ids(Or((one, other))) == ids(one) | ids(other)
