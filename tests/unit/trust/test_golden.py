"""The golden signed files: made anew byte for byte, judged as their name says, and complete over the reason codes."""

from __future__ import annotations

import re

import pytest

from rye.trust.evidence import inspect
from rye.trust.model import Coverage, Evidence, Signature
from rye.trust.reasons import ABOUT_KEY, REASONS
from tests.support.signed import ASSETS, EVE, GOLDEN, SIGNED_AT, WHEN, Golden, verdict


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
        *(code for code in REASONS if "list" in code),
    }  # see test_lists.py
    assert {golden.code for golden in GOLDEN.values()} | of_more_files == set(REASONS)


def test_facts_of_the_line_are_in_every_judgement_that_read_it() -> None:
    """Time and format are given whenever the line could be read."""
    for name, golden in GOLDEN.items():
        found = judged(name, golden)
        if golden.code in {"malformed", "two-envelopes", "no-envelope", "envelope-elsewhere"}:
            assert (found.signed_at, found.format, found.signer) == ("", "", "")
        else:
            assert found.signed_at in {WHEN, "2031-03-01T08:30:00Z"}
            assert found.format in {"v1", "v2", "ryeos"}
            assert len(found.signer) in {16, 64}
    assert f"{SIGNED_AT:%Y-%m-%dT%H:%M:%SZ}" == WHEN


def test_a_reason_names_the_signer_by_owner_or_key() -> None:
    """What concerns the key says first that the signature holds; a key of nobody known is named by 16 digits."""
    for name, golden in GOLDEN.items():
        reason = judged(name, golden).reason
        assert reason.startswith("the signature holds, but ") == (golden.code in ABOUT_KEY)
        if golden.code not in {"unknown-key", "no-envelope", "envelope-elsewhere"} and "signed by" in reason:
            assert re.search(r"signed by (ann|bea) \([0-9a-f]{16}\)", reason)
    assert (
        f"signed with key {EVE.public.fingerprint[:16]}, which"
        in judged("unknown-key.py", GOLDEN["unknown-key.py"]).reason
    )


def test_only_partial_files_are_less_than_whole() -> None:
    """A file whose digest leaves out anything but space is of another coverage than whole."""
    for name, golden in GOLDEN.items():
        evidence = inspect((ASSETS / name).read_bytes(), origin=golden.origin, declared={})
        assert (evidence.coverage is not Coverage.WHOLE) == golden.code.startswith("outside-")
