"""Front matter as it is in the wild: what is not YAML is read line by line, as the programs it was written for do."""

from __future__ import annotations

from typing import Any

import pytest

from rye.errors import ItemError
from rye.items.front_matter import load_lines
from rye.items.model import Item
from rye.items.yaml import load
from tests.support.files import read


def skill(*lines: str) -> Item:
    """Return an item with these lines as its front matter."""
    return read("directives/pdf/SKILL.md", "---\n" + "\n".join(lines) + "\n---\n\n# PDF\n\nText.\n")


def test_tags_of_a_skill_may_stand_in_its_metadata() -> None:
    """As version and author do; those of the front matter itself come first."""
    assert skill("metadata:", "  tags: [a, b]").tags == ("a", "b")
    assert skill("metadata:", "  keywords: c, d").tags == ("c", "d")
    assert skill("tags: [own]", "metadata:", "  tags: [a, b]").tags == ("own",)


@pytest.mark.parametrize(
    ("lines", "description"),
    [
        (["description: > Use when asked."], "Use when asked."),
        (
            ["description: >- Use when", "  asked for a PDF.", "", "  And else not."],
            "Use when asked for a PDF. And else not.",
        ),
        (["description: | Use when", "  asked."], "Use when asked."),
        (["description: a: b"], "a: b"),
        (["description: Use it: now. See http://x.org: there"], "Use it: now. See http://x.org: there"),
        (["description: Use it: now", "  and on a second line"], "Use it: now and on a second line"),
        (["description: Use it: now", "without an indent"], "Use it: now without an indent"),
        (["description: [PDF] forms"], "[PDF] forms"),
        (["description: *all* of it"], "*all* of it"),
        (["description: @anthropic tools"], "@anthropic tools"),
        (["description: %d of it"], "%d of it"),
        (["description: `pdf` forms"], "`pdf` forms"),
        (["description: {{name}} of it"], "{{name}} of it"),
        (["description: 'it's here'"], "it's here"),
        (['description: "a \\"b\\" c" d'], '"a \\"b\\" c" d'),
        (['description: "open', "license: MIT"], '"open'),
        (["description:\tUse it: now"], "Use it: now"),
        (["description : Use it: now"], "Use it: now"),
        (["description:Use it", "license: a: b"], "Use it"),
        (["description: one", "description: two: three"], "two: three"),
        (["description: a: b", "tags: [a, b"], "a: b"),
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_no_description_is_lost(lines: list[str], description: str, ends: str, mark: str) -> None:
    """Text that YAML refuses is what stands there; the entries around it are read as ever."""
    text = "\n".join(["---  ", "name: pdf", *lines, "version: 1.10", "---", "", "# PDF", "", "Text."])
    item = read("directives/pdf/SKILL.md", mark + text.replace("\n", ends))
    assert (item.metadata["name"], item.description, item.version) == ("pdf", description, "1.10")
    assert item.note.startswith("the metadata is not YAML, and was read line by line: line ")
    assert item.body == "# PDF\n\nText."


def test_yaml_is_read_as_yaml() -> None:
    """Without a note, comments and signature line inside included."""
    item = skill("name: pdf", "# rye:signed:v2:x", "description: >", "  Use when", "  asked.", "license: MIT")
    assert (item.description, item.note) == ("Use when asked.", "")


def test_what_is_yaml_by_itself_stays_so() -> None:
    """Lists, tables, numbers and dates around the line that is not; comments are left out."""
    item = skill(
        "name: pdf",
        "# rye:signed:v2:2026-01-01T00:00:00Z:aa:bb:cc",
        "description: Use it: now",
        "allowed-tools: [Read, Bash(git:*)]",
        "license: MIT",
        "created: 2026-3-1",
        "count: 3",
        "metadata:",
        "  author: ann",
        '  version: "1.2"',
        "tags:",
        "- a",
        "- b",
    )
    assert item.metadata["allowed-tools"] == ["Read", "Bash(git:*)"]
    assert item.metadata["license"] == "MIT"
    assert item.metadata["count"] == 3
    assert (item.author, item.version, item.created, item.tags) == ("ann", "1.2", "2026-03-01", ("a", "b"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("metadata:\n\tauthor: ann\n\tversion: 1.2", {"metadata": {"author": "ann", "version": 1.2}}),
        ("metadata:\n  a: b: c\n  d: 1", {"metadata": {"a": "b: c", "d": 1}}),
        ("tags:\n  - @a\n  - b: c\n    d", {"tags": ["@a", "b: c d"]}),
        ("when:\n  just: text: here\n\n  and more", {"when": {"just": "text: here and more"}}),
        ("a: &x [1]\nb: *x\nc: d: e", {"a": [1], "b": "*x", "c": "d: e"}),
        ("a: |\n  one\n  two: x\nb: c: d", {"a": "one\ntwo: x\n", "b": "c: d"}),
        ("a: | one\n  two\n\n  three", {"a": "one\ntwo\n\nthree"}),
        ("name: it\x00s: so", {"name": "it s: so"}),
    ],
)
def test_each_entry_has_what_stands_there(text: str, expected: dict[str, Any]) -> None:
    """Tables and lists nest below a key that stands alone; there are no aliases."""
    assert load_lines(text) == expected


@pytest.mark.parametrize("text", ["- a\nb: c: d", "  a: b", "", "# a", "text\na: b", "a: b\n" * 6_000])
def test_what_does_not_look_like_metadata_is_not_read(text: str) -> None:
    """The block begins with a key, and is no longer than metadata is."""
    assert load_lines(text) is None


@pytest.mark.parametrize(
    "bomb", ["a: &a [x, x]\n" + "".join(f"b{n}: &b [*a, *a]\n" for n in range(9)), "a: " + "[" * 200]
)
def test_bombs_are_refused_as_before(bomb: str) -> None:
    """Aliases stand for nothing, and what nests too deep is text."""
    assert all(len(str(value)) < 300 for value in (load_lines(bomb) or {}).values())


@pytest.mark.parametrize("unit", ["\t", "'", '"', ": ", "> ", "#", "[", "{a: ", "? ", "a: ", "- "])
def test_a_megabyte_of_anything_is_text_or_refused(unit: str) -> None:
    """Each entry is parsed once a level, of which there are few; nothing is searched again and again."""
    text = "name: a: b\nx: " + unit * (1_000_000 // len(unit))
    found = load_lines(text)
    assert found is not None
    assert found["name"] == "a: b"
    assert load_lines("x:\n" + "".join(f"\t{unit * 60}\n" for _ in range(4_000))) is not None


def test_an_alias_bomb_is_no_front_matter() -> None:
    """What YAML refuses as hostile is not read in another way."""
    lines = [
        "a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]",
        *(f"{x}: &{x} [{', '.join(['*' + y] * 9)}]" for x, y in zip("bcdefg", "abcdef", strict=True)),
    ]
    with pytest.raises(ItemError) as caught:
        skill(*lines)
    assert caught.value.code == "alias-bomb"
    with pytest.raises(ItemError):
        load("\n".join(lines), aliases=False)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("description: Generate text for the #deployments channel", "description"),
        ("description: #deployments", "description"),
        ("description: two\n  lines and #one", "description"),
        ("tags:\n  - a #b", "tags"),
    ],
)
def test_a_value_that_yaml_cuts_has_a_note(line: str, name: str) -> None:
    """YAML takes `` #word`` for a comment; the note names the line and the remedy."""
    item = skill("name: pdf", *line.split("\n"))
    at = 3 + line.count("\n")
    assert (
        item.note == f"line {at}: YAML cuts the value of {name!r} at ' #'; to keep the rest, write it in quotes: \"…\""
    )
    quoted = skill("name: pdf", 'description: "Generate text for the #deployments channel"')
    assert (quoted.description, quoted.note) == ("Generate text for the #deployments channel", "")


@pytest.mark.parametrize(
    "line",
    ["version: 1.0 # bump it", "license: MIT  #!x", "a: b#c", "# a #b", "a: |\n  b #c", "a: 'b' #c", "a: [b] #c"],
)
def test_a_comment_has_no_note(line: str) -> None:
    """A comment has a space behind its mark, or stands where no plain value is cut."""
    assert skill("name: pdf", *line.split("\n")).note == ""


@pytest.mark.parametrize(
    ("head", "line", "body"),
    [
        ("---\nname: pdf\ndescription: Fill in forms.\n\n# PDF\n\nText.\n", 1, "# PDF\n\nText."),
        ("---\nname: pdf\ndescription: Fill in forms.\n# PDF\n\nText.\n", 1, "# PDF\n\nText."),
        ("\n---\nname: pdf\ndescription: Fill in forms.\n\nText.\n", 2, "Text."),
        ("---\nname: pdf\ndescription: Fill in forms.", 1, ""),
        ("---\n\nname: pdf\ndescription: Fill in forms.\n\nText.\n", 1, "Text."),
        ("---\nname: pdf\ndescription: Fill in forms.\n\n# PDF\n\nText.\n\n---\n\nMore.\n", 1, None),
        ("---\nname: pdf\ndescription: >\n  Fill in\n  forms.\n\n# PDF\n\nText.\n", 1, "# PDF\n\nText."),
    ],
)
def test_front_matter_that_never_closes_is_read_up_to_the_text(head: str, line: int, body: str | None) -> None:
    """The note names the line of ``---``; the body begins with the first blank line or heading below the keys."""
    item = read("directives/pdf/SKILL.md", head)
    assert item.description == "Fill in forms."
    assert item.metadata["name"] == "pdf"
    assert item.note == f"line {line}: the front matter is never closed; write a line of --- below it"
    assert body is None or item.body == body


@pytest.mark.parametrize(
    "text",
    [
        "---\n\n\nname: pdf\n",
        "---\nNote: this is prose.\n\nMore.\n",
        "---\nSome prose\nname: pdf\n",
        "---\n# Title\n\nname: pdf\n",
        "---\n",
        "---",
        "```yaml\nname: pdf\n",
    ],
)
def test_a_rule_above_prose_is_no_front_matter(text: str) -> None:
    """Without a key that says what a file is, a line of ``---`` is part of the text."""
    item = read("knowledge/a.md", text)
    assert (dict(item.metadata), item.note) == ({}, "")


def test_a_key_that_is_there_twice_has_a_note() -> None:
    """The last one counts, in a table as well; the note names the line."""
    item = skill("name: pdf", "description: one", "description: two")
    assert (item.description, item.note) == ("two", "line 4: 'description' is there twice")
    assert skill("name: pdf", "metadata:", "  author: ann", "  author: bea").note == "line 5: 'author' is there twice"


@pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\u3000", "\u00a0 "])
def test_a_no_break_space_behind_a_colon_is_a_space(space: str) -> None:
    """The value is what stands behind it; the note names the first line. In the text of a value it stays."""
    item = read("directives/pdf/SKILL.md", f"---\nname:{space}pdf\ndescription:{space}beta\n---\nBody.\n")
    assert (item.metadata["name"], item.description, item.body) == ("pdf", "beta", "Body.")
    assert item.note == "line 2: a no-break space follows 'name:'; write a plain space"
    kept = skill("name: pdf", "description: |", f"  Note:{space}beta")
    assert (kept.metadata["description"], kept.note) == (f"Note:{space}beta\n", "")


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (["globs: *.json"], "*.json"),
        (["globs: **/*.ts,**/*.tsx"], "**/*.ts,**/*.tsx"),
        (["globs: *"], "*"),
        (["globs: {src,test}/*.ts"], "{src,test}/*.ts"),
        (["globs: *'s.json  "], "*'s.json"),
        (["globs:", "  - *.json", "  - **/*.ts"], ["*.json", "**/*.ts"]),
        (["globs:"], None),
        (["globs:", "- *.json"], ["*.json"]),
        (['globs: ["*.json", "*.ts"]'], ["*.json", "*.ts"]),
    ],
)
def test_a_pattern_of_files_is_text(lines: list[str], value: object) -> None:
    """As Cursor documents it, without quotes; no note is made of it."""
    item = skill("description: Rules", *lines, "alwaysApply: false")
    assert (item.metadata["globs"], item.metadata["alwaysApply"], item.note) == (value, False, "")
    other = skill("description: Rules: of JSON", *lines)
    assert (other.metadata["globs"], other.description) == (value, "Rules: of JSON")
    assert "was read line by line: line 2: " in other.note


def test_a_list_in_a_text_gets_no_quotes() -> None:
    """Only entries that name files are patterns."""
    item = skill("description: |", "  - **Forms**", "license: a: b", "globs: *.pdf")
    assert (item.metadata["description"], item.metadata["globs"]) == ("- **Forms**\n", "*.pdf")


def test_an_alias_is_no_pattern() -> None:
    """``*name`` stands for the value of ``&name``, and is text where there is no such value."""
    assert skill("globs: &x [a]", "paths: *x").metadata["paths"] == ["a"]
