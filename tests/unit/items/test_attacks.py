"""Hostile files: each is read or refused as an item error, in bounded time, and nothing of it is run or fetched."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest

from rye.errors import ItemError
from rye.items.model import ItemType
from rye.items.reader import EXTENSIONS, MAX_BYTES, parse
from tests.support.files import read

SIZE, SECONDS = MAX_BYTES // 24, 3.0
"""How much is repeated, and far more time than that takes where time is linear, far less than where it is not."""

ANY_TYPE = [(item_type, suffix) for item_type in ItemType for suffix in sorted(EXTENSIONS[item_type])]


def fill(unit: str) -> bytes:
    """Repeat text up to :data:`SIZE` bytes."""
    return (unit * (SIZE // len(unit) + 1)).encode()[:SIZE]


def test_billion_laughs_in_xml_stays_text() -> None:
    """An entity that a DOCTYPE declares is never expanded."""
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    item = read(
        "directives/a.md",
        f'<!DOCTYPE d [<!ENTITY l0 "lol">{entities}]>\n<directive name="a"><metadata>'
        "<description>&l9;</description></metadata></directive>",
    )
    assert item.description == "&l9;"
    assert len(item.body) < 2000


def test_external_entity_is_not_fetched(tmp_path: Path) -> None:
    """A SYSTEM entity names a file; its content appears nowhere."""
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    item = read(
        "directives/a.md",
        f'<!DOCTYPE d [<!ENTITY x SYSTEM "{secret.as_uri()}">]>\n<directive name="&x;"><metadata>'
        "<description>&x;</description></metadata></directive>",
    )
    assert "hunter2" not in str(item)
    assert item.description == "&x;"


def test_yaml_tag_makes_no_object(tmp_path: Path) -> None:
    """A tag that would call a function is ignored."""
    mark = tmp_path / "ran"
    item = read("knowledge/a.md", f"---\ntitle: !!python/object/apply:os.mkdir ['{mark}']\n---\n")
    assert item.metadata["title"] == [str(mark)]
    assert not mark.exists()


def test_python_tool_is_not_run(tmp_path: Path) -> None:
    """Neither module code nor what a metadata value would call."""
    mark = tmp_path / "ran"
    item = read(
        "tools/a.py", f"import os\nos.mkdir({str(mark)!r})\n__version__ = os.mkdir({str(mark)!r})\n__tags__ = ['a']\n"
    )
    assert item.tags == ("a",)
    assert item.version == ""
    assert not mark.exists()


@pytest.mark.parametrize(
    ("path", "content", "code"),
    [
        ("knowledge/a.md", "---\n" + "a: [" * 9000 + "\n---\n", "too-deep"),
        ("tools/a.yaml", "[" * 500_000, "too-deep"),
        ("tools/a.json", "[" * 500_000, "too-deep"),
        ("tools/a.json", "[" * 70 + "]" * 70, "too-deep"),
        ("tools/a.toml", "a=" + "[" * 200_000, "too-deep"),
        ("tools/a.toml", "a." * 100_000 + "a=1", "too-deep"),
        ("tools/a.toml", "[" + "a ." * 80_000 + "a]", "too-deep"),
        (
            "tools/a.yaml",
            "a: &a [x,x,x,x,x,x,x,x,x]\n"
            + "".join(
                f"k{n}: &{'b' * n} [{f'*{chr(97) if n == 1 else chr(98) * (n - 1)},' * 9}]\n" for n in range(1, 9)
            ),
            "alias-bomb",
        ),
        ("tools/a.json", f"[{'1,' * 150_000}1]", "alias-bomb"),
        ("tools/a.py", b"\xff\xfe#\x00", "not-utf8"),
        ("knowledge/a.md", "# A".encode("utf-16"), "not-utf8"),
        ("knowledge/a.md", b"# \xed\xa0\x80", "not-utf8"),
        ("tools/a.py", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "not-utf8"),
        ("knowledge/a.md", b"x" * (MAX_BYTES + 1), "too-large"),
        ("tools/a.exe", b"", "not-an-item"),
        ("directives/a.py", b"", "not-an-item"),
    ],
)
def test_hostile_file_is_refused(path: str, content: str | bytes, code: str) -> None:
    """The error has the code, names the file and says what to do."""
    with pytest.raises(ItemError) as caught:
        read(path, content.encode() if isinstance(content, str) else content)
    assert caught.value.code == code
    assert caught.value.message.startswith(f"{path}: ")
    assert caught.value.hint


# fmt: off
UNITS = (
    "a\n===\n", "===\n", "- a\n===\n", "- a\n--\n", "<!--", "<![CDATA[", "<a b='", '<a b="', "</a>", "`",
    "**a", "[a](", "# ", "#\n", "---\n", "a: ", "&a ", "*a ", "- ", "? ", "{", "'", '"', "\\", "a.", "[[a]]\n",
    "a;", "__a__=[", "__a__='", "@a\n", "const a=(", "a() {\n", "// @a b\n", "/*", " ", "\t", "\n", " \n",
    "\u0301", "<a ", "<directive>", "```\n", "-->", "= ", "`${", "`${`", "`${{", "x=/[", "</", "class A{",
    "class A{b(){", "class A{\nget ", "const a={", "const a={b(){", "const a={b:c=>", "export default {",
    "\nexport const a=(", "a'a", "'\\", "'\\\n", "http://", "`${'", "\n@a({", "\n})\nclass A{}", "/***x",
    "/**\n*/\n@a\nclass A{}\n", "class A<", "namespace A{", "type A=B|", "type A=B extends ", "const a:{",
    "const a=<", "const a=a=>b&&\n", "function f(a):", "from './b'", "([{", "})]",
)
# fmt: on


@pytest.mark.parametrize("unit", UNITS)
def test_repetition_takes_no_more_than_linear_time(unit: str) -> None:
    """No part of any reader takes more than linear time, at the top of a file as inside its metadata."""
    data = fill(unit)
    for item_type, suffix in ANY_TYPE:
        starts = {
            ".md": ("", "---\n", "```xml\n<directive><metadata>\n", "<directive "),
            ".py": ("", "(\n"),
            ".toml": ("", "a="),
        }
        for start in starts.get(suffix, ("", "a: ")):
            began = time.process_time()
            with suppress(ItemError):
                parse(start.encode() + data, item_type=item_type, item_id="a", suffix=suffix)
            assert time.process_time() - began < SECONDS, (suffix, start)


@pytest.mark.parametrize(
    "unit",
    ["(", "`${", "'", "/*", "class A{b(){", "from './b';"],
)
@pytest.mark.parametrize("start", ["", "class A {\n"])
def test_a_mebibyte_of_unclosed_code_is_read(unit: str, start: str) -> None:
    """Deep nesting, strings, templates and comments without an end, and long lines take linear time in TypeScript."""
    data = (start + unit * MAX_BYTES).encode()[:MAX_BYTES]
    began = time.process_time()
    parse(data, item_type=ItemType.TOOL, item_id="a", suffix=".ts")
    assert time.process_time() - began < 8 * SECONDS


@pytest.mark.parametrize(
    "unit",
    ["[", "<!--", "`", "` ", "- ", "> ", "> - ", "? ", "**a", "[a](", "![", "|a\n|-\n", "- a\n", "> a\n", "~~~\n",
     "<a ", "[a]: /b\n", "x\n===\n", "@a/b ", "`@a` ", "!`a/b` ", "```\na\n```\n<directive\n", "<directive\n", "&amp"],
)  # fmt: skip
def test_attack_a_mebibyte_of_markdown_that_nests_or_never_ends(unit: str) -> None:
    """Four times the text takes about four times as long, at the top of a file and below what begins front matter."""
    item_type = ItemType.DIRECTIVE if "directive" in unit else ItemType.KNOWLEDGE

    def took(size: int, start: str) -> float:
        began = time.process_time()
        with suppress(ItemError):
            parse((start + unit * size).encode()[:size], item_type=item_type, item_id="a", suffix=".md")
        return time.process_time() - began

    for start in ("", "---\n"):
        whole = took(MAX_BYTES, start)
        assert whole < SECONDS or whole < 8 * took(MAX_BYTES // 4, start)


def test_attack_a_hundred_thousand_headings() -> None:
    """The first 10,000 open sections, in about a second."""
    began = time.process_time()
    assert len(read("knowledge/a.md", "# A\n" * 100_000).sections) == 10_000
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize("unit", ["?", "&", "?a", "//", "@", "-", "a=", "bearer ", "--key ", "//a@", "?a="])
def test_attack_a_command_of_a_server_that_takes_long_to_read(unit: str) -> None:
    """80,000 question marks once took 29 seconds."""
    began = time.process_time()
    read("tools/mcp.json", json.dumps({"mcpServers": {"a": {"command": unit * 80_000}}}))
    assert time.process_time() - began < SECONDS


def test_attack_a_list_of_servers_is_read_in_linear_time_as_safe_text() -> None:
    """Of tens of thousands of MCP servers each gets its line; surrogates, controls and deep values are as elsewhere."""
    began = time.process_time()
    lines = ",\n".join(f'"a{number}": 1' for number in range(60_000))
    symbols = read("tools/mcp.json", f'{{"mcpServers": {{{lines}}}}}').symbols
    assert [symbol.line for symbol in symbols] == [*range(1, 60_001)]
    assert time.process_time() - began < SECONDS
    item = read("tools/mcp.json", r'{"mcpServers": {"a\ud800": {"command": "b\ud800\u001b\nc", "args": ["\u0000"]}}}')
    assert "\ud800" not in f"{item.body}{item.symbols}{item.metadata}"
    assert not {"\x1b", "\0"}.intersection(item.body + item.symbols[0].signature)
    assert "\n" not in item.symbols[0].signature
    with pytest.raises(ItemError, match="deep"):
        read("tools/mcp.json", f'{{"mcpServers": {{"a": {{"args": {"[" * 900}{"]" * 900}}}}}}}')


def test_one_line_of_a_mebibyte_is_read() -> None:
    """A long line is no problem of any format."""
    line = "word " * 200_000
    assert len(read("knowledge/a.md", line).body) > 900_000
    assert read("tools/a.py", f'"""{line}"""').description.endswith("…")
    assert read("tools/a.yaml", f"description: {line}").description.endswith("…")


def test_text_that_would_control_a_terminal_is_replaced_by_spaces() -> None:
    """Escape sequences, NULs and other controls are blanks; marks that turn the reading direction are in no title."""
    item = read(
        "knowledge/a.md",
        '---\ntitle: "a\\u001b[31m\\u202eb\\u2066c"\ntags: ["x\\u0000y\\u009b"]\n---\n'
        "# A\x1b]0;own\x07\n\nText\x00with\x9bcontrols\x7f.\n".encode(),
    )
    assert item.title == "a [31m b c"
    assert item.tags == ("x y",)
    assert item.body == "# A ]0;own \n\nText with controls ."
    assert item.description == "Text with controls ."


def test_line_breaks_and_byte_order_mark_of_other_systems() -> None:
    """CR LF and lone CR end lines; a byte order mark is not a text; NEL and LS end none."""
    item = read("knowledge/a.md", b"\xef\xbb\xbf---\r\ntitle: T\r\n---\r\n# A\rText\xc2\x85more\xe2\x80\xa8more\r\n")
    assert (item.title, item.body, item.body_line) == ("T", "# A\nText more\u2028more", 4)
    assert item.sections[0].end_line == 5


def test_an_envelope_elsewhere_is_none() -> None:
    """A signature line shown in a document is text; the file has no envelope."""
    line = "<!-- rye:signed:2026-02-18T00:00:00Z:aa:bb:cc -->"
    item = read("knowledge/a.md", f"# Signing\n\nIt looks so:\n\n{line}\n")
    assert item.envelope is None
    assert line in item.body


def test_a_file_that_is_only_an_envelope_is_empty() -> None:
    """Nothing but the signature line, with or without its line break."""
    for end in ("", "\n", "\r\n"):
        item = read("tools/a.py", f"# rye:signed:2026{end}".encode())
        assert item.envelope is not None
        assert (item.body, item.body_line, item.symbols) == ("", 1, ())
