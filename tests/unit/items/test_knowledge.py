"""Knowledge entries: front matter in either form, body, sections, and what is derived where nothing is stated."""

from __future__ import annotations

import pytest

from tests.support.files import read


def test_an_id_with_folders_is_declared_as_id_and_one_without_as_name() -> None:
    """``id: ops/x`` states a path, ``id: x`` a name; ``type`` counts only when it is an item type."""
    assert dict(read("knowledge/a.md", "---\nid: ops/x\ntype: tool\n---\n").declared) == {"id": "ops/x", "type": "tool"}
    assert dict(read("knowledge/a.md", "---\nid: x\ntype: object\n---\n").declared) == {"name": "x"}


def test_front_matter_between_dashes_is_metadata() -> None:
    """``---`` works as the fence does, also with ``...`` at its end and with a comment before it."""
    for text in (
        "---\ntitle: T\n---\nText",
        "---  \ntitle: T\n...\n\nText",
        "<!-- hello\nworld -->\n\n---\ntitle: T\n---\nText",
        "\n\n---\r\ntitle: T\r\n---\r\nText\r\n",
    ):
        item = read("knowledge/a.md", text.encode())
        assert (item.title, item.body) == ("T", "Text")


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nJust a rule above.",
        "---\nno mapping\n---\nText",
        "```yaml\n- a\n- b\n```\nText",
        "```yaml\ntitle: never closed",
        "Text first.\n\n```yaml\ntitle: an example\n```",
        "```yamlish\ntitle: T\n```",
        "````text\n```yaml\ntitle: T\n```\n````",
    ],
)
def test_what_only_looks_like_metadata_is_text(text: str) -> None:
    """A rule, a list, an open fence or a later example states nothing, and all of it can be searched."""
    item = read("knowledge/a.md", text)
    assert dict(item.metadata) == {}
    assert item.body == text


def test_only_the_first_block_is_metadata() -> None:
    """Front matter put before a signed fence cannot be mixed with it: the fence is then ordinary text."""
    item = read("knowledge/a.md", "---\ntitle: Put before\n---\n```yaml\ntitle: Signed\nversion: 2\n```\n")
    assert (item.title, item.version) == ("Put before", "")
    assert "title: Signed" in item.body


def test_an_empty_block_states_nothing_but_is_no_text() -> None:
    """An empty fence is a metadata block without metadata."""
    item = read("knowledge/a.md", "---\n---\nText")
    assert (dict(item.metadata), item.body, item.body_line) == ({}, "Text", 3)


def test_headings_in_fences_are_code() -> None:
    """A ``#`` in a fence is no heading; a fence ends only at its own mark; one without end holds the rest."""
    item = read(
        "knowledge/a.md",
        "# A\n\n~~~sh\n# no\n```\n# no\n~~~~\n\n## B ##\n\n````\n```\n# no\n```\n````\n### C\n```\n# no",
    )
    assert [section.heading_path for section in item.sections] == [("A",), ("A", "B"), ("A", "B", "C")]


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# A", "A"),
        ("   # A", "A"),
        ("#\tA", "A"),
        ("# A #", "A"),
        ("# C#", "C#"),
        ("#", ""),
        ("# ###", ""),
        ("    # A", None),
        ("#A", None),
        ("####### A", None),
        ("\\# A", None),
    ],
)
def test_headings_are_those_of_commonmark(line: str, heading: str | None) -> None:
    """Up to three blanks, one to six marks, a blank; closing marks do not count."""
    sections = read("knowledge/a.md", f"{line}\n".encode()).sections
    assert [section.heading_path[-1] for section in sections if section.level] == ([] if heading is None else [heading])


def test_text_before_the_first_heading_is_a_section_of_level_zero() -> None:
    """Nothing of the body is in no section."""
    first, second = read("knowledge/a.md", "Hello\nthere.\n\n# A\ntext").sections
    assert (first.heading_path, first.level, first.line, first.end_line, first.text) == ((), 0, 1, 2, "Hello\nthere.")
    assert (second.heading_path, second.line, second.end_line, second.text) == (("A",), 4, 5, "text")


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("# H\n\n```\ncode\n```\n\nProse here.\nGoes on.\n\nNext.", "Prose here. Goes on."),
        ("| a | b |\n|---|---|\n\n> Quoted `text`.", "Quoted text."),
        ("- First point\n- Second", "First point"),
        ("***\n<process>\n![badge](x)\n\nReal.", "Real."),
        ("<!-- c -->\n\nReal __bold__ *it*, `a*b*` [x](y). <!-- no -->", "Real bold it, a*b* x."),
        ("# Only a heading", ""),
        ("", ""),
    ],
)
def test_the_description_is_the_first_paragraph(text: str, description: str) -> None:
    """Headings, fences, tables, rules, tags, images and comments are no prose."""
    assert read("knowledge/a.md", text).description == description


def test_a_long_description_ends_with_a_sentence_or_a_word() -> None:
    """At most 300 characters where it is taken from the text; a stated one may be longer."""
    sentences = read("knowledge/a.md", "A sentence of some length. " * 30).description
    assert len(sentences) <= 300
    assert sentences.endswith("length.")
    words = read("knowledge/a.md", "word " * 100).description
    assert len(words) <= 300
    assert words.endswith("word…")
    stated = "stated " * 60
    assert read("knowledge/a.md", f"---\ndescription: {stated}\n---\n").description == stated.strip()


def test_yaml_knowledge_is_its_own_metadata_and_body() -> None:
    """Every top-level key is metadata; the text as a whole can be searched."""
    item = read("knowledge/ops/ports.yaml", "# All the ports.\ntitle: Ports\nssh: 22\n")
    assert (item.title, item.description, item.metadata["ssh"]) == ("Ports", "All the ports.", 22)
    assert item.body == "# All the ports.\ntitle: Ports\nssh: 22"


def test_more_headings_than_the_limit_open_no_further_sections() -> None:
    """After 10,000 headings the rest of the text belongs to the last section, and no word of it is lost."""
    item = read("knowledge/a.md", "# A\nx\n" * 10_005)
    assert len(item.sections) == 10_000
    assert item.sections[-1].text == "x\n" + "# A\nx\n" * 4 + "# A\nx"
    assert item.sections[-1].end_line == 20_010


def test_all_of_a_long_description_is_kept() -> None:
    """Its last word is found as its first is; those of agents' skills have up to 1,024 characters."""
    stated = "word " * 800 + "needle"
    assert read("knowledge/x.md", f"---\ndescription: {stated}\n---\n\nBody.\n").description == stated


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("Title\n=====\n\nText.", [(1, "Title", "Text.", 1, 4)]),
        ("Title\n---\nText.\n\nOther\n  --  \n", [(2, "Title", "Text.", 1, 3), (2, "Other", "", 5, 6)]),
        ("A title\n of two lines\n=\nText.", [(1, "A title of two lines", "Text.", 1, 4)]),
        ("# A\nTitle\n---\nText.", [(1, "A", "", 1, 1), (2, "A > Title", "Text.", 2, 4)]),
    ],
)
def test_underlined_lines_are_headings(text: str, sections: list[tuple[int, str, str, int, int]]) -> None:
    """A paragraph above ``=`` or ``-`` is a heading, which may have several lines."""
    found = read("knowledge/a.md", f"Words.\n\n{text}").sections[1:]
    got = [(one.level, " > ".join(one.heading_path), one.text, one.line - 2, one.end_line - 2) for one in found]
    assert got == sections


@pytest.mark.parametrize(
    "text",
    [
        "Title\n\n---\nText.",
        "- item\n---\nText.",
        "> quote\n---",
        "a | b\n--- | ---\n1 | 2\n---",
        "```\nTitle\n---\n```\n---",
        "    code\n---",
        "***\n---",
    ],
)
def test_what_stands_above_a_rule_is_no_heading(text: str) -> None:
    """Neither code, a list, a quote nor a table is underlined, and nothing across a blank line."""
    assert [one.level for one in read("knowledge/a.md", f"Words.\n\n{text}").sections] == [0]


def test_front_matter_is_no_heading() -> None:
    """Neither as metadata, nor where it is none after all; title and description come from what is below."""
    item = read("knowledge/a.md", "---\nauthor: ann\n---\nThe title\n=========\n\nThe text.\n")
    assert [section.heading_path for section in item.sections] == [("The title",)]
    assert (item.title, item.description, item.author) == ("The title", "The text.", "ann")
    broken = read("knowledge/a.md", "---\nno metadata\n---\n\nThe text.\n")
    assert [section.heading_path for section in broken.sections] == [()]


@pytest.mark.parametrize("head", ["", "---\nname: x\n---\n", "Intro.\n\n"])
@pytest.mark.parametrize(
    "comment",
    [
        "<!-- # Hidden -->",
        "<!--\n# Hidden\n\nHidden\n===\n\nHidden.\n-->",
        "  <!-- a\n ```\nb --> tail",
        "<!-->\n<!-- x -->",
    ],
)
def test_a_comment_is_no_title_and_no_description(head: str, comment: str) -> None:
    """A reader does not see it: its headings, underlined lines and fences are none, wherever it stands."""
    item = read("knowledge/x.md", f"{head}{comment}\n\n# Shown\n\nShown text.\n")
    assert item.title == "Shown"
    assert item.description == ("Intro." if head.startswith("Intro") else "Shown text.")
    assert [section.heading_path for section in item.sections if section.level] == [("Shown",)]


def test_a_comment_in_code_and_a_comment_without_an_end() -> None:
    """Code shows what looks like a comment; all that follows an open one is hidden, as where Markdown is rendered."""
    item = read("knowledge/x.md", "```\n<!--\n```\n# Shown\n\nText.\n\n<!--\n## Hidden\n")
    assert [section.heading_path for section in item.sections if section.level] == [("Shown",)]
