"""What a query means once its names are fields: leaves, filters, and what lenient binding leaves out."""

from __future__ import annotations

from typing import Any as Details

import pytest

from rye.query import ast
from rye.search.matching.bound import (
    All,
    Any,
    Between,
    Bound,
    BoundEverything,
    BoundNot,
    Glob,
    Has,
    HasState,
    Similar,
    TermQuery,
)
from tests.unit.search.asking import bound_query

KEYS = ("entry_type", "min_version", "reviewed_at", "runtime.kind", "priority")


def only(asked: str, **more: Details) -> Bound:
    """Bind a query that is left whole."""
    found = bound_query(asked, KEYS, **more)
    assert found is not None
    return found


def shown(node: Bound) -> str:
    """Write a bound query down in short."""
    match node:
        case BoundEverything():
            return "everything"
        case BoundNot(operand=operand):
            return f"not({shown(operand)})"
        case All(operands=operands) | Any(operands=operands):
            return f"{type(node).__name__.lower()}({', '.join(map(shown, operands))})"
        case TermQuery():
            return node.label()
    return shown_filter(node)


def shown_filter(node: Bound) -> str:
    """Write down what only includes or excludes."""
    match node:
        case HasState(name=name):
            return name
        case Has(name=name):
            return f"has {name}"
        case Glob(name=name, pattern=pattern):
            return f"{name} is {pattern}"
        case Similar(name=name, text=text, distance=distance):
            return f"{name} like {text} {distance}"
        case Between(name=name, low=low, high=high):
            marks = "[" if node.include_low else "{", "]" if node.include_high else "}"
            return f"{name} {node.kind} {marks[0]}{low} {high}{marks[1]}"
    return "?"


@pytest.mark.parametrize(
    ("asked", "meaning"),
    [
        ("", "everything"),
        ("*", "everything"),
        ("**", "everything"),
        ("*/*", "everything"),
        ("deploy", "deploy"),
        ("a b", "all(a, b)"),
        ("a OR b", "any(a, b)"),
        ("-a", "not(a)"),
        ("title:*", "has title"),
        ("title:(*)", "has title"),
        ("TITLE:x", "title:x"),
        ("tag:(a OR b)", "any(tags:a, tags:b)"),
        ("body:x", "content:x"),
        ("title:(a title:b)", "all(title:a, title:b)"),
        ("tag:(a tags:b)", "all(tags:a, tags:b)"),
        ("author:*", "has author"),
        ("author:Ada", "author is ada"),
        ('author:"Grace H*"', r"author is grace h\*"),
        ("author:g*", "author is g*"),
        (r"author:g\**", r"author is g\**"),
        ("author:ada~1", "author like ada 1"),
        ("author:Ada~", "author like ada None"),
        ("source:user", "space is user"),
        ("entry_type:Reference", "entry_type is reference"),
        ("runtime.kind:bash", "runtime.kind is bash"),
        ("version:1.0", "any(version is 1.0, version version [1.0 1.0])"),
        ('version:"1.0"', "any(version is 1.0, version version [1.0 1.0])"),
        ("version:1.*", "version is 1.*"),
        ("version:latest", "version is latest"),
        ("created:2026-02", "any(created is 2026-02, created date [2026-02 2026-02])"),
        ("min_version:2", "any(min_version is 2, min_version version [2 2])"),
        ("priority:2", "any(priority is 2, priority text [2 2])"),
        ("version:>=1.0", "version version [1.0 None]"),
        ("version:<1.0", "version version [None 1.0}"),
        ("created:>2026", "created date {2026 None]"),
        ("created:<=2026", "created date [None 2026]"),
        ("created:[2026-01 TO 2026-03}", "created date [2026-01 2026-03}"),
        ("priority:[2 TO *]", "priority text [2 None]"),
        ("is:trusted", "trusted"),
        ("is:TRUSTED", "trusted"),
        ('is:"trusted"', "trusted"),
        ("is:*", "everything"),
        ("is:shadow*", "any(shadowed, shadowing)"),
        ("is:t?usted", "trusted"),
        ("is:(trusted OR unsigned)", "any(trusted, unsigned)"),
        ("signer:*", "has signer"),
        ("signer:ab*", "signer is ab*"),
        ("tool:ops/deploy", "all(type is tool, id:ops/deploy)"),
        ("Tool:OPS/x*", "all(type is tool, id:OPS/x*)"),
    ],
)
def test_a_query_means(asked: str, meaning: str) -> None:
    """Names are folded and aliased; words are term queries in text fields and whole values elsewhere."""
    assert shown(only(asked)) == meaning


@pytest.mark.parametrize(
    ("asked", "meaning", "left_out"),
    [
        ("deploy --", "deploy", ["--"]),
        ("-- OR …", "None", ["--", "…"]),
        ("-(--) a", "a", ["(--)"]),
        ("nosuch:deploy now", "all(deploy, now)", ["nosuch"]),
        ("is:nosuch a", "a", ["nosuch"]),
        ("title:>3 a", "a", ["title:>3"]),
        ("version:>=x a", "a", ["version:>=x"]),
        ("author:(a NEAR/2 b) c", "c", ["(a NEAR/2 b)"]),
        ("title:(body:x)", "content:x", ["(body:x)"]),
        ("nosuch:>3", "None", ["nosuch"]),
        ("a NEAR/3 -- b", "b", ["a NEAR/3 --"]),
    ],
)
def test_lenient_binding_leaves_out_what_it_cannot_bind(asked: str, meaning: str, left_out: list[str]) -> None:
    """Nothing is raised; each thing left out is noted with its place and the words that a strict error has."""
    dropped: list[ast.Dropped] = []
    found = bound_query(asked, KEYS, dropped=dropped)
    assert ("None" if found is None else shown(found)) == meaning
    assert [one.text for one in dropped] == left_out
    for one in dropped:
        assert asked[one.position :].startswith(one.text)
        assert one.reason
