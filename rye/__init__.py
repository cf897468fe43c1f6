"""rye: a search engine for registries of signed items.

    >>> from rye import parse
    >>> str(parse("thread AND (create OR make)").ast)
    'thread (create OR make)'

Names are loaded when first used, so that importing one room does not load the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rye.errors import ArgumentError, ItemError, NotFoundError, QueryError, RyeError, SigningError
    from rye.query import parse
    from rye.registry.registry import Registry
    from rye.search.results import SearchResponse, SearchResult
    from rye.trust.model import Signature, Verdict

__all__ = [
    "ArgumentError",
    "ItemError",
    "NotFoundError",
    "QueryError",
    "Registry",
    "RyeError",
    "SearchResponse",
    "SearchResult",
    "Signature",
    "SigningError",
    "Verdict",
    "parse",
]

_HOMES = {
    "Registry": "rye.registry.registry",
    "SearchResponse": "rye.search.results",
    "SearchResult": "rye.search.results",
    "Signature": "rye.trust.model",
    "Verdict": "rye.trust.model",
    "parse": "rye.query",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'rye' has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "rye.errors")), name)
    globals()[name] = value
    return value
