"""What is taken for a reference, where it stands, and that hostile files and spaces cost no more than others."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from rye import Registry
from rye.index.segment import edges as edge_columns
from rye.items.model import TYPE_NUMBER, ItemType
from rye.items.reader import parse
from rye.items.references import (
    MAX_IMPORT_ROOTS,
    Lookup,
    import_lookups,
    key_of,
)
from rye.items.relations import MAX_REFERENCE_TEXT, MAX_REFERENCES, Edge, edges_of
from tests.support.spacesim import SpaceSim

KIND = {".md": ItemType.KNOWLEDGE, ".py": ItemType.TOOL, ".yaml": ItemType.TOOL}


def edges(text: str, *, suffix: str = ".md", item_type: ItemType | None = None, item_id: str = "ops/a") -> list[Edge]:
    """Return the edges of a file."""
    data = text.encode()
    kind = item_type or KIND[suffix]
    return edges_of(parse(data, item_type=kind, item_id=item_id, suffix=suffix), suffix, data)


def front(text: str) -> str:
    """Return a Markdown item with this metadata."""
    return f"---\n{text}\n---\n\nNothing else.\n"


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ("references: [ops/b, c]", [("references", "ops/b"), ("references", "c")]),
        ("references:\n  - ops/b\n  - id: d\n    type: tool", [("references", "ops/b"), ("references", "d")]),
        ("references: ops/b, ops/c", [("references", "ops/b"), ("references", "ops/c")]),
        ("references: {tools: [x/y], version: '1'}", [("references", "x/y")]),
        ("requires: [base]\nextends: root/top", [("requires", "base"), ("extends", "root/top")]),
        ("supersedes: old\nsuperseded_by: new", [("supersedes", "old"), ("superseded_by", "new")]),
        ("deprecated: use tool:ops/new instead", [("superseded_by", "tool:ops/new")]),
        ("deprecated: true\nyanked: broken", []),
        ("references: ['https://a.b/c', 'requests>=2', 'mailto:a@b', null, '']", []),
        ("references: [docs/a.md#part]", [("references", "docs/a.md#part")]),
    ],
)
def test_metadata_that_names_items(metadata: str, expected: list[tuple[str, str]]) -> None:
    """Lists, texts and mappings name items; URLs, requirements of packages and nothing name none."""
    assert [(edge.kind, edge.text) for edge in edges(front(metadata))] == expected


def test_a_reference_behind_thousands_that_hold_it_takes_linear_time() -> None:
    """A thousand names, each of them in every longer one before it."""
    names = ["a" * length for length in range(250, 0, -1)]
    filler = f"{'a' * 300} " * 200
    began = time.process_time()
    found = edges(f"---\nreferences:\n  - [{', '.join(names)}]\n  - {filler}\n---\n")
    assert time.process_time() - began < 20
    assert {edge.line for edge in found if len(edge.text) < 300} == {3}


DIRECTIVE = """---
title: Go
permissions:
  - rye.execute.tool.rye.core.run
  - rye.execute.tool.rye.*
  - filesystem:read
  - tool:ops/fix
  - execute: {tool: ops/deep, search: ops/not}
steps:
  - name: first
    tool: ops/one
    id: step-1
  - item_id: two
    item_type: directive
  - Run knowledge:ops/three, then stop.
  - uses: ops/four
---

<directive name="go" version="1.0.0">
<process>
<step name="x"><execute item_type="tool" item_id="ops/five" /></step>
</process>
</directive>
"""


def test_permissions_and_steps_of_directives_name_items() -> None:
    """What a permission allows without ``*``, and what a step runs, in metadata, text and tags."""
    found = edges(DIRECTIVE, item_type=ItemType.DIRECTIVE, item_id="go")
    assert [(edge.kind, edge.text) for edge in found if edge.kind != "mentions"] == [
        ("permissions", "rye.execute.tool.rye.core.run"),
        ("permissions", "tool:ops/fix"),
        ("permissions", "ops/deep"),
        ("steps", "ops/one"),
        ("steps", "two"),
        ("steps", "knowledge:ops/three"),
        ("steps", "ops/four"),
        ("steps", "ops/five"),
    ]
    assert found[3].lookups[0] == Lookup(1, key_of("ops/one", 1))
    assert [edge for edge in edges(DIRECTIVE) if edge.kind in {"permissions", "steps"}] == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("See tool:ops/x.", [("tool:ops/x", True)]),
        ("**tool:ops/x** and (knowledge:b-c)", [("tool:ops/x", True), ("knowledge:b-c", True)]),
        ("`directive:go`, `file-system` and `plain`", [("directive:go", True), ("file-system", False)]),
        ("the rye/core/x of *rye/y*", [("rye/core/x", False), ("rye/y", False)]),
        ("[a](b.md) [c](../d/e.md#f) [g](https://h.i/j.md) [k](../../../l.md)", [("b.md", True), ("../d/e.md", True)]),
        ("[[ops/b]] and [[c|see c]]", [("ops/b", True), ("c", True)]),
        ("plain deploy search words. Deploy!", []),
        ("https://x.y/rye/z and /etc/rye/ci and 12:30 and a::b and C:\\x/y", []),
        ("tool:rye/* and tool:<name> and rye/{x} and tool:*", []),
        ("```sh\nrye show tool:a/b\n```\n`c-d`", [("tool:a/b", False), ("c-d", False)]),
        ("```\n`e-f` [x](y.md)\n```", []),
        ("write `[x](y.md)` or `[[z]]`, as in [v](w.md)", [("w.md", True)]),
        ("tool: a hammer; knowledge: power", []),
    ],
)
def test_words_of_a_body_that_mention_items(body: str, expected: list[tuple[str, bool]]) -> None:
    """Ids with a type, a slash or marked as code are mentions; plain words, URLs, paths and patterns are none."""
    found = {(edge.text, edge.sure) for edge in edges(f"# A\n\n{body}\n") if edge.kind == "mentions"}
    assert found == set(expected)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from fw.door import set_shipment", [("fw.door", 1), ("fw.door.set_shipment", 1)]),
        ("import fw.door as d, json\nfrom os import path", [("fw.door", 1)]),
        (
            "def run():\n    try:\n        from .door import x\n    except A:\n        import b",
            [*[(".door", 3), (".door.x", 3), ("b", 5)]],
        ),
        ("from . import door\nfrom a import *", [(".door", 1), ("a", 2)]),
        ('"""\nimport a\nfrom b import c\n"""\n# import d\nx = "import e"', []),
        ("from ....far import x", []),
    ],
)
def test_imports_of_python_are_those_of_its_syntax_tree(code: str, expected: list[tuple[str, int]]) -> None:
    """Modules and the names taken from them, wherever they stand; no text, and nothing of the standard library."""
    found = [edge for edge in edges(code, suffix=".py") if edge.kind == "imports"]
    assert [(edge.text, edge.line) for edge in found] == expected
    assert not any(edge.sure for edge in found)


def test_an_import_counts_from_the_folder_of_the_tool_or_one_above() -> None:
    """The nearest comes first; a dot is the folder itself, and none leads out of the space."""
    tool = TYPE_NUMBER["tool"]

    def keys(path: str, folder: str) -> list[tuple[int, int]]:
        return [(each.how, each.key) for each in import_lookups(path, folder)]

    assert keys("c.d", "a/b") == [(1, key_of(f"{above}c/d", tool)) for above in ("a/b/", "a/", "")]
    assert keys("c", "") == [(1, key_of("c", tool))]
    assert keys("..c", "a/b") == [(1, key_of("a/c", tool))]
    assert keys("....c", "a/b") == []
    assert len(keys("c", "/".join("x" * 500))) == MAX_IMPORT_ROOTS


def test_thousands_of_references_are_bounded() -> None:
    """Of more than a thousand only the first are kept, each once; a long one is cut and names nothing."""
    found = edges(front(f"references: [{', '.join(f'r/{n}' for n in range(5000))}]"))
    assert [edge.text for edge in found] == [f"r/{n}" for n in range(MAX_REFERENCES)]
    assert len(edges(front(f"references: [{', '.join(['same/one'] * 5000)}]"))) == 1
    (long,) = edges(front(f"references: [{'x' * 5000}]"))
    assert (len(long.text), long.lookups, long.sure) == (MAX_REFERENCE_TEXT, (), True)


@pytest.mark.parametrize(
    "body",
    [
        *("/" * 10**6, "a/" * 500_000, "a:" * 500_000, "`a-b" * 250_000, "[[" * 500_000, "](a.md" * 150_000),
        *("```\n" * 250_000, "a" * 10**6 + ":", "[[a" * 300_000, "`" + "a-" * 500_000, 'item_id="' * 100_000),
        *(" ".join(f"tool:x{n}" for n in range(80_000)), " ".join(f"x/{n}" for n in range(100_000)), "a.b/" * 250_000),
    ],
    ids=lambda body: body[:12],
)
def test_a_hostile_body_takes_linear_time(body: str) -> None:
    """A megabyte of whatever looks like the start of a mention is read in the time of a megabyte of text."""
    text = f"# A\n\n{body}"
    began = time.process_time()
    found = edges(text, item_type=ItemType.DIRECTIVE)
    assert time.process_time() - began < 30  # quadratic time would be hours
    assert len(found) <= MAX_REFERENCES


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """Lay ten items, each of which refers to five that are not there and to one that all refer to."""
    found = SpaceSim(tmp_path)
    for number in range(10):
        refs = ", ".join([*(f"gone/{number}-{each}" for each in range(5)), "many/0"])
        found.write("project", f"knowledge/many/{number}.md", f"---\nreferences: [{refs}]\n---\n\nText.\n")
    return found


def left_out(registry: Registry) -> list[int]:
    """Return the references that warnings count as left out, of a search for relations, one with a filter, and refs."""
    asked = (
        registry.search("is:dangling"),
        registry.search("text", filters={"references": "many/0"}),
        registry.refs("knowledge:many/0"),
    )
    warned = [[text for text in each.warnings if "references are left out" in text] for each in asked]
    return [int(texts[0].split()[0].replace(",", "")) if texts else 0 for texts in warned]


@pytest.mark.parametrize(("limit", "most"), [("MAX_SPACE_TARGETS", 11), ("MAX_SPACE_REFERENCES", 20)])
def test_what_a_hostile_space_refers_to_is_bounded_and_counted(
    sim: SpaceSim, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    """In one build, and after many small segments were merged; all else is found as ever."""
    monkeypatch.setattr(edge_columns, limit, most)
    registry = sim.registry(bundles=())
    assert registry.search("text", scope="knowledge").total == 10
    assert left_out(registry) == [40] * 3
    assert not [text for text in registry.search("text").warnings if "left out" in text]
    for number in range(12):
        sim.write("project", f"knowledge/more/{number}.md", f"---\nreferences: more/x{number}\n---\n\nText.\n")
        registry.refresh()
    first, *others = left_out(registry)
    assert others == [first] * 2
    assert first >= 40
    for number in range(1, 10):
        sim.delete("project", f"knowledge/many/{number}.md")
    registry.refresh()
    assert left_out(registry)[0] <= first - 36  # what is gone is not counted any more


def test_paths_in_a_skill_count_from_its_files_and_its_folder(tmp_path: Path) -> None:
    """From the file that has them first, then from the folders above it, whatever is named so elsewhere."""
    project = tmp_path / "p"
    texts = {
        "SKILL.md": "See [forms](references/forms.md), `scripts/fill.py` and [gone](gone.md).",
        "references/forms.md": "Run scripts/fill.py as [above](../SKILL.md) says.",
        "scripts/fill.py": '"""Fill a form."""',
    }
    for skill in ("pdf", "other"):
        for path, text in texts.items():
            place = project / ".claude/skills" / skill / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
    registry = Registry(project, user=tmp_path / "home", bundles=(), cache_dir=tmp_path / "cache")
    named = {(each.target, each.state) for each in registry.refs("directive:pdf", direction="out").relations}
    assert named == {
        ("knowledge:pdf/references/forms", "resolved"),
        ("tool:pdf/scripts/fill", "resolved"),
        ("", "dangling"),
    }
    named = {(each.target, each.state) for each in registry.refs("pdf/references/forms", direction="out").relations}
    assert named == {("directive:pdf", "resolved"), ("tool:pdf/scripts/fill", "resolved")}
