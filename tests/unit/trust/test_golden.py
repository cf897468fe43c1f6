"""The golden signed files: made anew byte for byte, judged as their name says, and complete over the reason codes."""

from __future__ import annotations

import pytest

from rye.trust.evidence import inspect
from rye.trust.model import Evidence, Signature
from rye.trust.reasons import REASONS
from tests.support.signed import ASSETS, GOLDEN, Golden, verdict


def judged(name: str, golden: Golden) -> Signature:
    """Return the judgement on a stored file."""
    data, suffix = (ASSETS / name).read_bytes(), f".{name.rpartition('.')[2]}"
    return verdict(data, golden.origin, declared=golden.declared, trust=golden.trust, suffix=suffix)


@pytest.mark.parametrize(("name", "golden"), GOLDEN.items(), ids=list(GOLDEN))
def test_a_golden_file_is_made_anew_byte_for_byte(name: str, golden: Golden) -> None:
    """Signing with a fixed key at a fixed time gives the stored bytes."""
    assert (ASSETS / name).read_bytes() == golden.make()


@pytest.mark.parametrize(("name", "golden"), GOLDEN.items(), ids=list(GOLDEN))
def test_a_golden_file_is_judged_as_its_name_says(name: str, golden: Golden) -> None:
    """The stored bytes give the reason code of the table, and its verdict."""
    found = judged(name, golden)
    assert (found.code, found.verdict) == (golden.code, REASONS[golden.code].verdict)


@pytest.mark.parametrize(("name", "golden"), GOLDEN.items(), ids=list(GOLDEN))
def test_evidence_survives_its_record(name: str, golden: Golden) -> None:
    """What is kept in an index is what was found in the bytes."""
    evidence = inspect((ASSETS / name).read_bytes(), origin=golden.origin, declared=golden.declared)
    assert Evidence.from_record(evidence.to_record()) == evidence
    assert all(isinstance(value, str) for value in evidence.to_record())


def test_no_golden_file_is_without_its_row() -> None:
    """The folder holds the files of the table and no other."""
    assert {path.name for path in ASSETS.iterdir()} == set(GOLDEN)


def test_every_reason_code_has_a_golden_file() -> None:
    """No reason is only claimed."""
    of_more_files = {
        "outside-skill",
        "skill-changed",
        "skill-rewritten",
        *(code for code in REASONS if "list" in code or "oms" in code),
    }  # see test_lists.py, and test_model_signing.py among the attacks
    assert {golden.code for golden in GOLDEN.values()} | of_more_files == set(REASONS)
