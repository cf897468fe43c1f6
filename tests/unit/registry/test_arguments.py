"""Arguments of the façade: what is not valid is refused with the code, the value and what would be valid."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rye import ArgumentError, NotFoundError, QueryError, Registry, RyeError
from tests.support.files import lay
from tests.support.spacesim import SpaceSim

ITEM_TYPES = ("directive", "tool", "knowledge")


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """Lay one item of each type; tests of this module only read."""
    sim = SpaceSim(tmp_path_factory.mktemp("arguments"))
    files = {
        "tools/demo/deploy.py": '"""Deploy a build."""\n\n__version__ = "1.0.0"\n__priority__ = 3\n',
        "knowledge/demo/deploy.md": "---\ncreated: 2026-01-01\n---\n\n# Deploying\n\nHow to deploy.\n",
        "directives/demo/deploy.md": "# Deploy\n\nDeploy it.\n",
    }
    lay(sim.root("project"), files)
    return sim.registry(bundles=())


BAD_SEARCHES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("bad-query", {"query": None}, ["string"]),
    ("bad-query", {"query": 7}, ["int"]),
    ("bad-query", {"query": b"deploy"}, ["bytes"]),
    ("bad-scope", {"scope": ""}, ["directive", "tool", "knowledge", "*"]),
    ("bad-scope", {"scope": " "}, list(ITEM_TYPES)),
    ("bad-scope", {"scope": None}, list(ITEM_TYPES)),
    ("bad-scope", {"scope": "tols"}, ["tool"]),
    ("bad-scope", {"scope": "Tool"}, ["tool"]),
    ("bad-scope", {"scope": "tool,"}, list(ITEM_TYPES)),
    ("bad-scope", {"scope": "tool,item"}, ["item", *ITEM_TYPES]),
    ("bad-scope", {"scope": "tool."}, ["tool."]),
    ("bad-scope", {"scope": "tool.*.core"}, ["*"]),
    ("bad-scope", {"scope": "tool..core"}, ["tool..core"]),
    ("bad-scope", {"scope": "rye.search."}, list(ITEM_TYPES)),
    ("bad-scope", {"scope": "rye.execute.tool.*"}, list(ITEM_TYPES)),
    ("bad-scope", {"scope": ["tool"]}, list(ITEM_TYPES)),
    ("bad-space", {"space": ""}, ["all", "project", "user", "system"]),
    ("bad-space", {"space": "projct"}, ["project"]),
    ("bad-space", {"space": "system:shop"}, ["system"]),
    ("bad-space", {"space": None}, ["all", "project", "user", "system"]),
    ("bad-limit", {"limit": 0}, ["1", "1000"]),
    ("bad-limit", {"limit": -1}, ["1", "1000"]),
    ("bad-limit", {"limit": 1001}, ["1", "1000"]),
    ("bad-limit", {"limit": 2.0}, ["1", "1000"]),
    ("bad-limit", {"limit": "10"}, ["1", "1000"]),
    ("bad-limit", {"limit": True}, ["1", "1000"]),
    ("bad-limit", {"limit": None}, ["1", "1000"]),
    ("bad-offset", {"offset": -1}, ["0"]),
    ("bad-offset", {"offset": 10**30}, ["0"]),
    ("bad-offset", {"offset": "0"}, ["0"]),
    ("bad-sort-by", {"sort_by": "relevance"}, ["score", "name", "date"]),
    ("bad-sort-by", {"sort_by": "dat"}, ["date"]),
    ("bad-sort-by", {"sort_by": None}, ["score"]),
    ("bad-mode", {"mode": "bm25"}, ["keyword"]),
    ("bad-level", {"level": 0}, ["1", "2"]),
    ("bad-level", {"level": 3}, ["1", "2"]),
    ("bad-level", {"level": "1"}, ["1", "2"]),
    ("bad-level", {"level": True}, ["1", "2"]),
    ("bad-relax", {"relax": "no"}, ["True", "False"]),
    ("bad-lenient", {"lenient": 1}, ["True", "False"]),
    ("bad-include-superseded", {"include_superseded": None}, ["True", "False"]),
    ("bad-explain", {"explain": "yes"}, ["True", "False"]),
    ("bad-fields", {"fields": ["title"]}, ["fields"]),
    ("bad-fields", {"fields": {"title": ""}}, ["title"]),
    ("bad-fields", {"fields": {"title": 7}}, ["title"]),
    ("bad-fields", {"fields": {7: "title"}}, ["fields"]),
    ("unknown-field", {"fields": {"titel": "deploy"}}, ["title"]),
    ("unknown-field", {"fields": {"nothing_like_it": "deploy"}}, ["title", "description"]),
    ("bad-filters", {"filters": "version"}, ["filters"]),
    ("unknown-filter", {"filters": {"verson": "1"}}, ["version"]),
    ("unknown-filter", {"filters": {"nothing_like_it": "1"}}, ["version", "category"]),
    ("bad-filter", {"filters": {"version": []}}, ["version"]),
    ("bad-filter", {"filters": {"version": None}}, ["version"]),
    ("bad-filter", {"filters": {"version": ""}}, ["version"]),
    ("bad-filter", {"filters": {"version": "!" * 2_000}}, ["single !"]),
    ("bad-filter", {"filters": {"version": {"min": 1}}}, ["version"]),
    ("bad-filter", {"filters": {"version": ">="}}, ["version"]),
    ("bad-filter", {"filters": {"version": ">=new"}}, ["version"]),
    ("bad-filter", {"filters": {"created": ">soon"}}, ["date"]),
    ("bad-filter", {"filters": {"is": "trustd"}}, ["trusted"]),
    ("bad-filter", {"filters": {"is": ">trusted"}}, ["is"]),
    ("bad-filter", {"filters": {"date_from": "soon"}}, ["2026"]),
    ("bad-filter", {"filters": {"date_to": 2026}}, ["2026"]),
    ("bad-fuzzy", {"fuzzy": True}, ["fuzzy"]),
    ("bad-fuzzy", {"fuzzy": {"distance": 1}}, ["max_distance", "enabled"]),
    ("bad-fuzzy", {"fuzzy": {"max_distance": -1}}, ["0 or more"]),
    ("bad-fuzzy", {"fuzzy": {"max_distance": "1"}}, ["0 or more"]),
    ("bad-fuzzy", {"fuzzy": {"enabled": "yes"}}, ["True", "False"]),
    ("bad-proximity", {"query": "a b", "proximity": 5}, ["proximity"]),
    ("bad-proximity", {"query": "a b", "proximity": {"max": 5}}, ["max_distance", "enabled"]),
    ("bad-proximity", {"query": "a b", "proximity": {"max_distance": 0}}, ["1", "1000"]),
    ("bad-proximity", {"query": "a b", "proximity": {"max_distance": 1001}}, ["1", "1000"]),
    ("bad-proximity", {"query": "a OR b", "proximity": {"enabled": True}}, ["two"]),
    ("bad-proximity", {"query": "a title:b", "proximity": {"enabled": True}}, ["two"]),
]


@pytest.mark.parametrize(("code", "options", "words"), BAD_SEARCHES, ids=lambda value: str(value)[:60])
def test_a_search_with_a_wrong_argument(
    registry: Registry, code: str, options: dict[str, Any], words: list[str]
) -> None:
    """An ArgumentError with a stable code, a message with the value, and a hint that says what is valid."""
    with pytest.raises(ArgumentError) as caught:
        registry.search(**options)
    error = caught.value
    assert error.code == code
    assert error.hint
    said = f"{error.message} {error.hint} {error.details}"
    assert all(word in said for word in words), said
    assert error.to_dict()["code"] == code


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("deploy (build", ""),
        ('"deploy', ""),
        ("deploy AND", ""),
        ("nothere:deploy", "unknown-field"),
        ("is:trustd", "unknown-state"),
        ("version:>=new", "bad-bound"),
        ("title:>=2", "field-kind"),
        ("title:(a name:b)", "nested-field"),
        ('"!!!"', "no-searchable-text"),
        ("a " * 3000, ""),
        ("(" * 100 + "a" + ")" * 100, ""),
    ],
)
def test_a_query_at_fault(registry: Registry, query: str, code: str) -> None:
    """A QueryError that points into the query; what it suggests is answered."""
    with pytest.raises(QueryError) as caught:
        registry.search(query, relax=False)
    error = caught.value
    assert error.code == (code or error.code)
    assert error.text == query
    assert 0 <= error.position <= len(query)
    assert error.hint
    assert error.caret().splitlines()[1].strip("^ ") == ""
    if error.suggestion:
        registry.search(error.suggestion)


@pytest.mark.parametrize(("name", "call"), [
    ("item_type", lambda registry: registry.get("tols:demo/deploy")),
    ("item_type", lambda registry: registry.get(":demo/deploy")),
    ("item_type", lambda registry: registry.get("tools:demo/deploy")),
    ("space", lambda registry: registry.get("tool:demo/deploy", "projct")),
    ("space", lambda registry: registry.get("tool:demo/deploy", "system:rye")),
    ("space", lambda registry: registry.verify(space="projct")),
    ("space", lambda registry: registry.sign("tool:demo/deploy", space="system")),
    ("space", lambda registry: registry.sign("tool:demo/deploy", space="all")),
    ("space", lambda registry: registry.sign("tool:demo/deploy", space="")),
    ("target", lambda registry: registry.sign()),
    ("target", lambda registry: registry.sign("tool:nothing/*")),
    ("target", lambda registry: registry.sign("./no/such/file.py")),
    ("target", lambda registry: registry.verify("./no/such/file.py")),
    ("target", lambda registry: registry.verify("tols")),
    ("target", lambda registry: registry.verify("/etc")),
])  # fmt: skip
def test_load_verify_and_sign_with_a_wrong_argument(
    registry: Registry, name: str, call: Callable[[Registry], object]
) -> None:
    """An ArgumentError with a code and a hint; nothing has been done."""
    del name
    with pytest.raises(ArgumentError) as caught:
        call(registry)
    assert caught.value.code
    assert caught.value.hint


@pytest.mark.parametrize(
    ("item", "near"),
    [
        ("nope", []),
        ("knowledge:nope", []),
        ("Demo/DEPLOY", ["directive:demo/deploy", "knowledge:demo/deploy", "tool:demo/deploy"]),
        ("tool:demo/deplyo", ["tool:demo/deploy", "directive:demo/deploy", "knowledge:demo/deploy"]),
        ("cyc/B", ["knowledge:cyc/b", "knowledge:cyc/a", "knowledge:cyc/c"]),
        ("tool:cyc/b", ["knowledge:cyc/b", "knowledge:cyc/a", "knowledge:cyc/c"]),
    ],
)
def test_every_method_gives_the_same_error_for_an_item_that_is_not_there(
    tmp_path: Path, item: str, near: list[str]
) -> None:
    """The ids most like it whatever their case, of one id the type asked for first; nothing that is not like it."""
    sim = SpaceSim(tmp_path)
    files = {f"knowledge/cyc/{name}.md": f"# {name}\n\nOne.\n" for name in "abc"}
    files |= {"tools/demo/deploy.py": "pass\n", "tools/ops/exec.py": "pass\n"}
    files |= {f"{folder}/demo/deploy.md": "# Deploy\n\nIt.\n" for folder in ("knowledge", "directives")}
    lay(sim.root("project"), files)
    registry = sim.registry(bundles=())
    for ask in (registry.refs, registry.similar, lambda it: registry.why("x", it), registry.get):
        with pytest.raises(NotFoundError) as caught:
            ask(item)
        hint = f"did you mean {' or '.join(near)}?" if near else "rye search finds items by what they say"
        assert (caught.value.hint, caught.value.details["nearest"]) == (hint, near)


def test_every_error_is_one_of_ours(registry: Registry) -> None:
    """Odd values of every argument: an answer, or a RyeError with a hint, never anything else."""
    odd: list[Any] = [None, True, 0, -1, 1e300, "", " ", "\0", "*", "\ud800", "x" * 5000, b"x", [], {}, (), {"a": {}}]
    names = ("query", "scope", "space", "limit", "offset", "sort_by", "fields", "filters", "fuzzy", "proximity", "mode")
    flags = ("level", "relax", "lenient", "include_superseded", "explain")
    keys = ("title", "version", "is", "created", "priority", "date_from", "type")
    calls: list[dict[str, Any]] = [{name: value} for name in (*names, *flags) for value in (*odd, object())]
    calls += [{name: {key: value}} for name in ("fields", "filters") for key in keys for value in odd]
    refused = []
    for call in calls:
        try:
            registry.search(**call)
        except RyeError as error:
            refused.append(error)
    assert len(refused) > len(calls) // 2
    assert [error.code for error in refused if not error.hint or not error.code] == []
