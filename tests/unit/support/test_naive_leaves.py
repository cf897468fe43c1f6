"""The twin's leaves: what each kind of leaf finds in one text, counted by hand."""

from __future__ import annotations

import pytest

from rye.errors import QueryError
from rye.query.ast import Fuzzy, Near, Node, Or, Phrase, Wildcard, Word
from tests.support.naive_analysis import analyze
from tests.support.naive_leaves import compile_leaf, frequency, whole_pattern, wildcard_parts


def tf(node: Node, *values: str) -> float:
    """Return the frequency of a leaf in one field with these values, the only text there is."""
    text = analyze(values)
    return frequency(compile_leaf(node, dict.fromkeys(text.positions, 1)), text)


def near(*operands: Node, distance: int = 1) -> Near:
    """Return a chain of equal distances."""
    return Near(operands, (distance,) * (len(operands) - 1))


SINGLE = [
    (Word("file"), "File, file; files filing", 1 + 1 + 0.6 + 0.6),
    (Word("files"), "file file files", 0.6 + 0.6 + 1),
    (Word("file"), "profile", 0),
    (Word("filesystem"), "file-system", 1),
    (Word("system"), "file-system", 1),
    (Wildcard("file*"), "file-system profile files", 3),
    (Wildcard("FI?E"), "file fine filed", 2),
    (Wildcard("*file*"), "file-system profile", 3),
    (Wildcard("file-*"), "files file", 1),
    (Wildcard("*.*-file"), "file", 1),
    (Fuzzy("direcive"), "directive directives", (1 - 1 / 8) + (1 - 2 / 8)),
    (Fuzzy("file"), "file fine find", 1 + (1 - 1 / 4)),
    (Fuzzy("file", 2), "file fine find", 1 + (1 - 1 / 4) + (1 - 2 / 4)),
    (Fuzzy("file", 0), "file fine", 1),
    (Fuzzy("is"), "is it", 1),
    (Fuzzy("a", 1), "b a ab", 1),
    (Phrase("files"), "file files", 1),
]


@pytest.mark.parametrize(("node", "text", "expected"), SINGLE)
def test_a_term_query_of_one_part(node: Node, text: str, expected: float) -> None:
    """Every occurrence of every term it stands for counts with the term's weight."""
    assert tf(node, text) == pytest.approx(expected)


SEVERAL = [
    (Word("file-system"), "file system", 1),
    (Word("file-system"), "filesystem", 1),
    (Word("file-system"), "file-system", 1),
    (Word("file-system"), "files system; filesystems", 0.6),
    (Word("file-system"), "files systems file-system", 0.6 + 1),
    (Word("file-system"), "system file", 0),
    (Word("don't"), "don t", 1),
    (Word("don't"), "dont", 0),
    (Wildcard("file-*-read"), "file system read", 1),
    (Wildcard("file-*-read"), "file-read", 0),
    (Wildcard("file*-read"), "file-read files read filesystem-read", 3),
    (Wildcard("file-sys*"), "filesystem", 0),
    (Wildcard("*-file-system-*"), "file system", 1),
    (Fuzzy("file-sistem"), "fine system", min(1 - 1 / 4, 1 - 1 / 6)),
    (Fuzzy("file-sistem"), "filesystem", 1 - 1 / 10),
    (Fuzzy("file-sistem", 0), "filesystem", 0),
    (Phrase("file system"), "file system files system file-system filesystem", 2),
    (Phrase("file-system"), "filesystem", 0),
    (Phrase("file file"), "file file file", 2),
    (Phrase("HTTP server!"), "an HTTPServer", 1),
]


@pytest.mark.parametrize(("node", "text", "expected"), SEVERAL)
def test_a_term_query_of_several_parts(node: Node, text: str, expected: float) -> None:
    """Parts stand at consecutive positions; words and fuzzy words also match joined; each start counts once."""
    assert tf(node, text) == pytest.approx(expected)


def test_a_phrase_stays_within_one_value() -> None:
    """The end of one tag and the beginning of the next are not contiguous."""
    assert tf(Phrase("b c"), "a b", "c d") == 0
    assert tf(Phrase("b c"), "a b c") == 1


SLOP = [
    (Phrase("a b", 0), "a b", 1),
    (Phrase("a b", 0), "b a", 1),
    (Phrase("a b", 0), "a x b", 0),
    (Phrase("a b", 1), "a x b", 1),
    (Phrase("a b", 1), "b x x a", 0),
    (Phrase("a b c", 2), "c x a x b", 1),
    (Phrase("a a", 0), "a b", 0),
    (Phrase("a a", 1), "a x a", 1),
    (Phrase("a a b", 0), "a b a", 1),
    (Phrase("a b", 0), "a b a", 1),  # both a survive, the one b sets the count
    (Phrase("a b", 0), "a b a b", 2),
    (Phrase("a a b", 1), "a a b x x x x a a b", 2),  # 4 a by 2 of them, 2 b
    (Phrase("a b", 0), "a b x a", 1),  # the last a is in no window with b
    (Phrase("a", 3), "a x a", 2),
    (Phrase("sign", 3), "signs", 0),
]


@pytest.mark.parametrize(("node", "text", "expected"), SLOP)
def test_words_in_any_order_within_a_window(node: Node, text: str, expected: float) -> None:
    """All words with their multiplicity in one window; the rarest sets how often."""
    assert tf(node, text) == expected


NEAR = [
    (near(Word("a"), Word("b")), "a b", 1),
    (near(Word("a"), Word("b")), "b a", 1),
    (near(Word("a"), Word("b")), "a x b", 0),
    (near(Word("a"), Word("b"), distance=2), "a x b", 1),
    (near(Word("a"), Word("b"), distance=2), "a x b x a", 1),
    (near(Word("a"), Word("b"), distance=2), "a b a b", 2),
    (near(Word("sign"), Word("x")), "signs x sign", 1),
    (near(Word("sign"), Word("x")), "signs x", 0.6),
    (near(Word("a"), Word("a")), "a", 0),  # no place is near itself
    (near(Word("a"), Word("a")), "a a", 2),
    (near(Word("a"), Word("b"), Word("c")), "a b c", 1),
    (near(Word("a"), Word("b"), Word("c")), "b a c", 0),  # a and c are neighbours of b, not of each other
    (near(Word("a"), Word("b"), Word("c"), distance=3), "a x b x c x x x a x b", 1),
    (near(Word("a"), Word("b"), Word("a")), "a b", 1),  # the ends may be the same place
    (near(Phrase("a b"), Word("c")), "a b c", 1),
    (near(Phrase("a b"), Word("b")), "a b", 0),  # they overlap
    (near(Phrase("a b"), Word("c"), distance=2), "c x a b", 1),
    (near(Phrase("a b"), Word("c"), distance=1), "c x a b", 0),
    (near(Word("file-system"), Word("x")), "file system x", 1),
    (near(Word("file-system"), Word("x")), "filesystem x", 1),
    (near(Word("file-system"), Word("x")), "file-system x", 1),  # it ends where its last part stands
    (near(Wildcard("file*"), Word("x"), distance=2), "file-system x", 1),  # file and filesystem in one place
    (near(Or((Word("a"), Word("b"))), Word("c")), "a c b", 1),
    (near(Or((Word("sign"), Word("signs"))), Word("x")), "signs x", 1),
    (near(Fuzzy("direcive"), Word("x")), "directive x", 1 - 1 / 8),
]


@pytest.mark.parametrize(("node", "text", "expected"), NEAR)
def test_operands_near_each_other(node: Node, text: str, expected: float) -> None:
    """Neighbours of the chain stand apart by at most the distance; the operand with the least left sets how often."""
    assert tf(node, text) == pytest.approx(expected)


def test_near_does_not_reach_into_another_value() -> None:
    """Values of one field stand further apart than people write."""
    assert tf(near(Word("a"), Word("b"), distance=100), "a", "b") == 0
    assert tf(near(Word("a"), Word("b"), distance=101), "a", "b") == 1


@pytest.mark.parametrize(
    "node", [Word("++"), Fuzzy("-"), Phrase("… !"), Phrase("", 2), Wildcard("?"), Wildcard(r"\*"), Wildcard("+*\u0301")]
)
def test_a_term_query_without_letters_and_digits_is_an_error(node: Node) -> None:
    """It could match nothing, so it is said, not searched."""
    with pytest.raises(QueryError) as caught:
        tf(node, "text")
    assert caught.value.code == "no-searchable-text"


def test_a_wildcard_that_leaves_nothing_out_is_every_item() -> None:
    """Stars alone, joined or not."""
    assert [wildcard_parts(pattern) for pattern in ("*", "**", "*-*", "*/*/*")] == [[], [], [], []]


def test_escaped_wild_characters_are_literal() -> None:
    """In a whole value they stand for themselves."""
    assert whole_pattern(r"a\*b*").fullmatch("a*bc")
    assert not whole_pattern(r"a\*b*").fullmatch("axbc")
    assert whole_pattern("A?C").fullmatch("a\nc")


def test_expansions_are_cut_but_never_the_word_itself() -> None:
    """Of more than 1,024 terms the most frequent stay, then those first in order."""
    terms = {f"w{number:04}": 1 for number in range(1500)} | {"w9999": 7}
    kept = compile_leaf(Wildcard("w*"), terms).positions[0]  # type: ignore[union-attr]
    assert kept is not None
    assert len(kept) == 1024
    assert "w9999" in kept
    assert "w1022" in kept
    assert "w1023" not in kept
    fuzzy = compile_leaf(Fuzzy("w1499", 2), terms).positions[0]  # type: ignore[union-attr]
    assert fuzzy is not None
    assert fuzzy["w1499"] == 1.0
