"""Evidence in columns: whatever it is, it is read back equal, and a damaged record is reported."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index import container, evidence_column
from rye.index.arrays import Arrays
from rye.index.container import Container, DamagedError
from rye.index.evidence_column import EvidenceColumn, EvidenceWriter
from rye.trust.evidence import inspect
from rye.trust.model import Coverage, Evidence
from tests.support.signed import GOLDEN

TEXTS = st.one_of(st.just(""), st.text(max_size=8), st.sampled_from(["a\nb", "\ud800", "\x00", "é" * 40]))
DIGESTS = st.one_of(
    st.binary(min_size=32, max_size=32).map(bytes.hex),
    st.sampled_from(["A" * 64, "0" * 63, " " * 64, "g" * 64, "٣" * 64, f"{'ab ' * 21}a"]),
    TEXTS,
)
EVIDENCE = st.builds(
    Evidence,
    content_digest=DIGESTS,
    code=TEXTS,
    detail=TEXTS,
    format=st.sampled_from(["", "v1", "v2"]),
    coverage=st.sampled_from(Coverage),
    misplaced=TEXTS,
    claims=st.lists(TEXTS, max_size=2).map(tuple),
    digest=DIGESTS,
    signature=st.one_of(st.binary(min_size=64, max_size=64), st.binary(max_size=3)),
    fingerprint=TEXTS,
    signed_at=TEXTS,
)


def opened(path: Path, found: list[Evidence]) -> EvidenceColumn:
    """Write evidence to a file and open it."""
    path.unlink(missing_ok=True)
    container.write(path, packed(found), {})
    return EvidenceColumn(Container(path))


def packed(found: list[Evidence]) -> Arrays:
    """Return the arrays of evidence."""
    writer = EvidenceWriter()
    writer.add(found)
    return writer.arrays()


@given(st.lists(EVIDENCE, max_size=5))
def test_any_evidence_is_read_back_equal(tmp_path_factory: pytest.TempPathFactory, found: list[Evidence]) -> None:
    """Also where digests are no digests, signatures have another length, and texts have line breaks."""
    kept = opened(tmp_path_factory.mktemp("evidence") / "a", found)
    assert list(kept) == found
    assert [type(one.coverage) for one in kept] == [Coverage] * len(found)
    assert kept[1:] == found[1:]


def test_what_real_files_prove_is_read_back_equal(tmp_path: Path) -> None:
    """Signed, unsigned, altered, moved: every golden file."""
    found = [inspect(one.make(), origin=one.origin, declared=one.declared) for one in GOLDEN.values()]
    assert list(opened(tmp_path / "a", found)) == found


def test_a_signed_file_takes_little_more_than_its_digests_and_signature(tmp_path: Path) -> None:
    """What many files share is kept once: 128 bytes and the numbers of two tables are left."""
    rng = np.random.default_rng(1)
    found = [
        Evidence(
            rng.bytes(32).hex(),
            format="v2",
            digest=rng.bytes(32).hex(),
            signature=rng.bytes(64),
            fingerprint="ab" * 32,
            signed_at="2026-02-18T12:00:00Z",
        )
        for _ in range(1_000)
    ]
    opened(tmp_path / "a", found)
    assert (tmp_path / "a").stat().st_size < 135 * len(found)


@pytest.mark.parametrize("line", ["", "{", "null", "[]", '["cds", "evidence-0"]', '{"a": 1}', '["", "evidence-2", 1]'])
def test_a_record_of_another_layout_is_damage(tmp_path: Path, line: str) -> None:
    """It is never read as something else."""
    arrays = packed([Evidence("ab" * 32)])
    arrays |= {
        "evidence.rest.offsets": np.asarray([0, len(line) + 1]),
        "evidence.rest.buffer": np.frombuffer(f"{line}\n".encode(), np.uint8),
    }
    container.write(tmp_path / "a", arrays, {})
    kept = EvidenceColumn(Container(tmp_path / "a"))
    with pytest.raises(DamagedError):
        kept[0]


def test_a_record_is_one_line_of_json() -> None:
    """So that it stands in a table of strings."""
    rest = evidence_column._record("c", tuple(Evidence("", detail="a\nb")))
    assert "\n" not in rest
    assert json.loads(rest)[:2] == ["c", "evidence-7"]
