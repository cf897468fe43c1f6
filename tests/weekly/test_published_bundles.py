"""Published signed bundles, as anyone installs them: every item found, every verdict right, none of their code run.

They are fetched with pip once per run, or taken from the folder that ``RYE_TEST_BUNDLES_DIR`` names. What is expected
is worked out from the files by other code than rye's: a plain walk, an independent checker, the naive evaluator.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rye import Registry, SearchResult, parse
from rye.items.reader import parse as parse_item
from tests.support import naive
from tests.support.independent_checker import expected, names_of
from tests.support.naive_docs import NaiveDoc
from tests.support.spacesim import no_own_items, split_path

ROOT = Path(__file__).resolve().parents[2]
GIVEN = os.environ.get("RYE_TEST_BUNDLES_DIR", "")
PUBLISHED = ("ryeos-core==0.1.46", "ryeos==0.1.30", "ryeos-code==0.1.12", "ryeos-web==0.1.11", "ryeos-email==0.1.6")
BUNDLES: Mapping[str, str] = {
    "ryeos_code": "ryeos-code",
    "ryeos_core": "ryeos-core",
    "ryeos_email": "ryeos-email",
    "ryeos_std": "ryeos",
    "ryeos_web": "ryeos-web",
}
"""Package of each bundle, in the order of their paths, and its bundle id."""

EXTENSIONS: Mapping[str, str] = {
    "directives": "md",
    "tools": "py|yaml|yml|json|toml|js|ts|mjs|cjs|sh",
    "knowledge": "md|yaml|yml",
}
NO_ITEMS = re.compile(r"package(-lock)?\.json|tsconfig\.json|.*\.d\.ts|.*\.config\.[jt]s|.*[.-]lock\.(json|yaml)")


@dataclass(frozen=True)
class Found:
    """One item file that a plain walk finds."""

    bundle: str
    root: Path
    rel: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Type, id and source."""
        kind, item_id, _ = split_path(self.rel)
        return str(kind), item_id, f"system:{self.bundle}"


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the five bundles."""
    if GIVEN:
        return Path(GIVEN)
    folder = tmp_path_factory.mktemp("published")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *PUBLISHED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and re.search("No matching distribution|No module named pip", done.stderr):
        pytest.skip(f"pip cannot install them: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def files(published: Path) -> list[Found]:
    """Every item file, listed by plain rules."""
    found = []
    for package, bundle in BUNDLES.items():
        root = published / package / ".ai"
        for folder, extensions in EXTENSIONS.items():
            for place, inner, names in os.walk(root / folder):
                inner[:] = [name for name in inner if name[0] != "." and name not in {"node_modules", "__pycache__"}]
                found += [
                    Found(bundle, root, Path(place, name).relative_to(root).as_posix())
                    for name in names
                    if re.fullmatch(rf"[^._].*\.({extensions})", name) and not NO_ITEMS.fullmatch(name)
                ]
    return sorted(found, key=lambda each: (list(BUNDLES.values()).index(each.bundle), each.rel))


@pytest.fixture(scope="session")
def registry(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """A registry of these bundles, of a project that has nothing, and of a user who trusts them as `rye trust` does."""
    folder = tmp_path_factory.mktemp("nobody")
    for package in BUNDLES:
        pin(published / package, folder)
    project, cache = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("cache") / "rye"
    return Registry(project, user=folder, bundles=[published], cache_dir=cache)


def pin(bundle: Path, home: Path) -> None:
    """Trust a bundle with the command, by the fingerprint that its trust file states."""
    (file,) = (bundle / ".ai" / "config" / "keys" / "trusted").glob("*.toml")
    pem = tomllib.loads(file.read_text(encoding="utf-8"))["public_key"]["pem"]
    (_, (fingerprint, _), _) = names_of(pem)
    command = [sys.executable, "-m", "rye", "trust", "bundle", str(bundle), "--fingerprint", fingerprint]
    subprocess.run(command, env=os.environ | {"USER_SPACE": str(home), "PYTHONPATH": str(ROOT)}, check=True)


@pytest.fixture(scope="session")
def verdicts(published: Path, files: list[Found]) -> dict[tuple[str, str, str], str]:
    """The verdict that each file must get, worked out independently."""
    found = {}
    for each in files:
        trusted = (each.root / "config" / "keys" / "trusted").glob("*.toml")
        pems = [tomllib.loads(path.read_text(encoding="utf-8"))["public_key"]["pem"] for path in trusted]
        found[each.key] = expected(each.root / each.rel, each.root, each.bundle, pems)
    assert published.is_dir()
    return found


def key(hit: SearchResult) -> tuple[str, str, str]:
    """Return type, id and source of a hit."""
    return hit.type, hit.id, f"{hit.source}:{hit.bundle}"


def pages(registry: Registry, query: str, **options: Any) -> Iterator[SearchResult]:
    """Yield the hits of all pages."""
    offset: int | None = 0
    while offset is not None:
        response = registry.search(query, limit=100, offset=offset, include_superseded=True, **options)
        yield from response.results
        offset = response.next_offset


def test_every_item_is_found(registry: Registry, files: list[Found]) -> None:
    """Each file that is an item by its name and place is listed, once, under its own path; none is in a warning."""
    assert registry.sources[-len(BUNDLES) :] == tuple(f"system:{bundle}" for bundle in BUNDLES.values())
    hits = [hit for hit in pages(registry, "*", space="system") if hit.bundle != "rye"]
    assert len(files) > 200
    assert sorted(hit.path for hit in hits) == sorted(str(each.root / each.rel) for each in files)
    assert sorted(map(key, hits)) == sorted(each.key for each in files)
    assert all(warning.endswith("[uncovered]") for warning in registry.search("").warnings)
    assert registry.verify(space="system").problems == ()


def test_nothing_is_trusted_before_the_bundles_are(
    published: Path, tmp_path: Path, registry: Registry, verdicts: dict[tuple[str, str, str], str]
) -> None:
    """Without a decision what is covered whole is untrusted, for the bundle alone vouches for its key; then trusted."""
    nobody = Registry(tmp_path, user=tmp_path, bundles=[published], cache_dir=tmp_path / "cache")
    before = [each for each in nobody.verify(space="system").items if each.bundle != "rye"]
    assert Counter((each.verdict, each.signature.code == "foreign-key") for each in before) == {
        ("untrusted", True): 198,
        ("partial", False): 70,
    }
    after = [each for each in registry.verify(space="system").items if each.bundle != "rye"]
    assert Counter(each.verdict for each in after) == Counter(verdicts.values()) == {"trusted": 198, "partial": 70}


def test_every_verdict_is_right(registry: Registry, verdicts: dict[tuple[str, str, str], str]) -> None:
    """In the hits, when verifying, when loading, and when searched by: what the independent checker says."""
    hits = {key(hit): str(hit.signature.verdict) for hit in pages(registry, "*", space="system") if hit.bundle != "rye"}
    assert hits == verdicts
    report = registry.verify(space="system").items
    assert {
        (item.type, item.id, f"system:{item.bundle}"): str(item.signature.verdict)
        for item in report
        if item.bundle != "rye"
    } == verdicts
    for name in ("trusted", "untrusted", "partial", "misplaced", "tampered", "unsigned"):
        asked = {key(hit) for hit in pages(registry, f"is:{name} -bundle:rye", space="system")}
        assert asked == {each for each, verdict in verdicts.items() if verdict == name}
    for kind, item_id, source in list(verdicts)[::17]:
        loaded = registry.get(f"{kind}:{item_id}", "system")
        assert f"system:{loaded.bundle}" == source or loaded.shadows
        assert str(loaded.signature.verdict) == verdicts[kind, item_id, f"system:{loaded.bundle}"]


QUERIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("thread orchestrator", {}),
    ('"thread directive"', {}),
    ("file* NOT temporary", {}),
    ("(create OR make) directive", {}),
    ("title:sign*", {}),
    ("direcive~", {}),
    ("thread NEAR/5 orchestrator", {}),
    ("is:trusted search", {}),
    ("*", {"sort_by": "name", "offset": 20}),
    ("*", {"sort_by": "date", "offset": 5, "limit": 50}),
    ("read file", {"scope": "tool.rye.*"}),
    ("create thread", {"scope": "directive", "level": 1}),
    ("email", {"filters": {"version": ">=1.0"}}),
    ('"thread directive"~4 OR name:sign^3', {}),
    ("orchestrater thred", {}),
)


@pytest.fixture(scope="session")
def docs(files: list[Found], verdicts: dict[tuple[str, str, str], str]) -> list[NaiveDoc]:
    """The items as the naive evaluator knows them."""
    found = []
    for each in files:
        kind, item_id, suffix = split_path(each.rel)
        item = parse_item((each.root / each.rel).read_bytes(), item_type=kind, item_id=item_id, suffix=suffix)
        found.append(NaiveDoc(item, f"system:{each.bundle}", each.rel, each.bundle, verdicts[each.key]))
    return found


@pytest.fixture(scope="session")
def alone(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """A registry of these bundles, all trusted, without rye's own items."""
    folder = tmp_path_factory.mktemp("alone")
    for package in BUNDLES:
        pin(published / package, folder)
    project, cache = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("cache") / "rye"
    with no_own_items(folder):
        return Registry(project, user=folder, bundles=[published], cache_dir=cache)


@pytest.mark.parametrize(("query", "options"), QUERIES, ids=lambda value: str(value)[:40])
def test_queries_answer_what_reading_every_file_answers(
    alone: Registry, docs: list[NaiveDoc], query: str, options: dict[str, Any]
) -> None:
    """Something is found, and it is exactly what the naive evaluator finds: order, total, stage, scores."""
    response = alone.search(query, explain=True, **options)
    wanted = naive.search(docs, parse(query).ast, options=naive.NaiveOptions(text=query, **options))
    assert response.total == wanted.total > 0
    assert response.stage == wanted.stage
    assert tuple(map(key, response.results)) == wanted.ids
    for hit, score in zip(response.results, wanted.scores, strict=True):
        assert hit.score == pytest.approx(score, abs=0.5e-4 + 1e-9)
        assert not hit.explain or sum(trace.contribution for trace in hit.explain) == pytest.approx(score, abs=1e-6)
        assert hit.preview or not hit.description
    assert len({hit.score for hit in response.results}) > 1 or response.results[0].score == 1.0


def test_their_code_is_never_imported(published: Path, tmp_path: Path) -> None:
    """Named by their folder, nothing of them becomes a module, whatever is asked."""
    code = (
        "import json, sys\nfrom rye import Registry\n"
        "place, folder = sys.argv[1:]\n"
        "registry = Registry(folder, user=folder, bundles=[folder], cache_dir=place)\n"
        "hits = registry.search('thread OR file', limit=1000, explain=True).results\n"
        "for hit in hits[:20]: registry.get(f'{hit.type}:{hit.id}')\n"
        "registry.verify()\n"
        "print(json.dumps([len(hits), sorted(sys.modules)]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "cache", published],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    count, modules = json.loads(done.stdout)
    assert count > 50
    assert not [name for name in modules if name.startswith("ryeos")]


def test_installed_only_their_bundle_callable_is_imported(published: Path, tmp_path: Path) -> None:
    """Where Python finds them, they are discovered; of each package its own module and that of the callable load."""
    code = (
        "import json, sys\nfrom rye import Registry\n"
        "registry = Registry(sys.argv[1], user=sys.argv[2], cache_dir=sys.argv[3])\n"
        "response = registry.search('thread OR file', limit=1000)\n"
        "print(json.dumps([registry.sources, response.warnings, sorted(sys.modules)]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path, tmp_path.parent / "nobody", tmp_path.parent / "installed-cache"],
        env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{published}", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    sources, warnings, modules = json.loads(done.stdout)
    assert {f"system:{bundle}" for bundle in BUNDLES.values()} <= set(sources)
    assert all(warning.endswith("[uncovered]") for warning in warnings)
    allowed = {name for package in BUNDLES for name in (package, f"{package}.bundle")}
    assert {name for name in modules if name.startswith("ryeos")} <= allowed
