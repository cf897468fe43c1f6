"""Output schemas are read off the answers themselves, and inputs are checked by what is said of them."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from rye.errors import ArgumentError
from rye.mcp.schema import input_schema, read_arguments
from rye.parameters import Parameter


def test_a_number_has_the_bounds_that_its_parameter_has() -> None:
    """Each by itself: one without a maximum still has its minimum."""
    bounds = {"both": (1, 9), "low": (1, None), "high": (None, 9), "none": (None, None)}
    parameters = {
        name: Parameter("A number", kind="integer", low=low, high=high) for name, (low, high) in bounds.items()
    }
    for name, each in input_schema(parameters)["properties"].items():
        assert (each.get("minimum"), each.get("maximum")) == bounds[name]


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
