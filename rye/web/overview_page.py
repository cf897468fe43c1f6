"""The pages about all items: what there is and how it stands, whose keys count, and what changed last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rye._text import quote
from rye.errors import UnavailableError
from rye.parameters import SpaceOptions
from rye.surface.text import warning_notes
from rye.web.address import Visit, WebPage, hit_address, read_arguments

if TYPE_CHECKING:
    from rye.keyring.trust_list import TrustedKey, TrustReport
    from rye.registry.registry import Registry
    from rye.search.results import SearchResult
    from rye.spaces.lists import ListReport
    from rye.trust.model import Signature

_LISTED = 10
_LOOKED_AT = 100
"""Items of one verdict whose reasons are listed."""

_FEED = 50
_MONTHS = 12
_EVERY: dict[str, Any] = {"include_superseded": True, "limit": 1}
STANDINGS = (
    ("is:shadowed", "shadowed by a copy in another space"),
    ("is:orphan", "to which no other item refers"),
    ("is:dangling", "with references to items that do not exist"),
    ("is:superseded", "superseded"),
    ("is:deprecated", "deprecated"),
    ("is:yanked", "withdrawn"),
)
"""Queries for items in a state worth a look, and what is said of them."""


class Share(NamedTuple):
    """One bar of a drawing: its label, its parts as ``(class, number)``, and the query for what it counts."""

    label: str
    parts: tuple[tuple[str, int], ...]
    query: str

    @property
    def number(self) -> int:
        """The length of the bar."""
        return sum(number for _, number in self.parts)


def make(visit: Visit) -> WebPage:
    """Return the overview; its twin in JSON is that of ``Registry.stats``.

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
                "months": list(dropwhile(lambda each: not each.number, _by_month(registry, given))),
                "newest": newest(registry, given)[:_LISTED],
                "standings": list(_standings(registry, given)),
                "notes": list(warning_notes(stats.warnings, stale=stats.stale)),
            },
        )


class Doubt(NamedTuple):
    """Items with one verdict: how many there are, and the first of them by their reason."""

    verdict: str
    number: int
    looked_at: int
    reasons: Mapping[tuple[str, str], list[SearchResult]]


def _doubts(registry: Registry, verdicts: Iterable[str], given: Mapping[str, Any]) -> Iterator[Doubt]:
    """Yield the verdicts other than trusted: what is tampered first, what is merely unsigned last."""
    for verdict in sorted({*verdicts} - {"trusted"}, key=lambda each: (each == "unsigned", each != "tampered", each)):
        found = registry.search(f"is:{verdict}", **_EVERY | {"limit": _LOOKED_AT}, **given)
        reasons: dict[tuple[str, str], list[SearchResult]] = {}
        for hit in found.results:
            reasons.setdefault((hit.signature.code, hit.signature.reason), []).append(hit)
        yield Doubt(verdict, found.total, len(found.results), reasons)


def _by_month(registry: Registry, given: Mapping[str, Any]) -> Iterator[Share]:
    """Yield how many items were last changed in each of the last months, as their metadata say; oldest first."""
    now = datetime.now(UTC)
    for back in reversed(range(_MONTHS)):
        year, month = divmod(now.year * 12 + now.month - 1 - back, 12)
        period = f"{year:04}-{month + 1:02}"
        query = f"updated:{period} OR (created:{period} -updated:*)"
        yield Share(period, (("", registry.search(query, **_EVERY, **given).total),), query)


def _standings(registry: Registry, given: Mapping[str, Any]) -> Iterator[Share]:
    for query, words in STANDINGS:
        with suppress(UnavailableError):  # a cluster does not join the references of too many items
            if total := registry.search(query, **_EVERY, **given).total:
                yield Share(words, (("", total),), query)


class TrustFacts(NamedTuple):
    """Whose keys count, and the lists of the spaces."""

    keys: TrustReport
    lists: tuple[ListReport, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the two answers of the registry beside each other."""
        return self.keys.to_dict() | {"lists": [each.to_dict() for each in self.lists]}


def make_trust(visit: Visit) -> WebPage:
    """Return every key, what it may sign and where it comes from, and the signed lists with when they expire.

    Raises:
        RyeError: The trust files or lists cannot be read, or an argument is unknown.
    """
    read_arguments(dict, visit.pairs)
    registry = visit.registry
    found = TrustFacts(registry.trust_keys(), registry.check_lists())
    alike: dict[tuple[str, ...], list[TrustedKey]] = {}
    for key in sorted(found.keys.keys, key=lambda each: (not each.is_users, not each.counts, each.scope, each.bundle)):
        alike.setdefault((key.owner, key.scope, key.bundle, key.code, key.reason), []).append(key)
    return WebPage(
        "trust.html",
        found,
        {
            "groups": list(alike.values()),
            "notes": list(warning_notes(found.keys.warnings)),
            "now": datetime.now(UTC),
        },
    )


def commands_of(key: TrustedKey) -> Iterator[tuple[str, str]]:
    """Yield what a person may want to do about a key, and the command that does it."""
    if key.code == "bundle-key":
        yield "See whose key it is, and decide", f"rye trust bundle {quote(key.bundle)}"
    elif key.code == "project-key" and key.revoked is None:
        yield "See whose key it is, and decide", f"rye trust endorse {quote(key.path)}"
    elif key.is_users and key.revoked is None and key.code != "trust-unread":
        yield "To revoke it", f"rye trust revoke {key.fingerprint}"


class Change(NamedTuple):
    """An item that changed, and when: as its metadata say, else its file, as RFC 3339 has it."""

    moment: str
    ref: str
    title: str
    summary: str
    address: str
    signature: Signature


def newest(registry: Registry, given: Mapping[str, Any]) -> list[Change]:
    """Return the items with a date that changed last, the newest first."""
    found: dict[str, Change] = {}
    hits = registry.search("", **_EVERY | {"limit": _FEED}, sort_by="date", **given).results
    for hit in hits:
        moment = _moment(hit.updated, hit.path)
        address, summary = hit_address(hit), hit.description or hit.preview
        title = hit.title or hit.name
        found[hit.path] = Change(moment, f"{hit.type}:{hit.id}", title, summary, address, hit.signature)
    return sorted(found.values(), key=lambda each: datetime.fromisoformat(each.moment), reverse=True)[:_FEED]


def _moment(stated: str, path: str) -> str:
    """Return when an item last changed by its metadata, else by its file, as RFC 3339 has it; never a time to come."""
    now = datetime.now(UTC)
    try:
        found = datetime.fromisoformat(stated + "-01-01"[len(stated) - 10 :] if len(stated) in (4, 7) else stated)
    except ValueError:
        try:
            found = datetime.fromtimestamp(Path(path).stat().st_mtime, UTC)
        except (OSError, OverflowError, ValueError):  # it has just gone, or has a time that is none
            found = datetime.fromtimestamp(0, UTC)
    return min(found if found.tzinfo else found.replace(tzinfo=UTC), now).isoformat(timespec="seconds")
