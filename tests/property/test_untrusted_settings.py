"""Trust files and policies of any content: what they say, or one error of ours, and never another one."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rye.errors import ArgumentError, SigningError
from rye.trust.trust_entry import TrustScope
from rye.trust.trust_file import parse_trust_file
from rye.verify.policy import load_policy
from tests.support.signed import ANN

ZONES = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(timezones=st.none() | ZONES) | st.sampled_from(
    [
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=14))),
    ]
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
KEYS = st.sampled_from(
    [
        "fingerprint",
        "owner",
        "public_key",
        "pem",
        "for",
        "namespaces",
        "bundles",
        "not_after",
        "revoked",
        "reason",
        "date",
    ]
)
DEMANDS = st.sampled_from(["signers", "envelope", "max_age", "not_before", "scopes", "scope", "<<"])
WORDS = st.sampled_from(["trusted", "signed", "v1", "v2", "365d", "tool", "2026-01-01", ANN.public.fingerprint])
SCALARS = (
    st.booleans() | st.integers() | st.floats() | TEXTS | WORDS | st.dates() | MOMENTS | MOMENTS.map(datetime.isoformat)
)


def nested(keys: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Tables of anything, with the names that mean something more often than others."""
    names = keys | TEXTS
    inner = st.recursive(SCALARS, lambda value: st.lists(value, max_size=3) | st.dictionaries(names, value, max_size=3))
    return st.dictionaries(names, inner, max_size=5)


def toml(value: Any) -> str:
    """Write a value as TOML, on one line."""
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(char):08X}" for char in value) + '"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return hex(value) if value >= 0 else str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(key)} = {toml(each)}" for key, each in value.items()) + "}"
    return repr(value)


def check_trust_file(data: bytes) -> None:
    """Parse a trust file; what comes of it can be used."""
    with suppress(SigningError):
        entry = parse_trust_file(data, scope=TrustScope.USER, source="x.toml")
        assert entry.public == ANN.public
        entry.is_expired(datetime(2026, 1, 1, tzinfo=UTC))


@given(nested(KEYS))
@example({"fingerprint": [1]})
@example({"not_after": datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))})
@example({"not_after": int("f" * 5000, 16)})
@example({"revoked": {"date": int("f" * 5000, 16)}})
def test_a_trust_file_of_any_values(table: dict[str, Any]) -> None:
    """Whatever stands under whatever key, beside a key that is well."""
    lines = "".join(f"{toml(key)} = {toml(value)}\n" for key, value in table.items())
    check_trust_file(lines.encode())
    check_trust_file(f"{lines}\n[public_key]\npem = {toml(ANN.public.pem)}\n".encode())


@given(st.binary(max_size=200) | TEXTS.map(str.encode))
def test_a_trust_file_of_any_bytes(data: bytes) -> None:
    """Not even text."""
    check_trust_file(data)
    check_trust_file(data + f"\n[public_key]\npem = {toml(ANN.public.pem)}\n".encode())


def check_policy(path: Path, data: bytes) -> None:
    """Load a policy from its bytes."""
    path.write_bytes(data)
    with suppress(ArgumentError):
        policy = load_policy(path)
        assert policy.default.not_before is None or policy.default.not_before.tzinfo is UTC


@pytest.mark.parametrize("flow", [True, False])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=nested(DEMANDS))
@example(table={"require": ["signed"]})
@example(table={"require": {"a": 1}})
@example(table={"not_before": "0001-01-01T00:00:00+14:00"})
def test_a_policy_of_any_values(tmp_path: Path, table: dict[str, Any], *, flow: bool) -> None:
    """In both styles of YAML."""
    check_policy(tmp_path / "policy.yaml", yaml.safe_dump(table, default_flow_style=flow, allow_unicode=True).encode())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200) | st.text("{}[],:-*&<!?'\"| \n\tabrequiretusd#%", max_size=60).map(str.encode))
@example(data=b"{&a require: trusted, *a : signed}")
def test_a_policy_of_any_bytes(tmp_path: Path, data: bytes) -> None:
    """Any text near YAML, and any bytes."""
    check_policy(tmp_path / "policy.yaml", data)
