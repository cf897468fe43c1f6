"""What is kept of files read before saves work and changes nothing: the bytes on disk at this moment decide."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rye.errors import ItemError
from rye.items.model import ItemType
from rye.search.page.page import ItemCache
from rye.spaces.model import Root, Space
from rye.spaces.signed import read_item
from rye.trust.judge import judge
from rye.trust.keys import remembering_verify
from rye.trust.model import EnvelopeFormat
from tests.support.files import lay
from tests.support.signed import NOW, TRUST, place, sign

TOOL = b'"""Deploy a build."""\n\n\ndef deploy() -> None:\n    print("mild")\n'
PLACES = {
    "tools/a/deploy.py": (ItemType.TOOL, "a/deploy"),
    "tools/b/deploy.py": (ItemType.TOOL, "b/deploy"),
    "tools/a/deploy.yaml": (ItemType.TOOL, "a/deploy"),
    "knowledge/a/deploy.md": (ItemType.KNOWLEDGE, "a/deploy"),
    "directives/a/deploy.md": (ItemType.DIRECTIVE, "a/deploy"),
}


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """Return an empty project."""
    return Root(Space.PROJECT, tmp_path, prefix=".ai")


def anew(root: Root, path: str) -> tuple[Any, Any]:
    """Return what a page shows of a file, and the verdict, made without anything kept; or why there is none."""
    try:
        read = read_item(root, path, *PLACES[path])
    except ItemError as error:
        return error.code, error.message
    outline = tuple(section._replace(text="") for section in read.item.sections)
    item = replace(read.item, metadata={}, declared={}, sections=outline)
    return item, judge(read.evidence, origin=read.origin, trust=TRUST, now=NOW)


def kept(cache: ItemCache, root: Root, path: str) -> tuple[Any, Any]:
    """Return the same by way of a cache, and of remembered signatures."""
    try:
        read = cache.read(root, path, *PLACES[path])
    except ItemError as error:
        return error.code, error.message
    return read.item, judge(read.evidence, origin=read.origin, trust=TRUST, now=NOW, verify=remembering_verify)


def test_attack_other_bytes_of_the_same_length_and_time(root: Root) -> None:
    """A file whose size and times say that nothing happened is read all the same, and its old verdict is not given."""
    path = "tools/a/deploy.py"
    data, cache = sign(TOOL, origin=place("a/deploy")), ItemCache()
    lay(root.path, {path: data})
    before = (root.path / path).stat()
    assert kept(cache, root, path)[1].verdict == "trusted"
    lay(root.path, {path: data.replace(b"mild", b"evil")})
    os.utime(root.path / path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = (root.path / path).stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    item, signature = kept(cache, root, path)
    assert ("evil" in item.body, signature.verdict, signature.code) == (True, "tampered", "digest")
    lay(root.path, {path: data})
    assert kept(cache, root, path)[1].verdict == "trusted"


@pytest.mark.parametrize("form", [EnvelopeFormat.V1, EnvelopeFormat.V2])
def test_attack_what_is_known_of_bytes_serves_no_other_place(root: Root, form: EnvelopeFormat) -> None:
    """The same signed bytes under another id, type or extension get their own item and verdict, whoever comes first."""
    for first in PLACES:
        cache = ItemCache()
        data = sign(b"# name: deploy\n", origin=place("a/deploy"), form=form)
        lay(root.path, dict.fromkeys(PLACES, data))
        for path in (first, *PLACES):
            assert kept(cache, root, path) == anew(root, path), path
        bundle = Root(Space.SYSTEM, root.path, "shop")
        assert kept(cache, bundle, first) == anew(bundle, first)
