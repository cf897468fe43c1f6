"""Reading a text takes time that grows as its length, whatever an attacker writes into it."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest

from rye.errors import ItemError
from rye.items.hidden import describe_hidden
from rye.items.markdown import files_named, imports_in
from rye.items.model import ItemType
from rye.items.reader import parse

FLAG = "\U0001f3f4" + "".join(chr(0xE0000 + ord(char)) for char in "abcdef")
ORDER = "<!-- system prompt -->"

UNSEEN = {
    "embeddings": "\u202a",
    "embeddings in words": "\u202aa ",
    "overrides": "\u202e",
    "overrides in lines": "a\u202e\n",
    "tags": "\U000e0061",
    "flags without an end": FLAG,
    "zero-width": "\u200b",
    "zero-width bits": "\u200b\u200c",
    "selectors": "\ufe00",
    "blanks of Braille": "\u2800\u2800\u2800 ",
    "references": "&#x202a;",
    "fences of YAML": '```yaml\n"\\u202a',
    "front matter": '---\n"\\u202a',
    "open comments": "<!--",
    "comments": "<!-- x -->",
    "orders": ORDER,
    "orders in code": f"`{ORDER}`",
    "half an order: ignore": "<!-- ignore ",
    "half an order: do not": "do not tell ",
    "half an order: curl": "curl http://",
    "half an order: send": "send ",
    "half an order: blanks": "never     ",
    "definitions": "[a]: # (x\n",
    "tags of HTML": "<a style='",
    "styles": " style=''",
    "fonts": "<font color=white>x",
    "elements without a display": "<p style='display:none'>x</p>",
    "semicolons in a style": f"<p style='{';' * 480}'>",
}
"""What is repeated in a text that hides something."""

READ = {
    "brackets": "[",
    "images": "![",
    "links": "[a](<b",
    "quotes": ">",
    "lists": "- ",
    "emphasis": "*a_ ",
    "code": "`a ``b ",
    "fences": "~~~\n",
    "front matter": "---\n",
    "headings": "# a\n",
    "headings of HTML": "<h1>",
    "tables": "|a|b|\n|-|-|\n",
    "HTML": "x<!--",
    "directives": "<directive>\n",
    "imports": "@a/b.md ",
    "marks": "@a.b",
    "escaped blanks": "a\\ ",
    "names of files": "#file:",
    "open quotes": '@"',
    "imports in code": "`@a/b.md` ",
    "commands": "!`cat a.md` ",
    "strings": '"',
    "triple quotes": '"""\n',
    "constants": "__a__ = (\n",
    "assignments": "__a = '",
    "comments of a program": "/* ",
    "braces": '{"a":',
    "keys": "a: &a [*a, ",
    "envelopes": "# rye:signed:\n",
}
"""What is repeated in a text of any format."""

Check = Callable[[str], object]


def item(item_type: ItemType, suffix: str) -> Check:
    """Return the reading of a file as an item; symbols of code are left out, which have a budget of seconds."""

    def read(text: str) -> object:
        try:
            found = parse(text.encode(), item_type=item_type, item_id="a", suffix=suffix)
        except ItemError as error:
            return error
        return [*found.sections, *(found.imports if suffix == ".md" else ())]

    return read


ITEMS = {
    ".md": item(ItemType.DIRECTIVE, ".md"),
    ".yaml": item(ItemType.KNOWLEDGE, ".yaml"),
    ".json": item(ItemType.TOOL, ".json"),
    ".toml": item(ItemType.TOOL, ".toml"),
    ".py": item(ItemType.TOOL, ".py"),
    ".ts": item(ItemType.TOOL, ".ts"),
}


def seconds(check: Check, text: str) -> float:
    """Return the seconds of this process that a check takes, of two runs the better one."""
    taken = []
    gc.disable()  # what else the process holds is not the check's
    try:
        for _ in range(2):
            begin = time.process_time()
            check(text)
            taken.append(time.process_time() - begin)
    finally:
        gc.enable()
    return min(taken)


def is_linear(check: Check, text: Callable[[int], str]) -> bool:
    """Return whether a text four times as long takes less than nine times as long; squared it is sixteen times.

    The text grows until a check takes long enough to be measured, or it has 128 Ki characters.
    """
    size = 1 << 11
    while (taken := seconds(check, text(size))) < 0.01 and size < 1 << 17:
        size *= 4
    return taken < 0.01 or taken < 9 * seconds(check, text(size // 4))


@pytest.mark.parametrize("part", UNSEEN.values(), ids=UNSEEN)
@pytest.mark.parametrize(
    "around", [("---\n<directive>", "\u05d0\u2801"), (f"{ORDER}\n\n", "\u200b" * 3)], ids=["letter", "order"]
)
def test_hidden_text_is_looked_for_once(part: str, around: tuple[str, str]) -> None:
    """One character after another, before a Hebrew letter, or below a comment: no text is read again."""
    before, after = around
    assert is_linear(
        lambda text: describe_hidden(text.encode(), ".md"), lambda size: before + part * (size // len(part)) + after
    )


@pytest.mark.parametrize("part", ["\\u202a", "\\U000e0061", "\\\n", "\\\\", "\\      ", "\\u202a\n"])
def test_escapes_are_resolved_once(part: str) -> None:
    """The same for what escapes stand for."""
    assert is_linear(
        lambda text: describe_hidden(text.encode(), ".json"), lambda size: "\\u" + part * (size // len(part))
    )


@pytest.mark.parametrize("suffix", ITEMS)
@pytest.mark.parametrize("part", READ.values(), ids=READ)
def test_an_item_is_read_once(part: str, suffix: str) -> None:
    """The same for what reads an item of each format."""
    assert is_linear(ITEMS[suffix], lambda size: part * (size // len(part)))


@pytest.mark.parametrize("part", READ.values(), ids=READ)
def test_code_is_found_once(part: str) -> None:
    """The same for what decides whether an order stands in a code block."""
    assert is_linear(
        lambda text: describe_hidden(text.encode(), ".md"), lambda size: ORDER + "\n" + part * (size // len(part))
    )


@pytest.mark.parametrize("part", READ.values(), ids=READ)
def test_imports_are_read_once(part: str) -> None:
    """The same for the files that instructions import."""
    assert is_linear(lambda text: list(imports_in(text, 1)), lambda size: part * (size // len(part)))
    assert is_linear(lambda text: list(files_named(text, links=True)), lambda size: "@" + part * (size // len(part)))
