"""What the mappings among the arguments of a search may hold; parts of ``hybrid`` are options of their own."""

from typing import Annotated, TypedDict

from rye.parameters.model import Parameter

__all__ = ["BoostParts", "FuzzyParts", "HybridParts", "ProximityParts"]

_WEIGHTED = ("fusion", ("weighted",))
_LEAST = "Least {} score, 0 to 1 or percent; hybrid"


class FuzzyParts(TypedDict, total=False):
    """``fuzzy``."""

    enabled: Annotated[bool, Parameter("Whether words forgive typos", True)]
    max_distance: Annotated[int | None, Parameter("Letters in which words may differ", low=0, high=2)]


class ProximityParts(TypedDict, total=False):
    """``proximity``."""

    enabled: Annotated[bool, Parameter("Whether the words stand near each other", True)]
    max_distance: Annotated[int, Parameter("Words within which they stand", 5, low=1, high=1_000)]


def _boost(source: str, default: float) -> Parameter:
    hint = "to leave a source out use space"
    return Parameter(f"Factor of {source}", default, low=0, high=10, above=True, hint=hint)


class BoostParts(TypedDict, total=False):
    """``source_boosts``."""

    project: Annotated[float, _boost("the project", 1.2)]
    user: Annotated[float, _boost("the user space", 1.1)]
    system: Annotated[float, _boost("system space", 0.85)]


class HybridParts(TypedDict, total=False):
    """``hybrid``; each part is an option of its own on the command line."""

    fusion: Annotated[
        str,
        Parameter("`weighted` or `rrf`; hybrid", "weighted", choices=("weighted", "rrf"), metavar="NAME"),
    ]
    rrf_k: Annotated[
        int, Parameter("The constant of `rrf`", 60, low=1, high=1_000, only=("fusion", ("rrf",)), metavar="K")
    ]
    semantic_weight: Annotated[
        float,
        Parameter("Weight of similarity in hybrid mode", 0.72, low=0, high=100, only=_WEIGHTED, metavar="W"),
    ]
    keyword_weight: Annotated[
        float,
        Parameter("Weight of keyword scores in hybrid mode", 0.28, low=0, high=100, only=_WEIGHTED, metavar="W"),
    ]
    min_semantic_score: Annotated[
        float, Parameter(_LEAST.format("semantic"), 0, low=0, high=100, percent=True, metavar="X")
    ]
    min_keyword_score: Annotated[
        float, Parameter(_LEAST.format("keyword"), 0, low=0, high=100, percent=True, metavar="X")
    ]
    min_combined_score: Annotated[
        float, Parameter(_LEAST.format("combined"), 0, low=0, high=100, percent=True, metavar="X")
    ]
    require_keyword_match: Annotated[bool, Parameter("Only items with a word of the query; hybrid", False)]
    require_semantic_match: Annotated[bool, Parameter("Only items that are near; hybrid", False)]
