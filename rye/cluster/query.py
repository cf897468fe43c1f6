"""Compiles bound queries to OpenSearch queries, which the cluster scores by BM25.

rye has already tokenized and stemmed the text: a document has the words of each text field in ``t_NAME`` and their
stems, at the same positions, in ``s_NAME``. A word matches by its stem, and the exact form scores more. A query that
OpenSearch cannot express raises an error that names the cause; it never gets a different answer silently.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from rye.cluster.documents import date_key, number_key, version_key
from rye.errors import UnavailableError
from rye.index.storage.terms import escape
from rye.index.text import analysis
from rye.index.text.schema import HIDDEN_STATES, SEPARATOR, fold_value, number, period
from rye.items.scope import Scope
from rye.items.values import version
from rye.search.contract.fields import K1, TEXT_FIELDS
from rye.search.matching import bound
from rye.search.matching.bound import BoundNear, BoundPhrase, SloppyPhrase, TermQuery
from rye.search.matching.expand import INFLECTION_WEIGHT, How, Pattern, automatic_distance
from rye.trust.trust_set import TrustSet

Clause: TypeAlias = dict[str, Any]

NOTHING: Final[Clause] = {"match_none": {}}
EVERYTHING: Final[Clause] = {"match_all": {}}
ITEMS: Final[Clause] = {"exists": {"field": "mark"}}
"""Matches all documents of an index except signed lists."""

AT_HOME: Final = "search the spaces themselves: --index none"

_TIE: Final = 0.3
"""The share of their score that fields other than the best add."""

_KEY_ID: Final = 16
"""Digits of a fingerprint in older signature lines."""

_LAST: Final = "\U0010ffff"
_FIELDS: Final = tuple(TEXT_FIELDS.values())


def cannot(what: str, hint: str) -> UnavailableError:
    """Return the error for an operation that a cluster does not support."""
    return UnavailableError("not-on-cluster", f"a registry on a cluster cannot {what}", hint=hint)


def any_of(clauses: Sequence[Clause]) -> Clause:
    """Return an OR; its score is the sum."""
    left = [clause for clause in clauses if clause != NOTHING]
    if len(left) < 2:
        return left[0] if left else NOTHING
    return {"bool": {"should": left, "minimum_should_match": 1}}


def all_of(clauses: Sequence[Clause]) -> Clause:
    """Return an AND without a score."""
    left = [clause for clause in clauses if clause != EVERYTHING]
    return NOTHING if NOTHING in left else {"bool": {"filter": left}} if left else EVERYTHING


def none_of(clause: Clause) -> Clause:
    """Return a NOT."""
    return {"bool": {"must_not": [clause]}}


def unscored(clause: Clause) -> Clause:
    """Return a clause with the same matches and no score."""
    return {"constant_score": {"filter": clause, "boost": 0.0}}


def is_state(state: str) -> Clause:
    """Return the clause for items in a state, such as ``deprecated``."""
    return {"term": {"entry": f"is{SEPARATOR}{state}"}}


WITHDRAWN: Final = any_of([is_state(state) for state in HIDDEN_STATES])


def compile_query(node: bound.Bound, trust: TrustSet, *, excluded: bool = False) -> Clause:
    """Compile a bound query to a query that has the same matches and scores its words.

    Args:
        node: The bound query.
        trust: The user's keys. Items that claim a signature of such a key match ``is:trusted``; the page verifies them.
        excluded: Whether the node is below a NOT.

    Raises:
        UnavailableError: ``not-on-cluster``.
    """
    match node:
        case bound.BoundEverything():
            return unscored(EVERYTHING)
        case bound.All(operands=operands):
            return {"bool": {"must": [compile_query(part, trust, excluded=excluded) for part in operands]}}
        case bound.Any(operands=operands):
            return any_of([compile_query(part, trust, excluded=excluded) for part in operands])
        case bound.BoundNot(operand=operand):
            return unscored(none_of(compile_query(operand, trust, excluded=not excluded)))
        case TermQuery():
            return _text(node)
    return unscored(filter_clause(node, trust, excluded=excluded))


def _text(term: TermQuery) -> Clause:
    """Return the clause for words: on the combined field, or on the best field with a share of the others."""
    pattern = term.pattern
    if isinstance(pattern, BoundPhrase) and len(pattern.parts) == 1 and term.fields.all():
        return _boosted(_in_field(pattern, "all"), term.boost)
    fields = [field for field, is_searched in zip(_FIELDS, term.fields.tolist(), strict=True) if is_searched]
    weights = [(field.weight + field.action_weight) / 2 for field in fields]
    queries = [
        _boosted(_in_field(pattern, field.name), term.boost * 2 * weight / (K1 + weight))
        for field, weight in zip(fields, weights, strict=True)
    ]
    return queries[0] if len(queries) == 1 else {"dis_max": {"queries": queries, "tie_breaker": _TIE}}


def _boosted(clause: Clause, boost: float) -> Clause:
    return {"bool": {"must": [clause], "boost": boost}}


def _in_field(pattern: bound.TextPattern, field: str) -> Clause:
    """Return the clause for items that match a pattern in one field."""
    match pattern:
        case SloppyPhrase(words=words, slop=slop):
            window = {"query": " ".join(words), "ordered": False, "max_gaps": slop}
            return {"intervals": {f"t_{field}": {"match": window}}}
        case BoundNear():
            return _proximity(pattern, field)
    joined = NOTHING if pattern.joined is None else _in_field(pattern.joined, field)
    if len(pattern.parts) == 1:
        return any_of([_word(pattern.parts[0], field), joined])
    if pattern.misses:
        raise cannot("forgive a letter in a word without spaces", f"leave the ~ out; or {AT_HOME}")
    return any_of([_phrase(pattern, field), joined])


def _word(part: Pattern, field: str) -> Clause:
    """Return the clause for one word."""
    name = f"t_{field}"
    match part.how:
        case How.EXACT:
            return {"term": {name: part.text}}
        case How.GLOB:
            return {"wildcard": {name: {"value": part.text}}}
        case How.FUZZY:
            return fuzzy(name, part.text, _distance(part))
    stem = {"term": {f"s_{field}": {"value": analysis.stem(part.text), "boost": INFLECTION_WEIGHT}}}
    written = {"term": {name: {"value": part.text, "boost": 1 - INFLECTION_WEIGHT}}}
    return {"bool": {"must": [stem], "should": [written]}}


def _distance(part: Pattern) -> int:
    distance = automatic_distance(part.text) if part.distance is None else part.distance
    return min(distance, max(len(part.text) - 1, 0), 2)


def fuzzy(field: str, text: str, distance: int, start: int = 0) -> Clause:
    """Return the clause for values at most ``distance`` edits from a text; its first ``start`` characters are fixed."""
    if not distance:
        return {"term": {field: text}}
    how = {"transpositions": True, "prefix_length": start, "max_expansions": 1024}
    return {"fuzzy": {field: {"value": text, "fuzziness": distance} | how}}


def _phrase(phrase: BoundPhrase, field: str) -> Clause:
    """Return the clause for consecutive words."""
    hows = {part.how for part in phrase.parts}
    is_dense = phrase.offsets == tuple(range(len(phrase.parts)))
    if is_dense and hows == {How.EXACT}:
        return {"match_phrase": {f"t_{field}": " ".join(part.text for part in phrase.parts)}}
    if is_dense and hows == {How.INFLECTED}:
        return {"match_phrase": {f"s_{field}": " ".join(analysis.stem(part.text) for part in phrase.parts)}}
    return _row(phrase, field)


def _row(phrase: BoundPhrase, field: str) -> Clause:
    """Return the spans of consecutive words."""
    parts = [_span(part, field) for part in phrase.parts]
    gaps = phrase.offsets[-1] - phrase.offsets[0] + 1 - len(parts)
    row = parts[0] if len(parts) == 1 else _spans(parts, gaps)
    return row if phrase.joined is None else _choice([row, _row(phrase.joined, field)])


def _span(part: Pattern, field: str) -> Clause:
    """Return the spans of one word."""
    name = f"t_{field}"
    match part.how:
        case How.GLOB:
            return {"span_multi": {"match": {"wildcard": {name: {"value": part.text}}}}}
        case How.FUZZY if _distance(part):
            return {"span_multi": {"match": fuzzy(name, part.text, _distance(part))}}
        case How.INFLECTED:
            stem = {"span_term": {f"s_{field}": analysis.stem(part.text)}}
            return {"field_masking_span": {"query": stem, "field": name}}
    return {"span_term": {name: part.text}}


def _spans(clauses: list[Clause], gaps: int, *, in_order: bool = True) -> Clause:
    return {"span_near": {"clauses": clauses, "slop": gaps, "in_order": in_order}}


def _choice(spans: list[Clause]) -> Clause:
    return spans[0] if len(spans) == 1 else {"span_or": {"clauses": spans}}


def _proximity(pattern: BoundNear, field: str) -> Clause:
    """Return the spans of operands near each other, in either order, because they must not overlap."""
    operands = [_choice([_place(choice, field) for choice in choices]) for choices in pattern.operands]
    spans = operands[0]
    for operand, distance in zip(operands[1:], pattern.distances, strict=True):
        spans = _choice([_spans(pair, distance - 1) for pair in ([spans, operand], [operand, spans])])
    return spans


def _place(pattern: BoundPhrase | SloppyPhrase, field: str) -> Clause:
    if isinstance(pattern, SloppyPhrase):
        terms: list[Clause] = [{"span_term": {f"t_{field}": word}} for word in pattern.words]
        return _spans(terms, pattern.slop, in_order=False)
    return _row(pattern, field)


def _refuse_unpublished(node: bound.Filter) -> None:
    """Refuse conditions on data that is not published: relations between items, and where skills came from."""
    if bound.is_relation(node):
        raise cannot("ask what items refer to", f"rye refs ITEM lists the references of one item; or {AT_HOME}")
    if isinstance(node, bound.Has | bound.Glob) and node.name == "installed-from":
        raise cannot("ask where a skill came from", AT_HOME)


def filter_clause(node: bound.Filter, trust: TrustSet, *, excluded: bool = False) -> Clause:
    """Return the clause for a condition that is not scored.

    ``signer:`` compares the keys that signature lines name. Items that claim a signature of a key of ``trust`` match
    ``is:trusted``; the page verifies them.

    Raises:
        UnavailableError: ``not-on-cluster``: a verdict other than trusted, or a condition on references.
    """
    _refuse_unpublished(node)
    if bound.has_verdict(node):
        return _of_signature(node, trust, excluded=excluded)
    match node:
        case bound.Has(name=name, text=True):
            return {"exists": {"field": f"t_{name}"}}
        case bound.Has(name=name):
            return {"prefix": {"entry": f"{name}{SEPARATOR}"}}
        case bound.Glob(name=name, pattern=pattern):
            plain = _literal(pattern)
            if plain is not None:
                return {"term": {"entry": f"{name}{SEPARATOR}{plain}"}}
            return {"wildcard": {"entry": {"value": f"{escape(name)}{SEPARATOR}{pattern}"}}}
        case bound.Similar(name=name, text=text, distance=distance):
            far, start = automatic_distance(text) if distance is None else distance, f"{name}{SEPARATOR}"
            return fuzzy("entry", start + text, far, len(start))
        case bound.Within(scope=scope):
            return _scope(scope)
        case bound.Changed(since=since, before=before):
            span = {"gte": since, "lt": before}
            return {"range": {"time": {end: at for end, at in span.items() if at is not None}}}
        case bound.HasState(name=name):
            return is_state(name) if name in HIDDEN_STATES else {"term": {"state": name}}
        case bound.Between():
            return _between(node)
    message = f"{type(node).__name__} is not a filter of a cluster"
    raise AssertionError(message)


def _scope(scope: Scope) -> Clause:
    own: Clause = {"term": {"type": scope.item_type}} if scope.item_type else EVERYTHING
    if not scope.prefix:
        return own
    start = f"key{SEPARATOR}{scope.item_type}:"
    itself: Clause = {"term": {"entry": f"{start}{scope.itself}"}} if scope.itself else NOTHING
    return all_of([own, any_of([{"prefix": {"entry": f"{start}{scope.prefix}"}}, itself])])


def _of_signature(node: bound.Filter, trust: TrustSet, *, excluded: bool) -> Clause:
    match node:
        case bound.HasState(name="signed"):
            return {"term": {"state": "signed"}}
        case bound.HasState(name="unsigned"):
            return none_of({"term": {"state": "signed"}})
        case bound.HasState(name="trusted") if not excluded:
            keys = sorted({name for entry in trust.entries for name in entry.public.names})
            return {"terms": {"entry": [f"signer{SEPARATOR}{key}" for key in keys]}}
        case bound.Has(name="signer"):
            return {"prefix": {"entry": f"signer{SEPARATOR}"}}
        case bound.Glob(name="signer", pattern=pattern):
            if (key := _literal(pattern)) is None:
                return {"wildcard": {"entry": {"value": f"signer{SEPARATOR}{pattern}"}}}
            names = {key, key[:_KEY_ID], *(name for entry in trust.named(key) for name in entry.public.names)}
            return {"terms": {"entry": [f"signer{SEPARATOR}{name}" for name in sorted(names)]}}
    raise cannot("ask for this verdict", f"ask for is:trusted, is:signed or signer:KEY; {AT_HOME}")


def _literal(glob: str) -> str | None:
    """Return the text that a glob without ``*`` and ``?`` matches; None if it has one of these."""
    text, characters = "", iter(glob)
    for ch in characters:
        if ch in "*?":
            return None
        text += next(characters, "") if ch == "\\" else ch
    return text


def _between(node: bound.Between) -> Clause:
    """Return the range query for a comparison. Numbers, dates and versions are indexed as keys that sort as they do."""
    given = [text for text in (node.low, node.high) if text is not None]
    if not given:
        return {"prefix": {"entry": f"{node.name}{SEPARATOR}"}}
    kind = "number" if node.kind == "text" and all(number(text) is not None for text in given) else node.kind
    start = f"{node.name}{SEPARATOR}{'' if kind == 'text' else kind[0]}"
    ends = {"gte": start, "lt": f"{start}{_LAST}"}
    if node.low is not None:
        # a date is a period: "after it" means from its end on
        name = "gte" if node.include_low or kind == "date" else "gt"
        ends.pop("gte")
        ends[name] = start + _key(kind, node.low, end=not node.include_low)
    if node.high is not None:
        name = "lte" if node.include_high and kind != "date" else "lt"
        ends.pop("lt")
        ends[name] = start + _key(kind, node.high, end=node.include_high)
    return {"range": {"entry" if kind == "text" else "order": ends}}


def _key(kind: str, text: str, *, end: bool) -> str:
    folded = fold_value(text)
    match kind:
        case "date":
            span = period(folded) or (0.0, 0.0)
            return date_key(span[end])
        case "version":
            return version_key(version(folded) or ((), 1, ()))
        case "number":
            return number_key(number(folded) or 0.0)
    return folded
