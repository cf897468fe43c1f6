"""The arguments of a search, checked: anything that is not valid is an error that lists what is."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn

from rye.errors import ArgumentError
from rye.index import schema as values
from rye.index import terms as strings
from rye.index.schema import fold_value
from rye.items.scope import EVERY_SCOPE, Scope, parse_scope
from rye.search import bound
from rye.search.compare import EXAMPLES, readable
from rye.search.facets import Wanted, read_facets
from rye.search.fields import (
    ALIASES,
    KEYWORD_FIELDS,
    RELATION_FIELDS,
    STATES,
    TEXT_FIELDS,
    UNORDERED,
    kind_of,
    nearest,
)
from rye.search.fusion import FUSIONS, Fusion

__all__ = ["MAX_BUDGET", "MAX_SECTIONS", "SectionRequest", "make_section_request"]


# -- The arguments of a search by meaning, checked.
MODES = ("keyword", "semantic", "hybrid")
BOOSTS: Mapping[str, float] = {"project": 1.2, "user": 1.1, "system": 0.85}
"""What a similarity is multiplied with, by source."""

MAX_SEMANTIC_LIMIT = 100
MAX_RRF_K = 1_000
MAX_BOOST = 10
MAX_FUSION_WEIGHT = 100

_SCORES = ("min_semantic_score", "min_keyword_score", "min_combined_score")
_WEIGHTS = ("semantic_weight", "keyword_weight")
_SWITCHES = ("require_keyword_match", "require_semantic_match")
HYBRID = ("fusion", "rrf_k", *_WEIGHTS, *_SCORES, *_SWITCHES)
"""What ``hybrid`` may hold."""


@dataclass(frozen=True, slots=True)
class Mode:
    """How a search ranks.

    Attributes:
        name: One of :data:`MODES`.
        threshold: The similarity of a semantic match; None for what the model brings.
        boosts: Source → factor, in semantic mode, where the caller names one.
        fusion: How the two scores become one, in hybrid mode.
    """

    name: str = "keyword"
    threshold: float | None = None
    boosts: Mapping[str, float] = field(default_factory=dict)
    fusion: Fusion = field(default_factory=Fusion)

    @property
    def narrows(self) -> bool:
        """Whether what matches may be left out all the same."""
        return self.name == "hybrid" and self.fusion.narrows

    def factors(self, users: Mapping[str, float]) -> Mapping[str, float]:
        """Return source → factor: what the caller names, else what the user's settings say, else :data:`BOOSTS`."""
        return {**BOOSTS, **users, **self.boosts}

    @property
    def plain(self) -> bool:
        """Whether nothing but the mode was asked for."""
        return self == Mode(self.name)


_PLAIN = {name: Mode(name) for name in MODES}


def read_mode(name: str, *, threshold: Any, source_boosts: Any, hybrid: Any) -> Mode:
    """Check the arguments that belong to one mode or another; those that would have no effect are refused.

    Raises:
        ArgumentError: ``bad-threshold``, ``bad-source-boosts``, ``bad-hybrid``.
    """
    if threshold is None and source_boosts is None and hybrid is None:
        return _PLAIN[name]
    if name == "keyword" and threshold is not None:
        _refuse("bad-threshold", "threshold has no effect in mode 'keyword'", "use mode='semantic' or mode='hybrid'")
    if name != "semantic" and source_boosts:
        message = f"source_boosts has no effect in mode {name!r}"
        _refuse("bad-source-boosts", message, "use mode='semantic'; keyword and hybrid scores are never boosted")
    if name != "hybrid" and hybrid:
        _refuse("bad-hybrid", f"hybrid has no effect in mode {name!r}", "use mode='hybrid'")
    if threshold is not None:
        threshold = _between(
            "threshold", "threshold", threshold, high=1, hint="use a similarity from 0 to 1, such as 0.15"
        )
    return Mode(name, threshold, read_boosts(source_boosts), _fusion(hybrid))


def _refuse(code: str, message: str, hint: str, **details: Any) -> NoReturn:
    raise ArgumentError(code, message, hint=hint, **details)


def _between(option: str, name: str, value: Any, *, high: float, hint: str) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not 0 <= value <= high:
        _refuse(f"bad-{option}", f"{name} is {value!r}", hint, valid=[0, high])
    return float(value)


def _mapping(option: str, name: str, value: Any, *, valid: tuple[str, ...], example: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        _refuse(f"bad-{option}", f"{name} must be a mapping, not {value!r}", f"for example {example}")
    for key in value:
        if key not in valid:
            near = nearest(key, valid, 1) if isinstance(key, str) else []
            guess = f"did you mean {near[0]!r}? " if near else ""
            _refuse(
                f"bad-{option}",
                f"{name} has no option {key!r}",
                f"{guess}valid are {', '.join(valid)}",
                valid=list(valid),
            )
    return value


def read_boosts(value: Any) -> Mapping[str, float]:
    """Check factors by source; those that are not named are left out.

    Raises:
        ArgumentError: ``bad-source-boosts``.
    """
    option = "source-boosts"
    given = _mapping(option, "source_boosts", value, valid=tuple(BOOSTS), example='{"project": 1.2, "system": 1}')
    hint = f"use a number above 0 and up to {MAX_BOOST}; 1 leaves similarities as they are"
    own = {
        key: _between(option, f"source_boosts[{key!r}]", each, high=MAX_BOOST, hint=hint) for key, each in given.items()
    }
    for key, factor in own.items():
        if factor == 0:
            _refuse("bad-source-boosts", f"source_boosts[{key!r}] is 0", f"{hint}; to leave a source out use space")
    return own


def _fusion(value: Any) -> Fusion:
    given = _mapping("hybrid", "hybrid", value, valid=HYBRID, example='{"fusion": "rrf"} or {"min_keyword_score": 20}')
    checked = {key: _fusion_option(key, each) for key, each in given.items()}
    fusion = Fusion(**checked)
    method = fusion.fusion
    for key in _WEIGHTS if method == "rrf" else ("rrf_k",):
        if key in given:
            other = "weighted" if method == "rrf" else "rrf"
            _refuse(
                "bad-hybrid", f"{key} has no effect with fusion {method!r}", f"use fusion={other!r}, or leave it out"
            )
    if not fusion.semantic_weight + fusion.keyword_weight > 0:
        _refuse("bad-hybrid", "semantic_weight and keyword_weight are both 0", "give at least one of them a weight")
    return fusion


def _fusion_option(key: str, value: Any) -> Any:
    name = f"hybrid[{key!r}]"
    if key in _SWITCHES:
        if not isinstance(value, bool):
            _refuse("bad-hybrid", f"{name} is {value!r}", "use true or false", valid=[True, False])
        return value
    if key == "fusion":
        if value not in FUSIONS:
            _refuse("bad-hybrid", f"{name} is {value!r}", f"valid are {', '.join(FUSIONS)}", valid=list(FUSIONS))
        return value
    if key == "rrf_k":
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_RRF_K:
            _refuse("bad-hybrid", f"{name} is {value!r}", f"use a whole number from 1 to {MAX_RRF_K:,}")
        return value
    if key in _WEIGHTS:
        hint = f"use a number from 0 to {MAX_FUSION_WEIGHT}; only their ratio counts"
        return _between("hybrid", name, value, high=MAX_FUSION_WEIGHT, hint=hint)
    hint = "use a score from 0 to 1, or percent: what is above 1 is percent, up to 100"
    score = _between("hybrid", name, value, high=100, hint=hint)
    return score / 100 if score > 1 else score


SPACES = ("all", "project", "user", "system")
SORTS = ("score", "name", "date")
MAX_LIMIT = 1_000
MAX_OFFSET = 1_000_000
MAX_DISTANCE = 2
MAX_PROXIMITY = 1_000
DEFAULT_PROXIMITY = 5

_COMPARED = re.compile(r"(>=|<=|>|<)(.*)", re.DOTALL)
_EXAMPLES = {
    "fields": 'for example {"category": "core"}',
    "filters": 'for example {"tags": ["api", "mcp"]}',
    "fuzzy": 'for example {"enabled": true, "max_distance": 2}',
    "proximity": 'for example {"enabled": true, "max_distance": 5}',
}
FILTERABLE = ("id", "name", "title", "category", "tags", *KEYWORD_FIELDS)


PLAIN: Mapping[str, Any] = {
    "scope": "*",
    "space": "all",
    "limit": 10,
    "offset": 0,
    "sort_by": "score",
    "fields": None,
    "filters": None,
    "fuzzy": None,
    "proximity": None,
    "mode": "keyword",
    "level": None,
    "relax": True,
    "lenient": False,
    "include_superseded": False,
    "facets": (),
    "threshold": None,
    "source_boosts": None,
    "hybrid": None,
    "explain": False,
}
"""The arguments of a search of which nothing is asked."""


@dataclass(frozen=True, slots=True)
class Request:
    """One search, valid in all its parts."""

    query: str = ""
    scopes: tuple[Scope, ...] = EVERY_SCOPE
    space: str = "all"
    limit: int = 10
    offset: int = 0
    sort_by: str = "score"
    fields: Mapping[str, str] = field(default_factory=dict)
    filters: Mapping[str, Any] = field(default_factory=dict)
    fuzzy: bool | None = None
    fuzzy_distance: int | None = None
    proximity: int | None = None
    level: int | None = None
    relax: bool = True
    lenient: bool = False
    include_superseded: bool = False
    facets: tuple[Wanted, ...] = ()
    explain: bool = False
    mode: Mode = field(default_factory=Mode)

    @property
    def scope(self) -> str:
        """The scope in canonical form."""
        return ",".join(str(scope) for scope in self.scopes)


def make_request(query: str, options: Mapping[str, Any]) -> Request:
    """Check the arguments of ``Registry.search`` and return them as a request; those of :data:`PLAIN` are as they are.

    Raises:
        ArgumentError: One of them is not valid; the message lists what is.
    """
    if not isinstance(query, str):
        _refuse("bad-query", f"query must be text, not {type(query).__name__}", "pass a string; empty means everything")
    asked = {name: value for name, plain in PLAIN.items() if (value := options[name]) is not plain}
    mode = _choice("mode", asked.pop("mode", "keyword"), MODES)
    of_mode = {name: asked.pop(name, None) for name in ("threshold", "source_boosts", "hybrid")}
    read: dict[str, Any] = {"mode": read_mode(mode, **of_mode)}
    if "fuzzy" in asked:
        read["fuzzy"], read["fuzzy_distance"] = _fuzzy(asked.pop("fuzzy"))
    if "scope" in asked:
        read["scopes"] = parse_scope(asked.pop("scope"))
    if "limit" in asked:
        most = MAX_SEMANTIC_LIMIT if mode == "semantic" else MAX_LIMIT
        read["limit"] = _number("limit", asked.pop("limit"), 1, most)
    for name, value in asked.items():
        read[name] = _READERS[name](name, value)
    return Request(query, **read)


def _choice(name: str, value: Any, valid: Sequence[str]) -> str:
    if isinstance(value, str) and value in valid:
        return value
    near = nearest(value, valid, 1) if isinstance(value, str) else []
    guess = f"did you mean {near[0]!r}? " if near else ""
    _refuse(
        f"bad-{name.replace('_', '-')}",
        f"{name} is {value!r}",
        f"{guess}valid are {', '.join(valid)}",
        valid=list(valid),
    )


def _number(name: str, value: Any, low: int, high: int, *, key: str = "") -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        _refuse(
            f"bad-{name.replace('_', '-')}",
            f"{_path(name, key)} is {value!r}",
            f"use a whole number from {low} to {high}",
            valid=[low, high],
        )
    return int(value)


def _path(name: str, key: str) -> str:
    return f"{name}[{key!r}]" if key else name


def _flag(name: str, value: Any, key: str = "") -> bool:
    if not isinstance(value, bool):
        message = f"{_path(name, key)} is {value!r}"
        _refuse(f"bad-{name.replace('_', '-')}", message, "use true or false", valid=[True, False])
    return bool(value)


def _level(_: str, value: Any) -> int | None:
    if value is None or (value in (1, 2) and not isinstance(value, bool)):
        return None if value is None else int(value)
    hint = "use 1 (title, name, description, category, tags, id), 2 (body, headings, symbols) or leave it out for both"
    _refuse("bad-level", f"level is {value!r}", hint, valid=[1, 2, None])


def _mapping_request(name: str, value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        _refuse(f"bad-{name}", f"{name} must be a mapping with text keys, not {value!r}", _EXAMPLES[name])
    return dict(value)


def _fields(name: str, value: Any) -> Mapping[str, str]:
    fields = _mapping_request(name, value)
    for key, text in fields.items():
        if not isinstance(text, str) or not text.strip():
            _refuse("bad-fields", f"fields[{key!r}] is {text!r}", "give each field a query as text, e.g. 'core'")
    return fields


def _options(name: str, value: Any, valid: tuple[str, ...]) -> Mapping[str, Any]:
    given = _mapping_request(name, value)
    for key in given:
        if key not in valid:
            _refuse(f"bad-{name}", f"{name} has no option {key!r}", f"valid are {', '.join(valid)}", valid=list(valid))
    _flag(name, given.get("enabled", True), "enabled")
    return given


def _fuzzy(value: Any) -> tuple[bool | None, int | None]:
    """Return whether every word, or (False) none, is to forgive typos, also where it relaxes; None: as it comes."""
    if value is None:
        return None, None
    given = _options("fuzzy", value, ("enabled", "max_distance"))
    distance = given.get("max_distance")
    if distance is not None:
        distance = _number("fuzzy", distance, 0, MAX_DISTANCE, key="max_distance")
    return given.get("enabled", True) if given else None, distance


def _proximity(name: str, value: Any) -> int | None:
    if value is None:
        return None
    given = _options(name, value, ("enabled", "max_distance"))
    distance = _number(name, given.get("max_distance", DEFAULT_PROXIMITY), 1, MAX_PROXIMITY, key="max_distance")
    return distance if given and given.get("enabled", True) else None


_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "space": partial(_choice, valid=SPACES),
    "offset": partial(_number, low=0, high=MAX_OFFSET),
    "sort_by": partial(_choice, valid=SORTS),
    "fields": _fields,
    "filters": _mapping_request,
    "proximity": _proximity,
    "level": _level,
    "facets": lambda _, value: read_facets(value),
    **dict.fromkeys(("relax", "lenient", "include_superseded", "explain"), _flag),
}
"""How the arguments are read that are the fields of a request by the same name."""


def require_field(name: str, metadata_keys: frozenset[str]) -> None:
    """Refuse an entry of ``fields`` whose name is no query field.

    Raises:
        ArgumentError: ``unknown-field``.
    """
    valid = (*TEXT_FIELDS, *KEYWORD_FIELDS, *ALIASES)
    if name.casefold() in valid or name in metadata_keys:
        return
    near = nearest(name, (*valid, *sorted(metadata_keys)))
    guess = f"did you mean {' or '.join(near)}? " if near else ""
    hint = f"{guess}fields are {', '.join((*TEXT_FIELDS, *KEYWORD_FIELDS))} and the items' metadata keys"
    _refuse("unknown-field", f"fields: there is no field {name!r}", hint, nearest=near)


def bind_filters(filters: Mapping[str, Any], metadata_keys: frozenset[str]) -> list[bound.Bound]:
    """Return what the ``filters`` mapping asks for; an item without the field does not match.

    Raises:
        ArgumentError: ``unknown-filter`` or ``bad-filter``.
    """
    nodes: list[bound.Bound] = []
    for name, wanted in filters.items():
        if name in ("date_from", "date_to"):
            nodes.append(_dated(name, wanted))
            continue
        key = ALIASES.get(name, "is" if name == "verdict" else name)
        if key not in FILTERABLE and key not in metadata_keys:
            valid = [*FILTERABLE, "date_from", "date_to", *sorted(metadata_keys)]
            near = nearest(name, valid)
            guess = f"did you mean {' or '.join(near)}? " if near else ""
            hint = f"{guess}filters work on {', '.join(FILTERABLE)}, date_from, date_to and the items' metadata keys"
            _refuse("unknown-filter", f"no item has a field {name!r} to filter on", hint, nearest=near)
        several = list(wanted) if isinstance(wanted, (list, tuple, set, frozenset)) else [wanted]
        if not several:
            _refuse("bad-filter", f"filters[{name!r}] is an empty list", "give at least one value, or leave it out")
        options = tuple(_filter(name, key, value) for value in several)
        nodes.append(options[0] if len(options) == 1 else bound.Any(options))
    return nodes


def _filter(name: str, key: str, value: Any) -> bound.Bound:
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, (int, float)):
        value = repr(value)
    if not isinstance(value, str) or not value.strip():
        _refuse("bad-filter", f"filters[{name!r}] is {value!r}", "use text, a number, true or false, or a list of them")
    if value.startswith("!"):
        positive = _filter(name, key, value[1:])
        return bound.All((bound.Not(positive), bound.Everything() if key == "is" else bound.Has(key, text=False)))
    compared = _COMPARED.fullmatch(value)
    if compared is None:
        return _equal(name, key, value)
    operator, limit = compared[1], compared[2].strip()
    kind = kind_of(key)
    if key in UNORDERED or not limit or not readable(kind, limit):
        _refuse(
            "bad-filter",
            f"filters[{name!r}] compares with {limit!r}",
            f"give a {kind} after {operator}, like {EXAMPLES[kind]}",
        )
    low, high = (limit, None) if operator[0] == ">" else (None, limit)
    inclusive = operator.endswith("=")
    return bound.Between(key, kind, low, high, include_low=inclusive, include_high=inclusive)


def _equal(name: str, key: str, value: str) -> bound.Bound:
    folded = fold_value(value)
    if key in RELATION_FIELDS:
        return bound.Refers(key, strings.escape(folded))
    if key != "is":
        return bound.Glob(key, strings.escape(folded))
    if folded not in STATES:
        _refuse("bad-filter", f"filters[{name!r}] is {value!r}", f"states are {', '.join(STATES)}", valid=list(STATES))
    return bound.State(folded)


def _dated(name: str, value: Any) -> bound.Bound:
    if not isinstance(value, str) or not readable("date", value):
        hint = "use an ISO date: 2026, 2026-02, 2026-02-18 or 2026-02-18T12:00Z"
        _refuse("bad-filter", f"filters[{name!r}] is {value!r}", hint)
    start, end = values.period(value) or (0.0, 0.0)
    return bound.Changed(start, None) if name == "date_from" else bound.Changed(None, end)


# -- The arguments of a retrieval of sections, checked.
MAX_SECTIONS = 50
"""Sections in one answer."""

EACH = 5
"""How many times as many items and sections are looked at as sections are wanted."""

MAX_BUDGET = 1_000_000
"""Largest ``max_chars``."""

MAX_HALF_LIFE = 36_500


@dataclass(frozen=True, slots=True)
class SectionRequest:
    """One retrieval, valid in all its parts.

    Attributes:
        search: What to find.
        recency_weight, authority_weight: Which part of a score hangs on age and on authority; together at most 1.
        half_life_days: Age at which recency is one half.
        max_chars: Characters of all texts together; None for no limit.
    """

    search: Request
    recency_weight: float = 0.0
    half_life_days: float = 30.0
    authority_weight: float = 0.0
    max_chars: int | None = None

    @property
    def top_k(self) -> int:
        """How many items by meaning, items by words, and sections are looked at."""
        return EACH * self.search.limit


def make_section_request(query: str, options: Mapping[str, Any]) -> SectionRequest:
    """Check the arguments of ``Registry.sections``.

    Raises:
        ArgumentError: One of them is not valid; the message lists what is.
    """
    own = {name: options[name] for name in ("recency_weight", "half_life_days", "authority_weight", "max_chars")}
    search = make_request(query, {**PLAIN, **{name: value for name, value in options.items() if name not in own}})
    if not query.strip():
        _refuse("bad-query", "the query is empty", "say what the sections are to be about")
    if search.limit > MAX_SECTIONS:
        hint = f"use a whole number from 1 to {MAX_SECTIONS}"
        _refuse("bad-limit", f"limit is {search.limit!r}", hint, valid=[1, MAX_SECTIONS])
    recency = _number_section_request("recency_weight", own["recency_weight"], 0, 1)
    authority = _number_section_request("authority_weight", own["authority_weight"], 0, 1)
    if recency + authority > 1:
        message = f"recency_weight and authority_weight are {recency + authority:g} together"
        _refuse("bad-authority-weight", message, "they are parts of the score; together they may be 1 at most")
    half_life = _number_section_request("half_life_days", own["half_life_days"], 0, MAX_HALF_LIFE)
    if half_life == 0:
        _refuse("bad-half-life-days", "half_life_days is 0", f"use a number above 0, up to {MAX_HALF_LIFE:,}")
    return SectionRequest(search, recency, half_life, authority, _budget(own["max_chars"]))


def _budget(value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_BUDGET:
        hint = f"use a whole number from 1 to {MAX_BUDGET:,}, or leave it out"
        _refuse("bad-max-chars", f"max_chars is {value!r}", hint, valid=[1, MAX_BUDGET])
    return int(value)


def _number_section_request(name: str, value: Any, low: float, high: float) -> float:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not plain or not math.isfinite(value) or not low <= value <= high:
        hint = f"use a number from {low:g} to {high:,g}"
        _refuse(f"bad-{name.replace('_', '-')}", f"{name} is {value!r}", hint, valid=[low, high])
    return float(value)
