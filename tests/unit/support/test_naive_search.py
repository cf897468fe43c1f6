"""The twin of search as a whole: scores by hand, fields, filters, scopes, order and relaxation."""

from __future__ import annotations

import math

import pytest

from rye.errors import QueryError
from rye.items.model import ItemType, Section, Symbol
from rye.query import ast
from rye.query.ast import (
    And,
    Boost,
    Compare,
    Everything,
    Exists,
    Field,
    Fuzzy,
    Node,
    Not,
    Or,
    Phrase,
    Range,
    Wildcard,
    Word,
)
from tests.unit.support.helpers import doc, find, ids

ALPHA = doc("alpha", title="file", body="file file text")
BETA = doc("beta", title="two words", body="one text")


def test_the_score_of_one_word_by_hand() -> None:
    """One leaf: its idf cancels, and what is left is tf~ / (k1 + tf~).

    In ``alpha`` the word is once in the title (length 1, mean 1.5, b 0.5, weight 7) and twice in the body (length 3,
    mean 2.5, b 0.75, weight 2.3).
    """
    tf = 7 * 1 / (1 - 0.5 + 0.5 * 1 / 1.5) + 2.3 * 2 / (1 - 0.75 + 0.75 * 3 / 2.5)
    assert tf == pytest.approx(8.4 + 4.6 / 1.15) == pytest.approx(12.4)
    answer = find([ALPHA, BETA], Word("file"))
    assert answer.ids == (("tool", "alpha", "project"),)
    assert list(answer.scores) == pytest.approx([tf / (9.0 + tf)])
    assert tf / (9.0 + tf) == pytest.approx(0.5794393)


def test_the_score_of_two_words_by_hand() -> None:
    """``file OR text^2``: of 2 items 1 has ``file``, both have ``text``; a leaf that is missing adds nothing."""
    idf_file = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    idf_text = math.log(1 + (2 - 2 + 0.5) / (2 + 0.5))
    assert [idf_file, idf_text] == pytest.approx([math.log(2), math.log(1.2)])
    file_in_alpha = 8.4 + 4.6 / 1.15
    text_in_alpha = 2.3 / (0.25 + 0.75 * 3 / 2.5)
    text_in_beta = 2.3 / (0.25 + 0.75 * 2 / 2.5)
    most = idf_file + 2 * idf_text
    alpha = (
        idf_file * file_in_alpha / (9.0 + file_in_alpha) + 2 * idf_text * text_in_alpha / (9.0 + text_in_alpha)
    ) / most
    beta = 2 * idf_text * text_in_beta / (9.0 + text_in_beta) / most
    answer = find([BETA, ALPHA], Or((Word("file"), Boost(Word("text"), 2.0))))
    assert answer.ids == (("tool", "alpha", "project"), ("tool", "beta", "project"))
    assert list(answer.scores) == pytest.approx([alpha, beta])
    assert [alpha, beta] == pytest.approx([0.442371, 0.079684], abs=1e-6)


def test_a_term_query_adds_to_the_score_wherever_it_matches() -> None:
    """``text OR (file AND nowhere)``: the ``file`` of an item counts though its AND does not hold."""
    plain = find([ALPHA, BETA], Word("text")).scores[0]
    query = Or((Word("text"), And((Word("file"), Word("nowhere")))))
    alpha, beta = find([ALPHA, BETA], query).docs
    assert (alpha, beta) == (ALPHA, BETA)
    assert find([ALPHA, BETA], query).scores[0] > plain / 10


def test_excluded_term_queries_and_tests_take_no_part_in_the_score() -> None:
    """Only what is asked for counts; with nothing asked for every score is 1."""
    both = [ALPHA, BETA]
    assert find(both, And((Word("text"), Not(Word("two"))))).scores == find(both, Word("text")).scores[1:]
    assert find(both, And((Word("text"), Field("type", Word("tool"))))).scores == find(both, Word("text")).scores
    assert find(both, Not(Not(Word("file")))).scores == find(both, Word("file")).scores
    for query in (Everything(), Not(Word("file")), Field("is", Word("unsigned")), Exists("title")):
        assert set(find(both, query).scores) == {1.0}


def test_filters_and_scopes_leave_the_statistics_alone() -> None:
    """What is hidden or filtered away still counts in N, df and the mean lengths; another space does not."""
    hidden = doc("gamma", body="file", metadata={"deprecated": True})
    foreign = doc("delta", source="user", body="file")
    score = find([ALPHA, BETA], Or((Word("file"), Word("text")))).scores[0]
    query = Or((Word("file"), Word("text")))
    assert find([ALPHA, BETA, hidden], query).scores[0] != score
    assert find([ALPHA, BETA, hidden], query).total == 2
    assert find([ALPHA, BETA, foreign], query, filters={"space": "project"}).scores[0] != score
    assert find([ALPHA, BETA, foreign], query, space="project").scores[0] == score


def test_a_word_is_found_in_every_text_field() -> None:
    """Each of the nine, under its own name and its alias; the level says which of them a bare word means."""
    full = doc(
        "ida/nameb",
        title="titlec",
        description="descriptiond",
        category="categorye",
        tags=("tagf",),
        body="bodyg",
        sections=(Section(("outer", "headingh"), 2, 1, 1, ""), Section((), 0, 1, 1, "")),
        symbols=(Symbol("symboli", "function", 1, 1),),
    )
    words = {
        "id": "ida",
        "name": "nameb",
        "title": "titlec",
        "description": "descriptiond",
        "category": "categorye",
        "tag": "tagf",
        "body": "bodyg",
        "heading": "headingh",
        "symbol": "symboli",
    }
    for field, word in words.items():
        assert ids([full, ALPHA], Word(word)) == ["ida/nameb"]
        assert ids([full, ALPHA], Field(field, Word(word))) == ["ida/nameb"]
        level = 2 if field in {"body", "heading", "symbol"} else 1
        assert ids([full], Word(word), level=level) == ["ida/nameb"]
        assert ids([full], Word(word), level=3 - level, relax=False) == []
        assert ids([full], Field(field, Word(word)), level=3 - level) == ["ida/nameb"]
    assert ids([full], Field("title", Word("bodyg")), relax=False) == []
    assert ids([full], Field("headings", Word("outer"))) == []


def test_keyword_fields_hold_whole_values() -> None:
    """Casefolded and exact, or a wildcard over the whole value; metadata keys are dotted, lists have several values."""
    one = doc("one", source="system:kit", verdict="tampered", author="Grace Hopper", version="1.0", created="2026-02")
    two = doc("two", metadata={"a": {"b": ["Red", 3]}, "flag": True})
    both = [one, two]
    assert ids(both, Field("author", Phrase("grace HOPPER"))) == ["one"]
    assert ids(both, Field("author", Word("grace"))) == []
    assert ids(both, Field("author", Wildcard("g*R"))) == ["one"]
    assert ids(both, Field("source", Word("system"))) == ["one"]
    assert ids(both, Field("bundle", Word("Kit"))) == ["one"]
    assert ids(both, Field("is", Word("signed"))) == ["one"]
    assert ids(both, Field("a.b", Or((Word("red"), Word("blue"))))) == ["two"]
    assert ids(both, Field("a.b", Word("3"))) == ["two"]
    assert ids(both, Field("flag", Word("TRUE"))) == ["two"]
    assert ids(both, Exists("bundle")) == ["one"]
    assert ids(both, Not(Exists("a.b"))) == ["one"]
    assert ids(both, Field("a.b", Everything())) == ["two"]
    assert ids(both, Compare("created", "<=", "2026")) == ["one"]
    assert ids(both, Range("version", "0.9", "1.0", include_high=False)) == []
    assert ids(both, Range("version", "0.9", "1.0")) == ["one"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (Field("titel", Word("x")), "unknown-field"),
        (Exists("titel"), "unknown-field"),
        (And((Field("titel", Word("x")), Not(Word("z")))), "unknown-field"),
        (Field("title", And((Word("x"), Field("tags", Word("y"))))), "nested-field"),
        (Field("title", Compare("version", ">", "1")), "nested-field"),
        (Field("title", Word("++")), "no-searchable-text"),
        (And((Word("x"), Not(Phrase("--")))), "no-searchable-text"),
        (Field("author", ast.Near((Word("x"), Word("y")), (1,))), "not-positional"),
    ],
)
def test_queries_that_mean_nothing_are_errors(query: Node, code: str) -> None:
    """Fields that no item has, fields inside other fields, leaves without text."""
    with pytest.raises(QueryError) as caught:
        find([doc("x", author="y", metadata={"a": {"b": 1}})], query)
    assert caught.value.code == code


def test_a_field_inside_itself_is_no_error() -> None:
    """An alias and its field are the same."""
    query = Field("tag", Or((Word("x"), Field("tags", Word("y")))))
    assert ids([doc("a", tags=("y",)), ALPHA], query) == ["a"]


def test_the_same_id_in_two_spaces_shadows() -> None:
    """Project before user before system, the first bundle before the second; whatever space is searched."""
    items = [doc("x", source) for source in ("system:one", "user", "project", "system:two")]
    items += [doc("x", "user", type=ItemType.KNOWLEDGE), doc("y", "user")]
    shadowed = Field("is", Word("shadowed"))
    assert [source for *_, source in find(items, shadowed).ids] == ["user", "system:one", "system:two"]
    shadowing = Field("is", Word("shadowing"))
    assert [source for *_, source in find(items, shadowing).ids] == ["project", "user", "system:one"]
    assert find(items, shadowed, space="user").total == 1


def test_ties_go_by_space_then_id_then_type_then_path() -> None:
    """With equal scores the order is the same every time."""
    items = [
        doc("b", "system:one"),
        doc("a", "system:two"),
        doc("a", "system:one"),
        doc("c", "user"),
        doc("d"),
        doc("a", "user", type=ItemType.KNOWLEDGE),
        doc("a", "user", type=ItemType.DIRECTIVE),
    ]
    assert find(items, Everything()).ids == (
        ("tool", "d", "project"),
        ("directive", "a", "user"),
        ("knowledge", "a", "user"),
        ("tool", "c", "user"),
        ("tool", "a", "system:one"),
        ("tool", "a", "system:two"),
        ("tool", "b", "system:one"),
    )


def test_the_order_by_name_and_by_date() -> None:
    """Names casefolded, then ids; the newest first by update or creation, undated last."""
    items = [
        doc("z/a", created="2026-01"),
        doc("B", updated="2026-03", created="2020"),
        doc("y/b", "user", created="soon"),
        doc("c", created="2026-01-01T00:00:01Z"),
        doc("d", "user", updated="2026"),
    ]
    assert ids(items, Everything(), sort_by="name") == ["z/a", "B", "y/b", "c", "d"]
    assert ids(items, Everything(), sort_by="date") == ["B", "c", "z/a", "d", "y/b"]


def test_pages_are_slices_of_the_whole() -> None:
    """The total does not depend on the page."""
    items = [doc(letter) for letter in "edcba"]
    assert ids(items, Everything(), limit=2, offset=2) == ["c", "d"]
    assert find(items, Everything(), limit=2, offset=9).total == 5
    assert find(items, Everything(), limit=2, offset=9).ids == ()


def test_an_exact_name_or_id_comes_first_under_score_order() -> None:
    """Even where the words of the query do not match it; scope and filters still hold, other orders are left alone."""
    items = [doc("a", title="not x not x", body="not x"), doc("lib/NOT x", "user"), doc("c")]
    query = Not(Word("a"))
    found = find(items, query, text=" not X ")
    assert [item_id for _, item_id, _ in found.ids] == ["lib/NOT x", "c"]
    assert found.exact == (True, False)
    assert ids(items, Word("not"), text="lib/not x")[0] == "lib/NOT x"
    assert ids(items, Word("x"), text="not x") == ["lib/NOT x", "a"]
    assert ids(items, Word("x"), text="not x", sort_by="name") == ["a", "lib/NOT x"]
    assert ids(items, Word("x"), text="not x", space="project") == ["a"]
    assert ids(items, Word("zzz"), text="lib/not x") == ["lib/NOT x"]


def test_field_queries_are_added_to_the_query() -> None:
    """All must match, and they count in the score."""
    items = [doc("a", title="file", category="core"), doc("b", title="file", category="ops")]
    assert ids(items, Word("file"), fields={"category": Word("core")}) == ["a"]
    both = And((Word("file"), Field("category", Word("core"))))
    assert find(items, Word("file"), fields={"category": Word("core")}).scores == find(items, both).scores


STAGES: list[tuple[Node, str, list[str]]] = [
    (Word("orchestrator"), "all", ["a"]),
    (Word("orchestrater"), "fuzzy", ["a"]),
    (And((Word("thread"), Word("orchestrater"))), "fuzzy", ["a"]),
    (And((Word("thread"), Word("filesystam"))), "fuzzy", ["b"]),
    (Word("orchest"), "substring", ["a"]),
    (And((Word("thread"), Word("esyst"))), "substring", ["b"]),
    (And((Word("orchestrator"), Word("filesystem"))), "any", ["a", "b"]),
    (And((Word("orchestrator"), Word("zzzzzz"))), "any", ["a"]),
    (And((Word("orchestrater"), Word("zzzzzz"))), "any", ["a"]),
    (Word("zzzzzz"), "all", []),
    (Fuzzy("zzzzzz"), "all", []),
    (Or((Word("orchest"), Word("zzzzzz"))), "all", []),
    (And((Word("orchest"), Not(Word("zzzzzz")))), "all", []),
]


@pytest.mark.parametrize(("query", "stage", "expected"), STAGES)
def test_bare_words_are_relaxed_step_by_step(query: Node, stage: str, expected: list[str]) -> None:
    """Until something is found; never once there was an operator, never when told not to."""
    items = [doc("a", title="thread orchestrator"), doc("b", title="thread file-system")]
    answer = find(items, query)
    assert (answer.stage, sorted(item_id for _, item_id, _ in answer.ids)) == (stage, expected)
    assert find(items, query, relax=False).total == (len(expected) if stage == "all" else 0)


def test_parts_of_words_answer_where_they_find_more_than_typos() -> None:
    """Else typos do, also where both find as many."""
    items = [doc("a", title="direct"), doc("b", title="directive"), doc("c", title="indirect timezone")]
    answer = find(items, Word("direc"))
    assert (answer.stage, answer.total) == ("substring", 3)
    assert find(items[:1], Word("direc")).stage == "fuzzy"
    assert find(items, Word("imezone")).stage == "fuzzy"


def test_words_that_are_all_known_become_fuzzy_together() -> None:
    """When no word is unknown, each may be a slip."""
    items = [doc("a", title="thread"), doc("b", title="tread file")]
    answer = find(items, And((Word("thread"), Word("file"))))
    assert (answer.stage, answer.ids) == ("fuzzy", (("tool", "b", "project"),))


def test_a_stage_counts_only_what_is_left_after_filters() -> None:
    """A hit outside the scope stops no relaxation."""
    items = [doc("a", title="deploy"), doc("b", title="depoly", type=ItemType.KNOWLEDGE)]
    answer = find(items, Word("deploy"), scope="knowledge")
    assert (answer.stage, answer.ids) == ("fuzzy", (("knowledge", "b", "project"),))


def test_the_last_stage_shows_ten_at_most() -> None:
    """Pages beyond the tenth hit are empty, and the total says so."""
    items = [doc(f"x{number}", title="one") for number in range(12)] + [doc("y", title="two")]
    answer = find(items, And((Word("one"), Word("two"), Word("zzzzzz"))), limit=5, offset=8)
    assert (answer.stage, answer.total, len(answer.ids)) == ("any", 10, 2)
