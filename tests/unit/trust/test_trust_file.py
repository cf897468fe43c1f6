"""Trust files: both ways to give a key, limits, and refusal of whatever cannot be understood."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest

from rye.errors import SigningError
from rye.trust.trust_entry import Revocation, TrustEntry, TrustScope
from rye.trust.trust_file import parse_trust_file, trust_file_bytes, trust_file_name
from tests.support.signed import ANN, EVE

PUBLIC = ANN.public
PEM = f'[public_key]\npem = """\n{PUBLIC.pem}"""\n'
RAW = 'public_key = "ed25519:{}"\n'


def parsed(text: str) -> TrustEntry:
    """Parse a trust file of the user's."""
    return parse_trust_file(text.encode(), scope=TrustScope.USER, source="ann.toml")


def test_both_ways_to_give_a_key() -> None:
    """PEM in a table, or raw base64 behind ``ed25519:``."""
    raw = RAW.format(base64.b64encode(PUBLIC.raw).decode())
    for text in (PEM, raw, "\ufeff" + raw, PEM.replace("\n", "\r\n"), f"# rye:signed:whatever\n{PEM}"):
        assert parsed(text).public == PUBLIC


@pytest.mark.parametrize("name", [EVE.public.fingerprint, EVE.public.fingerprint[:16], "", PUBLIC.fingerprint[:15]])
def test_a_fingerprint_that_is_not_the_keys_is_refused(name: str) -> None:
    """A trust file whose fingerprint disagrees with its key is not taken, and the problem names both."""
    with pytest.raises(SigningError) as caught:
        parsed(f'fingerprint = "{name}"\n{PEM}')
    assert caught.value.code == "fingerprint-mismatch"
    assert "ann.toml" in caught.value.message
    assert PUBLIC.fingerprint in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-12-31", datetime(2026, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
        ('"2026-12-31"', datetime(2026, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
        ("2026-12-31T10:00:00Z", datetime(2026, 12, 31, 10, tzinfo=UTC)),
        ("2026-12-31T10:00:00+02:00", datetime(2026, 12, 31, 8, tzinfo=UTC)),
        ("2026-12-31T10:00:00", datetime(2026, 12, 31, 10, tzinfo=UTC)),
        ('"2026-12-31T10:00:00Z"', datetime(2026, 12, 31, 10, tzinfo=UTC)),
    ],
)
def test_the_last_moment_of_a_key(text: str, moment: datetime) -> None:
    """A date counts to its end in UTC; a date and time is that moment, in UTC where no zone is given."""
    assert parsed(f"not_after = {text}\n{PEM}").not_after == moment


@pytest.mark.parametrize(
    ("text", "revoked"),
    [
        ("revoked = false\n", None),
        ("revoked = true\n", Revocation()),
        ('revoked = {reason = "stolen", date = 2026-05-01}\n', Revocation("stolen", "2026-05-01")),
        ("revoked = {date = 2999-01-01}\n", Revocation("", "2999-01-01")),
        ("revoked = {}\n", Revocation()),
    ],
)
def test_a_revocation_is_a_truth_value_or_a_table(text: str, revoked: Revocation | None) -> None:
    """A table, even an empty one or one dated ahead, revokes at once."""
    assert parsed(text + PEM).revoked == revoked


LIMITS: dict[str, tuple[str, ...] | None] = {
    "": None,
    "for = []": (),
    'for = ["a/*", "tool:b/*/c", "*", "bundle:core", "bundle:a.b#2"]': (
        "a/*",
        "tool:b/*/c",
        "*",
        "bundle:core",
        "bundle:a.b#2",
    ),
}


@pytest.mark.parametrize("text", LIMITS)
def test_limits_are_read(text: str) -> None:
    """Absent is no limit, and an empty list allows nothing."""
    assert parsed(f"{text}\n{PEM}").patterns == LIMITS[text]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "owner = 'ann'",
        "this is no toml",
        "[" * 5000,
        "public_key = 5",
        "[public_key]\nkey = 'x'",
        f"owner = 5\n{PEM}",
        f'owner = "a\\u001b[31mb"\n{PEM}',
        f'owner = "a\\nb"\n{PEM}',
        f"owner = '{'a' * 201}'\n{PEM}",
        f"for = 'a/*'\n{PEM}",
        f"for = [1]\n{PEM}",
        f"for = ['']\n{PEM}",
        f"for = ['a/b*']\n{PEM}",
        f"for = ['a//b']\n{PEM}",
        f"for = ['/a']\n{PEM}",
        f"for = ['a/']\n{PEM}",
        f"for = ['agent:a/*']\n{PEM}",
        f"for = ['a b']\n{PEM}",
        f"for = ['bundle:']\n{PEM}",
        f"for = ['bundle:a/b']\n{PEM}",
        f"for = ['bundle:a  b']\n{PEM}",
        f"for = ['bundle:a bundle:b']\n{PEM}",
        f"for = ['a bundle:b']\n{PEM}",
        f"namespaces = ['bundle:a']\n{PEM}",
        f"bundles = ['a b']\n{PEM}",
        f"bundles = ['bundle:a']\n{PEM}",
        f"bundles = 'a'\n{PEM}",
        f"for = ['a']\nnamespaces = ['a']\n{PEM}",
        f"for = ['a']\nbundles = ['a']\n{PEM}",
        f"not_after = 'soon'\n{PEM}",
        f"not_after = 5\n{PEM}",
        f"not_after = true\n{PEM}",
        f"not_after = 10:00:00\n{PEM}",
        f"revoked = 'no'\n{PEM}",
        f"revoked = 0\n{PEM}",
        f"revoked = {{reason = 5}}\n{PEM}",
        f"revoked = {{date = 5}}\n{PEM}",
        f"revoked = {{date = 0x{'f' * 5000}}}\n{PEM}",
        f"not_after = 0x{'f' * 5000}\n{PEM}",
        f"not_after = 0001-01-01T00:00:00+14:00\n{PEM}",
        f"not_after = '0001-01-01T00:00:00+14:00'\n{PEM}",
        f"not_after = 9999-12-31T23:59:59-14:00\n{PEM}",
        f"fingerprint = [1]\n{PEM}",
        f"fingerprint = {{a = 1}}\n{PEM}",
        f"owner = 0x{'f' * 5000}\n{PEM}",
        f"public_key = 0x{'f' * 5000}",
        f"{PEM}x = '{'a' * 70_000}'",
    ],
)
def test_what_cannot_be_understood_is_refused(text: str) -> None:
    """A limit with a typing error refuses the file; it is never read as no limit."""
    with pytest.raises(SigningError) as caught:
        parsed(text)
    assert caught.value.code == "trust-file"
    assert "ann.toml" in caught.value.message


def test_what_is_written_is_read() -> None:
    """A written trust file gives back its facts, whatever the owner's name holds."""
    moment = datetime(2027, 1, 2, 3, 4, 5, tzinfo=UTC)
    owner = 'Ann "the key" \\ Müller'
    written = trust_file_bytes(PUBLIC, owner=owner, patterns=("a/*", "tool:b"), not_after=moment)
    assert parse_trust_file(written, scope=TrustScope.BUNDLE, bundle="b") == TrustEntry(
        PUBLIC, owner, TrustScope.BUNDLE, bundle="b", patterns=("a/*", "tool:b"), not_after=moment
    )
    assert parse_trust_file(trust_file_bytes(PUBLIC, owner=""), scope=TrustScope.USER).patterns is None
    assert trust_file_name(PUBLIC) == f"{PUBLIC.fingerprint}.toml"


@pytest.mark.parametrize("slip", ["serial = 7", "[revokd]\nreason = 'stolen'", "revoke = 1", "'' = 1", "[a.b]"])
def test_what_is_not_known_may_be_a_limit(slip: str) -> None:
    """Any other key or table refuses the file, at its top, at its end and in its tables."""
    text = trust_file_bytes(ANN.public, owner="Ann").decode()
    for written in (
        f"{slip}\n{text}" if "[" not in slip else f"{text}\n{slip}",
        f"{text}{slip}",
        f"{text}[revoked]\n{slip}",
    ):
        with pytest.raises(SigningError, match=r"is not known|has no effect"):
            parse_trust_file(written.encode(), scope=TrustScope.USER)


@pytest.mark.parametrize("limit", ["revoked = true", "not_after = 2020-01-01", "for = []"])
def test_a_limit_appended_to_the_file_is_not_lost_in_the_table_of_the_key(limit: str) -> None:
    """At the end of the file it belongs to ``[public_key]``: refused, with the place where it belongs."""
    text = trust_file_bytes(ANN.public, owner="Ann").decode()
    with pytest.raises(SigningError, match=r"has no effect in the table \[public_key\]"):
        parse_trust_file(f"{text}{limit}\n".encode(), scope=TrustScope.USER)


def test_a_trust_file_too_long_to_be_read_is_not_written() -> None:
    """A list of items longer than 8 KB is refused with what to do, not written and then left out."""
    patterns = [f"tool:team/{number}/*" for number in range(1_000)]
    with pytest.raises(SigningError) as caught:
        trust_file_bytes(PUBLIC, owner="ann", patterns=patterns)
    assert caught.value.code == "trust-file"
    assert "8,192 bytes; name fewer items in for" in caught.value.message
    assert parsed(trust_file_bytes(PUBLIC, owner="ann", patterns=patterns[:300]).decode()).patterns is not None
