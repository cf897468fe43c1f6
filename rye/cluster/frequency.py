"""How often a term query stands in the fields of an item, as a query of a cluster that scores it: tf~.

A query of a cluster scores an item by how often it stands there, or by a stored script that takes such a score. So each
way to count is said in clauses: words by themselves, rows of words by intervals, words near each other by spans.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rye.cluster.conditions import NOTHING, Clause, any_of
from rye.cluster.documents import FORMAT
from rye.cluster.places import Places, beside, chained, is_plain, phrase_of, span_of, text_of
from rye.index.schema import TEXT_FIELDS, TYPE_NAMES
from rye.search.bound import Near, Phrase, SloppyPhrase
from rye.search.expand import How, Pattern
from rye.search.fields import Weights

_MOST_PAIRS = 64
"""Pairs of words of two neighbours of NEAR that one query lists at most."""

_MOST_TIMES = 256
"""How often words near each other are counted in a field, at most."""

_LENGTH = "(params.a + params.c * doc[params.n].value)"
_ROW = f"(int) (doc['kind'].value + (params.r ? {len(TYPE_NAMES)} * doc['root'].value : 0))"
SCRIPTS = {
    "field": f"params.w * _score / {_LENGTH}",
    "weighted": f"params.w.get({_ROW}) * _score / {_LENGTH}",
    # intervals score f / (f + 1)
    "times": "params.w * Math.rint(_score / Math.max(1.0 - _score, 1e-4))",
    "under": f"{_MOST_TIMES}.0 - Math.min(_score, {_MOST_TIMES}.0)",
}
"""tf~ in a field, with one weight or one for each type and root; the number of intervals; a limit less a number."""


def script_id(name: str) -> str:
    """Return what the cluster calls a script; registries of other formats there have their own."""
    return f"rye-{FORMAT}-{name}"


def script(query: Clause, name: str, **params: object) -> Clause:
    """Return a query that scores what a stored script makes of the score of another."""
    return {"script_score": {"query": query, "script": {"id": script_id(name), "params": params}}}


def term_frequency(places: Places, weights: Weights) -> Clause:
    """Return a query that scores tf~ of a term query, as :mod:`rye.search.score` says.

    What the cluster has no count of is counted once in a field where it stands: windows of three words and more, words
    with typos in text without spaces, wildcards inside a word with signs, and NEAR of phrases or of many words.
    """
    fields = list[Clause]()
    for at in places.fields:
        counted = _counted(places, at)
        if counted is None and (where := places.stands(at)) != NOTHING:
            counted = {"constant_score": {"filter": where}}
        if counted is not None and counted != NOTHING:
            b, average, name = float(weights.b[at]), float(weights.average[at]), f"n_{TEXT_FIELDS[at]}"
            length, rows = {"a": 1 - b, "c": b / average, "n": name}, weights.w[:, at].tolist()
            if len({*rows}) == 1:
                fields.append(script(counted, "field", w=rows[0], **length))
            else:
                by_root = len(rows) > len(TYPE_NAMES)
                fields.append(script(counted, "weighted", w=rows, r=by_root, **length))
    return any_of(fields)


def _counted(places: Places, at: int) -> Clause | None:
    """Return a query that scores how often a term query stands in a field, weighted; None where no query does."""
    match places.pattern:
        case Phrase(parts=parts) as phrase if phrase.single:
            words = places.words(parts[0], at)
            return any_of([{"term": {text_of(at): {"value": word, "boost": words[word]}}} for word in words])
        case Phrase(joined=None) as phrase if is_plain(phrase):
            return phrase_of(phrase, at)
        case Phrase(misses=0, offsets=at_words) as phrase if all(b - a < 2 for a, b in pairwise(at_words)):
            return _rows(places, phrase, at)
        case Near() as near:
            return _nearby(places, near, at)
        case SloppyPhrase(words=(one, other), slop=slop) if one != other:
            operands = tuple((Phrase((Pattern(word, How.EXACT),), (0,)),) for word in (one, other))
            return _nearby(places, Near(operands, (slop + 1,)), at)
    return None


def _rows(places: Places, phrase: Phrase, at: int) -> Clause:
    """Score how often parts stand in a row, or joined as one word, each time with the least weight of its words.

    That is a sum over weights: how often words of at least a weight stand there, times its step above the next one.
    """
    parts = [*phrase.parts, *([phrase.joined] if phrase.joined else [])]
    weights = sorted({weight for part in parts for weight in places.words(part, at).values()}, reverse=True)
    counts = list[Clause]()
    for least, below in pairwise([*weights, 0.0]):
        row, joined = _row(places, phrase, at, least), None
        if phrase.joined:  # what is joined at the place of a row is counted with that
            joined = _one_of(_heavy(places, phrase.joined, at, least), {"not_contained_by": row} if row else None)
        rules = [rule for rule in (row, joined) if rule is not None]
        counts += [script({"intervals": {text_of(at): rule}}, "times", w=least - below) for rule in rules]
    return any_of(counts)


def _row(places: Places, phrase: Phrase, at: int, least: float) -> Clause | None:
    """Return the rule for parts in a row; signs before a word are at its place."""
    rules = list[Clause]()
    for number in reversed(range(len(phrase.parts))):
        is_sign = bool(rules) and phrase.offsets[number] == phrase.offsets[number + 1]
        condition = {"contained_by": rules.pop(0)} if is_sign else None
        rule = _one_of(_heavy(places, phrase.parts[number], at, least), condition)
        if rule is None:
            return None
        rules.insert(0, rule)
    return rules[0] if len(rules) == 1 else {"all_of": {"intervals": rules, "max_gaps": 0, "ordered": True}}


def _heavy(places: Places, part: Pattern, at: int, least: float) -> list[str]:
    """Return the words of a part that have at least some weight."""
    return [word for word, weight in places.words(part, at).items() if weight >= least]


def _one_of(words: Sequence[str], condition: Clause | None) -> Clause | None:
    """Return the rule for some words; None if there are none."""
    each = [{"match": {"query": word}} for word in words]
    return {"any_of": {"intervals": each} | ({"filter": condition} if condition else {})} if each else None


def _nearby(places: Places, near: Near, at: int) -> Clause | None:
    """Score how often the rarest operand of NEAR takes part in a whole chain."""
    parts = [[one.parts[0] for one in choices if isinstance(one, Phrase) and one.single] for choices in near.operands]
    words = [[pair for part in several for pair in places.words(part, at).items()] for several in parts]
    if any(len(several) < len(choices) for several, choices in zip(parts, near.operands, strict=True)):
        return None
    if len(words) == 2 and words[0] == words[1]:
        return _again(words[0], near.distances[0], at)
    if sum(len(one) * len(other) for one, other in pairwise(words)) > _MOST_PAIRS or places.repeats(near, at):
        return None
    operands = places.operands(near, at)
    if operands is None:
        return NOTHING
    before, last = chained(operands, near.distances), len(operands) - 1

    def taking_part(number: int, spans: Clause) -> Clause:
        """Return those of some spans of an operand that are in a whole chain."""
        if number:
            spans = beside(spans, before[number - 1], near.distances[number - 1])
        return beside(spans, after[0], near.distances[number]) if number < last else spans

    after, counts = list[Clause](), list[Clause]()
    for number in range(last, -1, -1):
        each = [(taking_part(number, span_of(word, at)), weight) for word, weight in words[number]]
        counts.append(any_of([{"span_not": {**spans["span_not"], "boost": weight}} for spans, weight in each]))
        after.insert(0, taking_part(number, operands[number]))
    return _least(counts)


def _again(words: Sequence[tuple[str, float]], distance: int, at: int) -> Clause:
    """Score how often one of some words stands near another one of them."""
    one = _one_of([word for word, _ in words], None)
    pair = {"all_of": {"intervals": [one, one], "max_gaps": distance - 1, "ordered": True}}
    several = [(_one_of([word], {"contained_by": pair}), weight) for word, weight in words]
    return any_of([script({"intervals": {text_of(at): rule}}, "times", w=weight) for rule, weight in several])


def _least(counts: Sequence[Clause]) -> Clause:
    """Score the least of some numbers: a cluster finds the greatest, so each is taken from a limit first."""
    return script({"dis_max": {"queries": [script(count, "under") for count in counts]}}, "under")
