"""What a folded search shows is what grouping the hits of one that does not fold gives."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye import SearchResult
from tests.support.spacesim import SpaceSim

FOLDERS = ("a", "b", "b/inner", "c/deep/er")
NAMES = ("SKILL.md", "notes.md", "refs/more.md", "scripts/run.py")
WORDS = ("bread", "oven", "egg")
FILES = st.dictionaries(
    st.tuples(st.sampled_from(FOLDERS), st.sampled_from(NAMES)),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
    min_size=1,
    max_size=12,
)


def skill_of(path: str, mains: set[str]) -> str:
    """Return the nearest folder above a file that has a ``SKILL.md``; empty for none."""
    return next((str(folder) for folder in PurePosixPath(path).parents if str(folder) in mains), "")


def grouped(hits: list[SearchResult], root: Path) -> dict[str, tuple[float, tuple[str, ...]]]:
    """Return each hit that a folded search shows, with its score and the parts that it names."""
    paths = {hit.ref: Path(hit.path).relative_to(root).as_posix() for hit in hits}
    mains = {file.parent.relative_to(root).as_posix() for file in root.rglob("SKILL.md")}
    groups: dict[str, list[SearchResult]] = {}
    for hit in hits:
        skill = skill_of(paths[hit.ref], mains)
        groups.setdefault(hit.ref if hit.exact or not skill else skill, []).append(hit)
    shown = {}
    for own in groups.values():
        ordered = sorted(own, key=lambda hit: -hit.score)
        main = next((hit for hit in ordered if paths[hit.ref].endswith("SKILL.md")), ordered[0])
        parts = [hit for hit in ordered if hit is not main]
        best = parts[0].score if parts else 0.0
        shown[main.ref] = main.score + 0.2 * best * (1 - main.score), tuple(hit.ref for hit in parts)
    return shown


@given(files=FILES, query=st.sampled_from([*WORDS, "bread OR egg", "oven egg", "type:tool bread"]))
def test_a_folded_search_groups_the_hits_of_one_that_does_not_fold(
    files: dict[tuple[str, str], str], query: str
) -> None:
    """By the nearest ``SKILL.md``: its hit stands first if it matches, else the best file does."""
    with TemporaryDirectory() as folder:
        sim = SpaceSim(Path(folder), bundles=())
        root = sim.project / ".claude/skills"
        for (skill, name), text in files.items():
            file = root / skill / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(
                f'"""{text}"""\n' if name.endswith(".py") else f"# {skill} {name[0]}\n\n{text}\n", encoding="utf-8"
            )
        registry = sim.registry()
        each = registry.search(query, fold=False, limit=100, relax=False)
        folded = registry.search(query, limit=100, relax=False)
        wanted = grouped(list(each.results), root)
    found = {hit.ref: hit for hit in folded.results}
    assert folded.total == len(wanted)
    assert found.keys() == wanted.keys()
    for ref, (score, parts) in wanted.items():
        assert found[ref].score == pytest.approx(score, abs=3e-4)
        assert len(found[ref].parts) == min(len(parts), 5)
        assert {*found[ref].parts} <= {*parts}
