"""Directives: the XML block, wherever it stands and however untidy it is, and the instructions around it."""

from __future__ import annotations

import pytest

from tests.support.files import read

DIRECTIVE = """\
<!-- rye:signed:2026-02-18T00:00:00Z:aa:bb:cc -->
<!-- rye:unsigned -->

# Release

Release the current branch.

```xml
<directive name="release" version="1.0.0" extends="base">
  <metadata>
    <description>Release the branch &amp; tell everyone.</description>
    <category>ops</category>
    <author>ada</author>
    <model tier="fast" />
    <limits turns="6" tokens="4096">soft</limits>
    <permissions>
      <fetch><directive>*</directive></fetch>
      <execute><tool>a.*</tool><tool>b.*</tool></execute>
    </permissions>
  </metadata>

  <inputs>
    <input name="branch" type="string"
           required="true">
      The branch to release.
    </input>
  </inputs>

  <outputs>
    <success>Released.</success>
  </outputs>
</directive>
```

<process>
  <step name="check">Run the tests of {input:branch}.</step>
</process>
"""


def test_the_xml_block_fills_every_field() -> None:
    """Attributes of the element and entries of ``<metadata>`` alike; entities are resolved."""
    item = read("directives/ops/release.md", DIRECTIVE)
    assert (item.title, item.category, item.version, item.author) == ("Release", "ops", "1.0.0", "ada")
    assert item.description == "Release the branch & tell everyone."
    assert dict(item.declared) == {"name": "release", "category": "ops"}
    assert item.metadata["extends"] == "base"


def test_elements_become_nested_values() -> None:
    """Attributes are a mapping, repeated elements a list, text beside attributes is ``text``."""
    metadata = read("directives/ops/release.md", DIRECTIVE).metadata
    assert metadata["model"] == {"tier": "fast"}
    assert metadata["limits"] == {"turns": "6", "tokens": "4096", "text": "soft"}
    assert metadata["permissions"] == {"fetch": {"directive": "*"}, "execute": {"tool": ["a.*", "b.*"]}}


def test_inputs_and_outputs_are_named_in_metadata_and_described_in_the_body() -> None:
    """Their names can be filtered by, their descriptions searched; tags and types are neither."""
    item = read("directives/ops/release.md", DIRECTIVE)
    assert item.metadata["inputs"] == ["branch"]
    assert item.metadata["outputs"] == ["success"]
    assert "The branch to release." in item.body
    assert "Released." in item.body
    assert "required" not in item.body


def test_the_body_is_everything_but_envelope_and_metadata() -> None:
    """The text before the block and the instructions after it are body; nothing of the metadata is."""
    body = read("directives/ops/release.md", DIRECTIVE).body
    assert body.startswith("# Release\n\nRelease the current branch.")
    assert body.endswith('<step name="check">Run the tests of {input:branch}.</step>\n</process>')
    for absent in ("rye:signed", "rye:unsigned", "```", "4096", "tell everyone"):
        assert absent not in body


def test_lines_of_the_body_are_lines_of_the_file() -> None:
    """What was taken out leaves its line breaks, so that every line after it keeps its number."""
    item = read("directives/ops/release.md", DIRECTIVE)
    lines = DIRECTIVE.split("\n")
    for offset, line in enumerate(item.body.split("\n")):
        if "step" in line or line.startswith("# ") or "branch to release" in line:
            assert line.strip() == lines[item.body_line - 1 + offset].strip()


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


def test_placeholders_that_look_like_tags_are_text() -> None:
    """``<your-name>`` in a sentence is neither an element nor in the way of those that follow."""
    item = read(
        "directives/a.md",
        """\
        <directive name="a" version="1">
          <metadata>
            <description>Greet <your-name> from a < b, then <br/> go.</description>
            <category>x</category>
          </metadata>
          <inputs><input name="who">Say <who>.</input></inputs>
        </directive>
        """,
    )
    assert item.description == "Greet <your-name> from a < b, then <br/> go."
    assert item.category == "x"
    assert item.metadata["inputs"] == ["who"]


def test_comments_and_cdata_hide_their_tags() -> None:
    """A commented-out element is not there; CDATA is text as it stands."""
    item = read(
        "directives/a.md",
        """\
        <directive name="a">
          <metadata>
            <!-- <category>no</category> -->
            <description>One<!-- two --> <![CDATA[<three>]]></description>
          </metadata>
          <process><![CDATA[
            Write <directive name="b"></directive> to a file. <!-- not this -->
          ]]></process>
        </directive>
        After.
        """,
    )
    assert (item.category, item.description) == ("", "One <three>")
    assert "to a file." in item.body
    assert "not this" not in item.body
    assert item.body.endswith("After.")


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
