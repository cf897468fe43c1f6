"""Which keys count: ``TrustSet.may_sign`` by tables, and against a naive twin that reads the rule aloud."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.errors import SigningError
from rye.trust.model import EnvelopeFormat, Place, Verdict
from rye.trust.trust_entry import Limit, Revocation, TrustEntry, TrustScope
from rye.trust.trust_file import sign_trust_file, signer_of, trust_file_bytes
from rye.trust.trust_set import TrustSet
from tests.support.signed import (
    ANN,
    BEA,
    EVE,
    NOW,
    PAT,
    SIGNED_AT,
    TOOL,
    entry,
    list_place,
    place,
    sign,
    verdict,
)

LATER = datetime(2027, 1, 1, tzinfo=UTC)
PAST = NOW - timedelta(days=1)
SHOP = place(space="system", bundle="shop")
FULL = ANN.public.fingerprint
PROJECT, BUNDLE = TrustScope.PROJECT, TrustScope.BUNDLE


def skill(path: str) -> Place:
    """Return the place of a file in a skill of the project."""
    item_id = path.removesuffix("/SKILL.md").removesuffix(".py")
    place = f".claude/skills/{path}"
    return Place("project", "", ".claude/skills", "skill", "directive", item_id, place, place)


SETTINGS = Place("system", "shop", "", "settings", "", "shop", "config/search.yaml", "shop")
TRUST_FILE = Place("project", "", "", "trust", "", "pat", "pat", "pat")
KINDS: dict[str, Place] = {
    "item": place(),
    "skill": skill("demo/hello/SKILL.md"),
    "list": list_place(),
    "settings": SETTINGS,
    "trust": TRUST_FILE,
    "item of the bundle": SHOP,
    "list of the bundle": list_place("", space="system", bundle="shop"),
}
LIMITS: dict[str, set[str]] = {
    "*": {"item", "skill", "item of the bundle"},
    "demo/*": {"item", "skill", "item of the bundle"},
    "demo/hello": {"item", "skill", "item of the bundle"},
    "tool:demo/*": {"item", "item of the bundle"},
    "directive:demo/*": set(),
    "skill:*": {"skill"},
    "skill:demo/hello": {"skill"},
    "bundle:shop": {"settings", "item of the bundle", "list of the bundle"},
    "bundle:rival": set(),
}


@pytest.mark.parametrize("pattern", LIMITS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_limit_is_for_one_kind_of_thing(pattern: str, kind: str) -> None:
    """Kinds share no names: only a bundle's key signs lists and settings, and none with a limit signs a trust file."""
    assert entry(ANN, patterns=(pattern,)).allows(KINDS[kind]) == (kind in LIMITS[pattern])
    assert entry(ANN).allows(KINDS[kind])
    assert not entry(ANN, patterns=()).allows(KINDS[kind])


PATTERNS: dict[str, tuple[list[Place], list[Place]]] = {
    "*": ([place("a"), place("a/b"), SHOP], []),
    "a/*": ([place("a/b"), place("a/b/c")], [place("a"), place("ab"), place("ab/c"), place("x/a/b")]),
    "a/b": ([place("a/b")], [place("a/b/c"), place("a"), place("A/b")]),
    "a/*/x": ([place("a/b/x")], [place("a/x"), place("a/b/c/x"), place("a/b/y")]),
    "tool:a/*": ([place("a/b")], [place("a/b", "knowledge"), skill("a/b.py")]),
    "skill:a": ([skill("a/SKILL.md"), skill("a/run.py")], [skill("ab/SKILL.md"), place("a", "directive")]),
    "caf\u00e9/*": ([place("cafe\u0301/x")], [place("cafe/x")]),
    "bundle:shop": ([SHOP], [place(), place(bundle="shop")]),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_names_items_or_a_bundle(pattern: str) -> None:
    """Ids match segment by segment, a skill with every file in it; ``bundle:NAME`` is everything in a bundle."""
    inside, outside = PATTERNS[pattern]
    limited = entry(ANN, patterns=(pattern,))
    assert [each for each in inside + outside if limited.allows(each)] == inside


@pytest.mark.parametrize(
    "text", ["bundle:shop demo/*", "bundle:", "a b", "a//b", "/a", "a/", "", "list:x", "Tool:a", "skill:", "a:b:c"]
)
def test_a_pattern_has_one_form(text: str) -> None:
    """Anything else is refused when the file is read, a bundle with a part of its items among it."""
    assert Limit.parse(text) is None
    with pytest.raises(SigningError) as caught:
        entry(ANN, patterns=(text,))
    assert caught.value.code == "trust-file"


CASES: list[tuple[str, Place, str, list[TrustEntry]]] = [
    ("no limit", place(), "", [entry(PAT)]),
    ("named for one run", place(), "", [entry(PAT, TrustScope.NAMED)]),
    ("the organisation's", SHOP, "", [entry(PAT, TrustScope.ORGANISATION)]),
    ("no file", place(), "unknown-key", [entry(ANN)]),
    ("an empty list allows nothing", place(), "limited", [entry(PAT, patterns=())]),
    (
        "attack: an older file without limits added again",
        place(),
        "limited",
        [entry(PAT), entry(PAT, patterns=("a/*",))],
    ),
    ("--trust lifts no limit", place(), "limited", [entry(PAT, TrustScope.NAMED), entry(PAT, patterns=("a/*",))]),
    ("the first day that ends", place(), "expired", [entry(PAT), entry(PAT, TrustScope.NAMED, not_after=PAST)]),
    ("a bundle's own file", SHOP, "foreign-key", [entry(PAT, BUNDLE, bundle="shop")]),
    ("a bundle that is trusted", SHOP, "", [entry(PAT, BUNDLE, bundle="shop"), entry(PAT, patterns=("bundle:shop",))]),
    ("rye's own bundle", SHOP, "", [entry(PAT, BUNDLE, bundle="shop", built_in=True)]),
    ("rye's own key elsewhere", place(), "foreign-key", [entry(PAT, BUNDLE, bundle="shop", built_in=True)]),
    (
        "a key of another trusted bundle",
        SHOP,
        "foreign-key",
        [entry(PAT, BUNDLE, bundle="shop"), entry(PAT, patterns=("bundle:rival",))],
    ),
    ("a bundle's file limits nobody else", SHOP, "", [entry(PAT, BUNDLE, bundle="shop", patterns=()), entry(PAT)]),
    (
        "a trusted bundle with another key",
        SHOP,
        "signer-changed",
        [entry(PAT, BUNDLE, bundle="shop"), entry(BEA, patterns=("bundle:shop",))],
    ),
    ("a key of a bundle in a project", place(), "limited", [entry(PAT, patterns=("bundle:shop",))]),
    (
        "also where the project brings the key",
        place(bundle="rival"),
        "limited",
        [entry(PAT, patterns=("bundle:shop",)), entry(PAT, PROJECT, bundle="rival")],
    ),
    (
        "a bundle that limits its own key",
        SHOP,
        "limited",
        [entry(PAT, BUNDLE, bundle="shop", patterns=("bundle:rival",), built_in=True)],
    ),
    ("a project's own file", place(), "foreign-key", [entry(PAT, PROJECT)]),
    ("signed by itself", place(), "foreign-key", [entry(PAT, PROJECT, signed_by=PAT.public.fingerprint)]),
    ("signed by nobody known", place(), "foreign-key", [entry(PAT, PROJECT, signed_by=FULL)]),
    ("signed by a full key", place(), "", [entry(ANN), entry(PAT, PROJECT, signed_by=FULL)]),
    ("a bundle's file signed by a full key", SHOP, "", [entry(ANN), entry(PAT, BUNDLE, bundle="shop", signed_by=FULL)]),
    ("of another project", place(bundle="x"), "foreign-key", [entry(ANN), entry(PAT, PROJECT, signed_by=FULL)]),
    (
        "signed, in the user space",
        place(space="user"),
        "foreign-key",
        [entry(ANN), entry(PAT, PROJECT, signed_by=FULL)],
    ),
    (
        "signed by a limited key",
        place(),
        "foreign-key",
        [entry(ANN, patterns=("demo/*",)), entry(PAT, PROJECT, signed_by=FULL)],
    ),
    (
        "signed by an expired key",
        place(),
        "foreign-key",
        [entry(ANN, not_after=PAST), entry(PAT, PROJECT, signed_by=FULL)],
    ),
    (
        "signed by a revoked key",
        place(),
        "foreign-key",
        [entry(ANN, revoked=Revocation()), entry(PAT, PROJECT, signed_by=FULL)],
    ),
    (
        "attack: signed by a key that the project revokes",
        place(),
        "foreign-key",
        [
            entry(ANN),
            entry(BEA),
            entry(BEA, PROJECT, signed_by=FULL, revoked=Revocation("stolen")),
            entry(PAT, PROJECT, signed_by=BEA.public.fingerprint),
        ],
    ),
    (
        "a signed file limits the user's key there",
        place(),
        "limited",
        [entry(ANN), entry(PAT), entry(PAT, PROJECT, signed_by=FULL, patterns=("a/*",))],
    ),
    (
        "but not elsewhere",
        place(space="user"),
        "",
        [entry(ANN), entry(PAT), entry(PAT, PROJECT, signed_by=FULL, patterns=("a/*",))],
    ),
    (
        "revoked by one of two files",
        place(),
        "revoked",
        [entry(PAT), entry(PAT, TrustScope.NAMED, revoked=Revocation())],
    ),
    (
        "revoked by a signed project file, everywhere",
        place(space="user"),
        "revoked",
        [entry(ANN), entry(PAT), entry(PAT, PROJECT, signed_by=FULL, revoked=Revocation())],
    ),
    (
        "attack: the key that signed a revocation is rotated",
        place(),
        "revoked",
        [
            entry(ANN, revoked=Revocation()),
            entry(PAT),
            entry(PAT, PROJECT, signed_by=FULL, revoked=Revocation("stolen")),
        ],
    ),
    (
        "attack: the key that signed a revocation expires",
        place(),
        "revoked",
        [entry(ANN, not_after=PAST), entry(PAT), entry(PAT, PROJECT, signed_by=FULL, revoked=Revocation("stolen"))],
    ),
    ("attack: a stranger's project revokes", place(), "", [entry(PAT), entry(PAT, PROJECT, revoked=Revocation())]),
    (
        "a bundle revokes at home",
        SHOP,
        "revoked",
        [entry(PAT), entry(PAT, BUNDLE, bundle="shop", revoked=Revocation())],
    ),
    ("and nowhere else", place(), "", [entry(PAT), entry(PAT, BUNDLE, bundle="shop", revoked=Revocation())]),
    (
        "signed by a key with a limit in one of its two files",
        place(),
        "foreign-key",
        [entry(ANN), entry(ANN, TrustScope.NAMED, patterns=()), entry(PAT, PROJECT, signed_by=FULL)],
    ),
    (
        "limited to another bundle and to ids",
        SHOP,
        "limited",
        [entry(PAT, BUNDLE, bundle="shop"), entry(PAT, patterns=("bundle:rival", "other/*"))],
    ),
    (
        "a bundle that was trusted by a key that is revoked",
        SHOP,
        "foreign-key",
        [entry(PAT, BUNDLE, bundle="shop"), entry(BEA, patterns=("bundle:shop",), revoked=Revocation("stolen"))],
    ),
    (
        "attack: a project claims that a bundle was trusted",
        SHOP,
        "foreign-key",
        [entry(PAT, BUNDLE, bundle="shop"), entry(BEA, PROJECT, patterns=("bundle:shop",))],
    ),
]


@pytest.mark.parametrize(("where", "code", "entries"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_key_counts_by_one_rule(where: Place, code: str, entries: list[TrustEntry]) -> None:
    """Files in effect limit and revoke; the order of the files does not matter, and a verdict says the same."""
    for order in (entries, entries[::-1]):
        trust = TrustSet(tuple(order))
        standing = trust.may_sign(PAT.public.fingerprint, where, NOW)
        assert (standing.code, standing.is_allowed) == (code, not code)
        if where.type == "tool":
            signature = verdict(sign(TOOL, PAT, origin=where), where, trust=trust)
            assert signature.code == (code or "ok")
            assert (signature.verdict is Verdict.TRUSTED) == standing.is_allowed


DETAILS: list[tuple[Place, str, list[TrustEntry]]] = [
    (place(), "", [entry(PAT)]),
    (place(), ": stolen", [entry(PAT, revoked=Revocation("stolen"))]),
    (place(), ": 2026-05-01", [entry(PAT, revoked=Revocation("", "2026-05-01"))]),
    (place(), "", [entry(PAT, revoked=Revocation())]),
    (place(), "2026-05-31T12:00:00+00:00", [entry(PAT, not_after=PAST)]),
    (place(), "nothing", [entry(PAT, patterns=())]),
    (place(), "a/*, tool:b/*", [entry(PAT, patterns=("a/*", "tool:b/*"))]),
    (SHOP, "bundle shop", [entry(PAT, BUNDLE, bundle="shop")]),
    (
        SHOP,
        f"; the signer of bundle shop changed: you trusted bea ({BEA.public.fingerprint[:16]})",
        [entry(PAT, BUNDLE, bundle="shop"), entry(BEA, owner="bea", patterns=("bundle:shop",))],
    ),
]


ENTRIES = st.builds(
    entry,
    st.sampled_from([ANN, PAT, PAT]),
    st.sampled_from(list(TrustScope)),
    bundle=st.sampled_from(["", "shop", "rival"]),
    patterns=st.sampled_from([None, None, (), ("demo/*",), ("other/*", "bundle:shop"), ("bundle:rival",)]),
    not_after=st.sampled_from([None, None, PAST, LATER]),
    revoked=st.sampled_from([None, None, None, Revocation("stolen")]),
    signed_by=st.sampled_from(["", FULL, PAT.public.fingerprint]),
)
PLACES = [place(), place(bundle="shop"), place(space="user"), SHOP, place("other/x"), list_place()]


def naive_counts(entries: list[TrustEntry], key: str, where: Place) -> bool:
    """Return whether a key counts, as the trust page says it."""
    users = {TrustScope.NAMED, TrustScope.USER, TrustScope.ORGANISATION}
    files = [each for each in entries if each.fingerprint == key]

    def full(signer: str) -> bool:
        own = [each for each in entries if each.fingerprint == signer and each.scope in users]
        bad = [each for each in own if each.patterns is not None or each.revoked or each.not_after == PAST]
        return bool(own) and not bad

    def was_full(signer: str) -> bool:
        own = [each for each in entries if each.fingerprint == signer and each.scope in users]
        return bool(own) and all(each.patterns is None for each in own)

    def home(each: TrustEntry) -> bool:
        return each.scope in users or (where.space, where.bundle) == (
            "project" if each.scope is PROJECT else "system",
            each.bundle,
        )

    def bars(each: TrustEntry, anywhere: bool = False) -> bool:  # noqa: FBT001, FBT002 - a twin is short
        at_home = each.scope in users or (not anywhere and home(each) and each.scope is BUNDLE)
        return bool(each.revoked) and (at_home or (not each.built_in and was_full(each.signed_by)))

    def in_effect(each: TrustEntry) -> bool:
        signed = full(each.signed_by) and not any(
            bars(other, anywhere=True) for other in entries if other.fingerprint == each.signed_by
        )
        return each.scope in users or each.built_in or signed

    def allows(pattern: str) -> bool:
        shop = where.space == "system" and where.bundle == "shop"
        item = where.type == "tool"
        return {
            "demo/*": item and where.id == "demo/hello",
            "other/*": item and where.id == "other/x",
            "bundle:shop": shop,
            "bundle:rival": False,
        }[pattern]

    heard = [each for each in files if home(each) and in_effect(each)]
    limits = all(each.patterns is None or any(map(allows, each.patterns)) for each in heard)
    return bool(heard) and limits and not any(each.not_after == PAST for each in heard) and not any(map(bars, files))


RYE = st.just(entry(PAT, BUNDLE, bundle="shop", built_in=True))
SETS = st.lists(ENTRIES | st.sampled_from([entry(ANN), entry(PAT)]) | RYE, max_size=6)


@given(SETS, st.sampled_from(PLACES))
def test_may_sign_is_what_a_naive_reading_of_the_rule_says(entries: list[TrustEntry], where: Place) -> None:
    """Any set of trust files, any place: the twin counts the same keys, and no verdict trusts another one."""
    trust = TrustSet(tuple(entries))
    counts = trust.may_sign(PAT.public.fingerprint, where, NOW).is_allowed
    assert counts == naive_counts(entries, PAT.public.fingerprint, where)
    if where.type == "tool":
        trusted = verdict(sign(TOOL, PAT, origin=where), where, trust=trust).verdict is Verdict.TRUSTED
        assert trusted == counts


@given(SETS, ENTRIES, st.sampled_from(PLACES))
def test_equal_digests_mean_equal_standings(entries: list[TrustEntry], other: TrustEntry, where: Place) -> None:
    """A kept verdict is used for another trust set only if that gives the same one."""
    one, two = TrustSet(tuple(entries)), TrustSet((*entries, other))
    if one.digest(NOW) == two.digest(NOW):
        assert one.may_sign(PAT.public.fingerprint, where, NOW) == two.may_sign(PAT.public.fingerprint, where, NOW)


BASE = TrustSet(
    (entry(ANN, owner="ann"), entry(PAT, PROJECT, signed_by=FULL), entry(BEA, BUNDLE, bundle="shop", not_after=LATER))
)
CHANGES: list[dict[str, Any]] = [
    {"public": EVE.public},
    {"owner": "anna"},
    {"scope": TrustScope.NAMED},
    {"bundle": "rival"},
    {"patterns": ("a/*",)},
    {"patterns": ()},
    {"not_after": LATER},
    {"revoked": Revocation()},
    {"revoked": Revocation("stolen")},
    {"revoked": Revocation("", "2026-01-01")},
    {"signed_by": FULL},
]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_the_digest_changes_with_whatever_influences_a_verdict(changes: dict[str, Any]) -> None:
    """Every fact of a trust file that a verdict uses or shows is in the digest."""
    changed = TrustSet((replace(BASE.entries[0], **changes), *BASE.entries[1:]))
    assert len({each.digest(NOW) for each in (BASE, changed, TrustSet(BASE.entries[1:]))}) == 3


FILE = trust_file_bytes(PAT.public, owner="pat")
KEYS = (entry(ANN), entry(EVE, TrustScope.NAMED))


def signed_file(stem: str = "pat") -> bytes:
    """Return pat's trust file signed by ann under a file name."""
    return sign_trust_file(FILE, stem=stem, key=ANN, now=SIGNED_AT)


ITEM = {form: sign(FILE, suffix=".toml", origin=place("pat"), form=form) for form in EnvelopeFormat if form != "ryeos"}
FORGED: dict[str, bytes] = {
    "under another file name": signed_file("eve"),
    "with another place": signed_file().replace(b":trust:pat\n", b":tool:pat\n"),
    "without its place": signed_file().replace(b":trust:pat\n", b"\n"),
    "with a line more": signed_file() + b"\n",
    "with another owner": signed_file().replace(b"pat", b"eve"),
    "in the name of another": signed_file().replace(FULL.encode(), EVE.public.fingerprint.encode()),
    "signed by itself": sign_trust_file(FILE, stem="pat", key=PAT, now=SIGNED_AT),
    "not signed": FILE,
    "signed as an item": ITEM[EnvelopeFormat.V2],
    "signed as an item in the older format": ITEM[EnvelopeFormat.V1],
}


@pytest.mark.parametrize("data", FORGED.values(), ids=FORGED)
def test_attack_forged_signature_on_a_trust_file(data: bytes) -> None:
    """A signature holds for one file under one name, made as that of a trust file, by a key that is asked for."""
    assert signer_of(data, stem="pat", keys=KEYS) == ""


def test_a_signed_trust_file_is_no_item() -> None:
    """What was signed as a trust file does not pass for an item of the same name."""
    assert verdict(signed_file(), place("pat")).code == "signed-elsewhere"


ANYWHERE: list[tuple[str, list[TrustEntry]]] = [
    ("", [entry(PAT, patterns=("tool:a/*",))]),
    ("limited", [entry(PAT, patterns=())]),
    ("unknown-key", [entry(ANN)]),
    ("revoked", [entry(PAT, revoked=Revocation())]),
    ("foreign-key", [entry(PAT, PROJECT)]),
]


@pytest.mark.parametrize(("code", "entries"), ANYWHERE)
def test_whether_a_key_counts_for_anything(code: str, entries: list[TrustEntry]) -> None:
    """The user's own files answer; a key that may sign one thing counts."""
    assert TrustSet(tuple(entries)).counts_anywhere(PAT.public.fingerprint, NOW).code == code
