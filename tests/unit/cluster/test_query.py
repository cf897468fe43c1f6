"""Bound queries as queries of OpenSearch: what is sent, word for word."""

from __future__ import annotations

import json

import pytest

from rye import query
from rye.cluster.query import Clause, compile_query, unscored
from rye.errors import UnavailableError
from rye.search.matching import bound
from rye.search.matching.bind import Context, bind
from rye.search.reading.binder import bind_filter
from rye.trust.trust_set import TrustSet


def read(text: str) -> bound.Bound:
    """Return a query with its names and words given their meaning."""
    node = query.parse(text).ast
    return bind(node, Context(text, node, lambda: frozenset({"status", "weight"}))) or bound.BoundEverything()


def sent(node: bound.Bound) -> Clause:
    """Return what is sent for a query."""
    found: Clause = json.loads(json.dumps(compile_query(node, TrustSet())))
    return found


def match(text: str) -> Clause:
    """Return what is sent for a query."""
    return sent(read(text))


def in_content(clause: Clause) -> Clause:
    """Return a clause with the weight of the field ``content``."""
    return {"bool": {"must": [clause], "boost": 2 * 3.15 / 12.15}}


def word(text: str, stem: str, field: str = "content") -> Clause:
    """Return a word in a field, which counts more as it is written."""
    written = {"term": {f"t_{field}": {"value": text, "boost": 0.4}}}
    return {"bool": {"must": [{"term": {f"s_{field}": {"value": stem, "boost": 0.6}}}], "should": [written]}}


def interval(clause: Clause) -> Clause:
    """Return a clause of intervals in the content."""
    return {"intervals": {"t_content": clause}}


def any_of(*clauses: Clause) -> Clause:
    """Return an OR."""
    return {"bool": {"should": list(clauses), "minimum_should_match": 1}}


def stemmed(text: str) -> Clause:
    """Return the spans of a stem."""
    return {"field_masking_span": {"query": {"span_term": {"s_content": text}}, "field": "t_content"}}


def spans(*clauses: Clause, gaps: int) -> Clause:
    """Return spans in a row."""
    return {"span_near": {"clauses": list(clauses), "slop": gaps, "in_order": True}}


GOLDEN = {
    "content:deploys": in_content(word("deploys", "deploy")),
    "content:(deploys sign)": {
        "bool": {"must": [in_content(word("deploys", "deploy")), in_content(word("sign", "sign"))]}
    },
    "content:(sign OR deploys)": any_of(in_content(word("sign", "sign")), in_content(word("deploys", "deploy"))),
    "-content:sign": unscored({"bool": {"must_not": [in_content(word("sign", "sign"))]}}),
    "*": unscored({"match_all": {}}),
    "content:dep*": in_content({"wildcard": {"t_content": {"value": "dep*"}}}),
    "content:deploi~": in_content({
        "fuzzy": {"t_content": {
            "value": "deploi", "fuzziness": 2, "transpositions": True, "prefix_length": 0, "max_expansions": 1024,
        }}
    }),
    'content:"deploy the build"': in_content({"match_phrase": {"t_content": "deploy the build"}}),
    'content:"deploy build"~3': in_content(
        interval({"match": {"query": "deploy build", "ordered": False, "max_gaps": 3}})
    ),
    "content:(a NEAR/5 b)": in_content({"span_or": {"clauses": [
        spans(stemmed("a"), stemmed("b"), gaps=4), spans(stemmed("b"), stemmed("a"), gaps=4),
    ]}}),
    "content:fil?/sys*": in_content(spans(
        *({"span_multi": {"match": {"wildcard": {"t_content": {"value": glob}}}}} for glob in ("fil?", "sys*")), gaps=0
    )),
    "content:file-systems": in_content(any_of(
        {"match_phrase": {"s_content": "file system"}}, {"term": {"t_content": "filesystems"}}
    )),
    "status:draft": unscored({"term": {"entry": "status\0draft"}}),
    "status:dr*": unscored({"wildcard": {"entry": {"value": "status\0dr*"}}}),
    "status:*": unscored({"prefix": {"entry": "status\0"}}),
    "title:*": unscored({"exists": {"field": "t_title"}}),
    "is:yanked": unscored({"term": {"entry": "is\0yanked"}}),
    "is:shadowed": unscored({"term": {"state": "shadowed"}}),
    "weight:>=2": unscored({"range": {"order": {"lt": "weight\0n\U0010ffff", "gte": "weight\0nc000000000000000"}}}),
    "weight:<-2": unscored({"range": {"order": {"gte": "weight\0n", "lt": "weight\0n3fffffffffffffff"}}}),
    "status:[a TO b}": unscored({"range": {"entry": {"gte": "status\0a", "lt": "status\0b"}}}),
    "updated:1970": any_of(
        unscored({"term": {"entry": "updated\x001970"}}),
        unscored({
            "range": {
                "order": {"gte": "updated\0d0001000000000000000000", "lt": "updated\0d0001000031536000000000"}
            }
        }),
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", GOLDEN)
def test_what_is_sent_is_as_written_here(text: str) -> None:
    """Each kind of clause, and how they are joined."""
    assert json.loads(json.dumps(match(text))) == GOLDEN[text]


def test_a_word_is_looked_for_in_all_fields_as_one_and_a_phrase_in_each() -> None:
    """Of the fields with a phrase, the best counts."""
    assert match("deploys") == {"bool": {"must": [word("deploys", "deploy", "all")], "boost": 1.0}}
    (clause,) = match('"sign off"').values()
    assert clause["tie_breaker"] < 1
    assert len(clause["queries"]) == 9


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
    node = bind_filter("status", "!draft", frozenset({"status"}))
    none = unscored({"bool": {"must_not": [unscored({"term": {"entry": "status\0draft"}})]}})
    assert sent(node) == {"bool": {"must": [none, unscored({"prefix": {"entry": "status\0"}})]}}
