"""The arguments of each MCP tool. Descriptions are short, because models read them in every conversation."""

from collections.abc import Mapping
from functools import partial

from rye.options.model import Parameter, parameters_of
from rye.options.search import MAX_OFFSET, MAX_QUERY, SearchOptions, SectionOptions, SpaceOptions

MAX_CONTENT = 100_000
"""Characters of an item's content in one answer."""

_integer = partial(Parameter, kind="integer")
_ITEM = Parameter(
    "`type:id`, or an id that only one type has",
    brief="A type:id, an id, skill:NAME or path.",
    required=True,
    hint="write type:id, or the id alone if only one type has it",
)
_PROJECT = Parameter(
    "The absolute path of the folder that holds `.ai`",
    brief="Its absolute path; by default the server's.",
    shown="the server's",
)
_TARGET = "write type:id, with * and ? in the id, or a scope such as tool.demo.*; * is everything"
_SPACE = parameters_of(SpaceOptions)["space"]
_SEARCH, _SECTIONS = parameters_of(SearchOptions), parameters_of(SectionOptions)

_LIKE = Parameter(
    "An item, as `type:id` or an id: return the items most like it instead of hits. The query must be empty "
    '(`""`); `scope`, `space`, `limit`, `offset`, `filters`, `mode`, `include_superseded` and `explain` '
    "can be combined with it",
    brief="Find items like this type:id; query is empty.",
    shown="none",
)
_WHY = Parameter(
    "An item, as `type:id` or an id: also return its rank and why it is a hit, or everything that keeps it from "
    "being one, as `rye why` does",
    brief="Why this type:id is a hit or not.",
    notes="see `rye/looking-around`",
    shown="none",
)
_TABLE: Mapping[str, Mapping[str, Parameter]] = {
    "rye_search": {
        "query": Parameter(
            "Text in the query language of `rye/query-language`; empty: everything in scope",
            brief='Words that all match, "exact phrase", OR, NOT, prefix*, typo~, title:deploy, is:trusted. '
            "Empty: all.",
            required=True,
            longest=MAX_QUERY,
            hint='give words to search for, or an empty query ("") to list all, and with like',
        ),
        **_SEARCH,
        "project_path": _PROJECT,
        "like": _LIKE,
        "why": _WHY,
    },
    "rye_sections": {
        "query": Parameter(
            "What they are to be about, in the query language; not empty",
            brief="The subject, as for rye_search.",
            required=True,
            longest=MAX_QUERY,
        ),
        **_SECTIONS,
        "project_path": _PROJECT,
        "max_chars": _SECTIONS["max_chars"]._replace(default=20_000),
    },
    "rye_load": {
        "item": _ITEM,
        "project_path": _PROJECT,
        "space": _SPACE._replace(help="Where to look; `all`: the space that wins"),
        "offset": _integer(
            "Characters of the content to skip; by default the signature line and the front matter, 0 for all",
            low=0,
            high=1 << 20,
            brief="Characters to skip; by default the front matter.",
            shown="the head",
        ),
        "limit": _integer("Characters of the content", 20_000, low=1, high=MAX_CONTENT, brief="Characters to return."),
        "refs": Parameter(
            "Also list what it refers to, and what refers to it",
            False,
            kind="boolean",
            brief="Also what it refers to, and what refers to it.",
        ),
    },
    "rye_verify": {
        "item": Parameter(
            "`type:id`, or an id that only one type has, as for `rye_load`; also with `*` and `?` in the id, or a "
            "scope; never a path",
            "*",
            brief="As for rye_load; * and ? in the id; a scope.",
            hint=_TARGET,
        ),
        "project_path": _PROJECT,
        "space": _SPACE,
        "limit": _integer("Items listed", 50, low=1, high=1_000, notes="counts are of all"),
        "offset": _integer("Items to skip", 0, low=0, high=MAX_OFFSET, brief="Items to skip."),
    },
}

TOOLS = {
    tool: {name: parameter._replace(name=name) for name, parameter in parameters.items()}
    for tool, parameters in _TABLE.items()
}
"""Every tool and its parameters."""
