"""The brute-force twin of search: an independent reading of the specification, written for clarity, never for speed.

>>> from rye.items.model import Item, ItemId, ItemType
>>> from rye.query.ast import Word
>>> item = Item(ItemType.TOOL, ItemId("rye/read"), "read", body="Read a file.")
>>> search([NaiveDoc(item, "project", "tools/rye/read.py")], Word("files"), options=NaiveOptions()).ids
(('tool', 'rye/read', 'project'),)
"""

from __future__ import annotations

from tests.support.naive_docs import NaiveDoc
from tests.support.naive_search import NaiveAnswer, NaiveOptions, search

__all__ = ["NaiveAnswer", "NaiveDoc", "NaiveOptions", "search"]
