"""The query room: text → an immutable AST that prints itself canonically, or an error that says what to do.

It knows the language (``grammar/query.lark``) and no schema: which fields there are and what a word matches is decided
one room up. Every text is read to its end, and what is wrong with it is fixed and noted. Strict parsing then raises
the first fault, with the fixed query as its suggestion; lenient parsing answers with the fixed query and lists what
it did.

    >>> from rye.query import parse
    >>> print(parse("deploy AND (title:k8s OR NOT draft)").ast)
    deploy (title:k8s OR -draft)
    >>> from rye.errors import QueryError
    >>> try:
    ...     parse("deploy AND (title:k8s OR")
    ... except QueryError as error:
    ...     print(error.code, "→", error.suggestion)
    missing-right-operand → deploy title:k8s
    >>> parse("deploy OR", lenient=True).dropped[0].reason
    'nothing follows OR; it was left out'
"""

from __future__ import annotations

from functools import lru_cache

from rye.query._bare import read_bare
from rye.query._prose import without_question_marks
from rye.query.ast import Parsed, children, fold, walk
from rye.query.limits import LIMITS
from rye.query.tree import as_words, dump, leaves, loosen, to_dict

__all__ = [
    "LIMITS",
    "Parsed",
    "as_words",
    "children",
    "dump",
    "fold",
    "leaves",
    "loosen",
    "parse",
    "to_dict",
    "walk",
    "without_question_marks",
]


def parse(text: str, *, lenient: bool = False) -> Parsed:
    """Parse the text of a query.

    Args:
        text: What the user wrote; blank means every item.
        lenient: Accept any text whatever and list what had to be left out or read differently.

    Raises:
        QueryError: The text is no query; never when ``lenient``.
    """
    return read_bare(text) or _parsed(text, lenient)


@lru_cache(maxsize=256)
def _parsed(text: str, lenient: bool) -> Parsed:  # noqa: FBT001 - a key of the cache
    """Parse by the grammar; an agent asks the same again, page by page, and a tree never changes."""
    from rye.query import _manners  # lark is costly to import, and most of this room works without it

    return _manners.forgive(text) if lenient else _manners.insist(text)
