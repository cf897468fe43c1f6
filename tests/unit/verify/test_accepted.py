"""Accepted findings: a file with one spelling, and digests over every byte that a finding is about."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rye.errors import ArgumentError, EnvironmentFault
from rye.spaces.layout import Layout
from rye.verify.accepted import MAX_ACCEPTED_FILE, accepted_path
from rye.verify.policy import accept_findings, load_policy
from rye.verify.report import Accepted, Finding
from rye.verify.run import start_verification
from tests.support.files import lay
from tests.support.spacesim import SpaceSim

ONE = Accepted(".ai/tools/a.py", "100644", "no-envelope", "d" * 64)
TWO = Accepted(".ai/rye.list", "", "list-missing", "")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """One line for each finding, sorted; the policy is made if there is none, and else stays as it is."""
    policy = tmp_path / "policy.yaml"
    assert accept_findings(policy, [ONE, TWO, ONE]) == accepted_path(policy) == tmp_path / "policy.accepted.jsonl"
    assert load_policy(policy).accepted == {ONE, TWO}
    lines = accepted_path(policy).read_text().splitlines()
    assert [json.loads(line) for line in lines] == [TWO._asdict(), ONE._asdict()]
    policy.write_text("formats: v2  # mine\n")
    accept_findings(policy, [])
    assert load_policy(policy).accepted == frozenset()
    assert policy.read_text() == "formats: v2  # mine\n"


LINE = json.dumps(ONE._asdict())
BAD = {
    "no JSON": "path: x",
    "a list": "[]",
    "a field less": '{"path": "a", "mode": "", "code": "x"}',
    "a field more": LINE.replace("}", ', "why": "x"}'),
    "a field twice": LINE.replace("{", '{"path": "b", '),
    "another order": '{"mode": "", "path": "a", "code": "x", "digest": ""}',
    "a number": '{"path": "a", "mode": 100644, "code": "x", "digest": ""}',
    "a short digest": LINE.replace("d" * 64, "d" * 63),
    "what cannot be read": LINE.replace("d" * 64, "unreadable"),
    "another spelling": LINE.replace("no-env", "no\\u002denv"),
    "no UTF-8": b"\xff",
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
def test_a_line_that_is_not_understood_is_refused(tmp_path: Path, line: str | bytes) -> None:
    """With the file and the line; nothing is passed over, and each finding has one spelling."""
    policy = tmp_path / "policy.yaml"
    accept_findings(policy, [ONE])
    path = accepted_path(policy)
    path.write_bytes(path.read_bytes() + (line.encode() if isinstance(line, str) else line) + b"\n")
    with pytest.raises(
        ArgumentError, match=r"policy\.accepted\.jsonl:2: it is not a JSON object of the texts path"
    ) as raised:
        load_policy(policy)
    assert raised.value.code == "bad-policy"


def test_a_file_that_is_no_file_or_too_large_is_refused(tmp_path: Path) -> None:
    """A pipe is not waited for; a huge file is not read to its end."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("formats: v2\n")
    os.mkfifo(accepted_path(policy))
    with pytest.raises(EnvironmentFault, match="is not a regular file"):
        load_policy(policy)
    accepted_path(policy).unlink()
    with accepted_path(policy).open("wb") as file:
        file.truncate(MAX_ACCEPTED_FILE + 1)
    with pytest.raises(ArgumentError, match="more than 16,777,216 bytes"):
        load_policy(policy)


def test_attack_a_link_in_the_place_of_the_findings(tmp_path: Path) -> None:
    """Nothing is written where it leads, nor a policy beside it."""
    policy = tmp_path / "policy.yaml"
    accepted_path(policy).symlink_to(tmp_path / "victim")
    with pytest.raises(EnvironmentFault, match="is a link"):
        accept_findings(policy, [ONE])
    assert [path.name for path in tmp_path.iterdir()] == ["policy.accepted.jsonl"]


def test_what_cannot_be_read_as_a_whole_is_not_accepted(tmp_path: Path) -> None:
    """The error names it, and nothing is written."""
    policy = tmp_path / "policy.yaml"
    with pytest.raises(ArgumentError, match=r"not every byte can be read: \.ai/tools/a\.py") as raised:
        accept_findings(policy, [ONE._replace(digest="unreadable")])
    assert raised.value.code == "not-acceptable"
    assert list(tmp_path.iterdir()) == []


def test_what_a_finding_is_about_is_read_only_for_its_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that a client may read is not opened for an answer that shows no key, nor for the counts."""
    sim, opened = SpaceSim(tmp_path), list[str]()
    lay(sim.project, {".zed/rules.md": "Be kind.\n"})
    layout = Layout.find(project=sim.project, user=sim.user, bundles=())

    def read(path: str) -> str:
        opened.append(path)
        return "0" * 64

    def identified(*, identifies: bool) -> list[bool]:
        run = start_verification((), layout, space="project", without=(), strict=True, identifies=identifies)
        return [entry.identity is not None for entry in run if isinstance(entry, Finding)]

    monkeypatch.setattr("rye.verify.accepted._of_file", read)
    assert (identified(identifies=False), opened) == ([False], [])
    start_verification((), layout, space="project", without=(), strict=True, identifies=False).complete()
    assert opened == []
    assert (identified(identifies=True), len(opened)) == ([True], 1)
