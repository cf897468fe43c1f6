"""What the other commands, methods and tools take."""

from typing import Annotated, TypedDict

from rye.parameters.model import Parameter

__all__ = ["MAX_RELATIONS", "RefsOptions"]

MAX_RELATIONS = 1_000


class RefsOptions(TypedDict, total=False):
    """What an item refers to, and what refers to it."""

    direction: Annotated[
        str,
        Parameter(
            "`out`: what it refers to; `in`: what refers to it",
            "both",
            choices=("both", "out", "in"),
            brief="out: from the item; in: to it.",
        ),
    ]
    depth: Annotated[int, Parameter("Steps to go", 1, low=1, high=32, brief="Steps to go.", metavar="N")]
    limit: Annotated[
        int,
        Parameter("Relations listed, nearest first", 100, low=1, high=MAX_RELATIONS, flags="--limit -n", metavar="N"),
    ]
