"""Which file names are items."""

from __future__ import annotations

import pytest

from rye.items.model import ItemType
from rye.items.reader import EXTENSIONS, PLAIN_EXTENSIONS, is_item_file, split_name

KNOWLEDGE, TOOL, DIRECTIVE = ItemType.KNOWLEDGE, ItemType.TOOL, ItemType.DIRECTIVE


@pytest.mark.parametrize(
    ("item_type", "name", "parts"),
    [
        (DIRECTIVE, "deploy.md", ("deploy", ".md")),
        (KNOWLEDGE, "README.MD", ("README", ".md")),
        (KNOWLEDGE, "v2.0.notes.yaml", ("v2.0.notes", ".yaml")),
        (TOOL, "agent.config-schema.yaml", ("agent.config-schema", ".yaml")),
        (TOOL, "mañana.py", ("mañana", ".py")),
        (TOOL, "a b.sh", ("a b", ".sh")),
        (TOOL, "package_list.json", ("package_list", ".json")),
        (TOOL, "lock.yaml", ("lock", ".yaml")),
    ],
)
def test_an_item_is_split_into_stem_and_extension(item_type: ItemType, name: str, parts: tuple[str, str]) -> None:
    """Only the last dot counts, and an extension counts in any case."""
    assert split_name(item_type, name) == parts
    assert is_item_file(item_type, name)


@pytest.mark.parametrize("item_type", list(ItemType))
def test_a_plain_extension_alone_decides(item_type: ItemType) -> None:
    """Whatever package and lock files are called, none has such an extension; hidden and private files are no items."""
    assert PLAIN_EXTENSIONS[item_type]
    for suffix in PLAIN_EXTENSIONS[item_type]:
        for stem in ("package", "package-lock", "x.lock", "a.d", "x.config", "tsconfig.x", "pyproject", "a_", " "):
            assert is_item_file(item_type, stem + suffix)
        for stem in ("", "_", "_x", ".x"):
            assert not is_item_file(item_type, stem + suffix)


@pytest.mark.parametrize("item_type", list(ItemType))
def test_every_extension_of_a_type_is_one(item_type: ItemType) -> None:
    """The table is what decides."""
    for suffix in EXTENSIONS[item_type]:
        assert is_item_file(item_type, f"a{suffix}")


@pytest.mark.parametrize(
    ("item_type", "name"),
    [
        (DIRECTIVE, "deploy.yaml"),
        (KNOWLEDGE, "tool.py"),
        (TOOL, "notes.md"),
        (TOOL, "a.txt"),
        (TOOL, "a.pyc"),
        (TOOL, "py"),
        (TOOL, ".py"),
        (TOOL, ".hidden.py"),
        (TOOL, "__init__.py"),
        (TOOL, "_private.yaml"),
        (TOOL, "a.py~"),
        (TOOL, ""),
    ],
)
def test_other_extensions_hidden_and_private_files_are_none(item_type: ItemType, name: str) -> None:
    """A type has its own extensions; a name starting with a dot or underscore is none."""
    assert not is_item_file(item_type, name)


@pytest.mark.parametrize(
    "name",
    [
        "package.json",
        "Package.JSON",
        "package-lock.json",
        "npm-shrinkwrap.json",
        "pnpm-lock.yaml",
        "pnpm-workspace.yaml",
        "tsconfig.json",
        "tsconfig.build.json",
        "jsconfig.json",
        "composer.json",
        "pyproject.toml",
        "Cargo.toml",
        "uv.toml",
        "conda-lock.yml",
        "deno.lock.json",
        "types.d.ts",
        "eslint.config.mjs",
        "vite.config.ts",
    ],
)
def test_files_of_package_managers_are_none(name: str) -> None:
    """They lie beside a tool and are not one."""
    assert not is_item_file(TOOL, name)
