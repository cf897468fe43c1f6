"""The strategies themselves: what they draw is what a file says."""

from __future__ import annotations

from contextlib import suppress
from typing import get_args

from hypothesis import Phase, given, settings

from rye.items.model import Item
from rye.items.reader import parse
from rye.query import ast, walk
from tests.support.query_strategies import queries
from tests.support.strategies import as_file, items


class AllDrawn(Exception):
    """Nothing is missing any more, so no more need be drawn."""


@given(items())
def test_an_item_is_read_back_from_its_file(item: Item) -> None:
    """Parsing the file written of an item gives that item again, line numbers included."""
    path, data = as_file(item)
    folder, _, rest = path.partition("/")
    suffix = rest.removeprefix(item.id)
    assert folder == item.type.folder
    assert parse(data, item_type=item.type, item_id=item.id, suffix=suffix) == item


def test_queries_of_every_kind_are_drawn() -> None:
    """Each kind of node occurs, or its meaning would be compared with no twin."""
    missing = set(get_args(ast.Node))

    @settings(max_examples=400, phases=[Phase.generate], report_multiple_bugs=False)
    @given(queries(("priority",)))
    def draw(query: ast.Node) -> None:
        missing.difference_update(map(type, walk(query)))
        if not missing:
            raise AllDrawn

    with suppress(AllDrawn):
        draw()
    assert missing == set()
