"""rye: a search engine for registries of signed items.

    >>> from rye import parse
    >>> str(parse("thread AND (create OR make)").ast)
    'thread (create OR make)'

Names are loaded when first used, so that importing one room does not load the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rye.cluster.publish import PublishReport
    from rye.errors import (
        ArgumentError,
        CancelledError,
        EnvironmentFault,
        ItemError,
        NotFoundError,
        QueryError,
        RyeError,
        SigningError,
        UnavailableError,
    )
    from rye.index.build.refresh import RefreshReport
    from rye.index.vectors.vectors import VectorReport
    from rye.keyring.lists import ListSigned
    from rye.keyring.plan import SignReport
    from rye.keyring.trust_list import TrustReport
    from rye.query import parse
    from rye.registry.diagnosis import DoctorReport
    from rye.registry.findability import Findability
    from rye.registry.registry import Registry
    from rye.registry.relations import Relations
    from rye.registry.reports import LoadedItem, SpaceStatus
    from rye.registry.skills import FoundSkill
    from rye.registry.stats import Stats
    from rye.search.contract.results import SearchResponse, SearchResult, SectionHit, SectionResponse
    from rye.search.explain import QueryReading, Why
    from rye.spaces.lists import ListReport
    from rye.trust.model import Signature, Verdict
    from rye.verify.policy import Policy
    from rye.verify.report import Finding, Unchecked, VerifiedItem, VerifyReport

__all__ = [
    "ArgumentError",
    "CancelledError",
    "DoctorReport",
    "EnvironmentFault",
    "Findability",
    "Finding",
    "FoundSkill",
    "ItemError",
    "ListReport",
    "ListSigned",
    "LoadedItem",
    "NotFoundError",
    "Policy",
    "PublishReport",
    "QueryError",
    "QueryReading",
    "RefreshReport",
    "Registry",
    "Relations",
    "RyeError",
    "SearchResponse",
    "SearchResult",
    "SectionHit",
    "SectionResponse",
    "SignReport",
    "Signature",
    "SigningError",
    "SpaceStatus",
    "Stats",
    "TrustReport",
    "UnavailableError",
    "Unchecked",
    "VectorReport",
    "Verdict",
    "VerifiedItem",
    "VerifyReport",
    "Why",
    "parse",
]

_HOMES = {
    "DoctorReport": "rye.registry.diagnosis",
    "Findability": "rye.registry.findability",
    "Finding": "rye.verify.report",
    "FoundSkill": "rye.registry.skills",
    "ListReport": "rye.spaces.lists",
    "ListSigned": "rye.keyring.lists",
    "LoadedItem": "rye.registry.reports",
    "Policy": "rye.verify.policy",
    "PublishReport": "rye.cluster.publish",
    "QueryReading": "rye.search.explain",
    "RefreshReport": "rye.index.build.refresh",
    "Registry": "rye.registry.registry",
    "Relations": "rye.registry.relations",
    "SearchResponse": "rye.search.contract.results",
    "SearchResult": "rye.search.contract.results",
    "SectionHit": "rye.search.contract.results",
    "SectionResponse": "rye.search.contract.results",
    "SignReport": "rye.keyring.plan",
    "Signature": "rye.trust.model",
    "SpaceStatus": "rye.registry.reports",
    "Stats": "rye.registry.stats",
    "TrustReport": "rye.keyring.trust_list",
    "Unchecked": "rye.verify.report",
    "VectorReport": "rye.index.vectors.vectors",
    "Verdict": "rye.trust.model",
    "VerifiedItem": "rye.verify.report",
    "VerifyReport": "rye.verify.report",
    "Why": "rye.search.explain",
    "parse": "rye.query",
}
"""Where each name is; errors are in ``rye.errors``."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'rye' has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "rye.errors")), name)
    globals()[name] = value
    return value
