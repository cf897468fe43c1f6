"""Relations over random spaces are those that the naive twin finds, for every item, direction and depth."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye import Registry
from tests.support.effort import examples
from tests.support.naive_relations import File, Key, NaiveRelations, Written
from tests.support.spacesim import SpaceSim, no_own_items, split_path

SOURCES = ("project", "user", "system:shop")
PATHS = (
    *(
        "tools/ops/door.ts",
        "tools/ops/shelf/index.ts",
        "tools/run.py",
        "tools/ops/run.py",
        "tools/ops/fix_it.py",
        "tools/ops/deep/run.py",
        "tools/ops/b-note.py",
    ),
    *("knowledge/a.md", "knowledge/ops/a.md", "knowledge/ops/b-note.md", "knowledge/deep/ops/b-note.md"),
    *("knowledge/ops/run.md", "directives/ops/run.md", "directives/ops/go-on.md"),
)
TEXTS = (
    *("a", "run", "b-note", "fix_it", "go-on", "ops/a", "ops/run", "ops/run.md", "ops.fix_it", "b-note.md"),
    *("tool:ops/run", "tool:run", "knowledge:b-note", "directive:ops/gone", "tools/ops/run.py", "knowledge/ops/a.md"),
    *("fix_it.py", "run.py", "go-on.md", "ops/gone", "nowhere", "deep/ops/b-note", "tool:ops/b-note"),
)
FILES = ("./door", "./door.js", "./shelf", "./deep/run", "./gone.js")
MODULES = ("run", "ops.run", "fix_it", "ops.fix_it", ".fix_it", "..run", "...gone", "ops.gone")
LINKS = ("./a.md", "b-note.md", "../a.md", "../deep/ops/b-note.md", "gone.md")
KEYS = (("references", "references"), ("executor_id", "executor"), ("extends", "extends"), ("requires", "requires"))


@pytest.fixture(scope="module", autouse=True)
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Leave out rye's own items."""
    with no_own_items(tmp_path_factory.mktemp("none")):
        yield


@st.composite
def files(draw: st.DrawFn) -> list[tuple[File, str]]:
    """Draw the files of three spaces, each with the references that stand in it, and its text."""
    places = draw(st.sets(st.tuples(st.sampled_from(SOURCES), st.sampled_from(PATHS)), min_size=2, max_size=8))
    return [_file(draw, source, path) for source, path in sorted(places)]


def _file(draw: st.DrawFn, source: str, path: str) -> tuple[File, str]:
    kind, item_id, suffix = split_path(path)
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=2, unique=True))
    stated = [(key, name, draw(st.sampled_from(TEXTS))) for key, name in keys]
    markdown = suffix == ".md"
    lines, written = (["---"] if markdown else []), []
    for key, name, text in stated:
        constant = f'const __{key}__ = "{text}"' if suffix == ".ts" else f'__{key}__ = "{text}"'
        lines.append(f"{key}: [{text}]" if markdown else constant)
        written.append(Written(name, text, "metadata", len(lines)))
    lines += (
        ["---", "", "# Title", ""]
        if markdown
        else ["", f"{'//' if suffix == '.ts' else '#'} what follows is a comment"]
    )
    forms = ("typed", "slash", "span", "link", "plain") if markdown else ("slash", "plain", "import")
    for form in draw(st.lists(st.sampled_from(forms), max_size=3)):
        if form == "import":
            script = suffix == ".ts"
            module = draw(st.sampled_from(FILES if script else MODULES))
            lines.append(f"import {{ x }} from '{module}'" if script else f"from {module} import something")
            written.append(Written("imports", module, form, len(lines)))
            continue
        text = draw(st.sampled_from(LINKS if form == "link" else [each for each in TEXTS if _fits(each, form)]))
        marked = {"span": f"`{text}`", "link": f"[so]({text})"}.get(form, text)
        lines.append(f"{'' if markdown else '// ' if suffix == '.ts' else '# '}See {marked}, and so on.")
        if form != "plain" and not (form == "link" and "/" not in item_id and text.startswith("..")):
            written.append(Written("mentions", text, form, len(lines)))
    unique = {(each.kind, each.text, each.form): each for each in reversed(written)}
    ordered = sorted(unique.values(), key=lambda each: each.line)
    return File(source, (str(kind), item_id), path, tuple(ordered)), "\n".join(lines) + "\n"


def _fits(text: str, form: str) -> bool:
    """Tell whether a text is written in a form that stands for it: plain words are never a mention."""
    if form == "typed":
        return ":" in text
    if form == "slash":
        return "/" in text and ":" not in text
    inner = any(mark in text for mark in "-_.") and "/" not in text and ":" not in text
    return inner if form == "span" else not inner and "/" not in text and ":" not in text


def found(registry: Registry, query: str) -> set[tuple[str, str]]:
    """Return source and name of all hits."""
    hits = registry.search(query, limit=100, relax=False, include_superseded=True).results
    return {(f"{hit.source}:{hit.bundle}" if hit.bundle else hit.source, f"{hit.type}:{hit.id}") for hit in hits}


def check(registry: Registry, twin: NaiveRelations, key: Key) -> None:
    """Hold what is found of one item against the twin."""
    name = ":".join(key)
    assert found(registry, f'references:"{name}"') == twin.references(key)
    assert found(registry, f'referenced-by:"{name}"') == twin.referenced_by(key)
    for direction in ("in", "out", "both"):
        for depth in (1, 2, 5):
            answer = registry.refs(name, direction=direction, depth=depth, limit=1000)
            mine = {(each.item, each.kind, each.written, each.line): each.distance for each in answer.relations}
            assert mine == twin.walk(key, direction, depth), (name, direction, depth)
            assert answer.total == len(answer.relations)
            assert {item.ref for item in answer.items} >= {each.target for each in answer.relations} - {""}


@examples(40)
@given(laid=files())
def test_relations_are_those_of_the_twin(laid: list[tuple[File, str]]) -> None:
    """States, query fields and walks agree on every item of the spaces."""
    with tempfile.TemporaryDirectory(prefix="rye-relations-") as folder:
        sim = SpaceSim(Path(folder))
        for file, text in laid:
            sim.write(file.source, file.path, text)
        twin = NaiveRelations([file for file, _ in laid])
        registry = sim.registry(max_staleness=1e9)
        assert found(registry, "is:orphan") == twin.orphans()
        assert found(registry, "is:dangling") == twin.dangling()
        winners = {(file.source, file.name) for file in twin.files if twin.wins(file)}
        assert found(registry, "referenced-by:*") == winners - twin.orphans()
        for key in twin.keys:
            check(registry, twin, key)


@examples(25)
@given(laid=files())
def test_every_candidate_is_referred_to_however_few_are_listed(laid: list[tuple[File, str]]) -> None:
    """A reference that may mean more items than are listed of it refers to each of them, by id or by name."""
    with tempfile.TemporaryDirectory(prefix="rye-relations-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("rye.search.states.graph.MAX_CANDIDATES", 2)
        sim = SpaceSim(Path(folder))
        for file, text in laid:
            sim.write(file.source, file.path, text)
        twin = NaiveRelations([file for file, _ in laid])
        registry = sim.registry(max_staleness=1e9)
        assert found(registry, "is:orphan") == twin.orphans()
        for key in twin.keys:
            name = ":".join(key)
            assert found(registry, f'references:"{name}"') == twin.references(key)
            assert found(registry, f'referenced-by:"{name}"') == twin.referenced_by(key)
            inward = registry.refs(name, direction="in", limit=1000).relations
            assert {(each.item, each.kind, each.written, each.line) for each in inward} == set(twin.walk(key, "in", 1))
            assert all(len(each.candidates) <= 2 for each in inward)


DAMAGE: dict[str, Callable[[bytes, bytes], bytes]] = {
    "left alone": lambda data, _: data,
    "cut": lambda data, _: data[: len(data) // 2],
    "changed": lambda data, _: data[:-64] + bytes([data[-64] ^ 255]) + data[-63:],
    "garbage": lambda data, _: b"RYEARR01" * len(data),
    "of before": lambda _, before: before,
}


@examples(15)
@given(laid=files(), data=st.data())
def test_kept_relations_are_those_of_now(laid: list[tuple[File, str]], data: st.DataObject) -> None:
    """Files come and go in any space, and what processes keep is harmed: each answers as the twin does."""
    with tempfile.TemporaryDirectory(prefix="rye-relations-") as folder:
        sim = SpaceSim(Path(folder))
        there: dict[str, File] = {}
        before = b""
        for file, text in data.draw(st.lists(st.sampled_from(laid), min_size=2, max_size=6)):
            place = f"{file.source}/{file.path}"
            if there.pop(place, None):
                sim.path(file.source, file.path).unlink()
            else:
                there[place] = file
                sim.write(file.source, file.path, text)
            twin = NaiveRelations(list(there.values()))
            for harm in (DAMAGE["left alone"], DAMAGE[data.draw(st.sampled_from(sorted(DAMAGE)))]):
                registry = sim.registry(max_staleness=0)
                assert found(registry, "is:orphan") == twin.orphans()
                assert found(registry, "is:dangling") == twin.dangling()
                assert found(registry, "references:*") == {(each.file.source, each.file.name) for each in twin.edges}
                for path in sim.cache.rglob("*.relations.ryx"):
                    kept = path.read_bytes()
                    path.unlink()  # another process replaces the file, and never writes into it
                    path.write_bytes(harm(kept, before or kept))
                    before = kept
            for key in twin.keys:
                assert found(registry, f'references:"{":".join(key)}"') == twin.references(key)
                assert found(registry, f'referenced-by:"{":".join(key)}"') == twin.referenced_by(key)


def test_one_file_of_kept_relations_stays(tmp_path: Path) -> None:
    """It is replaced when anything changes in any space, and goes with the segment that it stands beside."""
    sim = SpaceSim(tmp_path)
    for number in range(20):
        source = ("project", "user", "system:shop")[number % 3]
        sim.write(source, f"knowledge/n{number}.md", f"---\nreferences: n{number - 1}\n---\n\nText.\n")
        assert len(found(sim.registry(max_staleness=0), "is:orphan")) == 1
        assert len(list(sim.cache.rglob("*.relations.ryx"))) == 1
    assert not list(sim.cache.rglob("*.tmp"))


def test_two_sets_of_bundles_keep_their_relations_apart(tmp_path: Path) -> None:
    """Neither writes over the file of the other, so that two projects do not take turns in making them anew."""
    sim = SpaceSim(tmp_path)
    sim.write("project", "knowledge/a.md", "---\nreferences: [b]\n---\n\nText.\n")
    sim.write("system:shop", "knowledge/b.md", "Text.\n")
    for _ in range(2):
        alone = Registry(sim.project, user=sim.user, bundles=[], cache_dir=sim.cache)
        assert len(found(alone, "is:dangling")) == 1
        assert not found(sim.registry(), "is:dangling")
        assert len(list(sim.cache.rglob("*.relations.ryx"))) == 2
