"""What a cluster is given of an item, and the keys whose byte order is that of values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.cluster.client import Address
from rye.cluster.documents import (
    date_key,
    number_key,
    version_key,
)
from rye.cluster.faults import shown
from rye.errors import ArgumentError
from rye.items.values import version

FINITE = st.floats(allow_nan=False, allow_infinity=False)
VERSIONS = st.from_regex(r"v?[0-9]{1,3}(\.[0-9]{1,3}){0,3}(-[0-9a-zA-Z]{1,3}(\.[0-9a-zA-Z]{1,3})?)?", fullmatch=True)


@given(FINITE, FINITE)
def test_number_keys_are_in_the_order_of_numbers(one: float, other: float) -> None:
    """Negative ones too; zeros of both signs are equal."""
    assert (number_key(one) < number_key(other)) == (one < other)
    assert (number_key(one) == number_key(other)) == (one == other)


@given(st.floats(-6e10, 2.5e11), st.floats(-6e10, 2.5e11))
def test_date_keys_are_in_the_order_of_moments(one: float, other: float) -> None:
    """From the year 1 to 9999, to the microsecond."""
    assert (date_key(one) <= date_key(other)) or one > other


@given(VERSIONS, VERSIONS)
def test_version_keys_are_in_the_order_of_versions(one: str, other: str) -> None:
    """Pre-releases come before their release."""
    first, second = version(one), version(other)
    assert first is not None
    assert second is not None
    assert (version_key(first) < version_key(second)) == (first < second)
    assert (version_key(first) == version_key(second)) == (first == second)


def test_addresses() -> None:
    """With and without a port, with one host and with several."""
    one = Address.parse("opensearch+https://search.example/skills")
    assert (one.secure, one.hosts, one.name) == (True, (("search.example", 9200),), "skills")
    assert str(Address.parse("opensearch+http://[::1]:9201/a/")) == "opensearch+http://[::1]:9201/a"
    several = Address.parse("opensearch+https://a.example:9201,b.example,[::2]/skills")
    assert several.hosts == (("a.example", 9201), ("b.example", 9200), ("[::2]", 9200))
    assert Address.parse(str(several)) == several


@pytest.mark.parametrize(
    "text",
    [
        None,
        5,
        "https://host/a",
        "opensearch+https://host",
        "opensearch+https://user:secret@host/a",
        "opensearch+https://host/a?b",
        "opensearch+https://host/A",
        "opensearch+https://host/a*",
        "opensearch+https://host:99999/a",
        "opensearch+http://host/a",
        "opensearch+http://127.0.0.1,host/a",
        "opensearch+https://host,/a",
        "opensearch+https://host,user:secret@other/a",
        "opensearch+http://127.0.0.1.example/a",
    ],
)
def test_what_is_no_address_or_not_encrypted_is_refused(text: object) -> None:
    """The error does not repeat a password."""
    with pytest.raises(ArgumentError) as raised:
        Address.parse(text)
    assert raised.value.code == "bad-index"
    assert "secret" not in str(raised.value)


def test_words_of_a_cluster_are_shown_without_control_characters() -> None:
    """And cut."""
    assert shown("a\x1b[31mb\n") == "a?[31mb?"
    assert len(shown("x" * 10_000)) < 1_000
