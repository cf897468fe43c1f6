"""Files of every format, and all that is read from each: ``golden/PATH.txt`` holds the file, ``PATH.json`` the item.

``WRITE_GOLDEN=1 pytest tests/unit/items/test_golden.py`` writes what is read now; look at the difference.
"""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rye.items.directive_xml import declared_inputs
from rye.items.model import Item
from tests.support.files import read

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.rglob("*.txt"))
AS_THEY_ARE = ("id", "title", "description", "category", "version", "author", "created", "updated", "body_line", "note")


def as_json(item: Item, content: str) -> dict[str, Any]:
    """Return everything that an item says, without what is empty; of the body only what is in no section."""
    said: dict[str, Any] = {name: getattr(item, name) for name in AS_THEY_ARE}
    said |= {"tags": item.tags, "metadata": dict(item.metadata), "declared": dict(item.declared)}
    said |= {name: [tuple(each) for each in getattr(item, name)] for name in ("sections", "symbols", "imports")}
    said["documented"] = [(each.symbol.name, each.line, each.text) for each in item.documented]
    said["body"] = item.body.split("\n") if not item.sections else ""
    said["inputs"] = [(each.name, each.description, each.required) for each in declared_inputs(item, content)]
    said["envelope_line"] = item.envelope.number if item.envelope else ""
    return {name: value for name, value in said.items() if value not in ("", (), [], {})}


def as_lines(found: dict[str, Any]) -> str:
    """Return JSON with a line for each value, and for each entry of a list."""
    dump = partial(json.dumps, ensure_ascii=False)
    lists = {name: ",\n  ".join(map(dump, value)) for name, value in found.items() if isinstance(value, list)}
    lines = (
        f' "{name}": [\n  {lists[name]}]' if name in lists else f' "{name}": {dump(found[name])}' for name in found
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(GOLDEN).with_suffix("").as_posix())
def test_a_file_is_read_as_recorded(file: Path) -> None:
    """Metadata, text, sections, symbols, imports and documentation, with their lines in the file."""
    content = file.read_text(encoding="utf-8")
    item = read(file.relative_to(GOLDEN).with_suffix("").as_posix(), content.encode())
    found = as_json(item, content)
    recorded = file.with_suffix(".json")
    if os.environ.get("WRITE_GOLDEN"):
        recorded.write_text(as_lines(found), encoding="utf-8")
    assert json.loads(json.dumps(found)) == json.loads(recorded.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(GOLDEN).with_suffix("").as_posix())
def test_lines_are_those_of_the_file(file: Path) -> None:
    """Each symbol and each heading is on the line that it names."""
    lines = file.read_text(encoding="utf-8").split("\n")
    item = read(file.relative_to(GOLDEN).with_suffix("").as_posix(), "\n".join(lines).encode())
    for symbol in item.symbols:
        assert symbol.name.rpartition(".")[2] in lines[symbol.line - 1] or symbol.name.startswith("default")
    for section in item.sections:
        assert not section.level or section.heading_path[-1].split(" ")[0] in lines[section.line - 1]
