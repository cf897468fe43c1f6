"""Conditions of a bound query that are not scored, and the clauses that all of the query DSL is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from rye.cluster.documents import date_key, number_key, version_key
from rye.errors import UnavailableError
from rye.index.schema import HIDDEN_STATES, SEPARATOR, fold_value, number, period, version
from rye.index.terms import escape
from rye.items.scope import Scope
from rye.search import bound
from rye.search.expand import automatic_distance
from rye.trust.trust_set import TrustSet

Clause: TypeAlias = dict[str, Any]

NOTHING: Clause = {"match_none": {}}
EVERYTHING: Clause = {"match_all": {}}

_KEY_ID = 16
"""Digits of a fingerprint that older signature lines name."""

_LAST = "\U0010ffff"


def cannot(what: str, hint: str) -> UnavailableError:
    """Return the error for what a cluster cannot do."""
    return UnavailableError("not-on-cluster", f"a registry on a cluster cannot {what}", hint=hint)


AT_HOME = "search the spaces themselves: --index none"


def fuzzy(field: str, text: str, distance: int, start: int = 0) -> Clause:
    """Return the clause for values at most ``distance`` edits from a text; its first ``start`` characters are fixed."""
    how = {"transpositions": True, "prefix_length": start, "max_expansions": 1024, "rewrite": "constant_score"}
    return {"fuzzy": {field: {"value": text, "fuzziness": distance} | how}}


def any_of(clauses: Sequence[Clause | None]) -> Clause:
    """Return an OR without what matches nothing; None counts as that."""
    left = [clause for clause in clauses if clause is not None and clause != NOTHING]
    if len(left) < 2:
        return left[0] if left else NOTHING
    return {"bool": {"should": left, "minimum_should_match": 1}}


def all_of(clauses: Sequence[Clause]) -> Clause:
    """Return an AND that scores nothing."""
    left = [clause for clause in clauses if clause != EVERYTHING]
    return NOTHING if NOTHING in left else {"bool": {"filter": left}} if left else EVERYTHING


def none_of(clause: Clause) -> Clause:
    """Return a NOT."""
    return {"bool": {"must_not": [clause]}}


def is_state(state: str) -> Clause:
    """Return the clause for items whose metadata say that they are superseded, deprecated or yanked."""
    return {"term": {"entry": f"is{SEPARATOR}{state}"}}


WITHDRAWN = any_of([is_state(state) for state in HIDDEN_STATES])


def filter_clause(node: bound.Filter, trust: TrustSet, *, excluded: bool = False) -> Clause:
    """Return the clause of a condition that is not scored.

    Signers are those that signature lines name, and what a key of ``trust`` is said to have signed may be trusted:
    whether it is, the page finds out.

    Raises:
        UnavailableError: ``not-on-cluster``: verdicts but trusted, and references.
    """
    if bound.is_relation(node):
        raise cannot("ask what items refer to", f"rye refs ITEM lists the references of one item; or {AT_HOME}")
    if bound.asks_verdict(node):
        return _of_signature(node, trust, excluded=excluded)
    match node:
        case bound.Has(name=name, text=True):
            return {"range": {f"n_{name}": {"gt": 0}}}
        case bound.Has(name=name):
            return {"prefix": {"entry": f"{name}{SEPARATOR}"}}
        case bound.Glob(name=name, pattern=pattern):
            plain = _literal(pattern)
            if plain is not None:
                return {"term": {"entry": f"{name}{SEPARATOR}{plain}"}}
            return {"wildcard": {"entry": {"value": f"{escape(name)}{SEPARATOR}{pattern}"}}}
        case bound.Similar(name=name, text=text, distance=distance):
            far, start = automatic_distance(text) if distance is None else distance, f"{name}{SEPARATOR}"
            return fuzzy("entry", start + text, far, len(start)) if far else {"term": {"entry": start + text}}
        case bound.Within(scope=scope):
            return _scope(scope)
        case bound.Changed(since=since, before=before):
            span = {"gte": since, "lt": before}
            return {"range": {"time": {end: at for end, at in span.items() if at is not None}}}
        case bound.HasState(name=name):
            return is_state(name) if name in HIDDEN_STATES else {"term": {"state": name}}
        case bound.Between():
            return _between(node)
    message = f"{type(node).__name__} is no filter of a cluster"
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
    """Return the text that a glob without ``*`` and ``?`` stands for, else None."""
    found, characters = "", iter(glob)
    for ch in characters:
        if ch in "*?":
            return None
        found += next(characters, "") if ch == "\\" else ch
    return found


def _between(node: bound.Between) -> Clause:
    """Return a range of keys whose byte order is that of the values; of plain text, of the values themselves."""
    given = [text for text in (node.low, node.high) if text is not None]
    if not given:
        return {"prefix": {"entry": f"{node.name}{SEPARATOR}"}}
    kind = "number" if node.kind == "text" and all(number(text) is not None for text in given) else node.kind
    start = f"{node.name}{SEPARATOR}{'' if kind == 'text' else kind[0]}"
    ends = {"gte": start, "lt": f"{start}{_LAST}"}
    if node.low is not None:
        # a date is a period, and behind it means from its end on
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
