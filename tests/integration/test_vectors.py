"""Vectors through the registry: made when needed, kept up, never mixed, healed; chosen by no project."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rye import Registry
from rye.embedding.protocol import Floats
from rye.errors import ArgumentError, UnavailableError
from rye.index.text.chunks import chunks_of
from rye.index.vectors import vectors as vector_files
from rye.items.model import ItemType
from rye.items.reader import parse
from tests.support.embedders import Broken, Hashed, answered, serving
from tests.support.spacesim import SpaceSim

pytestmark = pytest.mark.usefixtures("no_items_of_rye")

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = "# One\n\nThe first section, on deploying.\n\n# Two\n\nThe second, on rollback.\n"


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """Return spaces with a few items in each."""
    found = SpaceSim(tmp_path)
    for number in range(5):
        found.add("project", f"tools/demo/tool{number}.py", f'"""Tool number {number} {"abcde"[number]}."""\n')
    found.add("project", "knowledge/demo/guide.md", SECTIONS)
    found.add("user", "knowledge/demo/notes.md", SECTIONS)
    found.add("system:shop", "directives/demo/sell.md", "# Sell\n\nSell something.\n")
    return found


def shown(registry: Registry) -> dict[tuple[str, str, str, int, int], list[float]]:
    """Return every vector by source, type, id, section and chunk."""
    reader = registry._indexes.current(0).everywhere
    vectors = registry._vectors.meaning(reader).vectors
    found = {}
    identity = np.eye(vectors.dimensions, dtype=np.float32)
    columns = np.stack([vectors.similarities(axis) for axis in identity], axis=1)
    for row, (doc, section, chunk) in enumerate(zip(vectors.docs, vectors.sections, vectors.chunks, strict=True)):
        part, _ = reader.locate(int(doc))
        key = (part.root.source, *reader.key_of(int(doc)), int(section), int(chunk))
        assert key not in found
        found[key] = columns[row].tolist()
    return found


def expected(sim: SpaceSim, embedder: Hashed) -> dict[tuple[str, str, str, int, int], list[float]]:
    """Return the same from the files alone."""
    found = {}
    for source in sim.sources:
        for rel in sim.rels(source):
            path = sim.path(source, rel)
            kind = next(kind for kind in ItemType if rel.startswith(f"{kind.folder}/"))
            item_id = rel.partition("/")[2].rpartition(".")[0]
            item = parse(path.read_bytes(), item_type=kind, item_id=item_id, suffix=path.suffix)
            for chunk in chunks_of(item):
                key = (source, str(kind), item_id, chunk.section, chunk.number)
                found[key] = embedder.embed([chunk.text])[0].tolist()
    return found


def assert_right(sim: SpaceSim, registry: Registry, embedder: Hashed) -> None:
    """Every vector is that of its text, and there is no other."""
    found, truth = shown(registry), expected(sim, Hashed(embedder.model, embedder.dimensions))
    assert found.keys() == truth.keys()
    assert all(np.abs(np.subtract(found[key], truth[key])).max() < 1e-3 for key in truth)


def files(sim: SpaceSim) -> list[Path]:
    """Return the files of vectors in the cache."""
    return sorted(sim.cache.glob("v1/*/vectors-*"))


def test_vectors_are_those_of_the_texts(sim: SpaceSim) -> None:
    """One for each chunk of each item of every space, for each space alone as for all."""
    embedder = Hashed()
    registry = sim.registry(embedder=embedder)
    report = registry.embed()
    assert (report.items, report.vectors, report.missing, report.dimensions) == (8, 10, 0, 48)
    assert report.model == "hashed:1"
    assert_right(sim, registry, embedder)
    alone = registry._vectors.meaning(registry._indexes.current(0).reader("user")).vectors
    assert len(alone) == 2


def test_only_what_changed_is_embedded(sim: SpaceSim) -> None:
    """After a change, also in another process, one item is; after a renaming that item; after a removal none."""
    sim.registry(embedder=Hashed()).embed()

    def texts(**change: Any) -> int:
        embedder = Hashed()
        registry = sim.registry(embedder=embedder, **change)
        registry.embed()
        count = len(embedder.texts)
        assert_right(sim, registry, embedder)
        return count

    probes = 1  # one text, in a process of its own, asks whether the model is still the same
    assert texts() == probes
    sim.add("project", "tools/demo/tool1.py", '"""Changed."""\n')
    assert texts() <= probes + 2
    sim.move("project", "tools/demo/tool2.py", "tools/demo/renamed.py")
    assert texts() <= probes + 2
    sim.delete("project", "knowledge/demo/guide.md")
    assert texts() == probes


def test_models_never_mix(sim: SpaceSim) -> None:
    """Another model has vectors of its own; going back needs no new ones."""
    one, two = Hashed(), Hashed("hashed:2", 16)
    sim.registry(embedder=one).embed()
    other = sim.registry(embedder=two)
    other.embed()
    assert_right(sim, other, two)
    again = Hashed()
    back = sim.registry(embedder=again)
    back.embed()
    assert len(again.texts) == 1
    assert_right(sim, back, again)


@pytest.mark.parametrize("spoil", ["cut", "garbage", "short", "empty", "gone", "all gone", "flipped"])
def test_attack_damaged_vectors_are_made_anew(sim: SpaceSim, spoil: str) -> None:
    """A warning says so; the index and everything else stay."""
    sim.registry(embedder=Hashed()).embed()
    before = sim.registry(embedder=Hashed()).search("tool").to_dict()["results"]
    for path in files(sim)[: None if spoil == "all gone" else 1]:
        data = path.read_bytes()
        path.unlink()
        if "gone" not in spoil:
            last = len(data.rstrip(b"\0")) - 1  # what follows is padding
            flipped = data[:last] + bytes([data[last] ^ 1]) + data[last + 1 :]
            spoiled = {"cut": data[:-64], "garbage": b"x" * 99, "short": b"x" * 9, "empty": b"", "flipped": flipped}
            path.write_bytes(spoiled[spoil])
    embedder = Hashed()
    registry = sim.registry(embedder=embedder)
    report = registry.embed()
    assert report.missing == 0
    reported = [text for text in report.warnings if "made anew" in text]
    assert bool(reported) == ("gone" not in spoil)
    assert all(re.search(r" is damaged: (its?|array '\w+') [ a-z]+$", text) for text in reported)
    assert_right(sim, registry, embedder)
    assert sim.registry(embedder=Hashed()).search("tool").to_dict()["results"] == before


def test_an_embedder_that_goes_away_leaves_what_was_made(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is its own; the next time only the rest is made."""
    monkeypatch.setattr(vector_files, "TEXTS_PER_REQUEST", 2)
    with pytest.raises(UnavailableError, match="went away"):
        sim.registry(embedder=Broken(8)).embed()
    embedder = Hashed()
    registry = sim.registry(embedder=embedder)
    assert registry.embed().missing == 0
    assert_right(sim, registry, embedder)
    assert not any("tool0" in text for text in embedder.texts)


def test_a_file_that_changes_while_it_is_embedded_is_left_for_the_next_time(sim: SpaceSim) -> None:
    """A vector never stands for other bytes than those indexed."""

    class Meddling(Hashed):
        meddles = True

        def embed(self, texts: Any) -> Any:
            if self.meddles:
                sim.write("project", "tools/demo/tool4.py", '"""Other words entirely."""\n')
            return super().embed(texts)

    embedder = Meddling()
    registry = sim.registry(embedder=embedder)
    assert registry.embed().missing == 1
    embedder.meddles = False
    assert registry.embed().missing == 0
    assert_right(sim, registry, embedder)


class Held(Hashed):
    """Waits, after so many calls, until it is let go on."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.calls = calls
        self.waits, self.goes_on = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> Floats:
        """Answer, maybe later."""
        self.calls -= 1
        if self.calls < 0:
            self.waits.set()
            assert self.goes_on.wait(60)
        return super().embed(texts)


@contextmanager
def embedding(sim: SpaceSim, embedder: Held, **options: Any) -> Iterator[Registry]:
    """Let a thread make vectors, and go on when it is in the middle of that."""
    registry = sim.registry(embedder=embedder, **options)
    thread = threading.Thread(target=registry.embed)
    thread.start()
    try:
        assert embedder.waits.wait(30)
        yield registry
    finally:
        embedder.goes_on.set()
        thread.join()


@pytest.mark.parametrize("same", ["registry", "model", "neither"])
def test_a_search_does_not_wait_for_somebody_who_makes_vectors(
    sim: SpaceSim, monkeypatch: pytest.MonkeyPatch, same: str
) -> None:
    """It goes on with the vectors there are, and says how many are missing; another model is not held up at all."""
    monkeypatch.setattr(vector_files, "TEXTS_PER_REQUEST", 2)
    monkeypatch.setattr(vector_files, "SAVE_SECONDS", 0.0)
    held = Held(4)
    with embedding(sim, held) as busy:
        held.calls = 100  # the query itself is answered
        asking = (
            busy if same == "registry" else sim.registry(embedder=Hashed("other") if same == "neither" else Hashed())
        )
        found = asking.search("tool number", mode="semantic")
        assert not held.goes_on.is_set()
        assert found.method == "embedding"
        assert found.results
        reported = [text for text in found.warnings if "another process is making them" in text]
        assert len(reported) == (same != "neither")
        assert all("items have no vectors yet, only words rank them" in text for text in reported)
    whole = busy.search("tool number", mode="semantic")
    assert whole.total > found.total or same == "neither"
    assert not whole.warnings


# Which embedder


def test_the_embedder_is_what_the_caller_says_then_the_variable_then_the_settings(
    sim: SpaceSim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stands above the next."""
    with serving(lambda body: (200, answered(body["input"], "ollama"))) as (url, requests):

        def asked(**options: Any) -> str:
            registry = sim.registry(**options)
            name = registry.embed().model
            return name.replace(url, "URL")

        sim.write(
            "user", "config/search.yaml", f"semantic: {{embedder: ollama, model: settings, url: '{url}', batch: 3}}\n"
        )
        assert asked() == "ollama:settings@URL"
        assert max(len(body["input"]) for _, _, body in requests) == 3
        monkeypatch.setenv("RYE_EMBEDDER", f"ollama:variable@{url}")
        assert asked() == "ollama:variable@URL"
        assert asked(embedder=f"ollama:caller@{url}") == "ollama:caller@URL"
        assert asked(embedder=Hashed()) == "hashed:1"
        monkeypatch.setenv("RYE_EMBEDDER", "nonsense")
        with pytest.raises(ArgumentError):
            asked()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ("semantic: []", ""),
        ("semantic: [a]", "must be a mapping"),
        ("semantic: ''", "must be a mapping"),
        ("semantic: {embeder: ollama}", "did you mean 'embedder'? valid are embedder, model"),
        ("semantic: {embedder: ollama}", "needs the name of a model"),
        ("semantic: {embedder: x}", "no embedder 'x'"),
        ("semantic: {embedder: wordllama, batch: 0}", "'semantic.batch' is 0; valid are whole numbers from 1 to 1,024"),
        ("semantic: {embedder: wordllama, batch: 5000}", "from 1 to 1,024"),
        ("semantic: {embedder: wordllama, batch: true}", "'semantic.batch' is true; valid are whole numbers"),
        (
            "semantic: {embedder: wordllama, timeout: 0}",
            "is 0; valid are numbers above 0, up to 600",
        ),
        ("semantic: {embedder: wordllama, threshold: 1.5}", "from 0 to 1"),
        ("semantic: {embedder: wordllama, threshold: .nan}", "semantic.threshold"),
        ("semantic: {embedder: [ollama]}", "valid are strings"),
        ("semantic: {embedder: wordllama, query_prefix: 'query: '}", "wordllama takes no query_prefix ('query: ')"),
        ("semantic: {embedder: ollama, model: m, document_prefix: 7}", "valid are strings"),
        ("semantic: {embedder: none}", "turned off by 'semantic' of "),
        ("semantic: [", "left out"),
        ("other: 1", "may hold only 'weights', 'source_boosts', 'semantic'"),
    ],
)
def test_settings_at_fault_embed_nothing(sim: SpaceSim, settings: str, problem: str) -> None:
    """Where the user's choice cannot be read, no other embedder is taken; searching by words still works."""
    sim.write("user", "config/search.yaml", settings)
    registry = sim.registry()
    if problem:
        with pytest.raises(UnavailableError) as caught:
            registry.embed()
        assert problem in caught.value.message
        assert files(sim) == []
    assert registry.search("tool").total


def test_attack_a_project_or_bundle_that_chooses_where_texts_are_sent(sim: SpaceSim) -> None:
    """Neither is asked: their files choose no embedder, and it is said that they tried."""
    with serving(lambda body: (200, answered(body["input"], "ollama"))) as (url, requests):
        settings = f"semantic: {{embedder: ollama, model: evil, url: '{url}'}}\n"
        for source in ("project", "system:shop"):
            sim.write(source, "config/search.yaml", settings)
        sim.write("user", "config/search.yaml", "semantic: {embedder: none}\n")
        with pytest.raises(UnavailableError, match="turned off"):
            sim.registry().embed()
        report = sim.registry(embedder=Hashed()).embed()
        assert requests == []
    assert sum("search.yaml" in text for text in report.warnings) == 2


# The embedded model, in processes of its own

NO_SOCKETS = """
import socket
def refuse(*args, **kwargs):
    raise SystemExit("a socket was opened")
socket.socket.connect = socket.socket.connect_ex = socket.create_connection = socket.getaddrinfo = refuse
"""


def run(code: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own."""
    environment = os.environ | variables
    return subprocess.run(
        [sys.executable, "-c", code, *words], cwd=ROOT, capture_output=True, text=True, check=False, env=environment
    )


def test_the_embedded_model_opens_no_socket(sim: SpaceSim) -> None:
    """Making vectors and asking them works where every connection is the end of the process."""
    code = (
        f"{NO_SOCKETS}\nimport sys; from rye import Registry\n"
        "registry = Registry(sys.argv[1], user=sys.argv[2], bundles=(), cache_dir=sys.argv[3])\n"
        "report = registry.embed(); print(report.model.partition(':')[0], report.missing)\n"
        "meaning = registry._vectors.meaning(registry._indexes.current(0).everywhere)\n"
        "print(len(meaning.vectors.similarities(meaning.query('how to undo a release'))))\n"
        "print('wordllama' in sys.modules, 'requests' in sys.modules, 'huggingface_hub' in sys.modules)\n"
    )
    done = run(code, str(sim.project), str(sim.user), str(sim.cache), HF_HUB_OFFLINE="0")
    assert done.stdout.split() == ["wordllama", "0", "9", "False", "False", "False"], done.stderr


def test_the_command_makes_vectors(sim: SpaceSim) -> None:
    """``rye index vectors`` says how many; a server that is not there is exit status 2 with the reason."""
    places, cache = ["--project", str(sim.project)], {"RYE_CACHE_DIR": str(sim.cache)}
    rye = "from rye.cli import main; raise SystemExit(main())"  # what the console script does
    done = run(rye, "index", "vectors", *places, **cache)
    assert done.returncode == 0, done.stderr
    assert "made by wordllama:l2_supercat_256:" in done.stdout
    done = run(rye, "index", "vectors", *places, **cache, RYE_EMBEDDER="ollama:m@http://127.0.0.1:9")
    assert done.returncode == 2
    assert "cannot be reached" in done.stderr
