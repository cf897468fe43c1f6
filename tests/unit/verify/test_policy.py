"""Policies: what they demand, in which order, and every way in which a file can be wrong."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rye.errors import ArgumentError, EnvironmentFault, NotFoundError
from rye.trust import Signature, Verdict
from rye.verify.policy import Demand, Policy, load_policy
from rye.verify.reports import Finding, VerifiedItem
from rye.verify.run import Baseline
from tests.support.outcomes import verification

NOW = datetime(2026, 6, 1, tzinfo=UTC)
KEY = "4b987fd4e40303ac" + "0" * 48


def item(name: str = "ops/backup", **facts: str) -> VerifiedItem:
    """Return a trusted item, v2, signed three months ago, unless said otherwise."""
    known = {"code": "ok", "reason": "", "signer": KEY, "signed_at": "2026-03-01T00:00:00Z", "format": "v2"} | facts
    signature = Signature(Verdict(known.pop("verdict", "trusted")), **known)
    return VerifiedItem("tool", name, "project", "", f"/p/tools/{name}.py", signature, digest="d" * 64)


def written(folder: Path, text: str | bytes) -> Path:
    """Write a policy."""
    path = folder / "policy.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def codes(policy: Policy, *items: VerifiedItem) -> list[str]:
    """Return the code of each item's finding, empty where it is well."""
    found = verification(*items, policy=policy, now=NOW)
    return [each.code if isinstance(each, Finding) else "" for each in found]


@pytest.mark.parametrize(
    ("demand", "facts", "code"),
    [
        (Demand(), {}, ""),
        (Demand(), {"verdict": "untrusted", "code": "unknown-key"}, "unknown-key"),
        (Demand("signed"), {"verdict": "untrusted", "code": "unknown-key"}, ""),
        (Demand("signed"), {"verdict": "tampered", "code": "digest"}, "digest"),
        (Demand(signers=(KEY,)), {}, ""),
        (Demand(signers=(KEY[:16],)), {}, "signer"),
        (Demand(signers=("f" * 16,)), {}, "signer"),
        (Demand("signed", signers=(KEY,)), {"verdict": "untrusted", "code": "unknown-key"}, "signer"),
        (Demand("signed", signers=(KEY,)), {"verdict": "untrusted", "code": "expired"}, ""),
        (Demand(envelopes=("v2",)), {"format": "v1"}, "envelope"),
        (Demand(envelopes=("v2", "v1")), {"format": "v1"}, ""),
        (Demand(max_age=timedelta(days=92)), {}, ""),
        (Demand(max_age=timedelta(days=91)), {}, "too-old"),
        (Demand(max_age=timedelta(days=9999)), {"format": "v1"}, "undated"),
        (Demand(not_before=datetime(2026, 3, 1, tzinfo=UTC)), {}, ""),
        (Demand(not_before=datetime(2026, 3, 2, tzinfo=UTC)), {}, "too-old"),
        (Demand(max_age=timedelta(days=1)), {"signed_at": "2026-06-01T00:05:00Z"}, ""),
        (Demand(max_age=timedelta(days=1)), {"signed_at": "2026-06-01T01:00:00Z"}, "dated-ahead"),
    ],
)
def test_a_demand_is_met_or_gives_its_code(demand: Demand, facts: dict[str, str], code: str) -> None:
    """Verdict first, then signer, format and age. A key that cannot be checked is nobody's."""
    assert codes(Policy(demand), item(**facts)) == [code]


def test_the_first_scope_that_holds_an_item_replaces_what_it_states(tmp_path: Path) -> None:
    """What it does not state stays as for all items; other items do not notice."""
    text = f"envelope: v2\nscopes:\n- scope: tool.ops.*\n  signers: {KEY}\n- scope: tool\n  envelope: [v1, v2]\n"
    policy = load_policy(written(tmp_path, text))
    other = {"signer": "f" * 64}
    assert codes(policy, item(), item(**other), item(format="v1"), item("x/y", format="v1", **other)) == [
        "",
        "signer",
        "envelope",
        "",
    ]
    assert not policy.is_plain


def test_what_the_caller_demands_comes_on_top(tmp_path: Path) -> None:
    """A policy that accepts untrusted items does not weaken the command line."""
    policy = load_policy(written(tmp_path, "require: signed\n"))
    bad = item(verdict="untrusted", code="expired")
    assert codes(policy, bad) == [""]
    assert codes(Policy(policy.default, policy.scoped, also=Demand()), bad) == ["expired"]


@pytest.mark.parametrize("require", ["trusted", "signed"])
def test_an_audience_is_demanded_of_every_item_of_a_project(require: str) -> None:
    """Also of one whose key does not count, where that is accepted: its verdict says nothing of the audience."""
    unknown = {"verdict": "untrusted", "code": "unknown-key"} if require == "signed" else {}
    items = (item(**unknown, audience="acme/ops"), item(**unknown, audience="acme/shop"), item(**unknown))
    elsewhere = tuple(each._replace(space="user") for each in items)
    run = verification(*items, *elsewhere, policy=Policy(Demand(require)), audience="acme/ops")
    found = [(each.code, each.reason) for each in run if isinstance(each, Finding)]
    assert found == [
        ("audience", "for the audience 'acme/shop'; 'acme/ops' is demanded here"),
        ("audience", "for no audience; 'acme/ops' is demanded here"),
    ]


def test_every_demand_can_be_written(tmp_path: Path) -> None:
    """Each key of a policy file arrives."""
    text = f"require: signed\nsigners: ['{KEY.upper()}']\nenvelope: v2\nmax_age: 4w\nnot_before: 2026-01-01\n"
    policy = load_policy(written(tmp_path, text))
    start = datetime(2026, 1, 1, tzinfo=UTC)
    assert policy == Policy(Demand("signed", (KEY,), ("v2",), timedelta(weeks=4), start))
    assert load_policy(written(tmp_path, "audience: acme/ops\n")) == Policy(audience="acme/ops")


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", ":1", "demands nothing"),
        ("- a\n", ":1", "must be a mapping"),
        ("{}\n", ":1", "demands nothing"),
        ("envelope: v2\nrequire: maybe\n", ":2", "require is 'maybe'"),
        ("envelope: v2\n\nsinger: x\n", ":3", "'singer' is not known"),
        ("envelope: v3\n", ":1", "envelope is 'v3'"),
        ("envelope: []\n", ":1", "envelope is []"),
        ("signers: []\n", ":1", "at least one"),
        ("signers: [me]\n", ":1", "signer is 'me'"),
        ("audience: Acme\n", ":1", "audience is 'Acme'"),
        ("audience: [acme]\n", ":1", "audience is"),
        ("require: signed\nscopes:\n- scope: tool\n  audience: acme\n", ":4", "'audience' is not known"),
        ("max_age: 30\n", ":1", "such as 365d"),
        ("max_age: 0d\n", ":1", "max_age is '0d'"),
        ("not_before: soon\n", ":1", "a date such as"),
        ("require: trusted\nscopes: tool\n", ":2", "list of mappings"),
        ("require: trusted\nscopes:\n- tool\n", ":2", "with a scope"),
        ("require: trusted\nscopes:\n- scope: thing.x\n  envelope: v2\n", ":3", "thing"),
        ("require: trusted\nscopes:\n- scope: tool\n", ":3", "demands nothing of its own"),
        ("require: trusted\nscopes:\n- scope: tool\n  scopes: []\n", ":2", "'scopes' is not known"),
        ("require: 'x\n", ":1", "unexpected end"),
        ("require: trusted\nenvelope: v2\nrequire: signed\n", ":3", "'require' is there twice"),
        (
            "require: trusted\nscopes:\n- scope: tool\n  envelope: v2\n  envelope: v1\n",
            ":5",
            "'envelope' is there twice",
        ),
        ("require: trusted\n---\nrequire: signed\n", ":2", "more than one document"),
        ("{require: trusted, require: signed}", ":1", "'require' is there twice"),
        ("{require: trusted, 'require': signed}", ":1", "'require' is there twice"),
        ('{require: trusted,\n "requir\\x65": signed}', ":2", "'require' is there twice"),
        ("scopes: [{scope: tool,\n envelope: v2, envelope: v1}]", ":2", "'envelope' is there twice"),
        ("? require\n: trusted\n? require\n: signed\n", ":3", "'require' is there twice"),
        ("{&a require: trusted, *a : signed}", ":1", "a key is not written out"),
        ("{require: trusted}\n--- {require: signed}\n", ":2", "more than one document"),
        ("<<: {require: signed}\n<<: {require: trusted}\n", ":2", "'<<' is there twice"),
        ("true: 1\nTrue: 2\n", ":2", "'true' is there twice"),
        ("require: [signed]", ":1", "require is ['signed']"),
        ("require: {a: 1}", ":1", "require is {'a': 1}"),
        ("not_before: 0001-01-01T00:00:00+14:00", ":1", "not_before is"),
        ("not_before: 9999-12-31T23:59:59-14:00", ":1", "not_before is"),
        (b"require: \xff\n", "", "not UTF-8"),
        ("#" * 70_000, "", "more than 65,536 bytes"),
        ("a: &a [x]\nb: &b [*a, *a]\n" + "c: *nope\n", ":3", "found undefined alias"),
    ],
)
def test_a_policy_that_is_not_understood_is_refused(tmp_path: Path, text: str | bytes, place: str, words: str) -> None:
    """Nothing is passed over: each fault is an error with the file and the line."""
    path = written(tmp_path, text)
    with pytest.raises(ArgumentError) as raised:
        load_policy(path)
    assert raised.value.code == "bad-policy"
    assert raised.value.message.startswith(f"{path}{place}: ")
    assert words in raised.value.message


def test_attack_a_policy_or_baseline_that_is_a_pipe(tmp_path: Path) -> None:
    """Nobody waits for what a checkout puts in the place of a file."""
    os.mkfifo(tmp_path / "pipe")
    for load in (load_policy, Baseline.load):
        for path in (tmp_path / "pipe", Path("/dev/zero")):
            with pytest.raises(EnvironmentFault, match="is no regular file"):
                load(path)


def test_a_policy_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """No file, or one that cannot be read, never means that nothing is demanded."""
    with pytest.raises(NotFoundError, match="there is no policy file"):
        load_policy(tmp_path / "none.yaml")
    with pytest.raises(EnvironmentFault, match="cannot be read"):
        load_policy(tmp_path)
