"""The twin's analysis, against tables written by hand."""

from __future__ import annotations

import pytest

from tests.support.naive_analysis import (
    VALUE_GAP,
    analyze,
    automatic_distance,
    can_be_searched,
    fold,
    joined_form,
    levenshtein,
    parts,
    stem,
)

ANALYSIS = {
    "file system": "file@0 system@1",
    "file-system": "file@0 filesystem@0 system@1",
    "fileSystem": "file@0 filesystem@0 system@1",
    "File_System.": "file@0 filesystem@0 system@1",
    "rye/file-system/read": "file@1 filesystem@1 read@3 rye@0 ryefilesystemread@0 system@2",
    "rye/core": "core@1 rye@0 ryecore@0",
    "HTTPServer": "http@0 httpserver@0 server@1",
    "v2Beta": "beta@1 v2@0 v2beta@0",
    "sha256 SHA256Sum": "256@1 sha@0 sha256@0,2 sha256sum@2 sum@3",
    "aB": "a@0 ab@0 b@1",
    "AB ABc": "a@1 ab@0 abc@1 bc@2",
    "1.0.0-beta": "0@1,2 1@0 100beta@0 beta@3",
    "-a- ./b/. --": "-a@0 a@0 b@1",
    "don't C++ #x @y": "#x@3 c@2 c++@2 don@0 t@1 x@3 y@4",
    "a--b": "a@0 ab@0 b@1",
    "Straße ﬁle \uff26ile": "file@1,2 strasse@0",
    "cafe\u0301 caf\u00e9": "caf\u00e9@0,1",
    "x/a-b/c_d": "a@1 ab@1 b@2 c@3 cd@3 d@4 x@0 xabcd@0",
    "日本語": "日@0 日本語@0 本@1 語@2",
    "… — !": "",
    "": "",
}


@pytest.mark.parametrize("text", ANALYSIS)
def test_a_text_has_the_terms_at_the_positions_of_the_table(text: str) -> None:
    """Chunks split at joiners and camelCase; joined forms stand at the position of the first part."""
    found = analyze((text,))
    shown = (f"{term}@{','.join(map(str, places))}" for term, places in sorted(found.positions.items()))
    assert " ".join(shown) == ANALYSIS[text]


def test_the_length_counts_parts_only() -> None:
    """A joined form makes no field longer."""
    assert analyze(("rye/file-system/read",)).length == 4
    assert analyze(("...",)).length == 0


def test_values_of_one_field_stand_apart() -> None:
    """The second value begins a gap behind the first; a value without words leaves none; the length is the sum."""
    found = analyze(("one two", "++", "three"))
    assert found.positions == {"one": (0,), "two": (1,), "three": (2 + VALUE_GAP,)}
    assert found.length == 3


def test_terms_are_cut_at_255_characters() -> None:
    """Of a longer part, and of a longer joined form, the first 255 characters are the term."""
    found = analyze(("x" * 300, "y" * 200 + "-" + "z" * 100))
    assert {term[0]: len(term) for term in sorted(found.positions, key=len)} == {"x": 255, "y": 255, "z": 100}
    assert "y" * 200 + "z" * 55 in found.positions


def test_folding_ends_in_normal_form() -> None:
    """Casefolding may leave a text that is not NFKC; a term is."""
    assert fold("\u1e9e") == "ss"
    assert fold("\u0130") == "i\u0307"
    assert fold("\u03a9\u0345") == "ωι"


def test_a_query_word_has_one_joined_form_or_none() -> None:
    """A word of one chunk is joined as a whole; one part, or several chunks, leave nothing to join."""
    assert joined_form("rye/file-system") == "ryefilesystem"
    assert joined_form("file") is None
    assert joined_form("don't") is None
    assert parts("don't") == ["don", "t"]


def test_a_mark_alone_is_nothing_to_search_for() -> None:
    """Only letters and digits make a text searchable."""
    assert not can_be_searched("\ufe0f ++ _")
    assert can_be_searched("+x")


def test_stems_are_english() -> None:
    """Inflections share a stem, derived words need not."""
    assert {stem(term) for term in ("sign", "signs", "signed", "signing")} == {"sign"}
    assert stem("signal") != "sign"


@pytest.mark.parametrize(
    ("left", "right", "edits"),
    [("", "", 0), ("abc", "", 3), ("direcive", "directive", 1), ("depoly", "deploy", 2), ("kitten", "sitting", 3)],
)
def test_edit_distance(left: str, right: str, edits: int) -> None:
    """Insertions, deletions and substitutions count one each, a transposition two; either way round."""
    assert levenshtein(left, right) == levenshtein(right, left) == edits


def test_the_automatic_distance_grows_with_the_word() -> None:
    """Up to 2 characters none, up to 5 one, else two."""
    assert [automatic_distance("x" * length) for length in (1, 2, 3, 5, 6, 20)] == [0, 0, 1, 1, 2, 2]
