"""The parameters of every command, method and tool, each declared once, for every surface.

It knows no other room, as the engine checks its arguments by it::

    limit = parameters_of(SearchOptions)["limit"]
    check(limit, 2000)  # ArgumentError: limit is 2000 (valid are whole numbers from 1 to 1,000)
"""

from rye.parameters.commands import COMMANDS, MAX_RELATIONS, SECTIONS, RefsOptions
from rye.parameters.model import (
    Parameter,
    ParameterError,
    Setting,
    check,
    check_all,
    check_size,
    complete,
    defaults_of,
    described,
    guess,
    limits,
    metavar,
    parameters_of,
    refuse,
    refuse_value,
    spelled,
    takes,
)
from rye.parameters.search import (
    EMBED_SECONDS,
    MAX_LIMIT,
    MAX_OFFSET,
    MAX_QUERY,
    SPACES,
    BoostParts,
    HybridParts,
    ProximityParts,
    SearchOptions,
    SectionOptions,
    SimilarOptions,
    SpaceOptions,
    WhyOptions,
)

__all__ = [
    "COMMANDS",
    "EMBED_SECONDS",
    "MAX_LIMIT",
    "MAX_OFFSET",
    "MAX_QUERY",
    "MAX_RELATIONS",
    "SECTIONS",
    "SPACES",
    "BoostParts",
    "HybridParts",
    "Parameter",
    "ParameterError",
    "ProximityParts",
    "RefsOptions",
    "SearchOptions",
    "SectionOptions",
    "Setting",
    "SimilarOptions",
    "SpaceOptions",
    "WhyOptions",
    "check",
    "check_all",
    "check_size",
    "complete",
    "defaults_of",
    "described",
    "guess",
    "limits",
    "metavar",
    "parameters_of",
    "refuse",
    "refuse_value",
    "spelled",
    "takes",
]
