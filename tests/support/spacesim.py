"""Three signed spaces on disk: a project, a user and bundles, each with real files, real keys and real trust files.

>>> import tempfile
>>> from pathlib import Path
>>> with tempfile.TemporaryDirectory() as folder:
...     sim = SpaceSim(Path(folder))
...     _ = sim.add("project", "tools/demo/hello.py", '\"\"\"Say hello.\"\"\"')
...     [(hit.id, str(hit.signature.verdict)) for hit in sim.registry().search("hello", space="project").results]
[('demo/hello', 'trusted')]
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from rye import Registry
from rye.items.model import ItemType
from rye.items.reader import parse, split_name
from rye.keyring import key_files
from rye.spaces.state import SETTINGS, settings_place
from rye.trust.evidence import inspect
from rye.trust.judge import judge
from rye.trust.keys import SigningKey
from rye.trust.line import sign_bytes, sign_detached
from rye.trust.model import EnvelopeFormat
from rye.trust.trust_file import sign_trust_file, trust_file_bytes, trust_file_name
from rye.trust.trust_store import TRUSTED_FOLDER, load_trust
from tests.support.naive_docs import NaiveDoc
from tests.support.signed import ANN, EVE, SIGNED_AT, WHEN, key, place, replace_once, sign_v1

__all__ = ["FURNITURE", "LATER", "SpaceSim", "furnish", "no_own_items", "split_path"]

LATER = "2031-03-01T08:30:00Z"
"""A time that no signature was made at."""


def split_path(rel: str) -> tuple[ItemType, str, str]:
    """Return type, id and extension of the item whose file lies at ``rel`` below a space root."""
    folder, _, rest = rel.partition("/")
    kind = {each.folder: each for each in ItemType}[folder]
    _, suffix = split_name(kind, rest.rpartition("/")[2])
    return kind, rest[: len(rest) - len(suffix)], suffix


@contextmanager
def no_own_items(empty: Path) -> Iterator[None]:
    """Let rye have no items of its own for a while, so that a test alone decides what there is to find."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rye.spaces.bundles.items_root", lambda: empty)
        yield


class SpaceSim:
    """Files of several spaces below one folder, each space named by its source: ``project``, ``system:shop``.

    The user's key signs in project and user space and is trusted there; each bundle has its own key and trust file, and
    the user has pinned it to that key.

    Args:
        folder: Where everything is laid.
        bundles: Their ids, in the order in which they count.
        is_laid: Whether the folders and the trust files are there already.
    """

    def __init__(self, folder: Path, *, bundles: tuple[str, ...] = ("shop",), is_laid: bool = False) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.user = folder / "home"
        self.cache = folder / "cache"
        self.bundles = {name: folder / "bundles" / name for name in bundles}
        self._caches = itertools.count(1)
        if is_laid:
            return
        for source in self.sources:
            for kind in ItemType:
                (self.root(source) / kind.folder).mkdir(parents=True)
        self.trust(ANN, owner="ann")
        for name in bundles:
            self.trust(key(name), f"system:{name}", owner=name)
            self.trust(key(name), owner=name, patterns=(f"bundle:{name}",))

    @property
    def sources(self) -> tuple[str, ...]:
        """All sources, highest priority first."""
        return ("project", "user", *(f"system:{name}" for name in self.bundles))

    def root(self, source: str) -> Path:
        """Return the folder that holds the ``directives``, ``tools`` and ``knowledge`` of a source."""
        space, _, bundle = source.partition(":")
        return {"project": self.project, "user": self.user}.get(space, self.bundles.get(bundle, self.folder)) / ".ai"

    def path(self, source: str, rel: str) -> Path:
        """Return the place of a file given by its path below a root."""
        return self.root(source) / rel

    def signer(self, source: str) -> SigningKey:
        """Return the key that honest items of a source are signed with."""
        bundle = source.partition(":")[2]
        return key(bundle) if bundle else ANN

    # files

    def write(self, source: str, rel: str, content: str | bytes) -> Path:
        """Write a file, unsigned, and return its path."""
        path = self.path(source, rel)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def sign(
        self, source: str, rel: str, who: SigningKey | None = None, form: EnvelopeFormat = EnvelopeFormat.V2
    ) -> Path:
        """Sign a file where it stands, by default with the key that is trusted there."""
        path = self.path(source, rel)
        kind, item_id, suffix = split_path(rel)
        space, _, bundle = source.partition(":")
        origin = place(item_id, kind, space=space, bundle=bundle, suffix=suffix)
        data, by = path.read_bytes(), who or self.signer(source)
        if suffix == ".json":
            path.with_name(f"{path.name}.sig").write_bytes(sign_detached(data, origin=origin, key=by, now=SIGNED_AT))
        elif form is EnvelopeFormat.V1:
            path.write_bytes(sign_v1(data, suffix=suffix, key=by))
        else:
            path.write_bytes(sign_bytes(data, suffix=suffix, origin=origin, key=by, now=SIGNED_AT))
        return path

    def add(self, source: str, rel: str, content: str | bytes, who: SigningKey | None = None) -> Path:
        """Write a file and sign it."""
        self.write(source, rel, content)
        return self.sign(source, rel, who)

    def copy(self, source: str, rel: str, to: str, *, to_source: str = "") -> Path:
        """Copy a file as it is, signature and all."""
        return self.write(to_source or source, to, self.path(source, rel).read_bytes())

    def move(self, source: str, rel: str, to: str, *, to_source: str = "") -> Path:
        """Rename a file, also into another space; it keeps its times and its inode."""
        target = self.path(to_source or source, to)
        target.parent.mkdir(parents=True, exist_ok=True)
        return self.path(source, rel).replace(target)

    def delete(self, source: str, rel: str) -> None:
        """Remove a file."""
        self.path(source, rel).unlink()

    def re_date(self, source: str, rel: str, to: str = LATER) -> Path:
        """Change the time in a signature line and nothing else."""
        path = self.path(source, rel)
        path.write_bytes(replace_once(path.read_bytes(), WHEN.encode(), to.encode()))
        return path

    def rels(self, source: str) -> list[str]:
        """Return the paths of all files below the three folders of a root."""
        root = self.root(source)
        return sorted(
            path.relative_to(root).as_posix()
            for kind in ItemType
            for path in (root / kind.folder).rglob("*")
            if path.is_file()
        )

    # keys

    def trust(
        self,
        who: SigningKey,
        source: str = "user",
        *,
        owner: str = "",
        endorsed_by: SigningKey | None = None,
        extra: str = "",
        **limits: Any,
    ) -> Path:
        """Put a trust file for a key into a space, in place of the one that may be there.

        Args:
            who: The key.
            source: The space.
            owner: Whose it is said to be.
            endorsed_by: The user's key that signs the file.
            extra: Lines of TOML to put first.
            **limits: As :func:`rye.trust.trust_file.trust_file_bytes` takes them.
        """
        name = trust_file_name(who.public)
        data = extra.encode() + trust_file_bytes(who.public, owner=owner, **limits)
        if endorsed_by is not None:
            data = sign_trust_file(data, stem=Path(name).stem, key=endorsed_by, now=SIGNED_AT)
        return self.write(source, (TRUSTED_FOLDER / name).as_posix(), data)

    def pin(self, bundle: str, trusted: Path | None = None) -> None:
        """Let the user pin a bundle to every key that it brings, or whose trust file lies in a folder."""
        folder = trusted or self.root(f"system:{bundle}") / TRUSTED_FOLDER
        for entry in load_trust(named=[folder]).trust.entries:
            pin = (TRUSTED_FOLDER / trust_file_name(entry.public)).as_posix()
            if not entry.revoked and not self.path("user", pin).exists():
                self.write(
                    "user", pin, trust_file_bytes(entry.public, owner=entry.owner, patterns=(f"bundle:{bundle}",))
                )

    def write_settings(self, bundle: str, text: str, who: SigningKey) -> Path:
        """Put settings into a bundle, signed with a key."""
        data = sign_bytes(text.encode(), suffix=".yaml", origin=settings_place(bundle), key=who, now=SIGNED_AT)
        return self.write(f"system:{bundle}", SETTINGS.as_posix(), data)

    def revoke(self, who: SigningKey, source: str = "user") -> Path:
        """Have a space say that a key is revoked."""
        return self.trust(who, source, extra="revoked = true\n")

    def distrust(self, who: SigningKey, source: str = "user") -> None:
        """Remove the trust file of a key."""
        self.delete(source, (TRUSTED_FOLDER / trust_file_name(who.public)).as_posix())

    def save_user_key(self, who: SigningKey = ANN) -> Path:
        """Put a private key where ``sign`` looks for it."""
        return key_files.save_signing_key(self.root("user") / key_files.SIGNING_FOLDER, who)

    # reading

    def registry(self, **options: Any) -> Registry:
        """Return a registry of all spaces, over the one cache unless ``cache_dir`` names another."""
        spaces: dict[str, Any] = {"project": self.project, "user": self.user, "bundles": tuple(self.bundles.values())}
        return Registry(**(spaces | {"cache_dir": self.cache} | options))

    def fresh(self, **options: Any) -> Registry:
        """Return a registry that has never indexed anything: over a new cache folder."""
        return self.registry(cache_dir=self.folder / f"cache-{next(self._caches)}", **options)

    def docs(self, now: datetime) -> list[NaiveDoc]:
        """Return every item as the naive twin knows it: parsed from its bytes, with its verdict.

        Raises:
            ItemError: A file is no item.
        """
        bundles = {name: folder / ".ai" for name, folder in self.bundles.items()}
        trust = load_trust(user=self.root("user"), project=self.root("project"), bundles=bundles).trust
        found = []
        for source in self.sources:
            space, _, bundle = source.partition(":")
            for rel in self.rels(source):
                kind, item_id, suffix = split_path(rel)
                data = self.path(source, rel).read_bytes()
                item = parse(data, item_type=kind, item_id=item_id, suffix=suffix)
                origin = place(item_id, kind, space=space, bundle=bundle, suffix=suffix)
                beside = self.path(source, f"{rel}.sig")
                evidence = inspect(
                    data,
                    origin=origin,
                    declared=item.declared,
                    suffix=suffix,
                    detached=beside.read_bytes() if suffix == ".json" and beside.exists() else None,
                )
                signature = judge(evidence, origin=origin, trust=trust, now=now)
                found.append(NaiveDoc(item, source, rel, bundle, str(signature.verdict), signature.signer))
        return found


READ = '''"""Read the contents of a file."""

__version__ = "1.2.0"
__tags__ = ["files", "io"]
__category__ = "rye/file-system"


def read_file(path):
    """Read one file at the given path, whole."""
    return path
'''
THREAD = """# Thread orchestrator

Start a thread for each step.

## Limits

A thread directive runs in one thread; the orchestrator waits. Never use a temporary file.
"""
CREATE = """```xml
<directive name="create_thread" version="2.0.0">
  <metadata>
    <description>Create or make a thread</description>
    <category>agents</category>
    <author>ann</author>
  </metadata>
</directive>
```
"""


def _entry(title: str, **more: str) -> str:
    lines = "".join(f"{name}: {value}\n" for name, value in {"title": title, **more}.items())
    return f"---\n{lines}---\n\nOn files.\n"


FURNITURE: Mapping[tuple[str, str], tuple[str, SigningKey | None]] = {
    ("project", "tools/rye/file-system/read.py"): (READ, ANN),
    ("user", "tools/rye/file-system/read.py"): (READ.replace("1.2.0", "1.10.0"), ANN),
    ("system:shop", "tools/rye/file-system/read.py"): (READ.replace("1.2.0", "0.9"), key("shop")),
    ("project", "knowledge/threads/orchestrator.md"): (THREAD, EVE),
    ("project", "directives/agents/create_thread.md"): (CREATE, None),
    ("user", "knowledge/notes/old.md"): (_entry("Old notes", status="superseded"), ANN),
    ("user", "knowledge/notes/older.md"): (_entry("Older notes", deprecated="true"), ANN),
    ("user", "knowledge/notes/new.md"): (_entry("New notes", updated="2026-02-18", priority="2"), ANN),
    ("system:shop", "knowledge/notes/best.md"): (_entry("Best notes", created="2026-01", priority="10"), None),
}
"""Example items of three spaces, by source and path, each with who signs it: one id in all spaces, a stranger's
signature, unsigned ones, withdrawn ones."""


def furnish(sim: SpaceSim) -> None:
    """Lay the example items."""
    for (source, rel), (content, signer) in FURNITURE.items():
        sim.write(source, rel, content)
        if signer is not None:
            sim.sign(source, rel, signer)
