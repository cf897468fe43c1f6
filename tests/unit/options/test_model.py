"""Parameters are read off their declarations, and one validator checks all values in one dialect."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

import pytest

from rye.errors import ArgumentError
from rye.options.model import Only, Parameter, complete


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


def test_a_list_that_holds_itself_is_too_long() -> None:
    """Counting it ends."""
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ArgumentError, match="names has"):
        complete(Options, {"names": endless})


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
