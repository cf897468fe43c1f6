"""Output schemas are read off the answers themselves, and inputs are checked by what is said of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jsonschema
import pytest

from rye.errors import ArgumentError
from rye.mcp.schema import input_schema, read_arguments, schema_of, take_arguments
from rye.parameters import HybridParts, Parameter, SearchOptions, parameters_of
from rye.search.fusion import Fusion
from rye.trust.model import Verdict


@dataclass(frozen=True, slots=True)
class Inner:
    """Something in an answer."""

    verdict: Verdict
    words: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return both."""
        return {"verdict": str(self.verdict), "words": list(self.words)}


@dataclass(frozen=True, slots=True)
class Outer:
    """An answer."""

    rows: tuple[Inner, ...]
    after: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return all, and one key by another name."""
        rows = [row.to_dict() for row in self.rows]
        return {"rows": rows, "next": self.after, "counts": dict(self.counts), "more": dict(self.more)}


ANSWERS = (
    Outer(()),
    Outer((Inner(Verdict.TRUSTED, ("a",)), Inner(Verdict.PARTIAL)), 3, {"x": 1}, {"any": [1, None, {"deep": True}]}),
)


def test_a_number_has_the_bounds_that_its_parameter_has() -> None:
    """Each by itself: one without a maximum still has its minimum."""
    bounds = {"both": (1, 9), "low": (1, None), "high": (None, 9), "none": (None, None)}
    parameters = {
        name: Parameter("A number", kind="integer", low=low, high=high) for name, (low, high) in bounds.items()
    }
    for name, each in input_schema(parameters)["properties"].items():
        assert (each.get("minimum"), each.get("maximum")) == bounds[name]


def test_the_schema_is_that_of_what_to_dict_returns() -> None:
    """Keys are those of the JSON, not of the dataclass; types are given except for text, lists and mappings."""
    schema = schema_of(Outer, verdict={"enum": ["a", "b"]})
    assert schema["properties"] == {
        "rows": {"type": "array"},
        "next": {"type": ["integer", "null"]},
        "counts": {"type": "object"},
        "more": {"type": "object"},
        "verdict": {"enum": ["a", "b"]},
    }
    for answer in ANSWERS:
        jsonschema.validate(answer.to_dict(), schema)
    jsonschema.validate({"error": {"code": "x"}}, schema)


@pytest.mark.parametrize("wrong", [{"next": "3"}, {"next": 3.5}, {"verdict": "c"}, {"verdict": None}])
def test_an_answer_of_another_shape_does_not_fit(wrong: dict[str, Any]) -> None:
    """Other types, and values that are not valid."""
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(ANSWERS[1].to_dict() | wrong, schema_of(Outer, verdict={"enum": ["a", "b"]}))


# parameters

PARAMETERS = {
    "name": Parameter("A name", name="name", required=True),
    "count": Parameter("How many", 3, name="count", kind="integer", low=1, high=9),
    "way": Parameter("Which way", "up", name="way", choices=("up", "down")),
    "quick": Parameter("Whether", False, name="quick", kind="boolean"),
}


def test_arguments_are_completed_with_defaults() -> None:
    """Null is as good as nothing, and a whole number may come as 4.0."""
    assert read_arguments(PARAMETERS, {"name": "x"}) == {"name": "x", "count": 3, "way": "up", "quick": False}
    given = {"name": "x", "count": 4.0, "way": None, "quick": True}
    assert read_arguments(PARAMETERS, given) == {"name": "x", "count": 4, "way": "up", "quick": True}
    jsonschema.validate(given | {"way": "up"}, input_schema(PARAMETERS))


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, "missing-argument"),
        ({"name": None}, "missing-argument"),
        ({"name": 1}, "bad-name"),
        ({"name": "x", "count": 0}, "bad-count"),
        ({"name": "x", "count": 10}, "bad-count"),
        ({"name": "x", "count": True}, "bad-count"),
        ({"name": "x", "count": 4.5}, "bad-count"),
        ({"name": "x", "count": "4"}, "bad-count"),
        ({"name": "x", "way": "left"}, "bad-way"),
        ({"name": "x", "way": ["up"]}, "bad-way"),
        ({"name": "x", "quick": 1}, "bad-quick"),
        ({"name": "x", "nmae": 1}, "unknown-argument"),
    ],
)
def test_what_the_schema_refuses_is_refused(given: dict[str, Any], code: str) -> None:
    """With its code and what would be valid; the schema says the same, but for null."""
    with pytest.raises(ArgumentError) as raised:
        read_arguments(PARAMETERS, given)
    assert raised.value.code == code
    assert raised.value.hint
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(given, input_schema(PARAMETERS))


def test_a_slip_of_the_pen_is_named() -> None:
    """The nearest name, and all there are."""
    with pytest.raises(ArgumentError, match="nmae") as raised:
        take_arguments(PARAMETERS, {"nmae": 1})
    assert raised.value.hint == "did you mean 'name'? valid are name, count, way, quick"


def test_the_words_on_hybrid_are_what_it_takes() -> None:
    """What the schema says in words has every part of ``hybrid``, with its default."""
    hybrid = parameters_of(SearchOptions)["hybrid"]
    said = re.sub(
        r"(\w+)\{([\w,]+)\}(\w*)",
        lambda several: " ".join(several[1] + each + several[3] for each in several[2].split(",")),
        hybrid.brief,
    )
    assert parameters_of(HybridParts).keys() <= set(re.findall(r"\w+", said))
    for name in ("rrf_k", "semantic_weight", "keyword_weight"):
        assert f"{name} {parameters_of(HybridParts)[name].default:g}" in hybrid.brief
    assert {name: each.default for name, each in parameters_of(HybridParts).items()} == Fusion()._asdict()
