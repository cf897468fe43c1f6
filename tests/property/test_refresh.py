"""However the files came to be as they are, a refreshed index answers as one does that was just made."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from rye import Registry, RyeError, SigningError
from rye.trust.model import EnvelopeFormat
from tests.support.effort import examples, tries
from tests.support.signed import ANN, EVE, OLD
from tests.support.spacesim import SpaceSim, no_own_items

WORDS = ("alpha", "alphas", "beta", "betaGamma", "gamma", "delta", "file-system", "filesystem")
STEMS = ("one", "two", "alpha", "sub/one", "sub/beta", "sub/deep/gamma")
SOURCES = ("project", "user", "system:shop", "system:store")
SIGNERS = (None, ANN, EVE, OLD)
MASS = ("knowledge/mass/{}.md", "tools/mass/{}.py")
QUERIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("", {"sort_by": "name", "limit": 1000}),
    ("", {"sort_by": "date", "limit": 5, "offset": 2}),
    ("alpha", {"limit": 100}),
    ("alpha beta", {"include_superseded": True}),
    ("alhpa zzz", {}),
    ('al* OR "beta gamma"~2', {}),
    ("alpha NEAR/3 beta", {}),
    ("name:one^2 OR file-system", {"space": "system"}),
    ("is:trusted", {}),
    ("is:tampered OR is:untrusted OR is:misplaced", {"limit": 100}),
    ("is:shadowed -is:shadowing", {"limit": 100}),
    ("version:>=1.5 priority:*", {"scope": "tool"}),
    ("-version:*", {"limit": 100}),
    ("is:orphan", {"limit": 100}),
    ("is:dangling OR references:one OR referenced-by:tool:*", {"limit": 100}),
)


@pytest.fixture(scope="module", autouse=True)
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Leave out rye's own items, which never change."""
    with no_own_items(tmp_path_factory.mktemp("none")):
        yield


def answers(registry: Registry) -> list[dict[str, Any]]:
    """Return all that a registry answers: every fact of every hit, explanations included, and every error."""
    found = []
    for query, options in QUERIES:
        try:
            response = registry.search(query, explain=True, **options).to_dict()
        except RyeError as error:
            response = error.to_dict()
        found.append({name: value for name, value in response.items() if name != "took_ms"})
    return found


def assert_like_fresh(registry: Registry, sim: SpaceSim) -> None:
    """Hold a registry's answers against those of one that knows nothing but the files."""
    for mine, fresh in zip(answers(registry), answers(sim.fresh()), strict=True):
        assert mine == fresh


def text(words: list[str], number: int) -> str:
    """Return the body of an item."""
    return f"{' '.join(words)} {number}"


def content(rel: str, words: list[str], number: int) -> str:
    """Return a file of the kind that ``rel`` says."""
    body = text(words, number)
    if rel.endswith(".py"):
        return f'"""{body}."""\n\n__version__ = "{number}.0"\n__priority__ = {number}\n\n\ndef {words[0][:4]}(): ...\n'
    if rel.endswith(".yaml"):
        return f"description: {body}\nversion: '1.{number}'\nupdated: 2026-0{1 + number % 9}-01\n"
    status = "superseded" if number == 7 else "active"
    refers = f"references: [{STEMS[number % 6]}, gone/{number}]"
    head = f"title: {body}\nstatus: {status}\ntags: [{words[0]}]\n{refers}"
    return f"---\n{head}\n---\n\n# {words[-1]}\n\n{body} like tool:{STEMS[number % 5]}\n"


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)
numbers = st.integers(0, 9)
sources = st.sampled_from(SOURCES)
paths = st.builds(
    lambda form, stem: form.format(stem),
    st.sampled_from(["tools/{}.py", "tools/{}.yaml", "knowledge/{}.md", "directives/{}.md"]),
    st.sampled_from(STEMS),
)


class Files(RuleBasedStateMachine):
    """Anything that people and programs do to files and keys, a registry that lives through it, and a fresh one."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="rye-refresh-")
        self.sim = SpaceSim(Path(self.folder.name), bundles=("shop", "store"))
        self.registry = self.sim.registry()

    def teardown(self) -> None:
        """Remove the files."""
        self.folder.cleanup()

    def choose(self, data: st.DataObject) -> tuple[str, str]:
        """Draw one of the files there are."""
        found = [(source, rel) for source in SOURCES for rel in self.sim.rels(source)]
        return data.draw(st.sampled_from(found), label="file")

    def any_files(self) -> bool:
        """Tell whether there is one."""
        return any(self.sim.rels(source) for source in SOURCES)

    @initialize(mass=st.sampled_from([0, 0, 160, 320]), source=sources)
    def mass(self, mass: int, source: str) -> None:
        """Begin with so many items that later ones get a segment of their own, and deletions stay in the first."""
        for number in range(mass):
            rel = MASS[number % 16 == 0].format(number)
            self.sim.write(source, rel, content(rel, [WORDS[number % len(WORDS)]], number % 10))
        self.registry.refresh()

    @rule(source=sources, rel=paths, words=texts, number=numbers, signer=st.sampled_from(SIGNERS))
    def add(self, *, source: str, rel: str, words: list[str], number: int, signer: Any) -> None:
        """Write a file, new or over one, maybe signed."""
        self.sim.write(source, rel, content(rel, words, number))
        if signer is not None:
            self.sim.sign(source, rel, signer)

    @rule(source=sources, count=st.integers(65, 90), number=numbers)
    def add_many(self, source: str, count: int, number: int) -> None:
        """Write enough at once for one more segment."""
        for each in range(count):
            rel = f"knowledge/many{number}/{each}.md"
            self.sim.write(source, rel, content(rel, [WORDS[each % len(WORDS)], "delta"], number))

    @precondition(any_files)
    @rule(data=st.data(), words=texts, number=numbers, back=st.booleans())
    def edit(self, data: st.DataObject, words: list[str], number: int, back: bool) -> None:  # noqa: FBT001 - drawn
        """Write other text into the same file, and maybe set its time back to what it was."""
        source, rel = self.choose(data)
        before = self.sim.path(source, rel).stat()
        path = self.sim.write(source, rel, content(rel, words, number))
        if back:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    @precondition(any_files)
    @rule(data=st.data(), pause=st.booleans(), back=st.booleans())
    def edit_one_letter(self, data: st.DataObject, pause: bool, back: bool) -> None:  # noqa: FBT001 - drawn
        """Change as little as can be right after it was indexed: same size, same inode, maybe the same time."""
        source, rel = self.choose(data)
        if not pause:
            self.registry.refresh()
        path = self.sim.path(source, rel)
        before = path.stat()
        data_before = path.read_bytes()
        with path.open("r+b") as stream:
            stream.write(data_before.replace(b"alpha", b"alphx").replace(b"delta", b"alpha"))
        if back:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    @precondition(any_files)
    @rule(data=st.data(), mtime=st.sampled_from([0, 1_700_000_000_000_000_000, 4_000_000_000_000_000_000]))
    def touch(self, data: st.DataObject, mtime: int) -> None:
        """Set a file's time, to the past or the future, and leave its bytes."""
        source, rel = self.choose(data)
        os.utime(self.sim.path(source, rel), ns=(mtime, mtime))

    @precondition(any_files)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """Remove a file."""
        self.sim.delete(*self.choose(data))

    @precondition(any_files)
    @rule(data=st.data(), source=sources)
    def delete_half(self, data: st.DataObject, source: str) -> None:
        """Remove every other file of a space."""
        for rel in self.sim.rels(source)[data.draw(st.integers(0, 1)) :: 2]:
            self.sim.delete(source, rel)

    @precondition(any_files)
    @rule(data=st.data(), to=paths, to_source=st.one_of(st.none(), sources))
    def move(self, data: st.DataObject, to: str, to_source: str | None) -> None:
        """Rename a file, also into another space and over another file; its bytes and times stay."""
        source, rel = self.choose(data)
        suffix = Path(rel).suffix
        kind = rel.partition("/")[0]
        target = f"{kind}/{to.partition('/')[2].rpartition('.')[0]}{suffix}"
        self.sim.move(source, rel, target, to_source=to_source or source)

    @precondition(any_files)
    @rule(data=st.data(), signer=st.sampled_from([ANN, EVE, OLD]), form=st.sampled_from(["v1", "v2"]))
    def sign_again(self, data: st.DataObject, signer: Any, form: str) -> None:
        """Sign a file anew with some key, unless it is not a text."""
        source, rel = self.choose(data)
        with suppress(SigningError):
            self.sim.sign(source, rel, signer, EnvelopeFormat(form))

    @precondition(any_files)
    @rule(data=st.data(), bad=st.sampled_from([b"\xff\xfe", b"a\0b", b"---\na: [\n---\n", b"def (:\n", b""]))
    def spoil(self, data: st.DataObject, bad: bytes) -> None:
        """Leave bytes that may be no item of its kind."""
        source, rel = self.choose(data)
        self.sim.write(source, rel, bad)

    @rule(who=st.sampled_from([ANN, EVE, OLD]), what=st.sampled_from(["trust", "revoke", "--yes", "distrust", "limit"]))
    def keys(self, who: Any, what: str) -> None:
        """Change what the user trusts; no item changes."""
        if what == "trust":
            self.sim.trust(who)
        elif what == "limit":
            self.sim.trust(who, patterns=("sub/*",))
        elif what == "revoke":
            self.sim.revoke(who)
        else:
            self.sim.trust(who)
            self.sim.distrust(who)

    @rule()
    def refresh(self) -> None:
        """Index what changed."""
        self.registry.refresh()

    @rule()
    def reopen(self) -> None:
        """Another process comes along: it knows only what is on disk."""
        self.registry = self.sim.registry()

    @rule()
    def search(self) -> None:
        """Ask both."""
        assert_like_fresh(self.registry, self.sim)


Files.TestCase.settings = settings(
    examples(20, least=20),
    stateful_step_count=min(50, tries(40)),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestAnySequence = Files.TestCase
