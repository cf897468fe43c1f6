"""Every error of binding: its code, place, hint, and a suggestion that parses and binds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye import query
from rye.errors import QueryError
from rye.query.limits import MAX_PHRASE
from tests.support.query_strategies import queries
from tests.unit.search.asking import bound_query

KEYS = ("entry_type", "min_version", "my key", "runtime.kind", "priority", "über-key")


def refused(asked: str) -> QueryError:
    """Return the error of binding a query that parses."""
    query.parse(asked)
    with pytest.raises(QueryError) as caught:
        bound_query(asked, KEYS)
    return caught.value


@pytest.mark.parametrize(
    ("asked", "code", "token", "suggestion"),
    [
        ("--", "no-searchable-text", "--", "*"),
        ("a -- b", "no-searchable-text", "--", "a b"),
        ("a OR …", "no-searchable-text", "…", "a"),
        ('a -"--"', "no-searchable-text", '"--"', "a"),
        ('a "!?"~3', "no-searchable-text", '"!?"~3', "a"),
        ("a --~", "no-searchable-text", "--~", "a"),
        ("a ?-?", "no-searchable-text", "?-?", "a"),
        ("a title:--", "no-searchable-text", "--", "a"),
        ("(a --)^2 c", "no-searchable-text", "--", "a^2 c"),
        ("a NEAR/2 -- b", "no-searchable-text", "a NEAR/2 --", "b"),
        ("titel:deploy", "unknown-field", "titel", "title:deploy"),
        ("(titel:deploy)", "unknown-field", "titel", "(title:deploy)"),
        ("a -((titel:deploy)^2 OR b)", "unknown-field", "titel", "a -((title:deploy)^2 OR b)"),
        ("b ( ( titel:(a) ) )", "unknown-field", "titel", "b ( ( title:(a) ) )"),
        ("a -entrytype:b c", "unknown-field", "entrytype", "a -entry_type:b c"),
        ("Bundel:*", "unknown-field", "Bundel", "bundle:*"),
        ("verson:>=2", "unknown-field", "verson", "version:>=2"),
        ("creatd:[2026 TO *]", "unknown-field", "creatd", "created:[2026 TO *]"),
        ("ENTRY_TYP:b", "unknown-field", "ENTRY_TYP", "entry_type:b"),
        ("qqqq:b", "unknown-field", "qqqq", '"qqqq:b"'),
        ('qqqq:"a b" c', "unknown-field", "qqqq", '"qqqq: a b c"'),
        ("my_key:b", "unknown-field", "my_key", '"my_key:b"'),
        ("uber-key:b", "unknown-field", "uber-key", "über-key:b"),
        ("is:trustd", "unknown-state", "trustd", "is:trusted"),
        ('a is:"trustd" b', "unknown-state", '"trustd"', "a is:trusted b"),
        ("is:(trusted OR sgned)", "unknown-state", "sgned", "is:(trusted OR signed)"),
        ("a is:qqqq", "unknown-state", "qqqq", "a"),
        ("a is:q*", "unknown-state", "q*", "a"),
        ("title:(body:x)", "nested-field", "(body:x)", "*"),
        ("title:(a body:x)", "nested-field", "body:x", "title:a"),
        ("title:(a body:*)", "nested-field", "body:*", "title:a"),
        ("title:(a version:>2)", "nested-field", "version:>2", "title:a"),
        ("a title:>3", "field-kind", "title:>3", "a"),
        ("a is:[a TO b]", "field-kind", "is:[a TO b]", "a"),
        ("a signer:>ab", "field-kind", "signer:>ab", "a"),
        ("references:>3", "field-kind", "references:>3", "references:*"),
        ("a -Referenced-By:[a TO b] c", "field-kind", "Referenced-By:[a TO b]", "a -referenced-by:* c"),
        ("a type:(x NEAR/2 y)", "field-kind", "(x NEAR/2 y)", "a"),
        ('a author:"x y"~2', "field-kind", '"x y"~2', "a"),
        ("a is:trusted~", "field-kind", "trusted~", "a"),
        ("a signer:abcd~", "field-kind", "abcd~", "a"),
        ("a version:>=x", "bad-bound", "version:>=x", "a"),
        ("a created:[soon TO *]", "bad-bound", "created:[soon TO *]", "a"),
        ("a min_version:<2.x", "bad-bound", "min_version:<2.x", "a"),
        ("a priority:>1e400", "bad-bound", "priority:>1e400", "a"),
        ("a priority:[-1e999 TO 5]", "bad-bound", "priority:[-1e999 TO 5]", "a"),
    ],
)
def test_an_error_says_what_where_and_what_instead(asked: str, code: str, token: str, suggestion: str) -> None:
    """Code, token and its place, a hint, and a suggestion that can be asked as it stands."""
    error = refused(asked)
    assert (error.code, error.token, error.suggestion) == (code, token, suggestion)
    assert asked[error.position : error.position + len(token)] == token
    assert error.hint
    assert error.message
    assert error.caret().splitlines()[1].strip() == "^" * len(token)
    assert bound_query(suggestion, KEYS) is not None


@given(
    queries(("priority", "entry_type")),
    st.sampled_from(["--", "nosuch:x", "is:nosuch", "title:>3", "version:>=x", "title:(body:*)"]),
)
def test_the_suggestion_for_one_fault_binds(asked: query.ast.Node, fault: str) -> None:
    """One fault anywhere among other words: what is suggested parses and binds."""
    try:
        bound_query(asked, KEYS)
    except QueryError:
        return
    error = refused(f"({asked}) {fault}" if str(asked) else fault)
    assert bound_query(query.parse(error.suggestion).ast, KEYS) is not None


@pytest.mark.parametrize("shape", ['"{}"', '"{}"~3', 'c NEAR/3 "{}"', 'c NEAR/3 (c OR "{}")', 'title:"{}"'])
def test_attack_by_a_phrase_of_too_many_words_is_refused(shape: str) -> None:
    """A phrase at the limit is bound; one more word is refused, wherever the phrase stands."""
    words = [f"x{number}" for number in range(MAX_PHRASE + 1)]
    assert bound_query(shape.format(" ".join(words[:-1])), KEYS) is not None
    assert refused(shape.format(" ".join(words))).code == "too-long-phrase"
