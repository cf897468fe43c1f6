"""Any bytes at all: an item comes out, or an item error, and what comes out keeps its promises."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.errors import ItemError
from rye.items import yaml
from rye.items.front_matter import load_lines
from rye.items.guarded import load_toml
from rye.items.markdown import read_markdown
from rye.items.model import STATED_KEYS, ItemType
from rye.items.reader import EXTENSIONS, parse
from rye.items.values import decode
from rye.search.page.section_text import sections_of
from tests.fuzz.targets import check_item
from tests.support.naive_markdown import headings

FORMATS = [(item_type, suffix) for item_type in ItemType for suffix in sorted(EXTENSIONS[item_type])]

PIECES = (
    *(b"---\n", b"```yaml\n", b"```xml\n", b"```\n", b"~~~\n", b"# ", b"## H\n", b"<!--", b"-->", b"\xef\xbb\xbf"),
    *(b"<directive name=\"a\" version='1'>", b"</directive>", b"<metadata>", b"</metadata>", b"<description>", b"<a/>"),
    *(
        b"<inputs>",
        b"<input name='x'>",
        b"</input>",
        b"</inputs>",
        b"<![CDATA[",
        b"]]>",
        b"&amp;",
        b"&#xD800;",
        b"&#0;",
    ),
    *(b"title: T\n", b"tags: [a, b]\n", b"version: 1.10\n", b"name: x\n", b"type: tool\n", b"id: a/b\n", b": ", b"- "),
    *(b"&a ", b"*a ", b"<<: ", b"!!int ", b"|\n ", b"{", b"}", b"[", b"]", b'"', b"'", b'"""', b"\\ud800", b"\\"),
    *(b'{"a": 1}', b"NaN", b"1e999", b"9" * 5000, b"a.b = 1\n", b"[t]\n", b"2026-02-18", b"2026-1-1 1:00:00 -5"),
    *(b'__version__ = "1"\n', b"__tags__ = {1}\n", b"def f():\n    ...\n", b"class A:\n", b"    def g(self): pass\n"),
    *(b"// @version 1\n", b"/** @a b\n", b"*/", b"export const __a__ = 'b';\n", b"function f() {\n}\n", b"#!/bin/sh\n"),
    *(b"# rye:signed:2026:aa:bb:cc\n", b"<!-- rye:signed:2026 -->\n", b"# rye:unsigned\n", b"\r\n", b"\r", b"\x00"),
    *(
        b"\x1b[31m",
        b"\xff",
        b"\xed\xa0\x80",
        b"\xe2\x80\xae",
        b"\xc2\x85",
        b"\x0c",
        b"\t",
        b"\n",
        b"\n\n",
        b" ",
        b"word",
    ),
)

files = st.one_of(
    st.binary(max_size=300),
    st.text(max_size=200).map(str.encode),
    st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join),
    st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=5)), max_size=20).map(b"".join),
)
ids = st.sampled_from(["a", "ops/a", "a.b/c.d"])


@pytest.mark.parametrize(("item_type", "suffix"), FORMATS)
def test_any_bytes_are_an_item_or_an_item_error(item_type: ItemType, suffix: str) -> None:
    """No other exception leaves the reader, whatever the bytes; the same bytes give the same item."""

    @given(files, ids)
    def check(data: bytes, item_id: str) -> None:
        check_item(data, item_type, suffix, item_id)

    check()


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(
        st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufeff\ufffe\uffff"),
        max_size=10,
    ),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text("abc", max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(values)
def test_yaml_reads_json_as_json_does(value: object) -> None:
    """JSON is YAML: what is written as JSON is read as the same value."""
    assert yaml.load(json.dumps(value, ensure_ascii=False)) == value


@given(st.text(max_size=100))
def test_yaml_of_any_text_is_plain_data_or_an_item_error(text: str) -> None:
    """No other exception leaves the loader, and JSON can say what comes out."""
    try:
        value = yaml.load(text)
    except ItemError:
        return
    json.dumps(value, allow_nan=False).encode()


LINES = (
    *(
        "Title",
        "of two lines",
        "===",
        "---",
        "-",
        "--",
        "=",
        "   ---  ",
        "",
        "",
        "    code",
        "\tcode",
        "# A",
        "## B ##",
    ),
    *("- item", "1. one", "> quote", "| a | b |", "a | b", "--- | ---", "```", "```sh", "``a`` ```b```", "~~~", "***"),
    *("<!-- # c -->", "<!--", "  <!-- open", "end -->", "--> x", "<!-->", "text <!-- in", "    <!--"),
    *("* * *", "<div>", "<https://a.b>", "[a]: /b", "a `b`", "- - -", " \t", "#", "   Title", "====="),
)


@given(st.lists(st.sampled_from(LINES), max_size=14))
def test_headings_are_those_of_commonmark(lines: list[str]) -> None:
    """Level, text and line of each heading outside quotes, as ``markdown-it-py`` finds them; sections hold the rest."""
    body = "\n".join(["Words.", "", *lines, "", "Words."])
    item = parse(body.encode(), item_type=ItemType.KNOWLEDGE, item_id="k", suffix=".md")
    found = [(one.level, " ".join(one.heading_path[-1].split()), one.line - 1) for one in item.sections if one.level]
    assert found == headings(item.body)
    for section in item.sections:
        assert section.text == item.body[slice(*section.span)]
        assert section.line == 1 + item.body.count("\n", 0, section.start)
    for own in sections_of(item):
        first, last = own.chunks[0][0], own.chunks[-1][1]
        assert item.body[first:last] == own.text


keys = st.from_regex(r"[a-z][a-z_-]{0,9}", fullmatch=True)
shown = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters="\ufffe\uffff")
plain = st.text(shown, max_size=30)
"""What YAML takes as it is."""
lines = st.lists(st.sampled_from(PIECES).map(lambda piece: piece.decode("utf-8", "replace")), max_size=25).map("".join)


@given(st.one_of(lines, st.text(max_size=200)))
def test_what_is_yaml_is_read_as_yaml_and_nothing_else_raises(text: str) -> None:
    """Reading line by line gives a table of JSON or nothing, and is no part of what YAML says."""
    loose = load_lines(text)
    assert loose is None or json.loads(json.dumps(loose, ensure_ascii=False)) == loose
    if any(line.rstrip() in {"---", "..."} for line in text.splitlines()):
        return
    try:
        strict = yaml.load(text, as_text=STATED_KEYS)
    except ItemError:
        return
    if isinstance(strict, dict):
        source = decode(f"---\n{text}\n---\n".encode("utf-8", "surrogatepass"))
        assert yaml.load(source[4:-4], as_text=STATED_KEYS) == read_markdown(source, ItemType.KNOWLEDGE).metadata


@given(st.dictionaries(keys, st.one_of(plain, st.lists(plain, max_size=3), st.integers(), st.booleans()), min_size=1))
def test_a_table_of_yaml_is_the_same_line_by_line(table: dict[str, Any]) -> None:
    """Of text, numbers and lists, on lines of their own, each entry is what it is among the others."""
    text = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items())
    assert load_lines(text) == yaml.load(text)


@given(st.dictionaries(keys, plain.map(str.strip).filter(bool), min_size=1))
def test_text_without_quotes_is_what_stands_there(table: dict[str, str]) -> None:
    """Whatever YAML makes of it: a name and a description are never lost."""
    text = "".join(f"{key}: {value}\n" for key, value in table.items())
    found = load_lines(text + "broken: a: b\n")
    assert found is not None
    assert {*table, "broken"} == set(found)


TOML_PIECES = (
    '"',
    '"""',
    "'",
    "'''",
    "#",
    "\n",
    "a",
    "b=",
    "\\",
    '\\"',
    'x="',
    "y='",
    '""',
    "1",
    "[",
    "]",
    " ",
    ",",
    "\r\n",
    "=",
)
toml_text = st.lists(st.sampled_from(TOML_PIECES), max_size=5).map("".join)


@given(st.sampled_from(('"""', "'''", '"', "'")), toml_text, st.sampled_from(("", '"', '""', "'", "''")), toml_text)
def test_no_string_or_comment_hides_a_long_key_of_toml(quote: str, inside: str, more: str, behind: str) -> None:
    """Where tomllib reads what stands above it, a key that is too long is found."""
    above = f"k = {quote}{inside}{quote}{more}{behind}\n"
    try:
        tomllib.loads(above)
    except ValueError:
        return
    with pytest.raises(ItemError, match="nests deeper"):
        load_toml(f"{above}{'z.' * 100}z = 1\n")
