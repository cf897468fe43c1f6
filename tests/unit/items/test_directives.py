"""Directives: the XML block, wherever it stands and however untidy it is, and the instructions around it."""

from __future__ import annotations

import pytest

from tests.support.files import read


@pytest.mark.parametrize(
    "text",
    [
        '<directive name="a" version="2"></directive>\nDo it.',
        "  <directive name=\"a\"\n version='2' >\n<metadata></metadata></directive>\nDo it.",
        '```\n<directive name="a" version=2/></directive>\n```\nDo it.',
        '~~~~XML\n<directive name="a" version="2"></directive>\n~~~~\nDo it.',
        '```py\nx = "<directive>"\n```\n<directive name="a" version="2"></directive>\nDo it.',
        '```xml\n<directive name="a" version="2">\n```\n</directive>\nDo it.',
        "---\nname: a\nversion: 2\n---\nDo it.",
        "```yaml\nname: a\nversion: 2\n```\nDo it.",
        "# A\n\nText.\n\n```yaml\nname: a\nversion: 2\n```\nDo it.",
    ],
)
def test_metadata_is_read_in_every_form(text: str) -> None:
    """XML bare or in a fence, also one that a fence of its own cuts; front matter; a ``yaml`` fence below the title."""
    item = read("directives/a.md", text)
    if "version=2/" in text:
        assert item.body.endswith("Do it.")
        return
    assert (item.metadata["name"], item.version) == ("a", "2")
    assert item.body.endswith("Do it.")
    assert "version" not in item.body


def test_xml_and_front_matter_together_count_both_and_xml_wins() -> None:
    """Both are metadata; where both state a key, the element does."""
    item = read("directives/a.md", '---\nversion: 1\ntags: x, y\n---\n<directive version="2"></directive>\nDo it.')
    assert (item.version, item.tags, item.body) == ("2", ("x", "y"), "Do it.")


@pytest.mark.parametrize(
    "text",
    [
        "Do it.",
        "<directive name='a'>never closed",
        "Speak of a <directive> in prose.</directive>",
        "```python\n<directive name='a'></directive>\n```",
        "````markdown\n```xml\n<directive name='a'></directive>\n```\n````",
        "```yaml\nsteps:\n  - one\n```\nDo it.",
    ],
)
def test_what_is_no_metadata_is_body(text: str) -> None:
    """An element that is open, in prose or in an example states nothing; a fence of steps neither."""
    item = read("directives/a.md", text)
    assert "name" not in item.metadata
    assert "Do it" in item.body or "<directive" in item.body


def test_metadata_may_stand_without_its_element() -> None:
    """Entries directly below ``<directive>`` count; an attribute wins over an element of its name."""
    item = read("directives/a.md", "<directive version='1'><version>2</version><title>T</title></directive>")
    assert (item.version, item.title) == ("1", "T")


def test_numeric_references_become_characters_fit_for_text() -> None:
    """Every numeric reference is resolved, but no NUL, surrogate or character that does not exist gets in."""
    item = read("directives/a.md", '<directive name="&#65;&#x42;&#0;&#xD800;&#1114112;&nbsp;"></directive>')
    assert item.metadata["name"] == "AB \ufffd&#1114112;&nbsp;"


def test_category_is_the_folder_where_the_element_is_empty() -> None:
    """An empty ``<category>`` states nothing."""
    item = read("directives/ops/a.md", "<directive><metadata><category></category></metadata></directive>")
    assert (item.category, dict(item.declared)) == ("ops", {})
