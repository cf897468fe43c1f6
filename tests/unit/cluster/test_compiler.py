"""Bound queries compiled to the query DSL of OpenSearch: what is sent, word for word."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rye import query
from rye.cluster.compiler import Compiler, lookup, terms_asked
from rye.cluster.conditions import NOTHING, Clause
from rye.cluster.places import Term, Terms
from rye.errors import UnavailableError
from rye.index.schema import TEXT_FIELDS
from rye.search import bound
from rye.search.bind import Context, bind
from rye.search.bound import patterns
from rye.search.expand import How, Pattern
from rye.search.fields import plain_weights
from rye.search.request import bind_filters

WEIGHTS = plain_weights(np.full(len(TEXT_FIELDS), 4.0))
CONTENT = 1 << TEXT_FIELDS.index("content")


def read(text: str) -> bound.Bound:
    """Return a query with its names and words given their meaning."""
    node = query.parse(text).ast
    return bind(node, Context(text, node, lambda: frozenset({"status", "weight"}))) or bound.Everything()


def compiler(read_query: bound.Bound, fields: int = CONTENT, *unknown: str) -> Compiler:
    """Return the compiler of a query in a dictionary that has every word, in some fields, but those unknown."""
    terms: dict[tuple[Pattern, bool], Terms] = {}
    for term, excluded in terms_asked(read_query):
        for pattern in patterns(term.pattern):
            found = {pattern.text.strip("*?"): Term(1.0, len(pattern.text), fields)}
            terms[pattern, excluded] = {} if pattern.text in unknown else found
    return Compiler(terms, WEIGHTS)


def match(text: str, *unknown: str) -> Clause:
    """Return the clause of a query."""
    node = read(text)
    return compiler(node, CONTENT, *unknown).match(node)


def phrase(words: str) -> Clause:
    """Return an exact phrase in the content."""
    return {"match_phrase": {"t_content": {"query": words, "boost": 1 / len(words.split())}}}


def spans(*words: str, slop: int = 0, in_order: bool = True) -> Clause:
    """Return words in a row in the content."""
    clauses = [{"span_term": {"t_content": word}} for word in words]
    return {"span_near": {"clauses": clauses, "slop": slop, "in_order": in_order}}


def any_of(*clauses: Clause) -> Clause:
    """Return an OR."""
    return {"bool": {"should": list(clauses), "minimum_should_match": 1}}


GOLDEN = {
    "deploy": {"terms": {"all": ["deploy"]}},
    "content:deploy": {"terms": {"t_content": ["deploy"]}},
    "deploy sign": {"bool": {"filter": [{"terms": {"all": ["deploy"]}}, {"terms": {"all": ["sign"]}}]}},
    "deploy OR sign": any_of({"terms": {"all": ["deploy"]}}, {"terms": {"all": ["sign"]}}),
    "-deploy": {"bool": {"must_not": [{"terms": {"all": ["deploy"]}}]}},
    "*": {"match_all": {}},
    'content:"deploy the build"': phrase("deploy the build"),
    'content:"deploy build"~3': {
        "intervals": {
            "t_content": {
                "all_of": {
                    "intervals": [{"match": {"query": "deploy"}}, {"match": {"query": "build"}}],
                    "max_gaps": 3,
                    "ordered": False,
                }
            }
        }
    },
    "content:(a NEAR/5 b)": any_of(spans("a", "b", slop=4), spans("b", "a", slop=4)),
    "content:file-system": any_of(
        spans("file", "system"), {"span_term": {"t_content": "filesystem"}}
    ),
    "status:draft": {"term": {"entry": "status\0draft"}},
    "status:dr*": {"wildcard": {"entry": {"value": "status\0dr*"}}},
    "status:*": {"prefix": {"entry": "status\0"}},
    "title:*": {"range": {"n_title": {"gt": 0}}},
    "is:yanked": {"term": {"entry": "is\0yanked"}},
    "is:shadowed": {"term": {"state": "shadowed"}},
    "weight:>=2": {"range": {"order": {"lt": "weight\0n\U0010ffff", "gte": "weight\0nc000000000000000"}}},
    "weight:<-2": {"range": {"order": {"gte": "weight\0n", "lt": "weight\0n3fffffffffffffff"}}},
    "status:[a TO b}": {"range": {"entry": {"gte": "status\0a", "lt": "status\0b"}}},
    "updated:1970": any_of(
        {"term": {"entry": "updated\x001970"}},
        {
            "range": {
                "order": {"gte": "updated\0d0001000000000000000000", "lt": "updated\0d0001000031536000000000"}
            }
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", GOLDEN)
def test_what_is_sent_is_as_written_here(text: str) -> None:
    """Each kind of clause, and how they are joined."""
    assert json.loads(json.dumps(match(text))) == GOLDEN[text]


def test_an_unknown_word_matches_nothing_and_what_needs_it_neither() -> None:
    """So an AND is not sent at all, and an OR is its other side."""
    assert match("deploy", "deploy") == NOTHING
    assert match("deploy sign", "deploy") == NOTHING
    assert match("deploy OR sign", "deploy") == {"terms": {"all": ["sign"]}}
    assert match('content:"deploy build"~3', "deploy") == NOTHING
    assert match("content:(a NEAR/5 b)", "a") == NOTHING


def test_a_chain_of_a_word_and_itself_is_refused() -> None:
    """Spans of a cluster cannot tell one occurrence from another."""
    with pytest.raises(UnavailableError, match="to itself in a chain"):
        match("content:(a NEAR/3 a NEAR/3 b)")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("is:tampered", "verdict"),
        ("is:untrusted", "verdict"),
        ("-is:trusted", "verdict"),
    ],
)
def test_what_a_cluster_cannot_know_is_refused_by_name(text: str, words: str) -> None:
    """Verdicts depend on the keys of whoever searches."""
    with pytest.raises(UnavailableError, match=words) as raised:
        match(text)
    assert raised.value.code == "not-on-cluster"


def test_filters_are_conditions_too() -> None:
    """Those of the ``filters`` argument."""
    (node,) = bind_filters({"status": "!draft"}, frozenset({"status"}))
    has = {"prefix": {"entry": "status\0"}}
    none = {"bool": {"must_not": [{"term": {"entry": "status\0draft"}}]}}
    assert Compiler({}, None).match(node) == {"bool": {"filter": [none, has]}}


def test_the_dictionary_is_asked_as_the_part_expands() -> None:
    """Words, inflections, wildcards and typos."""
    assert lookup(Pattern("running", How.INFLECTED)) == {"term": {"stem": "run"}}
    assert lookup(Pattern("run*", How.GLOB)) == {"wildcard": {"word": {"value": "run*", "rewrite": "constant_score"}}}
    assert lookup(Pattern("ab", How.FUZZY)) == {"term": {"word": "ab"}}
    fuzzy = lookup(Pattern("deploy", How.FUZZY, start="d"))["bool"]["filter"]
    assert fuzzy[0]["fuzzy"]["word"]["fuzziness"] == 2
    assert fuzzy[0]["fuzzy"]["word"]["transpositions"]
    assert fuzzy[1] == {"prefix": {"word": "d"}}
