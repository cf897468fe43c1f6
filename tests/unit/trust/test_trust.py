"""The rules between trust entries: scopes, namespaces, time, endorsement, and the digest that caches stand on."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.trust import Origin, Revocation, TrustEntry, TrustScope, TrustSet, Verdict, in_namespaces
from tests.support.signed import ANN, BEA, EVE, NOW, PAT, TOOL, entry, place, sign, verdict

LATER = datetime(2027, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*", ["a", "a/b", "a/b/c"], []),
        ("rye/core/*", ["rye/core/a", "rye/core/a/b"], ["rye/core", "rye/corex", "rye/corex/a", "x/rye/core/a", "rye"]),
        ("rye/core", ["rye/core"], ["rye/core/a", "rye/cor", "Rye/core"]),
        ("rye/*/x", ["rye/a/x"], ["rye/x", "rye/a/b/x", "rye/a/x/y"]),
        ("*/x", ["a/x"], ["x", "a/b/x"]),
        ("tool:rye/*", ["rye/a"], ["a"]),
        ("knowledge:rye/*", [], ["rye/a"]),
        ("caf\u00e9/*", ["cafe\u0301/x"], ["cafe/x"]),
    ],
)
def test_namespaces_match_whole_segments(pattern: str, yes: list[str], no: list[str]) -> None:
    """A pattern is compared segment by segment, ``*`` last is everything below, a type in front limits to it."""
    assert [item_id for item_id in yes + no if in_namespaces((pattern,), "tool", item_id)] == yes


def test_no_pattern_allows_nothing() -> None:
    """An empty list of namespaces is not the same as none given."""
    assert not in_namespaces((), "tool", "a")
    signed = sign(TOOL)
    assert verdict(signed, trust=TrustSet((entry(ANN, namespaces=()),))).code == "namespace"
    assert verdict(signed, trust=TrustSet((entry(ANN, namespaces=None),))).code == "ok"


def test_entries_are_found_by_all_three_names_of_a_key() -> None:
    """16 and 64 hex of the PEM, 64 hex of the raw key; nothing else, and nothing for no name."""
    trust = TrustSet((entry(ANN),))
    public = ANN.public
    for name in (public.fingerprint, public.fingerprint[:16], public.raw_fingerprint):
        assert trust.named(name) == trust.entries
    for name in ("", public.fingerprint[:15], public.raw_fingerprint[:16], public.fingerprint.upper()):
        assert trust.named(name) == ()
    assert (len(trust), len(TrustSet())) == (1, 0)


def test_a_user_decides_on_a_key_that_a_bundle_brings() -> None:
    """A bundle's own file alone is no trust, and the most authoritative of the others decides alone."""
    there = place(space="system", bundle="shop")
    signed = sign(TOOL, BEA)
    bundle = entry(BEA, TrustScope.BUNDLE, bundle="shop")
    pinned = entry(BEA, bundles=("shop",))
    narrow = entry(BEA, namespaces=("other/*",))
    ended = entry(BEA, not_after=datetime(2026, 1, 1, tzinfo=UTC))
    named = entry(BEA, TrustScope.NAMED)
    for entries, code in (
        ((bundle,), "bundle-key"),
        ((bundle, pinned), "ok"),
        ((bundle, entry(BEA, bundles=("rival",))), "bundle-key"),
        ((bundle, entry(BEA, bundles=("shop",), namespaces=("other/*",))), "namespace"),
        ((bundle, narrow), "namespace"),
        ((bundle, ended), "expired"),
        ((bundle, narrow, named), "ok"),
        ((bundle, narrow, entry(BEA)), "ok"),
        ((narrow, ended), "namespace"),
        ((ended, narrow), "namespace"),
    ):
        assert verdict(signed, there, trust=TrustSet(entries)).code == code


def test_a_project_key_counts_while_an_anchor_stands_behind_it() -> None:
    """Endorsed by a user's or named key that is neither revoked, nor expired, nor itself limited to namespaces."""
    signed = sign(TOOL, PAT)
    endorsed = entry(PAT, TrustScope.PROJECT, endorsed_by=ANN.public.fingerprint)
    for anchor, code in (
        (entry(ANN), "ok"),
        (entry(ANN, TrustScope.NAMED), "ok"),
        (entry(ANN, not_after=LATER), "ok"),
        (entry(ANN, TrustScope.BUNDLE, bundle="shop"), "project-key"),
        (entry(ANN, TrustScope.PROJECT), "project-key"),
        (entry(ANN, revoked=Revocation()), "project-key"),
        (entry(ANN, not_after=NOW - timedelta(days=1)), "project-key"),
        (entry(ANN, namespaces=("demo/*",)), "project-key"),
        (entry(ANN, bundles=("shop",)), "project-key"),
        (entry(EVE), "project-key"),
    ):
        found = verdict(signed, trust=TrustSet((endorsed, anchor)))
        assert (found.code, found.verdict is Verdict.TRUSTED) == (code, code == "ok")


def test_an_endorsed_project_key_speaks_for_the_project_alone() -> None:
    """Endorsing a project's key does not let it sign for the user or a bundle."""
    trust = TrustSet((entry(ANN), entry(PAT, TrustScope.PROJECT, endorsed_by=ANN.public.fingerprint)))
    for there in (place(space="user"), place(space="system", bundle="shop")):
        found = verdict(sign(TOOL, PAT), there, trust=trust)
        assert (found.verdict, found.code) == (Verdict.UNTRUSTED, "foreign-project")


def test_an_endorsed_project_may_revoke() -> None:
    """A revocation the user stands behind holds; one the project made alone does not."""
    left = Revocation("left the team")
    for endorsed_by, code in (("", "ok"), (PAT.public.fingerprint, "ok"), (EVE.public.fingerprint, "revoked")):
        project = entry(ANN, TrustScope.PROJECT, revoked=left, endorsed_by=endorsed_by)
        trust = TrustSet((entry(ANN), entry(EVE), project))
        for there in (place(), place(space="user")):
            assert verdict(sign(TOOL), there, trust=trust).code == code


ENTRIES = st.builds(
    entry,
    st.sampled_from([ANN, PAT, PAT]),
    st.sampled_from(list(TrustScope)),
    bundle=st.sampled_from(["shop", "rival"]),
    namespaces=st.sampled_from([None, None, (), ("demo/*",), ("other/*",)]),
    bundles=st.sampled_from([None, None, ("shop",), ("rival",)]),
    vouches=st.booleans(),
    not_after=st.sampled_from([None, None, NOW - timedelta(days=1), LATER]),
    revoked=st.sampled_from([None, None, None, Revocation("stolen")]),
    endorsed_by=st.sampled_from(["", ANN.public.fingerprint]),
)
PLACES = [place(), place(space="user"), place(space="system", bundle="shop"), place("other/x")]
SIGNED = {where: sign(TOOL, PAT, origin=where) for where in PLACES}


@given(st.lists(ENTRIES, max_size=5), st.sampled_from(PLACES))
def test_a_key_may_sign_where_what_it_signs_is_trusted(entries: list[TrustEntry], where: Origin) -> None:
    """What is asked of a key without a file is what a verdict asks of it."""
    trust = TrustSet(tuple(entries))
    trusted = verdict(SIGNED[where], where, trust=trust).verdict is Verdict.TRUSTED
    assert trust.may_sign(PAT.public.fingerprint, where, NOW) == trusted


def test_moments_without_zone_are_utc() -> None:
    """A clock or a limit without a time zone is taken as UTC, and zones are compared as moments."""
    limit = entry(ANN, not_after=datetime(2026, 6, 1, 12))  # noqa: DTZ001 - the case under test
    east = timezone(timedelta(hours=2))
    assert not limit.expired(NOW)
    assert not limit.expired(datetime(2026, 6, 1, 14, tzinfo=east))
    assert limit.expired(datetime(2026, 6, 1, 14, 1, tzinfo=east))
    assert limit.expired(datetime(2026, 6, 1, 12, 1))  # noqa: DTZ001 - the case under test
    assert not entry(ANN).expired(LATER)


BASE = TrustSet(
    (
        entry(ANN, owner="ann"),
        entry(PAT, TrustScope.PROJECT, endorsed_by=ANN.public.fingerprint),
        entry(BEA, TrustScope.BUNDLE, bundle="shop", not_after=LATER),
    )
)


@pytest.mark.parametrize(
    "changes",
    [
        {"public": EVE.public},
        {"owner": "anna"},
        {"scope": TrustScope.NAMED},
        {"bundle": "rival"},
        {"namespaces": ("a/*",)},
        {"namespaces": ()},
        {"bundles": ("rival",)},
        {"bundles": ()},
        {"not_after": LATER},
        {"revoked": Revocation()},
        {"revoked": Revocation("stolen")},
        {"revoked": Revocation("", "2026-01-01")},
    ],
)
def test_the_digest_changes_with_whatever_influences_a_verdict(changes: dict[str, Any]) -> None:
    """Every fact of an entry that a judgement uses or shows is in the digest, each in its own way."""
    changed = TrustSet((replace(BASE.entries[0], **changes), *BASE.entries[1:]))
    assert changed.digest(NOW) != BASE.digest(NOW)
    assert changed.digest(NOW) != TrustSet(BASE.entries[1:]).digest(NOW)


def test_the_digest_changes_with_the_audience_that_is_demanded() -> None:
    """A verdict that was kept for one audience is none for another."""
    digests = {replace(BASE, audience=name).digest(NOW) for name in ("", "acme", "acme/ops")}
    assert len(digests) == 3
    assert BASE.digest(NOW) in digests


def test_the_digest_sees_an_endorsement_given() -> None:
    """The same key, endorsed or not, is two trust sets."""
    alone = TrustSet((BASE.entries[0], replace(BASE.entries[1], endorsed_by=""), BASE.entries[2]))
    assert alone.digest(NOW) != BASE.digest(NOW)


def test_the_digest_ignores_what_does_not() -> None:
    """Order, the place of the file and the moment itself are no part of it; passing a limit is."""
    digest = BASE.digest(NOW)
    assert TrustSet(BASE.entries[::-1]).digest(NOW) == digest
    moved = TrustSet(tuple(replace(each, source="elsewhere") for each in BASE.entries))
    assert moved.digest(NOW + timedelta(days=1)) == digest
    assert BASE.digest(LATER) == digest
    assert BASE.digest(LATER + timedelta(seconds=1)) != digest


def test_the_digest_sees_an_endorsement_end() -> None:
    """When the endorsing key expires, the project's key loses its say, and the digest with it changes."""
    ending = TrustSet((entry(ANN, not_after=LATER), entry(PAT, TrustScope.PROJECT, endorsed_by=ANN.public.fingerprint)))
    after = LATER + timedelta(days=1)
    assert verdict(sign(TOOL, PAT), trust=ending, now=NOW).code == "ok"
    assert verdict(sign(TOOL, PAT), trust=ending, now=after).code == "project-key"
    assert ending.digest(NOW) != ending.digest(after)
