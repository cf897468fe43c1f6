"""Bound queries compiled to the query DSL of OpenSearch: what is sent, word for word."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from rye import query
from rye.cluster.compiler import Compiler, lookup, terms_asked
from rye.cluster.conditions import NOTHING, Clause
from rye.cluster.frequency import script_id, term_frequency
from rye.cluster.places import Places, Term, Terms
from rye.errors import UnavailableError
from rye.index.schema import TEXT_FIELDS
from rye.search import bound
from rye.search.bind import Context, bind
from rye.search.bound import patterns
from rye.search.expand import How, Pattern
from rye.search.fields import plain_weights
from rye.search.request import bind_filters

WEIGHTS = plain_weights(np.full(len(TEXT_FIELDS), 4.0))
EVERY_FIELD = (1 << len(TEXT_FIELDS)) - 1
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


def test_weights_that_not_all_items_have_are_chosen_by_the_script() -> None:
    """A row for each type, or for each root and type."""
    node = read("content:deploy")
    ((term, _),) = terms_asked(node)
    words = {(pattern, False): {"deploy": Term(1.0, 3, EVERY_FIELD)} for pattern in patterns(term.pattern)}
    for rows, by_root in ((3, False), (6, True)):
        table = np.arange(float(rows * len(TEXT_FIELDS))).reshape(rows, -1)
        made = Compiler(words, replace(WEIGHTS, w=table))
        scored = made.score(made.match(node), [(term, 1.5)], 1.5)
        (gain,) = scored["script_score"]["query"]["bool"]["should"]
        stored = gain["script_score"]["query"]["script_score"]["script"]
        assert stored["id"] == script_id("weighted")
        assert stored["params"]["w"] == table[:, TEXT_FIELDS.index("content")].tolist()
        assert stored["params"]["r"] is by_root


def test_scores_are_computed_by_stored_scripts_alone() -> None:
    """A script in a request would be compiled by the cluster; those of rye take numbers."""
    node = read('deploy "the build"')
    made = compiler(node, EVERY_FIELD)
    terms = [term for term, _ in terms_asked(node)]
    scored = made.score(made.match(node), [(term, 1.5) for term in terms], 3.0)
    assert scored["script_score"]["script"] == {"id": script_id("round"), "params": {"n": 3.0, "u": 10000}}
    assert '"source"' not in json.dumps(scored)


def counted(text: str, weights: dict[str, dict[str, float]]) -> Clause:
    """Return what scores how often a query stands in the content, where words stand for others with some weights."""
    node = read(f"content:{text}")
    ((term, _),) = terms_asked(node)
    several: dict[tuple[Pattern, bool], Terms] = {}
    for part in patterns(term.pattern):
        found = weights.get(part.text, {part.text: 1.0})
        several[part, False] = {word: Term(weight, 3, CONTENT) for word, weight in found.items()}
    field = term_frequency(Places(several, term, excluded=False), WEIGHTS)["script_score"]
    assert field["script"]["id"] in (script_id("field"), script_id("weighted"))
    inner: Clause = field["query"]
    return inner


def times(rule: Clause, weight: float) -> Clause:
    """Return what scores the number of intervals in the content."""
    stored = {"id": script_id("times"), "params": {"w": pytest.approx(weight)}}
    return {"script_score": {"query": {"intervals": {"t_content": rule}}, "script": stored}}


def words(*several: str, **filters: Clause) -> Clause:
    """Return the rule for one of some words."""
    rule: Clause = {"any_of": {"intervals": [{"match": {"query": word}} for word in several]}}
    rule["any_of"] |= {"filter": filters} if filters else {}
    return rule


def row(*rules: Clause) -> Clause:
    """Return the rule for words in a row."""
    return {"all_of": {"intervals": list(rules), "max_gaps": 0, "ordered": True}}


def test_a_word_counts_its_inflections_by_their_weight() -> None:
    """A word is a plain query of the cluster."""
    terms = [{"term": {"t_content": {"value": word, "boost": boost}}} for word, boost in (("run", 1.0), ("runs", 0.6))]
    assert counted("run", {"run": {"run": 1.0, "runs": 0.6}}) == any_of(*terms)


def test_a_word_of_parts_counts_rows_and_what_is_joined_elsewhere() -> None:
    """Both at one place are one."""
    in_row = row(words("file"), words("system"))
    joined = words("filesystem", not_contained_by=in_row)
    assert counted("file-system", {}) == any_of(times(in_row, 1.0), times(joined, 1.0))


def test_a_row_weighs_as_much_as_the_least_of_its_words() -> None:
    """That is a sum over the steps between weights."""
    least = row(words("oauth"), words("flow", "flows"))
    joined = words("oauthflow", not_contained_by=least)
    whole = row(words("oauth"), words("flow"))
    found = counted("oauth-flow", {"flow": {"flow": 1.0, "flows": 0.6}})
    best = words("oauthflow", not_contained_by=whole)
    assert found == any_of(times(whole, 0.4), times(best, 0.4), times(least, 0.6), times(joined, 0.6))


def test_words_near_each_other_count_as_often_as_the_rarer_one_takes_part() -> None:
    """Those that take part are all but those that have none near."""
    a, b = ({"span_term": {"t_content": word}} for word in "ab")

    def near(these: Clause, those: Clause, **boost: float) -> Clause:
        alone = {"span_not": {"include": these, "exclude": those, "pre": 3, "post": 3}}
        return {"span_not": {"include": these, "exclude": alone, **boost}}

    def under(clause: Clause) -> Clause:
        return {"script_score": {"query": clause, "script": {"id": script_id("under"), "params": {}}}}

    counts = [near(b, a, boost=1.0), near(a, near(b, a), boost=1.0)]
    assert counted("(a NEAR/3 b)", {}) == under({"dis_max": {"queries": [under(count) for count in counts]}})
    assert counted('"a b"~2', {}) == counted("(a NEAR/3 b)", {})


def test_a_word_near_itself_counts_where_another_one_is_near() -> None:
    """Each stands in a pair of them."""
    pair = {"all_of": {"intervals": [words("a"), words("a")], "max_gaps": 2, "ordered": True}}
    assert counted("(a NEAR/3 a)", {}) == times(words("a", contained_by=pair), 1.0)


@pytest.mark.parametrize("text", ['"a b c"~2', '"a a"~2', '(a NEAR/3 "b c")'])
def test_what_a_cluster_has_no_count_of_is_counted_once(text: str) -> None:
    """It stands there, or not."""
    node = read(f"content:{text}")
    assert counted(text, {}) == {"constant_score": {"filter": compiler(node).match(node)}}


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


def test_words_score_what_they_say_and_what_they_cover() -> None:
    """The sum of what each adds, times the sum of the weights of those that match; both in the same unit."""
    node = read("alpha beta")
    weighed = [(term, float(len(term.pattern.parts[0].text))) for term, _ in terms_asked(node)]  # type: ignore[union-attr]
    scored = compiler(node).words(weighed)["function_score"]
    assert (scored["score_mode"], scored["boost_mode"]) == ("sum", "multiply")
    assert [row["weight"] for row in scored["functions"]] == [5.0, 4.0]
    assert [row["filter"] for row in scored["functions"]] == [match("alpha"), match("beta")]
    assert [row["script_score"]["script"]["id"] for row in scored["query"]["bool"]["should"]] == [script_id("gain")] * 2
    assert compiler(node, CONTENT, "alpha", "beta").words(weighed) == NOTHING
