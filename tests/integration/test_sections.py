"""Sections through the registry, compared with a twin that scores every chunk of every item from the files."""

from __future__ import annotations

import hashlib
import math
import random
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from rye import Registry
from rye.errors import ArgumentError
from rye.index.text.chunks import chunks_of, spans_of
from rye.items.model import ItemType
from rye.items.reader import parse
from rye.search.contract.fusion import SPREAD, Fusion
from rye.search.contract.results import SectionHit
from tests.support.embedders import Hashed
from tests.support.naive_docs import K1, WEIGHTS
from tests.support.signed import EVE
from tests.support.spacesim import SpaceSim

pytestmark = pytest.mark.usefixtures("no_items_of_rye")

WORDS = ["deploy", "rollback", "release", "service", "database", "backup", "restore", "monitor", "alert", "budget"]


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """Return empty spaces."""
    return SpaceSim(tmp_path)


def registry(sim: SpaceSim, **options: Any) -> Registry:
    """Return a registry with an embedder that needs no model."""
    return sim.registry(**({"embedder": Hashed()} | options))


GUIDE = """---
title: Running the service
updated: {updated}
{more}---
Everything on running the service.

# Deploy

Push the release to production.

## Rollback

Undo a release with one command.

# Budget

What it costs.
"""


def guide(updated: str = "2026-01-01", more: str = "") -> str:
    """Return an item with a few sections."""
    return GUIDE.format(updated=updated, more=more)


def test_a_section_comes_with_all_that_is_needed_to_cite_it(sim: SpaceSim) -> None:
    """Eight fields of citation, anchor, score, chunks, snippet, text and verdict, all of them what the file says."""
    path = sim.add("project", "knowledge/ops/running.md", guide(more="owner: ops\n"))
    hit = registry(sim).sections("rollback release").results[0]
    assert hit.doc_id == "rye://project/knowledge/ops/running"
    assert hit.source_handle == "project"
    assert hit.title == "Running the service"
    assert hit.heading_path == ("Deploy", "Rollback")
    assert hit.mtime == int(path.stat().st_mtime * 1e3)
    assert hit.hash == hashlib.sha256(path.read_bytes()).hexdigest()
    assert hit.display_url == f"{path.as_uri()}#L{hit.line}-L{hit.end_line}"
    assert hit.properties["owner"] == "ops"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[hit.line - 1] == "## Rollback"
    assert lines[hit.end_line - 1] == "Undo a release with one command."
    assert hit.text == hit.snippet == "Undo a release with one command."
    assert hit.anchor == hashlib.sha256(b"Rollback\nUndo a release with one command.").hexdigest()
    assert hit.chunk_ids == (2,)
    assert (hit.truncated, hit.original_chars) == (False, len(hit.text))
    assert hit.signature.verdict == "trusted"
    assert 0 < hit.score < 1
    data = hit.to_dict()
    assert list(data)[:8] == [
        "doc_id", "source_handle", "title", "heading_path", "mtime", "hash", "display_url", "properties",
    ]  # fmt: skip


# The twin


def random_items(rng: random.Random) -> dict[str, str]:
    """Return files of random sections, some of them long."""
    files = {}
    for number in range(rng.randrange(3, 10)):
        parts = [f"---\ntitle: {rng.choice(WORDS)} {number}\n---\n"]
        for _ in range(rng.randrange(1, 5)):
            words = [rng.choice([*WORDS, "the", "a", "of", "x"]) for _ in range(rng.choice([3, 12, 900]))]
            parts.append(f"{'#' * rng.randrange(1, 4)} {rng.choice(WORDS)}\n\n{' '.join(words)}\n")
        files[f"knowledge/k/item{number}.md"] = "\n".join(parts)
    return files


def twin(
    sim: SpaceSim, query: str, *, semantic: float = 0.0, keyword: float = 0.0, rrf: float = 0
) -> dict[tuple[str, str], float]:
    """Return the score of each section, by item and anchor, with every chunk of every item scored from its file.

    Words are matched as they are; the weights are those of the fusion, what keyword scores are spread by included. With
    ``rrf``, the constant of reciprocal rank fusion, ranks count instead, of each section the best chunk's.
    """
    words = query.split()
    items = {}
    for rel in sim.rels("project"):
        item_id = rel.partition("/")[2].removesuffix(".md")
        data = sim.path("project", rel).read_bytes()
        items[item_id] = parse(data, item_type=ItemType.KNOWLEDGE, item_id=item_id, suffix=".md")
    df = {
        word: sum(
            word in re.findall(r"\w+", f"{item.title} {item.name} {item.body}".casefold()) for item in items.values()
        )
        for word in words
    }
    idf = {word: math.log(1 + (len(items) - df[word] + 0.5) / (df[word] + 0.5)) for word in words}
    embedder = Hashed()
    asked = embedder.embed([query])[0].astype(float)
    scored: list[tuple[float, float, str, str]] = []
    for item_id, item in items.items():
        texts = {(chunk.section, chunk.number): chunk.text for chunk in chunks_of(item)}
        above: list[tuple[int, str]] = []
        for ordinal, section in enumerate(item.sections):
            above = [one for one in above if one[0] < section.level] + [(section.level, section.heading_path[-1])]
            anchor = f"{section.heading_path[-1]}\n{section.text}"
            for number, (start, stop) in enumerate(spans_of(section)):
                chunk = section.text[start:stop].casefold()
                score = coverage = 0.0
                for word in words:
                    tf = len(re.findall(rf"\b{word}\b", chunk)) / (0.25 + 0.75 * (stop - start) / 1000)
                    tf *= WEIGHTS["content"]
                    tf += WEIGHTS["headings"] * sum(heading.casefold() == word for _, heading in above)
                    tf += WEIGHTS["title"] * (word in f"{item.title} {item.name}".casefold().split())
                    score += idf[word] * tf / (K1 + tf)
                    coverage += idf[word] * (tf > 0)
                whole = sum(idf.values())
                by_words = math.sqrt(score * coverage) / whole
                cosine = float(embedder.embed([texts[ordinal, number]])[0].astype(float) @ asked)
                digest = hashlib.sha256(unicodedata.normalize("NFC", anchor).encode()).hexdigest()
                scored.append((max(cosine, 0.0), by_words, item_id, digest))

    def reciprocal(values: list[float], value: float) -> float:
        return (rrf + 1) / 2 / (rrf + 1 + sum(other > value for other in values)) if value else 0.0

    def fused(pair: tuple[float, float]) -> float:
        if rrf:
            return sum(map(reciprocal, lists, pair))
        return (semantic * pair[0] + keyword * pair[1]) / (semantic + keyword)

    looked_at = {key for near, words, key, _ in scored if words > 0 or near >= Hashed.threshold}
    best: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for near, by_words, item_id, digest in scored:
        if item_id in looked_at:
            best.setdefault((item_id, digest), []).append((near, by_words))
    lists = [[max(pair[which] for pair in pairs) for pairs in best.values()] for which in (0, 1)]
    found = {key: [pair for pair in pairs if pair[1] > 0 or pair[0] >= Hashed.threshold] for key, pairs in best.items()}
    return {key: round(max(map(fused, pairs)), 4) for key, pairs in found.items() if pairs}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_sections_are_those_of_the_twin(sim: SpaceSim, seed: int, mode: str) -> None:
    """Scores and order are those of scoring every chunk of every item, however many chunks a section has."""
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    for rel, content in random_items(rng).items():
        sim.write("project", rel, content)
    query = " ".join(rng.sample(WORDS, rng.randrange(1, 4)))
    limit = rng.choice([1, 3, 50])
    response = registry(sim).sections(query, limit=limit, mode=mode)
    weights = {"semantic": Fusion().semantic_weight, "keyword": Fusion().keyword_weight * SPREAD}
    if mode == "keyword":
        weights = {"semantic": 0.0, "keyword": 1.0}
    truth = twin(sim, query, **weights)
    got = [((hit.id, hit.anchor), hit.score) for hit in response.results]
    assert [score for _, score in got] == sorted((score for _, score in got), reverse=True)
    expected = sorted(truth.values(), reverse=True)[:limit]
    assert [score for _, score in got] == pytest.approx(expected, abs=2e-3)
    assert all(score == pytest.approx(truth[key], abs=2e-3) for key, score in got)


@pytest.mark.parametrize("mode", ["keyword", "hybrid", "semantic"])
@pytest.mark.parametrize("embedder", [Hashed(), "none"])
def test_attack_a_long_item_of_the_words_asked_for_crowds_nothing_out(sim: SpaceSim, mode: str, embedder: Any) -> None:
    """However many chunks one section has, it is one of the sections; the others are there as without it."""
    for number in range(9):
        sim.write(
            "project", f"knowledge/k/item{number}.md", f"# Part {number}\n\nHow to rollback a release, {number}.\n"
        )
    asked = registry(sim, embedder=embedder)
    before = {hit.id for hit in asked.sections("rollback release", mode=mode).results}
    sim.write("project", "knowledge/k/spam.md", "rollback release. " * 6_000)
    found = asked.sections("rollback release", mode=mode)
    assert {hit.id for hit in found.results} == before | {"k/spam"}
    assert len(found.results) == found.total == 10


# What weighs


def test_authority_is_what_is_proven(sim: SpaceSim) -> None:
    """A trusted item that says so has all of it, another trusted one half, all else none, whatever it says."""
    claim = "authoritative: true\n"

    def titled(name: str, more: str = "") -> str:
        return guide(more=more).replace("Running the service", f"Service {name}")

    sim.add("project", "knowledge/ops/claims.md", titled("a", claim))
    sim.add("project", "knowledge/ops/plain.md", titled("b"))
    sim.add("project", "knowledge/ops/eve.md", titled("c", claim), who=EVE)
    sim.write("project", "knowledge/ops/unsigned.md", titled("d", claim))
    sim.add("project", "knowledge/ops/words.md", titled("e", "authoritative: 'true'\n"))

    def found(**weights: Any) -> dict[str, SectionHit]:
        hits = registry(sim).sections("undo one command", limit=50, **weights).results
        return {hit.id.removeprefix("ops/"): hit for hit in hits if hit.heading_path[-1] == "Rollback"}

    plain, weighed = found(), found(authority_weight=0.4)
    shares = {"claims": 1.0, "plain": 0.5, "words": 0.5, "eve": 0.0, "unsigned": 0.0}
    assert {name: hit.authority for name, hit in weighed.items()} == shares
    for name, share in shares.items():
        assert weighed[name].score == pytest.approx(plain[name].score * (1 - 0.4 * (1 - share)), abs=2e-4)


def test_superseded_items_are_hidden_and_counted(sim: SpaceSim) -> None:
    """Unless they are asked for."""
    old = guide(more="status: superseded\n").replace("one command", "an old command")
    sim.add("project", "knowledge/ops/old.md", old)
    sim.add("project", "knowledge/ops/new.md", guide())
    response = registry(sim).sections("rollback")
    assert {hit.id for hit in response.results} == {"ops/new"}
    assert dict(response.hidden) == {"superseded": 1}
    assert {hit.id for hit in registry(sim).sections("rollback", include_superseded=True).results} == {
        "ops/new",
        "ops/old",
    }


def test_sections_of_superseded_items_come_after_all_others(sim: SpaceSim) -> None:
    """Over all pages, not only within each: the first section of the first page is of a current item."""
    old = guide(more="status: superseded\n").replace("one command", "one rollback command: rollback")
    sim.add("project", "knowledge/ops/old.md", old)
    sim.add("project", "knowledge/ops/new.md", guide())
    options: dict[str, Any] = {"include_superseded": True, "limit": 1}
    firsts = [registry(sim).sections("rollback", offset=offset, **options).results[0].id for offset in range(3)]
    assert firsts == sorted(firsts, key=lambda item_id: item_id == "ops/old")
    assert firsts[0] == "ops/new"


# Copies


def test_identical_sections_take_one_place(sim: SpaceSim) -> None:
    """Of copies in other spaces the one that hides the others stands for all; what differs is not lost."""
    for source in sim.sources:
        sim.add(source, "knowledge/ops/running.md", guide())
    sim.write("user", "knowledge/ops/second.md", guide())
    sim.write("user", "knowledge/ops/other.md", guide().replace("one command", "two commands"))
    for mode in ("keyword", "semantic", "hybrid"):
        hits = registry(sim).sections("rollback", mode=mode, limit=50).results
        found = [hit for hit in hits if hit.heading_path[-1] == "Rollback"]
        assert {hit.id for hit in found} == {"ops/running", "ops/other"}
        (first,) = (hit for hit in found if hit.id == "ops/running")
        assert (first.source_handle, first.shadowed_by) == ("project", ())
        assert set(first.copies) == {
            "knowledge:ops/running of user",
            "knowledge:ops/running of system:shop",
            "knowledge:ops/second of user",
        }


def test_attack_a_copy_of_a_trusted_section_does_not_take_its_place(sim: SpaceSim) -> None:
    """Neither by priority, nor by a better score, nor as the newer of the two."""
    sim.add("user", "knowledge/ops/running.md", guide())
    sim.write("project", "knowledge/ops/running.md", guide("2027-01-01"))
    sim.add("project", "knowledge/ops/rollback.md", guide("2027-01-01"), who=EVE)
    for options in ({}, {"recency_weight": 0.9}, {"mode": "keyword"}):
        (hit,) = registry(sim).sections("rollback release", limit=1, **options).results
        assert (hit.source_handle, hit.signature.verdict) == ("user", "trusted")
        assert set(hit.copies) == {"knowledge:ops/running of project", "knowledge:ops/rollback of project"}


# Pages


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_pages_are_cut_from_one_list(sim: SpaceSim, mode: str) -> None:
    """Each section of ``total`` is on one page; the last page has no next one, and nothing is behind it."""
    rng = random.Random(4)  # noqa: S311 - repeatable, not secret
    for rel, content in random_items(rng).items():
        sim.write("project", rel, content)
    asked = registry(sim)
    first = asked.sections("release rollback", mode=mode, limit=2)
    pages, at = [first], first.next_offset
    while at is not None:
        pages.append(asked.sections("release rollback", mode=mode, limit=2, offset=at))
        assert (pages[-1].offset, pages[-1].total) == (at, first.total)
        at = pages[-1].next_offset
    found = [(hit.id, hit.anchor) for page in pages for hit in page.results]
    assert len(found) == len(set(found)) == first.total > 2
    scores = [hit.score for page in pages for hit in page.results]
    assert scores == sorted(scores, reverse=True)
    behind = asked.sections("release rollback", mode=mode, limit=2, offset=first.total)
    assert (behind.results, behind.total, behind.next_offset) == ((), first.total, None)


# Budget


def test_texts_stay_within_the_budget(sim: SpaceSim) -> None:
    """Whole sections as long as they fit; the last may be cut, and it is said how many were left out."""
    for number in range(6):
        sim.add("project", f"knowledge/ops/part{number}.md", f"# Part {number}\n\nRollback. {'word ' * 100}\n")
    everything = registry(sim).sections("rollback")
    assert everything.chars == sum(len(hit.text) for hit in everything.results)
    for budget in (1, 199, 600, 1_200, 100_000):
        response = registry(sim).sections("rollback", max_chars=budget)
        assert response.chars == sum(len(hit.text) for hit in response.results) <= budget
        assert response.results
        assert not any(hit.truncated for hit in response.results[:-1])
        last = response.results[-1]
        assert last.truncated == (len(last.text) < last.original_chars)
        left = len(everything.results) - len(response.results)
        assert any(f"{left} more sections" in text for text in response.warnings) == (left > 0)


# Faults


def test_attack_a_file_changed_since_it_was_indexed(sim: SpaceSim) -> None:
    """What is shown, and how it scores, is what the file says now; its verdict is that of these bytes."""
    path = sim.add("project", "knowledge/ops/running.md", guide())
    asked = registry(sim, max_staleness=float("inf"))
    assert asked.sections("rollback").results[0].signature.verdict == "trusted"
    path.write_text(path.read_text(encoding="utf-8").replace("Undo a release", "Rollback evil words"), encoding="utf-8")
    response = asked.sections("rollback evil words")
    assert response.results[0].text == "Rollback evil words with one command."
    assert response.results[0].signature.verdict == "tampered"
    assert any("changed since it was indexed" in text for text in response.warnings)
    assert response.results[0].hash == hashlib.sha256(path.read_bytes()).hexdigest()
    only = asked.sections("rollback", filters={"is": "trusted"})
    assert only.results == ()
    assert any("is tampered now" in text for text in only.warnings)
    path.unlink()
    gone = asked.sections("rollback")
    assert gone.results == ()
    assert any("was left out" in text for text in gone.warnings)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"limit": 0}, "bad-limit"),
        ({"limit": 51}, "bad-limit"),
        ({"mode": "fast"}, "bad-mode"),
        ({"space": "projct"}, "bad-space"),
        ({"scope": "tools"}, "bad-scope"),
        ({"recency_weight": -0.1}, "bad-recency-weight"),
        ({"recency_weight": float("nan")}, "bad-recency-weight"),
        ({"recency_weight": True}, "bad-recency-weight"),
        ({"authority_weight": 1.1}, "bad-authority-weight"),
        ({"recency_weight": 0.6, "authority_weight": 0.6}, "bad-authority-weight"),
        ({"half_life_days": 0}, "bad-half-life-days"),
        ({"half_life_days": "30"}, "bad-half-life-days"),
        ({"max_chars": 0}, "bad-max-chars"),
        ({"max_chars": 1.5}, "bad-max-chars"),
        ({"filters": {"nothing": "x"}}, "unknown-filter"),
    ],
)
def test_an_argument_at_fault_is_named(sim: SpaceSim, options: dict[str, Any], code: str) -> None:
    """And the error lists what is valid."""
    sim.add("project", "knowledge/ops/running.md", guide())
    with pytest.raises(ArgumentError) as caught:
        registry(sim).sections("rollback", **options)
    assert caught.value.code == code
    assert caught.value.hint
