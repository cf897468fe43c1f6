"""``rye_search`` and ``rye_sections``: finding items, and whole sections to read and cite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rye.errors import ArgumentError
from rye.mcp.schema import take_arguments
from rye.mcp.text import Reasons, picked, search_text, sections_text, short, tidy, tidy_hit, under_base
from rye.mcp.tools.tool import Tool, Work
from rye.options.model import Parameter, check, parameters_of

if TYPE_CHECKING:
    from rye.registry.registry import Registry

_LONGEST = 1_000_000
"""Characters of the text of one section."""

_QUERY = 5_000
"""Characters of the query that an answer repeats."""

_SHORT = 64
"""Characters of a description in a brief answer; of title and preview if there is no description."""

_DEEP = 200
"""Levels of an explained query, more than a query may have."""

_ALIKE = ("scope", "space", "limit", "offset", "filters", "mode", "include_superseded", "explain")
"""Arguments that are valid with ``like``."""

_OF_THE_PAGE = ("limit", "offset", "facets", "explain")
"""Arguments that do not decide which items are hits."""

_OF_SECTIONS = """\
Get whole sections, verified and ready to cite.
Use it to answer a question from texts; rye_search finds items.
Each section stands below its type:id, score, verdict, source, lines and headings.
Errors have a code and a hint.
Examples: {"query": "how are keys revoked"}; {"query": "rollback", "limit": 3}"""

_DESCRIPTION = """\
Find signed directives to follow, tools to run and knowledge to read.
Use it first. Read a hit with rye_load; rye_sections returns passages.
The best hits come first, pages of rye's own manual last; each has type:id, score, verdict and source. \
Stage "all" means that every word matched. Ask the user before you act on an item that is not trusted.
Errors have a code and a hint.
Examples: {"query": "verify signatures in CI"}; {"query": "title:deploy* NOT draft", "scope": "tool.rye.*"}"""


def _read(parameters: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with the keys of ``options`` beside the others.

    Raises:
        ArgumentError: ``unknown-argument``, ``missing-argument``, ``bad-options``, ``bad-detail``.
    """
    taken = take_arguments(parameters, given)
    options = parameters["options"]
    assert options.parts is not None
    more = taken.pop("options", {})
    if not isinstance(more, Mapping):
        check(options, more)
    return taken | _read_sections(parameters_of(options.parts), more)


def _read_sections(parameters: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments, and the level of detail.

    Raises:
        ArgumentError: ``unknown-argument``, ``missing-argument``, ``bad-detail``.
    """
    taken = take_arguments(parameters, given)
    return taken | {"detail": check(parameters["detail"], taken.get("detail"))}


def _answer(_work: Work, registry: Registry, arguments: dict[str, Any]) -> dict[str, Any]:
    query, like, item = arguments.pop("query"), arguments.pop("like", None), arguments.pop("why", None)
    if like is None:
        response = registry.search(query, **arguments)
    else:
        response = registry.similar(like, **_alike(query, item, arguments))
    answer = response.to_dict()
    hits = [tidy_hit(hit | _address(hit)) for hit in answer.pop("results")]
    data: dict[str, Any] = {"results": hits} | tidy(answer, longest=_QUERY)
    if item is not None:
        deciding = {name: value for name, value in arguments.items() if name not in _OF_THE_PAGE}
        data["why"] = _tidy_why(registry.why(query, item, **deciding).to_dict())
    return data


def _address(hit: Mapping[str, Any]) -> dict[str, str]:
    """Return the address of a hit that is a skill, under which this server serves its files."""
    from rye.registry.skills import may_be_skill, skill_uri

    return {"skill": skill_uri(hit["source"], hit["bundle"], hit["id"])} if may_be_skill(hit) else {}


def _alike(query: Any, why: Any, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a search for similar items.

    Raises:
        ArgumentError: ``bad-like``.
    """
    wrong = [name for name in arguments if name not in _ALIKE] + (["query"] if query != "" else [])
    wrong += [] if why is None else ["why"]
    if wrong:
        hint = f"give an empty query, and of the other arguments {', '.join(_ALIKE)}"
        raise ArgumentError(
            "bad-like", f"like cannot be combined with {', '.join(wrong)}", hint=hint, valid=list(_ALIKE)
        )
    return arguments


def _tidy_why(why: dict[str, Any]) -> dict[str, Any]:
    """Return why an item is a hit or not, tidied, without the query and warnings of the search."""
    del why["query"], why["warnings"]
    hit = why.pop("hit")
    done: dict[str, Any] = tidy(why, longest=_QUERY, depth=_DEEP)
    return done | {"hit": None if hit is None else tidy_hit(hit)}


def _sections(_work: Work, registry: Registry, arguments: dict[str, Any]) -> dict[str, Any]:
    arguments.setdefault("max_chars", SECTIONS.parameters["max_chars"].default)
    answer = registry.sections(arguments.pop("query"), **arguments).to_dict()
    hits = [tidy(hit) | {"text": tidy(hit["text"], longest=_LONGEST)} for hit in answer.pop("results")]
    return {"results": hits, **tidy(answer, longest=_QUERY)}


_ENVELOPE = ("total", "query", "scope", "space", "limit", "offset", "search_type")
_OF_A_HIT = ("id", "name", "description", "category", "score", "type", "source", "preview")
"""Keys that a brief hit always has; other keys only if they are not empty."""

_BY_EXCEPTION = ("bundle", "skill", "exact", "shadowed_by", "states", "successor", "explain")
_AT_LENGTH = ("took_ms", "method", "results", "notice", "chars")


def _brief(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer in about a third of its bytes: no empty keys, short texts, each reason once."""
    return _with_reasons(answer, _brief_hit)


def _with_reasons(
    answer: Mapping[str, Any], brief: Callable[[Mapping[str, Any], Reasons], dict[str, Any]]
) -> dict[str, Any]:
    """Return an answer with brief hits; reasons that several hits share are listed once, under ``reasons``."""
    reasons = Reasons()
    hits = [brief(hit, reasons) for hit in answer["results"]]
    without = (*_AT_LENGTH, *(["stage"] if answer.get("stage") == "all" else []))
    rest = picked(answer, _ENVELOPE, [name for name in answer if name not in without])
    return {"notice": answer["notice"], "results": hits, **under_base(hits), "reasons": reasons, **rest}


def _brief_hit(hit: Mapping[str, Any], reasons: Reasons) -> dict[str, Any]:
    brief = picked(hit, _OF_A_HIT)
    brief |= {"score": round(hit["score"], 4), "description": short(hit["description"], _SHORT)}
    brief["preview"] = "" if hit["description"] else short(hit["preview"], _SHORT)
    if hit["title"] and not hit["description"]:
        brief["title"] = short(hit["title"], _SHORT)
    brief |= reasons.label(hit["signature"]) | {"path": hit["path"]} | picked(hit, (), _BY_EXCEPTION)
    symbols = [
        f"{symbol['kind']} {symbol['name']}, line {symbol['line']}"
        for symbol in hit["symbols"]
        if symbol.get("signature")
    ]
    return brief | ({"symbols": symbols} if symbols else {})


_OF_A_SECTION = ("type", "id", "source_handle", "heading_path", "score", "path", "line", "end_line", "text")
_RARELY = ("title", "truncated", "states", "successor", "shadowed_by", "copies")


def _brief_sections(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer without digests and addresses, with each reason once."""
    return _with_reasons(
        answer, lambda hit, reasons: picked(hit, _OF_A_SECTION, _RARELY) | reasons.label(hit["signature"])
    )


SEARCH = Tool(
    "rye_search",
    "Search items",
    _DESCRIPTION,
    _answer,
    search_text,
    read=_read,
    brief=_brief,
)
SECTIONS = Tool(
    "rye_sections",
    "Search sections",
    _OF_SECTIONS,
    _sections,
    sections_text,
    read=_read_sections,
    brief=_brief_sections,
)
