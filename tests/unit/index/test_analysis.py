"""What a word is: chunks, parts, joined forms, and where each stands in the text."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index.text import analysis
from tests.support import naive_analysis
from tests.unit.index.segments import item, write

TRICKY = "aBcZ09_-./ \n'+#=>🌿→│\u0301\u0345\u093f\u0e31ßſﬁİıΣςǅŉⅣ½²٣你ガ한\u1112\u1161￥：，…\u00a0\ud800😀ẞᾈΐ"
TEXTS = st.text(st.one_of(st.sampled_from(TRICKY), st.characters()), max_size=24)


@pytest.mark.parametrize(
    ("chunk", "tokens"),
    [
        ("deploy", "deploy@0"),
        ("Deploy", "deploy@0"),
        ("file-system", "file@0 filesystem@0 system@1"),
        ("file_system", "file@0 filesystem@0 system@1"),
        ("fileSystem", "file@0 filesystem@0 system@1"),
        ("HTTPServer", "http@0 httpserver@0 server@1"),
        ("v2Beta", "v@0 v2beta@0 2@1 beta@2"),
        ("sha256", "sha@0 sha256@0 256@1"),
        ("OAuth2", "o@0 oauth2@0 oauth@0 auth@1 2@2"),
        ("h264", "h264@0"),
        ("abc12def", "abc12def@0"),
        ("lib/C++", "lib@0 libc@0 c@1 c++@1"),
        ("C#", "c@0 c#@0"),
        (".NET", "net@0 .net@0"),
        ("--flag", "flag@0 --flag@0"),
        ("->", "->@0"),
        ("🌿", "🌿@0"),
        ("2.0.0", "2@0 200@0 0@1 0@2"),
        ("a-a", "a@0 aa@0 a@1"),
        ("rye/file-system/read", "rye@0 ryefilesystemread@0 file@1 filesystem@1 system@2 read@3"),
        ("rye/core", "rye@0 ryecore@0 core@1"),
        ("e.g", "e@0 eg@0 g@1"),
        ("a//b", "a@0 ab@0 b@1"),
        ("Straße", "strasse@0"),
        ("ΩΜΈΓΑ", "ωμέγα@0"),
        ("ÉcoleÀ", "école@0 écoleà@0 à@1"),
        ("ÀÉtat", "à@0 àétat@0 état@1"),
        ("数据库", "数@0 数据库@0 据@1 库@2"),
        ("gpt模型-x", "gpt@0 gpt模型x@0 模@1 型@2 x@3"),
        ("ข้อมูล", "ข้@0 ข้อมูล@0 อ@1 มู@2 ล@3"),
        ("백업", "백@0 백업@0 업@1"),
    ],
)
def test_a_chunk_gives_its_parts_and_joined_forms(chunk: str, tokens: str) -> None:
    """Parts take consecutive positions; a joined form stands at its first part, behind it."""
    assert " ".join(f"{token.term}@{token.offset}" for token in analysis.analyze_chunk(chunk)) == tokens


def test_attack_a_text_of_marks_is_normalized_in_time(tmp_path: Path) -> None:
    """Marks in the worst order, which Python's own normalization takes a time for that grows with their square."""
    began = time.process_time()
    for marks in ("\u0301\u0316", "\u0301\uff9e", "\u0316😀\u0301\u0316"):
        write(tmp_path / f"{ord(marks[1])}", [item("x", body=f"e{marks * 50_000} deploy")])
    assert time.process_time() - began < 20


@given(st.lists(TEXTS, max_size=3))
def test_texts_are_read_as_the_twin_reads_them(values: list[str]) -> None:
    """Terms, positions and length of a field equal those of the naive reading, on any Unicode text."""
    positions: dict[str, set[int]] = {}
    length = 0
    position = 0
    for value in values:
        before = length
        for chunk in analysis.chunks(analysis.normalize(value)):
            tokens = analysis.analyze_chunk(chunk)
            for token in tokens:
                positions.setdefault(token.term, set()).add(position + token.offset)
            position += sum(token.part for token in tokens)
            length += sum(token.part for token in tokens)
        position += analysis.VALUE_GAP if length > before else 0
    twin = naive_analysis.analyze(values)
    assert {term: tuple(sorted(places)) for term, places in positions.items()} == twin.positions
    assert length == twin.length


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("a file-system", {"a": "a", "file": "file", "filesystem": "file-system", "system": "system"}),
        (
            "rye/fileSystem/Read",
            {"rye": "rye", "filesystem": "fileSystem", "ryefilesystemread": "rye/fileSystem/Read", "read": "Read"},
        ),
        ("Straße", {"strasse": "Straße"}),
        ("x-Straße", {"x": "x-Straße", "strasse": "x-Straße", "xstrasse": "x-Straße"}),
        ("ΩΜΈΓΑ!", {"ωμέγα": "ΩΜΈΓΑ"}),
    ],
)
def test_a_token_is_located_where_it_is_written(text: str, ranges: dict[str, str]) -> None:
    """A token's range holds its own letters; where folding changes lengths it is the whole chunk."""
    found = {
        token.term: text[start + token.start : start + token.end]
        for start, chunk in analysis.locate_chunks(text)
        for token in analysis.locate(chunk)
    }
    assert found.items() >= ranges.items()


@pytest.mark.parametrize(
    ("glob", "parts"),
    [
        ("file*", ["file*"]),
        ("rye/Core/*", ["rye", "core", "*"]),
        ("fileSys*", ["file", "sys*"]),
        ("*-*", ["*", "*"]),
        (r"a\*b", ["a", "b"]),
        (r"a\?*", ["a", "*"]),
        (r"c\\d?", ["c", "d?"]),
        ("Stra?e.ﬁ*", ["stra?e", "fi*"]),
        ("c++*", ["c", "*"]),
        ("e\u0301?", ["é?"]),
        ("", []),
        ("--", []),
    ],
)
def test_a_glob_splits_where_a_word_does(glob: str, parts: list[str]) -> None:
    """Joiners and other signs split, an escaped star too; camelCase does not."""
    assert analysis.glob_parts(glob) == parts
