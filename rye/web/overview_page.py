"""The pages about all items: counts and verdicts, and whose keys count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from rye._text import quote
from rye.options.search import SpaceOptions
from rye.surface.text import warning_notes
from rye.web.address import Visit, WebPage, read_arguments

if TYPE_CHECKING:
    from rye.keyring.trust_list import TrustedKey, TrustReport
    from rye.registry.registry import Registry
    from rye.search.contract.results import SearchResult
    from rye.spaces.lists import ListReport

_LOOKED_AT = 100
"""Items of one verdict whose reasons are listed."""

_EVERY: dict[str, Any] = {"include_superseded": True, "limit": 1}


def make(visit: Visit) -> WebPage:
    """Return the overview; its JSON is that of ``Registry.stats``.

    Raises:
        RyeError: The registry cannot answer, or an argument is unknown.
    """
    given, registry = read_arguments(SpaceOptions, visit.pairs), visit.registry
    with registry.single_scan():
        stats = registry.stats(**given)
        if visit.as_json:
            return WebPage("", stats, {})
        return WebPage(
            "overview.html",
            stats,
            {
                "given": {"space": ""} | given,
                "doubts": list(_doubts(registry, stats.total.verdicts, given)),
                "notes": list(warning_notes(stats.warnings, stale=stats.stale)),
            },
        )


class Doubt(NamedTuple):
    """Items with one verdict: their number, and the first of them by reason."""

    verdict: str
    number: int
    looked_at: int
    reasons: Mapping[tuple[str, str], list[SearchResult]]


def _doubts(registry: Registry, verdicts: Iterable[str], given: Mapping[str, Any]) -> Iterator[Doubt]:
    """Yield the verdicts other than trusted: tampered first, unsigned last."""
    for verdict in sorted({*verdicts} - {"trusted"}, key=lambda word: (word == "unsigned", word != "tampered", word)):
        response = registry.search(f"is:{verdict}", **_EVERY | {"limit": _LOOKED_AT}, **given)
        reasons: dict[tuple[str, str], list[SearchResult]] = {}
        for hit in response.results:
            reasons.setdefault((hit.signature.code, hit.signature.reason), []).append(hit)
        yield Doubt(verdict, response.total, len(response.results), reasons)


class TrustFacts(NamedTuple):
    """Whose keys count, and the lists of the spaces."""

    keys: TrustReport
    lists: tuple[ListReport, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return both answers of the registry in one dictionary."""
        return self.keys.to_dict() | {"lists": [report.to_dict() for report in self.lists]}


def make_trust(visit: Visit) -> WebPage:
    """Return every key with what it may sign and where it comes from, and the signed lists with their expiry.

    Raises:
        RyeError: The trust files or lists cannot be read, or an argument is unknown.
    """
    read_arguments(dict, visit.pairs)
    registry = visit.registry
    facts = TrustFacts(registry.trust_keys(), registry.check_lists())
    alike: dict[tuple[str, ...], list[TrustedKey]] = {}
    for key in sorted(facts.keys.keys, key=lambda row: (not row.is_users, not row.counts, row.scope, row.bundle)):
        alike.setdefault((key.owner, key.scope, key.bundle, key.code, key.reason), []).append(key)
    return WebPage(
        "trust.html",
        facts,
        {
            "groups": list(alike.values()),
            "notes": list(warning_notes(facts.keys.warnings)),
            "now": datetime.now(UTC),
        },
    )


def commands_of(key: TrustedKey) -> Iterator[tuple[str, str]]:
    """Yield actions on a key, each with its command."""
    if key.code == "foreign-key" and key.scope == "bundle":
        yield "See whose key it is, and decide", f"rye trust bundle {quote(key.bundle)}"
    elif key.code == "foreign-key" and key.revoked is None:
        yield "See whose key it is, and decide", f"rye trust endorse {quote(key.path)}"
    elif key.is_users and key.revoked is None:
        yield "To revoke it", f"rye trust revoke {key.fingerprint}"
