"""The strategies themselves: what they draw is what a file says."""

from __future__ import annotations

from hypothesis import given

from rye.items import parse
from rye.items.model import Item
from tests.support.strategies import as_file, items


@given(items())
def test_an_item_is_read_back_from_its_file(item: Item) -> None:
    """Parsing the file written of an item gives that item again, line numbers included."""
    path, data = as_file(item)
    folder, _, rest = path.partition("/")
    suffix = rest.removeprefix(item.id)
    assert folder == item.type.folder
    assert parse(data, item_type=item.type, item_id=item.id, suffix=suffix) == item
