"""A walk lists what a plain reading of the rules with ``os.walk`` lists."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rye.items.clients import FIXED_FILES, ClientFolder
from rye.items.model import ItemType
from rye.items.reader import EXTENSIONS
from rye.spaces.classify import Role
from rye.spaces.model import Root, Space
from rye.spaces.read import read_file
from rye.spaces.walk import Walk, list_items
from rye.trust.list import SKILL_SIGNATURE
from tests.support.effort import examples

FOLDERS = ("a", "b", "a.b", ".git", "node_modules", "__pycache__", "_drafts", "é")
NAMES = ("x", "y.z", "_x", ".x", "package", "tsconfig.base", "index.d", "vite.config", "ü n", "conda-lock")
SUFFIXES = (".md", ".py", ".yaml", ".YML", ".json", ".toml", ".ts", ".tsx", ".JSX", ".cjs", ".sh", ".txt", "")
TOPS = ("directives", "tools", "knowledge", "config", "shared")

places = st.tuples(
    st.sampled_from(TOPS),
    st.lists(st.sampled_from(FOLDERS), max_size=3),
    st.builds(str.__add__, st.sampled_from(NAMES), st.sampled_from(SUFFIXES)),
).map(lambda parts: "/".join((parts[0], *parts[1], parts[2])))


client_places = st.tuples(
    st.lists(st.sampled_from((*FOLDERS, ".claude", "rules", ".github", "agents")), max_size=4),
    st.sampled_from(("SKILL.md", "SKILL.sig", "skill.md", "AGENTS.md", ".mcp.json", ".mcp.json.sig", "x.py", "x.md")),
).map(lambda parts: "/".join((*parts[0], parts[1])))


def is_item(item_type: ItemType, name: str) -> bool:
    """The rules, said once more."""
    suffix = Path(name).suffix.lower()
    package = name in {"package.json", "tsconfig.base.json", "index.d.ts", "vite.config.ts", "vite.config.cjs"}
    package |= name in {"vite.config.json", "conda-lock.yaml", "conda-lock.YML", "conda-lock.json", "conda-lock.toml"}
    return suffix in EXTENSIONS[item_type] and name[0] not in "._" and not package


def expected(root: Path) -> list[tuple[str, str, str]]:
    """Path, type and id of every item below a root without links."""
    found = []
    for item_type in ItemType:
        top = root / item_type.folder
        for folder, inner, names in os.walk(top):
            inner[:] = [name for name in inner if name[0] != "." and name not in {"node_modules", "__pycache__"}]
            for name in names:
                path = Path(folder, name)
                if is_item(item_type, name):
                    item_id = path.relative_to(top).with_suffix("").as_posix()
                    found.append((path.relative_to(root).as_posix(), str(item_type), item_id))
    return sorted(found)


@given(st.lists(places, max_size=25, unique=True))
@examples(60)
def test_a_walk_lists_what_a_plain_reading_lists(paths: list[str]) -> None:
    """The same paths, types and ids in the order of paths, each with a file that reads back as it was written."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path in paths:
            place = root / path
            if not place.is_dir() and not any(parent.is_file() for parent in place.parents):
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(path, encoding="utf-8")
        base = Root(Space.PROJECT, root)
        files, problems = list_items(base)
        assert problems == ()
        assert [(file.rel_path, str(file.item_type), file.item_id) for file in files] == expected(root)
        for file in files:
            assert read_file(base, file.rel_path) == file.rel_path.encode()
            assert file.rel_path.lower() == f"{file.item_type.folder}/{file.item_id}{file.suffix}".lower()


@given(
    st.lists(places, max_size=12, unique=True),
    st.lists(st.tuples(places, st.one_of(places, st.sampled_from(["..", ".", "tools", "/"]))), max_size=6),
)
@examples(60)
def test_links_never_lead_out_and_never_hang(paths: list[str], links: list[tuple[str, str]]) -> None:
    """Whatever links to whatever: what is listed can be read, really lies inside, and no folder is listed twice."""
    with tempfile.TemporaryDirectory() as folder:
        outside, root = Path(folder, "outside"), Path(folder, "root")
        for path in paths:
            for base in (outside, root):
                place = base / path
                if not place.is_dir() and not any(parent.is_file() for parent in place.parents):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_text(base.name, encoding="utf-8")
        for number, (name, target) in enumerate(links):
            place = root / name
            if not os.path.lexists(place) and place.parent.is_dir():
                base = outside if number % 3 == 0 else root
                place.symlink_to(base / target)
        base_root = Root(Space.PROJECT, root)
        files, _ = list_items(base_root)
        assert len({file.rel_path for file in files}) == len(files)
        for file in files:
            assert read_file(base_root, file.rel_path) == b"root"


CLIENTS = (None, ClientFolder(".claude/skills", "skill", "claude"), ClientFolder(".claude/rules", "rule", "claude"))
NAMES_OF_ALL = ("a", "A", ".git", ".ai", "e\u0301", "\u00e9", "node_modules", ".claude", "CLAUDE~1", "skills", "rules")
trees = st.lists(
    st.tuples(
        st.lists(st.sampled_from(NAMES_OF_ALL), max_size=3),
        st.sampled_from(
            ("SKILL.md", "SKILL.sig", "skill.md", "AGENTS.md", "agents.md", ".mcp.json", "x.py", "x.md.sig")
        ),
    ).map(lambda parts: "/".join((*parts[0], parts[1])))
    | places
    | client_places,
    max_size=20,
    unique=True,
)
links = st.lists(
    st.tuples(client_places, client_places | st.sampled_from(["..", ".", ".claude", "nowhere"])), max_size=4
)


def plant(base: Path, paths: list[str], links: list[tuple[str, str]]) -> None:
    """Lay files and links below a folder, where nothing is in the way."""
    for path in paths:
        file = base / path
        if not file.is_dir() and not any(parent.is_file() for parent in file.parents):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(path, encoding="utf-8")
    for path, target in links:
        if not os.path.lexists(base / path) and (base / path).parent.is_dir():
            (base / path).symlink_to(base / target)


@given(trees, links, st.sampled_from((*CLIENTS, FIXED_FILES)))
@examples(150)
def test_every_name_is_in_exactly_one_row(
    paths: list[str], links: list[tuple[str, str]], client: ClientFolder | None
) -> None:
    """Of each folder every name has one role; each folder is listed once, left to another root, or behind a link."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(os.path.realpath(folder), client.place if client else "")
        base.mkdir(parents=True, exist_ok=True)
        plant(base, paths, links)
        root = Root(Space.PROJECT, base, client=client)
        walk, listed, kept = Walk(root, whole=True), list[str](), dict[str, Role]()
        for listing in walk:
            listed.append(listing.folder.path)
            names = [row.path.rpartition("/")[2] for row in listing.rows]
            assert sorted(names) == sorted(path.name for path in (base / listing.folder.path).iterdir())
            assert not {row.path for row in listing.rows} & kept.keys()
            kept |= {row.path: row.role for row in listing.rows}
        assert len(set(listed)) == len(listed)
        assert {path for path, role in kept.items() if role is Role.ITEM} >= {
            file.rel_path for file in list_items(root)[0]
        }
        for path in (path for path, role in kept.items() if role is not Role.FOLDER and (base / path).is_dir()):
            assert (base / path).is_symlink() or path.rpartition("/")[2] == ".git"
        for path in kept.keys() - {*listed, *walk.repositories}:
            if (base / path).is_dir() and not (base / path).is_symlink():
                assert path.rpartition("/")[2] in {".git", ".ai", "skills", "rules", "agents"}
        for path in (path for path, role in kept.items() if role is Role.PART):
            assert any((base / above / SKILL_SIGNATURE).exists() for above in Path(path).parents)
