"""Parameters are read off their declarations, and one validator checks all values in one dialect."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

import pytest

from rye.errors import ArgumentError
from rye.parameters import (
    Parameter,
    complete,
)
from rye.parameters.model import Only
from rye.search.request import make_request


class Parts(TypedDict, total=False):
    """A mapping with known keys."""

    deep: Annotated[bool, Parameter("Whether", False)]


class Options(TypedDict, total=False):
    """One parameter of each kind."""

    text: Annotated[str, Parameter("Text", "")]
    way: Annotated[str, Parameter("Way", "up", choices=("up", "down"))]
    count: Annotated[int, Parameter("Count", 3, low=1, high=9)]
    share: Annotated[float | None, Parameter("Share", low=0, high=100, percent=True)]
    days: Annotated[float, Parameter("Days", 30.0, low=0, high=90, above=True, only=Only("way", ("down",)))]
    quick: Annotated[bool, Parameter("Whether", False)]
    names: Annotated[Sequence[str], Parameter("Names", ())]
    more: Annotated[Mapping[str, Any] | None, Parameter("More", parts=Parts, data='as in `{"deep": true}`')]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"text": "a" * 4_097}, "text has 4,097 characters"),
        ({"way": "u" * 5_000}, "way has 5,000 characters"),
        ({"names": ["a"] * 257}, "names has 257 values"),
        ({"names": ["a" * 2_000] * 3}, "names has 6,000 characters"),
        ({"more": {"deep": "a" * 5_000}}, "more['deep'] has 5,000 characters"),
    ],
)
def test_no_text_or_list_is_longer_than_its_parameter_says(given: dict[str, Any], said: str) -> None:
    """What is as long as it may be is fine; the error says how long the value is, and how long it may be."""
    with pytest.raises(ArgumentError) as raised:
        complete(Options, given)
    assert said in str(raised.value)
    assert raised.value.details["length"] > raised.value.details["limit"]
    assert complete(Options, {"text": "a" * 4_096, "names": ["a"] * 256})["text"] == "a" * 4_096


def test_a_list_that_holds_itself_is_too_long() -> None:
    """Counting it ends."""
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ArgumentError, match="names has"):
        complete(Options, {"names": endless})


@pytest.mark.parametrize("name", ["scope", "facets", "filters", "fields"])
def test_a_search_in_python_has_the_same_limits(name: str) -> None:
    """They are of the one table, so no surface lets more through."""
    long: object = "tool.a," * 50_000 if name == "scope" else ["a"] * 100_000
    with pytest.raises(ArgumentError) as raised:
        make_request("a", {name: {"tags": long} if name in ("filters", "fields") else long})
    assert raised.value.code == f"bad-{name}"
    assert raised.value.details["limit"] in (256, 4_096)


def test_values_are_completed_with_defaults() -> None:
    """What is above 1 is percent where that is said; None is the default where it is one."""
    found = complete(Options, {"count": 9, "share": 40, "more": {"deep": True}})
    assert (found["count"], found["share"], found["more"]) == (9, 0.4, {"deep": True})
    assert (found["way"], found["days"], complete(Options, {"share": None})["share"]) == ("up", 30.0, None)


@pytest.mark.parametrize(
    ("given", "code", "message", "hint"),
    [
        ({"text": 7}, "bad-text", "text is 7, of type int", "valid are strings"),
        ({"way": "dwon"}, "bad-way", "way is 'dwon'", "did you mean 'down'? valid are up, down"),
        ({"way": ["up"]}, "bad-way", "way is ['up']", "valid are up, down"),
        ({"count": 0}, "bad-count", "count is 0", "valid are whole numbers from 1 to 9"),
        ({"count": True}, "bad-count", "count is True, of type bool", "valid are whole numbers from 1 to 9"),
        ({"count": 2.0}, "bad-count", "count is 2.0, of type float", "valid are whole numbers from 1 to 9"),
        ({"count": None}, "bad-count", "count is None", "valid are whole numbers from 1 to 9"),
        (
            {"share": math.nan},
            "bad-share",
            "share is nan",
            "valid are numbers from 0 to 100, or leave it out; what is above 1 is percent",
        ),
        ({"way": "down", "days": 0}, "bad-days", "days is 0", "valid are numbers above 0, up to 90"),
        ({"days": 5}, "bad-days", "days has no effect with way='up'", "use way='down', or leave it out"),
        ({"quick": 1}, "bad-quick", "quick is 1, of type int", "valid are true and false"),
        (
            {"more": 1},
            "bad-more",
            "more is 1, of type int",
            'valid are mappings with text keys, such as {"deep": true}',
        ),
        ({"more": {"deep": 1}}, "bad-more", "more['deep'] is 1, of type int", "valid are true and false"),
        ({"more": {"dep": 1}}, "bad-more", "more has no option 'dep'", "did you mean 'deep'? valid are deep"),
    ],
)
def test_one_dialect(given: dict[str, Any], code: str, message: str, hint: str) -> None:
    """The code, what it is, what is valid."""
    with pytest.raises(ArgumentError) as raised:
        complete(Options, given)
    assert (raised.value.code, raised.value.message, raised.value.hint) == (code, message, hint)
