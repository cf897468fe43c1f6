"""What a text that names items says by itself, before anything is looked up."""

from __future__ import annotations

import pytest

from rye.items.names import Reference, Spelling, read_reference, spellings

D = "directive"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tool:ops/deploy", Reference("item", "tool", ("ops/deploy",), path="tool:ops/deploy")),
        ("tool:ops/*", Reference("item", "tool", ("ops/*",), path="tool:ops/*")),
        ("tool:", Reference("item", "tool", ("",), path="tool:")),
        ("skill:pdf", Reference("format", D, ("pdf",), format="skill")),
        ("Skill:pdf", Reference("format", D, ("pdf",), format="skill")),
        ("agent:tester", Reference("format", D, ("tester", "agents/tester", "agent/tester", "droids/tester"), "agent")),
        ("skill:", Reference("other", "", ("skill:",), path="skill:")),
        ("skill://project/pdf/SKILL.md", Reference("address", D, ("pdf",), source="project")),
        ("skill://system/acme/a%20b", Reference("address", D, ("a b",), source="system:acme")),
        ("rye://user/tool/ops/deploy", Reference("address", "tool", ("ops/deploy",), source="user")),
        ("rye://user/gadget/x", Reference("other", "", ("rye://user/gadget/x",), path="rye://user/gadget/x")),
        ("gadget:x", Reference("other", "", ("gadget:x",), path="gadget:x")),
        ("ops/deploy", Reference("text", "", ("ops/deploy",), path="ops/deploy")),
        ("tool.rye.*", Reference("text", "", ("tool.rye.*",), path="tool.rye.*")),
        ("tools/a.py:5:10", Reference("other", "", ("tools/a.py:5:10",), path="tools/a.py")),
        ("cafe\u0301", Reference("text", "", ("caf\u00e9",), path="cafe\u0301")),
    ],
)
def test_a_text_is_read_into_one_value(text: str, expected: Reference) -> None:
    """Type, ids, format and source follow from the text; a path stays as the file system may have it."""
    assert read_reference(text) == expected


@pytest.mark.parametrize("text", ["", "a", "tool:a", "skill:a", "rye://project/tool/a", "x:y", "a:1", "//", "skill://"])
def test_a_reference_has_an_id_and_only_formats_and_addresses_have_meanings(text: str) -> None:
    """So no caller has to look whether there is one."""
    reference = read_reference(text)
    assert reference.ids
    assert bool(reference.meanings) == (reference.form in {"format", "address"})


def test_other_spellings_of_an_id_end_with_the_plainest() -> None:
    """Quotes, a mark, a section, a line and an extension are taken off, one after the other."""
    found = list(spellings("`@ops/deploy.py:5`"))
    assert found[-1] == Spelling("ops/deploy", ".py")
    assert list(spellings("mode:short")) == list(read_reference("mode:short").meanings)
