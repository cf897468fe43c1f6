"""The catalogue of findings: each is documented, with its severity, and every one can be raised."""

from __future__ import annotations

import re
from pathlib import Path

from rye.manifest.model import FINDINGS, Severity

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "items" / "knowledge" / "rye" / "trust-model.md").read_text(encoding="utf-8")


def test_every_finding_is_documented_with_its_severity() -> None:
    """The table on the page of trust is the table in the code."""
    table = dict(re.findall(r"^\| `((?:manifest|item)-[a-z-]+|uncovered)` \| (\w+) \|", PAGE, re.MULTILINE))
    assert table == {code: str(kind.severity) for code, kind in FINDINGS.items()}


def test_every_finding_says_what_to_do() -> None:
    """No finding leaves its reader alone; only notes pass."""
    assert all(kind.remedy for kind in FINDINGS.values())
    assert {code for code, kind in FINDINGS.items() if kind.severity is Severity.NOTE} == {
        "manifest-first-use",
        "manifest-unsaved",
        "uncovered",
    }


def test_every_code_in_the_source_is_in_the_catalogue_and_used() -> None:
    """A code that nothing raises, or that the catalogue lacks, is found."""
    files = [*(ROOT / "rye" / "manifest").glob("*.py"), ROOT / "rye" / "keys" / "manifests.py"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files if path.name != "model.py")
    used = set(re.findall(r"\"((?:manifest|item)-[a-z-]+|uncovered)\"", text))
    errors = {
        "manifest-damaged",
        "manifest-differs",
        "manifest-key",
        "manifest-namespace",
        "manifest-untrusted",
    }
    assert used - errors == set(FINDINGS)
