"""Searches that users of other engines reported as wrong, each as a few notes and what a query must find among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rye import Registry
from tests.support.files import lay


class Case(NamedTuple):
    """Notes by name, and query → the names that are found, in the order of the score."""

    notes: dict[str, str]
    found: dict[str, list[str]]


CASES: dict[str, Case] = {
    "signs that are part of a name": Case(
        {
            "cpp": "How we format C++, with a few words more than the page about the other language.",
            "csharp": "How we format C#.",
            "vitamin": "Vitamin C, C, and C again.",
            "compiler": "Call g++ with all warnings.",
            "sugar": "5 g of sugar and g g of salt.",
            "dotnet": "Targets .NET and is run with -v or --quiet.",
            "net": "A net of v and quiet nodes.",
            "tag": "Filed under #urgent.",
        },
        {
            "C++": ["cpp"],
            "c++ -c#": ["cpp"],
            '"C++"': ["cpp"],
            "C#": ["csharp"],
            "g++": ["compiler"],
            "format C#": ["csharp"],
            ".net": ["dotnet"],
            '"targets .net"': ["dotnet"],
            "--quiet": ["dotnet"],
            '"run with -v"': ["dotnet"],
            "#urgent": ["tag"],
            "urgent": ["tag"],
        },
    ),
    "an exclusion excludes": Case(
        {"draft": "The code of this draft.", "final": "The code that was released."},
        {
            "code -draft": ["final"],
            "code NOT draft": ["final"],
            "draft -code": [],
            "code AND NOT (draft OR released)": [],
        },
    ),
    "an exclusion of the only note": Case({"draft": "The code of this draft."}, {"code -draft": []}),
    "wildcards match parts of camelCase": Case(
        {"names": "Log_ErrorCodeTable getItemById openWithKeyRing"},
        {
            "ErrorCode*": ["names"],
            "ItemBy*": ["names"],
            "*CodeTable": ["names"],
            "WithKey*": ["names"],
        },
    ),
    "signs alone": Case(
        {"leaf": "A leaf 🌿 and an arrow ->.", "fire": "It burns: 🔥.", "both": "🌿🔥"},
        {
            "🌿🔥": ["both"],
            "🔥 burns": ["fire"],
            "->": ["leaf"],
            '"->"': ["leaf"],
            "=>": [],
            "???": [],
            "🌿 -🔥": ["leaf"],
        },
    ),
    "letters beside digits": Case(
        {"rfc": "RFC 2119 says MUST. Use OAuth2 over TLS 1.3.", "auth": "About auth."},
        {
            "rfc2119": ["rfc"],
            "rfc 2119": ["rfc"],
            "RFC-2119": ["rfc"],
            "oauth": ["rfc"],
            "oauth2": ["rfc"],
            "oauth 2": ["rfc"],
        },
    ),
    "two letters that changed places": Case(
        {"tools": "Read json and yaml in a shell; write a pdf."},
        {"josn": ["tools"], "yalm": ["tools"], "shlel": ["tools"], "pfd": ["tools"], "pdf~": ["tools"]},
    ),
    "wildcards in phrases": Case(
        {"deploy": "Deploy services every day. A file system.", "other": "Services that deploy. Systems of files."},
        {'"deploy serv*"': ["deploy"], '"fi?e system"': ["deploy"], '"file *stem"': ["deploy"]},
    ),
    "equality compares as ranges do": Case(
        {
            "a": "---\ntemperature: 0.70\ncreated_at: 2026-02-18\n---\n",
            "b": "---\ntimeout: 1e3\n---\n",
            "c": "---\ntimeout: 1000\nversion: 1.10.0\n---\n",
        },
        {
            "temperature:0.70": ["a"],
            "temperature:0.7": ["a"],
            "timeout:1000": ["b", "c"],
            "NOT timeout:1000.0": ["a"],
            "created:2026-02": ["a"],
            "version:1.10": ["c"],
        },
    ),
}
ASKED = [(name, query, found) for name, case in CASES.items() for query, found in case.found.items()]


@pytest.fixture(scope="session")
def registries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Registry]:
    """Return a registry for each case."""
    return {name: registry(tmp_path_factory.mktemp("case"), case.notes) for name, case in CASES.items()}


def registry(folder: Path, notes: dict[str, str]) -> Registry:
    """Return a registry over a project with these notes; front matter stays above the title."""
    files = {}
    for name, text in notes.items():
        head, title = (text, "") if text.startswith("---") else ("", text)
        files[f".ai/knowledge/{name}.md"] = f"{head}# {name}\n\n{title}\n"
    return Registry(lay(folder / "project", files), user=folder / "user", bundles=(), cache_dir=folder / "cache")


@pytest.mark.parametrize(("name", "query", "found"), ASKED, ids=[f"{name}: {query}" for name, query, _ in ASKED])
def test_a_query_finds_what_it_names(registries: dict[str, Registry], name: str, query: str, found: list[str]) -> None:
    """These notes, in this order, and no others."""
    response = registries[name].search(query, mode="keyword")
    assert [hit.id for hit in response.results] == found


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"timeout": 1000}, ["b", "c"]),
        ({"timeout": 1000.0}, ["b", "c"]),
        ({"created": "2026-02"}, ["a"]),
        ({"timeout": "!1000"}, []),
    ],
)
def test_filters_compare_as_ranges_do(
    registries: dict[str, Registry], filters: dict[str, Any], found: list[str]
) -> None:
    """A number equals itself however it is written, and a month has its days."""
    response = registries["equality compares as ranges do"].search("", filters=filters)
    assert sorted(hit.id for hit in response.results) == found


@pytest.mark.parametrize("query", ["CVE-2024-3095", "port 8081", "http 405"])
def test_a_number_is_no_typo_of_another(tmp_path: Path, query: str) -> None:
    """What has another number is a partial match at best."""
    notes = {"cve": "CVE-2024-3094 is a backdoor. The port is 8080. HTTP 404."}
    response = registry(tmp_path, notes).search(query, mode="keyword")
    assert response.stage == "any" or not response.results
