"""The inputs that a directive declares, in XML or front matter, well-formed or not."""

from __future__ import annotations

import pytest

from rye.items.directive_xml import Input, declared_inputs
from rye.items.model import ItemType
from rye.items.reader import parse

XML = """# X

```xml
<directive name="x" version="1.0.0">
  <metadata><description>X</description></metadata>
  <inputs>{inputs}</inputs>
</directive>
```
"""


def read(text: str) -> tuple[Input, ...]:
    """Return the declared inputs of a directive with this content."""
    item = parse(text.encode(), item_type=ItemType.DIRECTIVE, item_id="x", suffix=".md")
    return declared_inputs(item, text)


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ("", ()),
        ('<input name="a" required="true">What &lt;a&gt; is.</input>', (Input("a", "What <a> is.", required=True),)),
        ('<input name="a" required="false"/><input name="b"/>', (Input("a"), Input("b"))),
        ("<build>Which\n   build.</build>", (Input("build", "Which build."),)),
        ('<input name="a">one</input><input name="a">two</input>', (Input("a", "two"),)),
        ('<input name="a" description="said" required="YES"></input>', (Input("a", "said", required=True),)),
        ('<input name="a">open <your-name> text</input>', (Input("a", "open text"),)),
        ('<input name="a">never closed', ()),
    ],
)
def test_inputs_of_an_xml_block(inputs: str, expected: tuple[Input, ...]) -> None:
    """Named by attribute or element, described by their text; what is not closed is no input."""
    assert read(XML.format(inputs=inputs)) == expected


@pytest.mark.parametrize(
    ("front", "expected"),
    [
        ("inputs: [a, b]", (Input("a"), Input("b"))),
        ("inputs:\n  - name: a\n    required: true\n  - b", (Input("a", required=True), Input("b"))),
        ("inputs:\n  a: What a is.\n  b: {required: yes}", (Input("a", "What a is."), Input("b", required=True))),
        ("inputs: 5", ()),
        ("inputs: [5, null, {x: y}]", ()),
        ("title: none", ()),
    ],
)
def test_inputs_of_front_matter(front: str, expected: tuple[Input, ...]) -> None:
    """A list of names, of mappings, or one mapping; anything else declares nothing."""
    assert read(f"---\n{front}\n---\n\nDo it.\n") == expected


def test_inputs_outside_a_directive_are_text() -> None:
    """An example in prose declares nothing."""
    assert read("# X\n\n<inputs><input name='a'>x</input></inputs>\n") == ()
