"""The parameters of searches and similar requests, each declared once for every surface.

To add an option to the search, declare it in :class:`SearchOptions` and implement its effect. The option of
``rye search``, the argument of ``rye_search``, the keyword of ``Registry.search``, its check and the tables of the
documentation follow.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, TypedDict

from rye.options.model import Only, Parameter, Setting, parameters_of

MAX_LIMIT = 1_000
"""Hits on a page."""
MAX_RELATIONS = 1_000
"""Relations in one answer."""
MAX_DEPTH = 32
"""Steps from an item to what its relations lead to."""
MAX_OFFSET = 1_000_000
"""Hits skipped before a page."""
MAX_QUERY = 100_000
"""Characters of a query that is accepted at all; a query that may hold mistakes is cut to the limit of a query."""

SPACES = ("all", "project", "user", "system")
_RANKED = Only("mode", ("semantic", "hybrid"))
_BOOSTED = Only("mode", ("semantic",), "keyword and hybrid scores are never boosted")
_WEIGHTED = Only("fusion", ("weighted",))
_limit = partial(Parameter, default=10, low=1, flags="--limit -n")
_share = partial(Parameter, default=0.0, low=0, high=1)
_distance = partial(Parameter, shown="off", form="max_distance")
OFFSET = Parameter(
    "Hits to skip before the page",
    0,
    low=0,
    high=MAX_OFFSET,
    brief="Hits to skip.",
    name="offset",
    kind="integer",
)


def _one_of(text: str, *choices: str, **more: Any) -> Parameter:
    return Parameter(text, choices[0], choices=choices, **more)


class SpaceOptions(TypedDict, total=False):
    """The spaces to look in."""

    space: Annotated[str, _one_of("`project`, `user`, `system` or `all`", *SPACES, brief="Where to look.")]


class _Scope(TypedDict, total=False):
    """The types and namespaces to look in."""

    scope: Annotated[
        str,
        Parameter(
            "Types or namespaces: `tool`, `tool.rye.*`",
            "*",
            brief="Types or namespaces: tool, tool.ops.*, with commas.",
            data="`directive`, `tool` or `knowledge`, alone or with a namespace: `tool.rye.core.*`; joined by commas; "
            "see `rye/query-language`",
            notes="joined by commas; see `rye/query-language`",
            flags="--scope -s",
            words=("directive", "tool", "knowledge"),
        ),
    ]


class FilterOptions(TypedDict, total=False):
    """Which items can be hits."""

    filters: Annotated[
        Mapping[str, Any] | None,
        Parameter(
            "Keep items with this metadata; repeatable",
            brief='Metadata of the hits, as in {"tags": ["any", "of"], "status": "!draft", "date_from": "2026-01"}.',
            data="Key → value, list (any of), `!value`, or `>=`, `<=`, `>`, `<` with a version, date or number, as in "
            '`{"tags": ["api", "mcp"]}`; also `date_from` and `date_to`',
            notes="also `KEY=!VALUE`, `KEY!=VALUE`, `KEY>=VALUE`, `KEY<=VALUE`, `KEY>VALUE`, `KEY<VALUE`; the same key "
            "again means any of its values",
            flags="--filter",
            metavar="KEY=VALUE",
            form="pairs",
            completes="field",
            longest=32_768,
        ),
    ]
    include_superseded: Annotated[
        bool,
        Parameter("Also show superseded, deprecated and yanked items", brief="Also superseded items."),
    ]


class _Page(TypedDict, total=False):
    """The page of hits to show."""

    limit: Annotated[
        int,
        _limit("Hits on the page", high=MAX_LIMIT, brief="Hits on a page.", notes="in semantic mode to 100"),
    ]
    offset: Annotated[int, OFFSET]
    explain: Annotated[
        bool,
        Parameter("Show how each hit got its score", brief="Explain each score.", notes="see `rye/looking-around`"),
    ]


class _Ranked(TypedDict, total=False):
    """The least similarity of a hit, and lenient parsing."""

    threshold: Annotated[
        float | None,
        Parameter(
            "Least similarity of a hit",
            low=0,
            high=1,
            only=_RANKED,
            brief="Least similarity.",
            hint="write a similarity such as 0.15",
            shown="the model's",
        ),
    ]
    lenient: Annotated[
        bool,
        Parameter(
            "Skip parts of the query that do not parse, instead of an error",
            brief="Skip what does not parse.",
            notes="a warning names them",
        ),
    ]


class FuzzyParts(TypedDict, total=False):
    """The keys of ``fuzzy``."""

    enabled: Annotated[bool, Parameter("Whether words forgive typos", True)]
    max_distance: Annotated[int | None, Parameter("Letters in which words may differ; more than 2 count as 2", low=0)]


class ProximityParts(TypedDict, total=False):
    """The keys of ``proximity``."""

    enabled: Annotated[bool, Parameter("Whether the words stand near each other", True)]
    max_distance: Annotated[int, Parameter("Words within which they stand", 5, low=1, high=1_000)]


def _boost(source: str, default: float) -> Parameter:
    hint = ("1 changes nothing; to leave a source out use ", Setting("space"))
    return Parameter(f"Factor of {source}", default, low=0, high=10, above=True, hint=hint)


class BoostParts(TypedDict, total=False):
    """The keys of ``source_boosts``."""

    project: Annotated[float, _boost("the project", 1.2)]
    user: Annotated[float, _boost("the user space", 1.1)]
    system: Annotated[float, _boost("system space", 0.85)]


def _weight(scores: str, default: float) -> Parameter:
    text, hint = f"Weight of {scores} in hybrid mode", "only their ratio counts"
    return Parameter(text, default, low=0, high=100, only=_WEIGHTED, hint=hint)


def _least(scores: str) -> Parameter:
    return Parameter(f"Least {scores} score, 0 to 1 or percent; hybrid", 0, low=0, high=100, percent=True)


class HybridParts(TypedDict, total=False):
    """The keys of ``hybrid``."""

    fusion: Annotated[str, _one_of("`weighted` or `rrf`; hybrid", "weighted", "rrf")]
    rrf_k: Annotated[int, Parameter("The constant of `rrf`", 60, low=1, high=1_000, only=Only("fusion", ("rrf",)))]
    semantic_weight: Annotated[float, _weight("similarity", 0.72)]
    keyword_weight: Annotated[float, _weight("keyword scores", 0.28)]
    min_semantic_score: Annotated[float, _least("semantic")]
    min_keyword_score: Annotated[float, _least("keyword")]
    min_combined_score: Annotated[float, _least("combined")]
    require_keyword_match: Annotated[bool, Parameter("Only items with a word of the query; hybrid")]
    require_semantic_match: Annotated[bool, Parameter("Only items that are near; hybrid")]


_HYBRID = Parameter(
    "How hybrid mode combines two scores",
    parts=HybridParts,
    only=Only("mode", ("hybrid",)),
    brief="In hybrid mode: {fusion: weighted|rrf, semantic_weight, keyword_weight}.",
    data="Hybrid mode: `fusion` (`weighted`, `rrf`), `semantic_weight`, `keyword_weight`, `rrf_k`, "
    "`min_semantic_score`, `min_keyword_score`, `min_combined_score` (0 to 1, or percent), "
    "`require_keyword_match`, `require_semantic_match`; see `rye/meaning`",
    shown="by part",
)


class _Loose(TypedDict, total=False):
    """How exactly words must match."""

    fuzzy: Annotated[
        Mapping[str, Any] | None,
        _distance(
            "Forgive typos, up to N in a word",
            parts=FuzzyParts,
            brief="Typos: {enabled true, max_distance 1}.",
            data='`{"enabled": true, "max_distance": 2}`: words may differ by up to that many letters, at most 2; '
            '`{"enabled": false}` forbids corrections',
            notes="by default depends on its length, at most 2",
            metavar="[N]",
        ),
    ]
    relax: Annotated[
        bool,
        Parameter(
            "Do not widen a query that finds nothing",
            True,
            brief="Widen if nothing matches.",
            data="A query of plain words that finds nothing is widened step by step",
            flags="--no-relax",
        ),
    ]


class _Hits(FilterOptions, _Ranked, _Loose, total=False):
    """All other options that decide which items are hits, and in which order."""

    fold: Annotated[
        bool,
        Parameter(
            "Show each matching file of a skill as a hit of its own",
            True,
            brief="One hit for a skill.",
            data="The matching files of a skill are one hit, its `SKILL.md`, which names them in `parts`",
            flags="--no-fold",
        ),
    ]
    sort_by: Annotated[
        str,
        _one_of(
            "`score`, `date` or `name`",
            *("score", "name", "date"),
            brief="date: newest.",
            notes="`date` puts the newest first and the undated last",
            flags="--sort",
            metavar="ORDER",
        ),
    ]
    fields: Annotated[
        Mapping[str, str] | None,
        Parameter(
            "A query that this field must match; repeatable",
            brief='Queries of fields, as {"category": "core"}.',
            data='Field → further query, all of which must match, as in `{"category": "core"}`',
        ),
    ]
    proximity: Annotated[
        Mapping[str, Any] | None,
        _distance(
            "All words within N words of each other, 1 to 1,000",
            parts=ProximityParts,
            brief="Words near: {enabled true, max_distance 5}.",
            data='`{"enabled": true, "max_distance": 5}`: words within that many positions of each other, 1 to 1,000',
        ),
    ]
    mode: Annotated[
        str,
        _one_of(
            "`keyword`, `semantic`, `hybrid` or `auto`",
            *("auto", "keyword", "semantic", "hybrid"),
            brief="auto: words; for a sentence, meaning too.",
            data="`keyword`, `semantic` (by meaning), `hybrid` (both), or `auto`: hybrid for a sentence, else keyword; "
            "if meaning cannot be searched, keywords answer, with a warning; see `rye/meaning`",
            notes="`semantic` is by meaning, `hybrid` both, `auto` hybrid for a sentence and else keyword; where "
            "meaning cannot be searched, keywords answer, with a warning; see `rye/meaning`",
        ),
    ]
    level: Annotated[
        int | None,
        Parameter(
            "1: title, name, id, description, category, tags; 2: body, headings, symbols; else both",
            choices=(1, 2),
            brief="1: titles, tags; 2: body.",
            hint="1 is title, name, id, description, category and tags; 2 is body, headings and symbols",
            shown="both",
        ),
    ]
    prefix: Annotated[
        bool,
        Parameter(
            "Also treat the last word as a prefix, for search as you type",
            brief="The last word is a prefix.",
        ),
    ]
    source_boosts: Annotated[
        Mapping[str, float] | None,
        Parameter(
            "Factor of similarities by source: `project` (1.2), `user` (1.1), `system` (0.85); repeatable; semantic",
            parts=BoostParts,
            only=_BOOSTED,
            brief="Factors by space, as {project: 1.2}.",
            data='Semantic mode: the factor of the similarities of a source, as in `{"project": 1.2, "system": 1}`, '
            "above 0, up to 10; over the user's settings",
            shown="1.2, 1.1, 0.85",
        ),
    ]
    hybrid: Annotated[Mapping[str, Any] | None, _HYBRID]


EMBED_SECONDS = Parameter(
    "Spend about this many seconds on missing vectors, 0 or more; items still without one are ranked by their words, "
    "and the next search goes on; `inf`: make all",
    5.0,
    low=0,
    hint="inf: make all",
    notes="`rye index vectors` makes all",
    kind="number",
    metavar="SECONDS",
)
"""How long a search by the command or a server may make missing vectors."""


class WhyOptions(_Scope, SpaceOptions, _Hits, total=False):
    """All options that decide which items are hits, and in which order."""


class SearchOptions(_Scope, SpaceOptions, _Page, _Hits, total=False):
    """The options of a search."""

    facets: Annotated[
        Sequence[str],
        Parameter(
            "Count all hits by these fields: `type,tag`",
            (),
            brief="Count by type, category, tag, verdict, signer or metadata key.",
            data="Fields whose values are counted over all matches: `type`, `space`, `category`, `tag`, `verdict`, "
            "`signer`, `bundle`, `format`, `client`, `installed-from`, `author`, `version`, metadata keys; `tag:25` "
            "lists up to 25; see `rye/looking-around`",
            notes="also `space`, `category`, `verdict`, `signer`, `bundle`, `format`, `client`, `installed-from`, "
            "`author`, `version` or a metadata key; "
            "`tag:25` lists up to 25 values; see `rye/looking-around`",
            words=("type", "space", "category", "tag", "verdict", "signer"),
            metavar="NAMES",
        ),
    ]


class SimilarOptions(_Scope, SpaceOptions, _Page, FilterOptions, total=False):
    """The options of a search for similar items."""

    mode: Annotated[
        str,
        _one_of(
            "`keyword`: by shared words; `semantic`: by meaning",
            *("keyword", "semantic"),
            notes="if meaning cannot be searched, shared words answer, with a warning",
        ),
    ]


class SectionOptions(_Scope, SpaceOptions, FilterOptions, _Ranked, _Loose, total=False):
    """The options of a retrieval of whole sections."""

    limit: Annotated[int, _limit("Sections", high=50, brief="Sections.")]
    offset: Annotated[int, OFFSET]
    mode: Annotated[
        str,
        _one_of(
            "`hybrid`, `semantic` (meaning) or `keyword` (words)",
            *("hybrid", "semantic", "keyword"),
            brief="By both, meaning or words.",
            notes="without an embedder, words answer, with a warning",
        ),
    ]
    hybrid: Annotated[Mapping[str, Any] | None, _HYBRID]
    recency_weight: Annotated[
        float, _share("Share of the score that depends on age", brief="Share of age in the score.")
    ]
    half_life_days: Annotated[
        float,
        Parameter(
            "Half-life of the age in days",
            30.0,
            low=0,
            high=36_500,
            above=True,
            brief="Half-life of age.",
            flags="--half-life",
            metavar="DAYS",
        ),
    ]
    authority_weight: Annotated[
        float,
        _share(
            "Share of the score that depends on authority",
            brief="Share of the signer in the score.",
            notes="all of it for a trusted item with `authoritative: true`, half for any other trusted one",
        ),
    ]
    max_chars: Annotated[
        int | None,
        Parameter(
            "Characters of all texts",
            low=1,
            high=1_000_000,
            brief="Characters of all texts.",
            notes="longer texts are cut or left out",
        ),
    ]


class RefsOptions(TypedDict, total=False):
    """The options for listing references of an item, in both directions."""

    direction: Annotated[
        str,
        _one_of(
            "`out`: what it refers to; `in`: what refers to it",
            *("both", "out", "in"),
            hint="out is what it refers to, in what refers to it, both either",
        ),
    ]
    depth: Annotated[int, Parameter("Steps to go", 1, low=1, high=MAX_DEPTH)]
    limit: Annotated[
        int,
        Parameter(
            "References to list, nearest first",
            100,
            low=1,
            high=MAX_RELATIONS,
            flags="--limit -n",
        ),
    ]


def space_of(text: str, *choices: str, hint: str = "") -> Parameter:
    """Return the parameter of a space with these values; the first is its default."""
    return parameters_of(SpaceOptions)["space"]._replace(default=choices[0], choices=choices, help=text, hint=hint)


SIGNED_SPACE = space_of(
    "The space of the items: `project` or `user`",
    *("project", "user"),
    hint="a bundle's items are signed with rye sign bundle DIR",
)
VERIFIED_SPACE = parameters_of(SpaceOptions)["space"]._replace(
    help="`project`, `user`, `system` or `all`; by default `all`; then it is an error if only items of "
    "rye itself are there",
    default=None,
)
TRUST_SPACE = space_of(
    "`user`, or `project`, where your key must sign it before it counts",
    *("user", "project"),
    hint="a bundle's trust files are its publisher's",
)
MAX_STALENESS = Parameter(
    "Reuse the index if it was checked at most this many seconds ago",
    0.0,
    low=0,
    hint="inf: never check an existing index",
    notes="a check by another process counts too; `inf`: never check an existing index",
    kind="number",
    metavar="SECONDS",
    name="max_staleness",
)
LISTED = Parameter(
    "Items at most, 1 or more; by default all",
    kind="integer",
    low=1,
    shown="all",
    flags="--limit -n",
    name="limit",
)
SHARDS = Parameter(
    "Shards of the index; by default as before, else 1",
    low=1,
    high=1024,
    kind="integer",
    name="shards",
)
REPLICAS = Parameter(
    "Replicas of each shard; by default as before, else 1",
    low=0,
    high=16,
    kind="integer",
    name="replicas",
)
