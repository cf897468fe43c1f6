"""Which functions of a tool are documented, and what their documentation says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index.text.chunks import chunks_of
from rye.items.model import ItemType
from rye.items.reader import parse
from rye.search.page.section_text import sections_of
from tests.support.files import read


def test_each_documented_function_is_a_text_of_its_own() -> None:
    """Named by its item and itself; the item's own text stays as it is."""
    item = read("tools/house/oven.py", '"""Kitchen tools."""\n\n\ndef bakeBread():\n    """Bake it."""\n')
    assert [(one.section, one.text) for one in chunks_of(item)] == [
        (0, "oven. Kitchen tools. bake Bread"),
        (1, "oven. bake Bread. Bake it."),
    ]


LINES = (
    *("def f():", "class A:", "    def m(self):", '    """Doc."""', '        """Doc."""', "    pass", "@d", "# c", ""),
    *("function g() {", "}", "/** d */", "// c", "h() {", "class B {", "#!/bin/sh", " * x", "const k = (a) => {"),
)


@pytest.mark.parametrize("suffix", [".py", ".js", ".sh", ".ts"])
def test_sections_of_code_hold_all_of_it(suffix: str) -> None:
    """They follow each other, each is named in the file, and its chunk is the one that is embedded."""

    @given(st.lists(st.sampled_from(LINES), max_size=12).map("\n".join))
    def check(text: str) -> None:
        item = parse(text.encode(), item_type=ItemType.TOOL, item_id="a", suffix=suffix)
        own, keys = sections_of(item), [(one.section, one.number) for one in chunks_of(item)]
        assert "".join(one.text for one in own).replace("\n", "") == item.body.replace("\n", "")
        lines = text.split("\n")
        for one in own:
            ((start, stop),) = one.chunks
            assert item.body[start:stop] == one.text
            assert "\n".join(lines[one.line - 1 : one.end_line]) == one.text.rstrip("\n")
            assert keys[one.first_chunk] == (one.ordinal, 0)

    check()


def test_attack_many_definitions_are_read_in_linear_time() -> None:
    """Whether nested, without an end, or below endless comments."""
    for text in ("def f(\n" * 20_000, "class A:\n" * 10_000, "# c\n" * 40_000 + "f() {\n}\n" * 5_000):
        for path in ("tools/a.py", "tools/a.sh"):
            list(read(path, text).documented)
